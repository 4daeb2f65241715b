use std::path::PathBuf;

use clap::Args;
use corkboard::prompt::PromptSources;

use super::{Name, transcript};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::shown;

/// Print the prompt that asks a model for an update
///
/// The prompt has the notebook, the task, the update language with an example, and the rules. Pass the model's answer to
/// `cork notebook apply -`. `cork notebook update` does both steps.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook prompt --task 'Fix the CSV import'
  cork notebook prompt --budget 4000 --json")]
pub(crate) struct Prompt {
    #[command(flatten)]
    name: Name,

    /// Current task
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// File with what happened since the last update; - reads stdin. If it is too long, only its end is used
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// Maximum number of tokens [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
}

impl Prompt {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let transcript = self.transcript.as_deref().map(transcript).transpose()?;
        let sources = PromptSources { task: self.task.as_deref(), transcript: transcript.as_deref() };
        let prompt = self.name.open(session)?.prompt(sources, self.budget).await?;
        match session.output.is_json() {
            true => session.output.document(&prompt),
            false => session.output.raw(shown(&prompt.text()).as_bytes()),
        }
    }
}
