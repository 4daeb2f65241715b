use clap::Args;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::{json_object, one_line};

/// Delete a board with its log
///
/// To end a board and keep it, complete or cancel it; to let go of it once nothing keeps it, archive it and let `cork gc`
/// purge it. What it promoted stays in its cores: `cork learn rollback --all` takes it out, before or after.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board delete add-login-1a2b3c4d --yes
  cork board delete add-login-1a2b3c4d --hard --yes    # out of the store's files, too")]
pub(crate) struct Delete {
    /// Which board
    board: String,

    /// See to it that nothing of it is left in the store's files; it may take long
    #[arg(long)]
    hard: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.as_str();
        // What is not there is told before anyone is asked.
        session.board_named(board)?.view().await?;
        confirm(Consent::from_flag(self.yes), &format!("delete board {} with its history", one_line(board)))?;
        let deleted = match self.hard {
            true => session.corkboard.forget_board(board).await?,
            false => session.corkboard.delete_board(board).await?,
        };
        session.output.answer(&json_object! { board, deleted }, || format!("deleted board {}", one_line(board)))
    }
}
