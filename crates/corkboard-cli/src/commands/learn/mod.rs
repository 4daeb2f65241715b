//! `cork learn`: what a board taught, kept in memory cores or not, and taken out of them again.

mod candidates;
mod extract;
mod list;
mod promote;
mod refuse;
mod rollback;

use clap::Subcommand;

use super::{CommandFuture, run_subcommand};
use crate::command_session::Session;

/// Keep what a board taught in memory cores, and take it out again
///
/// Decisions with a reason, insights, what was marked for a core, and patterns among completed tasks are learnings. Nothing
/// goes into a core unless somebody promotes it. docs/boards.md has the rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork --board add-login-1a2b3c4d learn extract
  cork learn promote D-1 --core house-rules
  cork learn refuse F-2 'only so on this machine'
  cork learn rollback D-1 --reason 'argon2id was too slow'
  cork learn rollback --author mallory --yes")]
pub(crate) enum LearnCommand {
    Extract(extract::Extract),
    List(list::List),
    Promote(promote::Promote),
    Refuse(refuse::Refuse),
    Rollback(rollback::Rollback),
}

impl LearnCommand {
    pub(crate) fn run(self, session: &Session) -> CommandFuture<'_> {
        run_subcommand!(self, session, [Extract, List, Promote, Refuse, Rollback])
    }
}
