//! `cork memory get`.

use clap::Args;
use corkboard::{EntryDocument, Key};

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{shown, value_text};
use crate::scope_argument::{ScopeArgument, no_entry};

/// Print the value under a key
///
/// A text is printed as it is, any other value as JSON on one line. With --json, the whole entry: value, version, metadata.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory get user_name
  cork memory get plan --json
  cork memory get plan --scope task-1 --local    # not the parent's")]
pub(crate) struct Get {
    /// Under which key
    key: String,

    #[command(flatten)]
    scope: ScopeArgument,

    /// In that scope alone, without falling back to its parents
    #[arg(long)]
    local: bool,
}

impl Get {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let memory = self.scope.find(session).await?;
        let limits = &session.corkboard.options().limits;
        let key = Key::new(&self.key, limits).map_err(corkboard::Error::from)?;
        let found = match self.local {
            false => memory.get_entry(&self.key).await?,
            true => memory.entries().await?.into_iter().find(|(found, _)| *found == key).map(|(_, entry)| entry),
        };
        let Some(entry) = found else { return Err(no_entry(session, &memory, &self.key)) };
        session.output.answer(&EntryDocument::new(&key, &entry), || shown(&value_text(&entry.value)))
    }
}
