use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;

/// Give a task back, so that another can take it
///
/// Without --epoch, whoever runs the board (any role but worker and reviewer) takes it from its holder so.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task release T-1 --principal ada
  cork task release T-1 --epoch 1 --principal ada --role worker")]
pub(crate) struct Release {
    /// The task
    task: TaskId,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Release {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, conditions } = self;
        conditions.board.open(session)?.release_task(task, conditions.epoch).await?;
        tell_status(session, task, TaskStatus::Pending)
    }
}
