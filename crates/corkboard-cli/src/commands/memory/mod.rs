//! `cork memory`: an agent's entries and notes.

mod append;
mod clear;
mod forget;
mod get;
mod list;
pub(super) mod note;
mod remove;
mod search;
mod set;
mod watch;

use clap::Subcommand;

use crate::command_session::Session;
use crate::error::CliError;

/// Set, get, search and watch an agent's entries and notes
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork memory set plan '{\"goal\":\"add login\"}' --tag project --importance 0.9
  cork memory get plan
  cork memory search \"login plan\"
  cork memory append log \"tests are green\" --line
  cork memory note add \"prefers short answers\"")]
pub(crate) enum Memory {
    Set(Box<set::Set>),
    #[command(alias = "show")]
    Get(get::Get),
    List(list::List),
    Search(search::Search),
    Append(append::Append),
    #[command(alias = "delete")]
    Remove(remove::Remove),
    #[command(subcommand)]
    Note(note::Note),
    Clear(clear::Clear),
    Forget(forget::Forget),
    Watch(watch::Watch),
}

impl Memory {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::Set(set) => set.run(session).await,
            Self::Get(get) => get.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Search(search) => search.run(session).await,
            Self::Append(append) => append.run(session).await,
            Self::Remove(remove) => remove.run(session).await,
            Self::Note(note) => note.run(session).await,
            Self::Clear(clear) => clear.run(session).await,
            Self::Forget(forget) => forget.run(session).await,
            Self::Watch(watch) => watch.run(session).await,
        }
    }
}
