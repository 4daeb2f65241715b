//! `cork core`: long-term knowledge, shared by name or an agent's own.

mod add;
mod edit;
mod forget;
mod list;
mod restore;
mod search;
mod show;

use clap::Subcommand;

use crate::command_session::Session;
use crate::error::CliError;

pub(super) use list::every_core;

/// Keep, find, forget and restore long-term knowledge
///
/// A memory core is made by its first entry. Every entry says who said it and how far it may be trusted; what is said twice
/// is one entry. docs/cores.md has the rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork core add house-rules 'Deployments go out on Tuesdays' --tag release
  cork core search house-rules 'when do we deploy?'
  cork core show house-rules E-1
  cork core forget house-rules E-1 --reason 'now on Fridays'
  cork core show agent:alice")]
pub(crate) enum CoreCommand {
    List(list::List),
    Show(show::Show),
    Add(add::Add),
    Search(search::Search),
    Edit(edit::Edit),
    Forget(forget::Forget),
    Restore(restore::Restore),
}

impl CoreCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(session).await,
            Self::Show(show) => show.run(session).await,
            Self::Add(add) => add.run(session).await,
            Self::Search(search) => search.run(session).await,
            Self::Edit(edit) => edit.run(session).await,
            Self::Forget(forget) => forget.run(session).await,
            Self::Restore(restore) => restore.run(session).await,
        }
    }
}
