//! `cork core`: long-term knowledge, shared by name or an agent's own.

mod add;
mod delete;
mod edit;
mod forget;
mod list;
mod restore;
mod search;
mod show;

use clap::Subcommand;

use super::{CommandFuture, run_subcommand};
use crate::command_session::Session;

pub(super) use list::every_core;

/// Add, search, edit, forget and restore long-term knowledge
///
/// A memory core is created by its first entry. Every entry records its authors and its trust level. Equal texts become one
/// entry. docs/cores.md in the source repository describes the rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork core add house-rules 'Deployments go out on Tuesdays' --tag release
  cork core search house-rules 'when do we deploy?'
  cork core show house-rules E-1
  cork core forget house-rules E-1 --reason 'now on Fridays'
  cork core show agent:alice")]
pub(crate) enum CoreSubcommand {
    List(list::List),
    Show(show::Show),
    Add(add::Add),
    Search(search::Search),
    Edit(edit::Edit),
    Forget(forget::Forget),
    Restore(restore::Restore),
    Delete(delete::Delete),
}

impl CoreSubcommand {
    pub(crate) fn run(self, session: &Session) -> CommandFuture<'_> {
        run_subcommand!(self, session, [List, Show, Add, Search, Edit, Forget, Restore, Delete])
    }
}
