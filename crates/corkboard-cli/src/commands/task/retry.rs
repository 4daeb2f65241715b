use clap::Args;
use corkboard::boards::TaskId;

use crate::board_args::BoardConditions;
use crate::board_view::ids;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;

/// Reopen a failed task, or all of them, and what was cancelled because of it
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task retry T-1
  cork task retry        # all that failed")]
pub(crate) struct Retry {
    /// The task [default: all that failed]
    task: Option<TaskId>,

    #[command(flatten)]
    conditions: BoardConditions,
}

impl Retry {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let pending = match self.task {
            Some(task) => board.retry_task(task).await?,
            None => board.retry_failed().await?,
        };
        session.output.answer(&json_object! { pending: &pending }, || match pending.as_slice() {
            [] => "nothing has failed".into(),
            [one] => format!("{one} is pending again"),
            many => format!("{} are pending again", ids(many)),
        })
    }
}
