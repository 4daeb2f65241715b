//! `cork board`: what a set of tasks is about, and how it goes.

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
mod fork;
mod graph;
mod list;
mod log;
mod pause;
mod search;
mod show;
mod watch;

use clap::Subcommand;

use crate::command_session::Session;
use crate::error::CliError;

pub(super) use list::every_board;
pub(super) use show::choices;

/// Make, show, watch and end boards, and record what comes up on them
///
/// A board is the shared memory of a set of tasks. docs/boards.md has the states and rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork board create 'Add login' --goal 'Users sign in with a password'
  cork board list
  cork board show add-login-1a2b3c4d
  cork --board add-login-1a2b3c4d board decide 'Which hash?' argon2id --because 'memory-hard'
  cork board complete add-login-1a2b3c4d")]
pub(crate) enum BoardCommand {
    Create(create::Create),
    List(list::List),
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
    Delete(delete::Delete),
}

impl BoardCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::Create(create) => create.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Show(show) => show.run(session).await,
            Self::Search(search) => search.run(session).await,
            Self::Graph(graph) => graph.run(session).await,
            Self::Watch(watch) => watch.run(session).await,
            Self::Edit(edit) => edit.run(session).await,
            Self::Decide(decide) => decide.run(session).await,
            Self::Discover(discover) => discover.run(session).await,
            Self::Artifact(artifact) => artifact.run(session).await,
            Self::Pause(pause) => pause.run(session).await,
            Self::Resume(resume) => resume.run(session).await,
            Self::Complete(complete) => complete.run(session).await,
            Self::Cancel(cancel) => cancel.run(session).await,
            Self::Archive(archive) => archive.run(session).await,
            Self::Discard(discard) => discard.run(session).await,
            Self::Fork(fork) => fork.run(session).await,
            Self::Diff(diff) => diff.run(session).await,
            Self::Log(log) => log.run(session).await,
            Self::Delete(delete) => delete.run(session).await,
        }
    }
}
