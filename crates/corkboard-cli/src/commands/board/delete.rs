use clap::Args;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::{json_object, one_line};

/// Delete a board with its log
///
/// To end a board and keep it, complete or cancel it. To delete it only when nothing needs it any more, archive it and run
/// `cork gc`. Learnings that were promoted stay in their cores; `cork learn rollback --all` removes them, before or after.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board delete add-login-1a2b3c4d --yes
  cork board delete add-login-1a2b3c4d --hard --yes    # also from the store's files")]
pub(crate) struct Delete {
    /// Board ID
    board: String,

    /// Also remove every trace of it from the store's files; this may take long
    #[arg(long)]
    hard: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.as_str();
        // Report a missing board before asking for confirmation.
        session.board_named(board)?.view().await?;
        confirm(Consent::from_flag(self.yes), &format!("delete board {} with its history", one_line(board)))?;
        let deleted = match self.hard {
            true => session.corkboard.delete_board(board).hard().await?,
            false => session.corkboard.delete_board(board).await?,
        };
        session.output.answer(&json_object! { id: board, deleted }, || format!("deleted board {}", one_line(board)))
    }
}
