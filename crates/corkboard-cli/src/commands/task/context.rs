use clap::Args;
use corkboard::boards::TaskId;

use crate::command_session::Session;
use crate::commands::context::{Reported, sections};
use crate::error::CliError;
use crate::output::shown;

/// Compose what whoever works on a task needs to know, within a budget of tokens
///
/// Goal and constraints, the task, results of what it depends on, the decisions and discoveries that concern it, and
/// related artifacts. When the task's holder reads it, the claim is renewed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task context T-1
  cork task context T-1 --budget 2000 --principal ada
  cork task context T-1 --sections")]
pub(crate) struct Context {
    /// The task
    task: TaskId,

    /// How many tokens it may have [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Show what each section uses and leaves out instead of the text
    #[arg(long)]
    sections: bool,
}

impl Context {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = session.open_board()?;
        if self.sections {
            // Whoever sees none of the text has not read it.
            let window = board.preview_for_task(self.task, self.budget).await?;
            return session.output.answer(&Reported::from(&window), || sections(&window));
        }
        let window = board.context_for_task(self.task, self.budget).await?;
        match session.output.is_json() {
            true => session.output.document(&window),
            false => session.output.raw(shown(&window.text).as_bytes()),
        }
    }
}
