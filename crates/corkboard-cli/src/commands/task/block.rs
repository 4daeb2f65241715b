use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Say that you cannot go on with a task
///
/// It stays yours; `cork task start` goes on with it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task block T-1 'the staging server is down' --as ada
  cork task block T-1 --epoch 1 --as ada")]
pub(crate) struct Block {
    /// The task
    task: TaskId,

    /// Why; - reads stdin
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    reason: Option<String>,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Block {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, reason, conditions } = self;
        let board = conditions.board.open(session)?;
        let reason = reason.map(text_or_stdin).transpose()?;
        let status = board.update_task_status(task, TaskStatus::Blocked, reason, conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
