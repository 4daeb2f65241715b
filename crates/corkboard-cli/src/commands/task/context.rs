use clap::Args;
use corkboard::boards::TaskId;

use crate::command_session::Session;
use crate::commands::context::{Reported, sections};
use crate::error::CliError;
use crate::output::shown;

/// Compose what a worker needs to know about a task, within a token budget
///
/// Includes the board's goal and constraints, the task, the results of its dependencies, decisions and discoveries that
/// affect it, and related artifacts. If the task's holder reads it, the claim is renewed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task context T-1
  cork task context T-1 --budget 2000 --principal ada
  cork task context T-1 --sections")]
pub(crate) struct Context {
    /// Task ID, such as T-1
    task: TaskId,

    /// Maximum number of tokens [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Show what each section uses and leaves out, instead of the prompt
    #[arg(long)]
    sections: bool,
}

impl Context {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = session.open_board()?;
        if self.sections {
            // With --sections the reader sees no text, so nothing is recorded as delivered.
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
