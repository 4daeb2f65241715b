use clap::Args;
use corkboard::boards::TaskId;

use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{json_object, time};

/// Renew the lease of your task
///
/// Every command on your task renews its lease. Use this during long work without other commands.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork task heartbeat T-1 --principal ada")]
pub(crate) struct Heartbeat {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Heartbeat {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, conditions } = self;
        let deadline = conditions.open(session)?.heartbeat(task, conditions.epoch).await?;
        session
            .output
            .answer(&json_object! { id: task, deadline }, || format!("{task} is yours until {}", time(deadline)))
    }
}
