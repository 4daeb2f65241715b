//! `cork board pause` and `cork board resume`.

use clap::Args;
use serde::Serialize;

use crate::board_args::{BoardArgument, BoardConditions};
use crate::command_session::Session;
use crate::error::CliError;

/// Pause a board: nobody begins a task, and nothing expires
///
/// Whoever holds a task may finish it. `cork board resume` lets the board go on.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork board pause --comment 'wait for the review'")]
pub(crate) struct Pause {
    #[command(flatten)]
    board: BoardArgument,

    /// Why
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    #[command(flatten)]
    conditions: BoardConditions,
}

/// Let a paused board go on: every deadline moves by the length of the pause
#[derive(Args)]
#[command(after_help = "\
Example:
  cork board resume")]
pub(crate) struct Resume {
    #[command(flatten)]
    board: BoardArgument,

    #[command(flatten)]
    conditions: BoardConditions,
}

#[derive(Serialize)]
struct Answer<'a> {
    board: &'a str,
    paused: bool,
}

impl Pause {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.on(self.board.open(session)?);
        board.pause(self.comment).await?;
        let id = board.id().as_str();
        session.output.answer(&Answer { board: id, paused: true }, || format!("{id} is paused"))
    }
}

impl Resume {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.on(self.board.open(session)?);
        board.resume().await?;
        let id = board.id().as_str();
        session.output.answer(&Answer { board: id, paused: false }, || format!("{id} goes on"))
    }
}
