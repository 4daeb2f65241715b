use clap::Args;
use corkboard::boards::TaskId;

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::named_text::FailureReason;

/// Report that your task failed
///
/// The task is retried if it has retries left. Otherwise its failure policy decides about its dependents.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task fail T-1 'the server refuses the key' --principal ada
  make 2>&1 | tail -20 | cork task fail T-1 - --principal ada")]
pub(crate) struct Fail {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    reason: FailureReason,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Fail {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, reason, conditions } = self;
        let board = conditions.open(session)?;
        let status = board.fail_task(task, &reason.text()?.unwrap_or_default(), conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
