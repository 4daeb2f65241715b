//! `cork snapshot`: an agent's memory, or the whole store, in a file.

mod file;
mod inspect;
mod restore;
mod save;
mod secret;
mod store;

use clap::Subcommand;
use serde::Serialize;

use crate::command_session::Session;
use crate::error::CliError;

/// Save and restore an agent's memory, or save the whole store
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork snapshot save before-refactoring.json
  cork snapshot restore before-refactoring.json
  cork snapshot save backup.cork --passphrase-file secret.txt
  cork snapshot inspect backup.cork
  cork snapshot store everything.jsonl")]
pub(crate) enum Snapshot {
    Save(save::Save),
    Restore(restore::Restore),
    Inspect(inspect::Inspect),
    Store(store::SaveStore),
}

impl Snapshot {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::Save(save) => save.run(session).await,
            Self::Restore(restore) => restore.run(session).await,
            // `run_without_session` handles these.
            Self::Inspect(_) | Self::Store(_) => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    agent: &'a str,
    rev: u64,
    entries: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<&'static str>,
}

/// "key" or "passphrase" if the snapshot is encrypted.
fn sealed_with(sealing: corkboard::Sealing) -> Option<&'static str> {
    match sealing {
        corkboard::Sealing::Plain => None,
        corkboard::Sealing::Key => Some("key"),
        corkboard::Sealing::Passphrase(_) => Some("passphrase"),
    }
}
