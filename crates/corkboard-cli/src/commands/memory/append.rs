//! `cork memory append`.

use clap::Args;

use super::set::tell;
use crate::command_session::Session;
use crate::conditions::EntryConditions;
use crate::error::CliError;
use crate::scope_argument::ScopeArgument;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Append text to an entry, or create it
///
/// Concurrent appends never conflict, and none is lost. Prints the entry's new version.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory append log \"10:42 tests are green\" --line
  make 2>&1 | tail -5 | cork memory append log --line -
  cork memory append log \"done\" --line --idempotency-key job-17    # safe to repeat")]
pub(crate) struct Append {
    /// Key of the entry to append to
    key: String,

    /// Text to append; - reads stdin
    #[arg(allow_hyphen_values = true, value_parser = text_argument)]
    text: String,

    /// Start a new line, unless the entry is empty
    #[arg(long)]
    line: bool,

    #[command(flatten)]
    scope: ScopeArgument,

    #[command(flatten)]
    conditions: EntryConditions,
}

impl Append {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let memory = self.scope.find(session).await?;
        let text = text_or_stdin(self.text)?;
        let mut append = memory.append(&self.key, &text);
        if self.line {
            append = append.on_new_line();
        }
        let written = append.conditions(&self.conditions).await?;
        tell(session, &self.key, written)
    }
}
