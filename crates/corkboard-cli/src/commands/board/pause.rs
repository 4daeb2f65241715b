//! `cork board pause` and `cork board resume`.

use clap::Args;

use crate::board_args::BoardArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::json_object;

/// Pause a board: no task can be started, and nothing expires
///
/// Workers may finish the tasks that they hold. `cork board resume` ends the pause.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork board pause --reason 'wait for the review'")]
pub(crate) struct Pause {
    #[command(flatten)]
    board: BoardArgument,

    /// Reason for the pause
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    conditions: RequestConditions,
}

/// Resume a paused board; deadlines move by the length of the pause
#[derive(Args)]
#[command(after_help = "\
Example:
  cork board resume")]
pub(crate) struct Resume {
    #[command(flatten)]
    board: BoardArgument,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Pause {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        board.pause(self.reason).await?;
        let id = board.id().as_str();
        session.output.answer(&json_object! { id, paused: true }, || format!("{id} is paused"))
    }
}

impl Resume {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        board.resume().await?;
        let id = board.id().as_str();
        session.output.answer(&json_object! { id, paused: false }, || format!("{id} is resumed"))
    }
}
