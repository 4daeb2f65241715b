use clap::Args;

use super::complete::tell_end;
use crate::board_args::BoardArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;

/// Cancel a board and its unfinished tasks
///
/// The board no longer changes after that. `cork board fork` continues in a copy.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork board cancel --reason 'the customer withdrew it'")]
pub(crate) struct Cancel {
    #[command(flatten)]
    board: BoardArgument,

    /// Reason for cancelling
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Cancel {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        let outcome = board.cancel(self.reason).await?;
        tell_end(session, &board, outcome).await
    }
}
