//! `cork notebook prompt`.

use clap::Args;

use super::Name;
use crate::exit::Failure;
use crate::output::shown;
use crate::session::Session;

/// Print the prompt that asks a model for an update
///
/// It has all that the notebook shows, the task, the language with an example, and the rules. The model's answer goes to
/// `cork notebook apply -`; `cork notebook update` does both.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook prompt --task 'Fix the CSV import'
  cork notebook prompt --budget 4000 --json")]
pub(crate) struct Prompt {
    #[command(flatten)]
    name: Name,

    /// What is being worked on
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// How many tokens it may have [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
}

impl Prompt {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        let prompt = self.name.open(session)?.prompt(self.task.as_deref(), self.budget).await?;
        match session.output.is_json() {
            true => session.output.document(&prompt),
            false => session.output.raw(shown(&prompt.text()).as_bytes()),
        }
    }
}
