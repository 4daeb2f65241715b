use clap::Args;

use crate::board_args::BoardArgument;
use crate::board_view::exists_already;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;

/// Copy a board, as it is or was, into a new board
///
/// Prints the new board's ID. The new board is active, and tasks that were in progress are pending again. If your role may
/// not approve decisions, approvals and rejections are not copied, and those decisions wait for approval again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board fork
  cork board fork --at 12 --name 'Add login, second try'")]
pub(crate) struct Fork {
    #[command(flatten)]
    board: BoardArgument,

    /// Copy the board as it was at this revision
    #[arg(long, value_name = "REV")]
    at: Option<u64>,

    /// Name of the new board [default: the same]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// ID of the new board [default: words of its name and a few random characters]
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Idempotency key; a repeat within 24 hours returns the same board
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

impl Fork {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?;
        let mut fork = board.fork();
        if let Some(rev) = self.at {
            fork = fork.at(rev);
        }
        if let Some(name) = self.name {
            fork = fork.name(name);
        }
        if let Some(id) = &self.id {
            fork = fork.id(id);
        }
        if let Some(key) = self.idempotency_key {
            fork = fork.idempotency_key(key);
        }
        let forked = fork.await.map_err(|error| exists_already(error, self.id.as_deref()))?;
        let id = forked.id().as_str();
        session.output.answer(&json_object! { id, forked_from: board.id().as_str() }, || id.to_owned())
    }
}
