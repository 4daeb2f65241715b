//! `cork memory get`.

use clap::Args;
use corkboard::{EntryDocument, Key};

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{shown, value_text};
use crate::scope_argument::{ScopeArgument, no_entry};

/// Print the value under a key
///
/// Prints text as it is, and any other value as JSON on one line. With --json, prints the entry with version and metadata.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory get user_name
  cork memory get plan --json
  cork memory get plan --scope task-1 --local    # ignore the parent's value")]
pub(crate) struct Get {
    /// Key of the entry to print
    key: String,

    #[command(flatten)]
    scope: ScopeArgument,

    /// Search only this scope, not its parents
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
