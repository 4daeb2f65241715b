//! `cork board`: boards and their records.

mod archive;
mod artifact;
mod cancel;
mod complete;
mod create;
mod decide;
mod delete;
mod diff;
mod discover;
mod edit;
mod forget;
mod fork;
mod graph;
mod list;
mod log;
mod pause;
mod search;
mod show;
mod watch;

use clap::Subcommand;

use super::{CommandFuture, run_subcommand};
use crate::command_session::Session;

pub(super) use list::every_board;
pub(super) use show::choices;

/// Create, show, watch and end boards; record decisions and results
///
/// A board holds the tasks of one piece of work, with what its workers decided, found and produced. docs/boards.md in the
/// source repository describes states and rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork board create 'Add login' --goal 'Users sign in with a password'
  cork board list
  cork board show add-login-1a2b3c4d
  cork --board add-login-1a2b3c4d board decide 'Which hash?' argon2id --rationale 'memory-hard'
  cork board complete add-login-1a2b3c4d")]
pub(crate) enum BoardSubcommand {
    Create(create::Create),
    List(list::List),
    #[command(alias = "status")]
    Show(show::Show),
    Search(search::Search),
    Graph(graph::Graph),
    Watch(watch::Watch),
    Edit(edit::Edit),
    Decide(decide::Decide),
    Discover(discover::Discover),
    Artifact(artifact::Artifact),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Complete(complete::Complete),
    Cancel(cancel::Cancel),
    Archive(archive::Archive),
    Discard(archive::Discard),
    Fork(fork::Fork),
    Diff(diff::Diff),
    Log(log::Log),
    Forget(forget::Forget),
    Delete(delete::Delete),
}

impl BoardSubcommand {
    pub(crate) fn run(self, session: &Session) -> CommandFuture<'_> {
        run_subcommand!(
            self,
            session,
            [
                Create, List, Show, Search, Graph, Watch, Edit, Decide, Discover, Artifact, Pause, Resume, Complete,
                Cancel, Archive, Discard, Fork, Diff, Log, Forget, Delete
            ]
        )
    }
}
