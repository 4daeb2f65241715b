//! `cork task`: the tasks of a board.

mod add;
mod assign;
mod batch;
mod block;
mod cancel;
mod claim;
mod complete;
mod context;
mod depend;
mod edit;
mod fail;
mod heartbeat;
mod list;
mod release;
mod retry;
mod review;
mod show;
mod start;

use clap::Subcommand;
use corkboard::boards::{TaskId, TaskStatus};

use super::{CommandFuture, run_subcommand};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;

pub(super) use review::Review;

/// Add, claim, complete and review the tasks of a board
///
/// Select the board with --board or CORK_BOARD, and name the worker with --principal. docs/boards.md in the source
/// repository describes states and rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork task add 'Write the schema'
  cork task add 'Write the routes' --depends-on T-1
  cork task claim --principal ada
  cork task complete T-1 'tables and a migration' --principal ada
  cork task list --view ready")]
pub(crate) enum TaskCommand {
    Add(Box<add::Add>),
    List(list::List),
    Show(show::Show),
    #[command(alias = "update")]
    Edit(Box<edit::Edit>),
    Depend(depend::Depend),
    Assign(assign::Assign),
    Claim(claim::Claim),
    Start(start::Start),
    Block(block::Block),
    Heartbeat(heartbeat::Heartbeat),
    Release(release::Release),
    #[command(alias = "done")]
    Complete(complete::Complete),
    Fail(fail::Fail),
    Retry(retry::Retry),
    Cancel(cancel::Cancel),
    Context(context::Context),
    Review(review::Review),
}

impl TaskCommand {
    pub(crate) fn run(self, session: &Session) -> CommandFuture<'_> {
        run_subcommand!(
            self,
            session,
            [
                Add, List, Show, Edit, Depend, Assign, Claim, Start, Block, Heartbeat, Release, Complete, Fail, Retry,
                Cancel, Context, Review
            ]
        )
    }
}

fn tell_status(session: &Session, task: TaskId, status: TaskStatus) -> Result<(), CliError> {
    session.output.answer(&json_object! { id: task, status }, || format!("{task} is {}", status.in_words()))
}
