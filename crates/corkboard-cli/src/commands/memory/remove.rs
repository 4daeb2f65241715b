//! `cork memory remove`.

use clap::Args;
use serde::Serialize;

use crate::command_session::Session;
use crate::conditions::EntryConditions;
use crate::error::CliError;
use crate::scope_argument::{ScopeArgument, no_entry};

/// Remove an entry
///
/// The log keeps the old value. In a scope, the parent's value becomes visible again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory remove plan
  cork memory remove counter --if-version 43    # fails if someone else changed it")]
pub(crate) struct Remove {
    /// Key of the entry to remove
    key: String,

    #[command(flatten)]
    scope: ScopeArgument,

    #[command(flatten)]
    conditions: EntryConditions,
}

impl Remove {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer<'a> {
            key: &'a str,
            removed: bool,
        }
        let memory = self.scope.find(session).await?;
        if !memory.remove(&self.key).conditions(&self.conditions).await? {
            return Err(no_entry(session, &memory, &self.key));
        }
        session.output.answer(&Answer { key: &self.key, removed: true }, || format!("removed {}", self.key))
    }
}
