use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::named_text::Reason;

/// Mark your task as blocked
///
/// You keep the task. `cork task start` continues it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task block T-1 'the staging server is down' --principal ada
  cork task block T-1 --epoch 1 --principal ada")]
pub(crate) struct Block {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    reason: Reason,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Block {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, reason, conditions } = self;
        let board = conditions.open(session)?;
        let status = board.update_task_status(task, TaskStatus::Blocked, reason.text()?, conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
