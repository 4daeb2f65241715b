use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;

/// Release a task, so that someone else can claim it
///
/// Without --epoch, the roles that run the board (all except worker and reviewer) can take a task from its holder.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task release T-1 --principal ada
  cork task release T-1 --epoch 1 --principal ada --role worker")]
pub(crate) struct Release {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Release {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, conditions } = self;
        conditions.open(session)?.release_task(task, conditions.epoch).await?;
        tell_status(session, task, TaskStatus::Pending)
    }
}
