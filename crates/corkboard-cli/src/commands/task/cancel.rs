use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use crate::board_view::ids;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::named_text::Reason;
use crate::output::json_object;

/// Cancel a task and the tasks that can no longer start
///
/// Prints all cancelled tasks; with --json in "cancelled", the named task first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task cancel T-1
  cork task cancel T-1 'the customer withdrew it'")]
pub(crate) struct Cancel {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    reason: Reason,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Cancel {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, reason, conditions } = self;
        let board = conditions.open(session)?;
        let cancelled = board.cancel_task(task, reason.text()?).await?;
        let dependents = cancelled.get(1..).unwrap_or_default();
        let text = match dependents {
            [] => format!("{task} is cancelled"),
            [_] => format!("{task} is cancelled, and so is {}, which depends on it", ids(dependents)),
            _ => format!("{task} is cancelled, and so are {}, which depend on it", ids(dependents)),
        };
        session.output.answer(&json_object! { id: task, status: TaskStatus::Cancelled, cancelled }, || text)
    }
}
