use clap::Args;
use corkboard::boards::TaskId;

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::{json_object, one_line};

/// Assign a task, or its review, to an agent
///
/// Only that agent can claim an assigned task, and `cork task claim` offers it to them first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task assign T-1 ada
  cork task assign T-1 grace --review")]
pub(crate) struct Assign {
    /// Task ID, such as T-1
    task: TaskId,

    /// Agent to assign it to
    #[arg(value_name = "NAME")]
    to: String,

    /// Assign the review instead of the task
    #[arg(long)]
    review: bool,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Assign {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let (task, to) = (self.task, self.to.as_str());
        if self.review {
            board.assign_review(task, to).await?;
            let answer = json_object! { id: task, reviewer: to };
            return session.output.answer(&answer, || format!("the review of {task} is assigned to {}", one_line(to)));
        }
        board.assign_task(task, to).await?;
        let answer = json_object! { id: task, assigned_to: to };
        session.output.answer(&answer, || format!("{task} is assigned to {}", one_line(to)))
    }
}
