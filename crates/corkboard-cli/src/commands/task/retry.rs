use clap::Args;
use corkboard::boards::TaskId;

use crate::board_view::ids;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::json_object;

/// Reopen failed tasks and the tasks cancelled because of them
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task retry T-1
  cork task retry        # all failed tasks")]
pub(crate) struct Retry {
    /// Task ID [default: all failed tasks]
    task: Option<TaskId>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Retry {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let pending = match self.task {
            Some(task) => board.retry_task(task).await?,
            None => board.retry_failed().await?,
        };
        session.output.answer(&json_object! { pending: &pending }, || match pending.as_slice() {
            [] => "no task has failed".into(),
            [one] => format!("{one} is pending again"),
            many => format!("{} are pending again", ids(many)),
        })
    }
}
