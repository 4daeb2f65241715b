//! `cork memory clear`.

use clap::Args;
use corkboard::ClearOptions;
use serde::Serialize;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::count;
use crate::scope_argument::{ScopeArgument, describe};

/// Remove all entries and notes from the root scope or another scope
///
/// Asks for confirmation. To be able to undo this, run `cork snapshot save` first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory clear
  cork memory clear --scope task-1 --yes
  cork memory clear --all --yes    # including all scopes")]
pub(crate) struct Clear {
    #[command(flatten)]
    scope: ScopeArgument,

    /// Clear the root scope and dispose all others
    #[arg(long, conflicts_with = "scope")]
    all: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Clear {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer {
            entries: u64,
        }
        let consent = Consent::from_flag(self.yes);
        let entries = if self.all {
            let stats = session.agent.stats().await?;
            let what = held(stats.total_entries_working, stats.total_notes);
            let scopes = count(stats.active_working_scopes, "scope", "scopes");
            confirm(consent, &format!("remove {what} and {scopes} of agent {}", session.agent.agent_id()))?;
            session.agent.clear(ClearOptions::default()).await?
        } else {
            let memory = self.scope.find(session).await?;
            let what = held(memory.entries().await?.len() as u64, memory.notes().await?.len() as u64);
            confirm(consent, &format!("remove {what} of {}", describe(session, &memory)))?;
            memory.clear().await?
        };
        session.output.answer(&Answer { entries }, || format!("cleared {}", count(entries, "entry", "entries")))
    }
}

fn held(entries: u64, notes: u64) -> String {
    format!("{} and {}", count(entries, "entry", "entries"), count(notes, "note", "notes"))
}
