use clap::Args;
use corkboard::boards::TaskId;

use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{json_object, time};

/// Say that you still work on a task
///
/// Everything that you do to a task keeps it yours; this is for when there is nothing else to do to it.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork task heartbeat T-1 --principal ada")]
pub(crate) struct Heartbeat {
    /// The task
    task: TaskId,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Heartbeat {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, conditions } = self;
        let deadline = conditions.board.open(session)?.heartbeat(task, conditions.epoch).await?;
        session.output.answer(&json_object! { task, deadline }, || format!("{task} is yours until {}", time(deadline)))
    }
}
