use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;

/// Start a task assigned to you, or continue a blocked one
///
/// To start a task that is not assigned to anyone, use `cork task claim`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task start T-1 --principal ada
  cork task start T-1 --epoch 1 --principal ada")]
pub(crate) struct Start {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Start {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, conditions } = self;
        let board = conditions.open(session)?;
        let status = board.update_task_status(task, TaskStatus::InProgress, None, conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
