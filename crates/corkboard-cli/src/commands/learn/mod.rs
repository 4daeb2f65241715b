//! `cork learn`: promote a board's learnings to memory cores, refuse them or roll them back.

mod candidates;
mod extract;
mod list;
mod promote;
mod refuse;
mod rollback;

use clap::Subcommand;

use super::{CommandFuture, run_subcommand};
use crate::command_session::Session;

/// Copy a board's learnings to memory cores, or remove them again
///
/// Learnings are decisions with a rationale, insights, discoveries that name a core, and patterns among completed tasks. A
/// learning enters a core only when someone promotes it. docs/boards.md in the source repository
/// describes the rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork --board add-login-1a2b3c4d learn extract
  cork learn promote D-1 --core house-rules
  cork learn refuse F-2 'true only on this machine'
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
