//! `cork memory remove`.

use clap::Args;
use serde::Serialize;

use crate::command_session::Session;
use crate::conditions::{EntryConditions, under};
use crate::error::CliError;
use crate::place::ScopeArgument;

/// Remove an entry
///
/// The log keeps that it was there. In a scope, the parent's value shows again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory remove plan
  cork memory remove counter --if-version 43    # only if nobody changed it meanwhile")]
pub(crate) struct Remove {
    /// Under which key
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
        let place = self.scope.find(session).await?;
        if !under!(entry: self.conditions, place.remove(&self.key)).await? {
            return Err(place.no_entry(session, &self.key));
        }
        session.output.answer(&Answer { key: &self.key, removed: true }, || format!("removed {}", self.key))
    }
}
