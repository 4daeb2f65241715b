use clap::Args;
use corkboard::boards::{TaskId, TaskResult};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::core_args::{TrustArguments, usually_agent};
use crate::error::CliError;
use crate::named_text::Summary;

/// Complete your task with a summary of the result
///
/// A task that needs a review is then in review; its dependents can start when it is approved.
#[derive(Args)]
#[command(
    mut_arg("trust", usually_agent),
    after_help = "\
Examples:
  cork task complete T-1 'tables users and sessions, with a migration' --principal ada
  cork task complete T-1 'token service' --next-step 'add middleware' --next-step 'write tests'
  curl -s https://example.org | cork task complete T-1 - --outside --principal ada
  git log -1 --format=%B | cork task complete T-1 - --epoch 1 --principal ada"
)]
pub(crate) struct Complete {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    summary: Summary,

    /// Suggested next step; repeatable
    #[arg(long = "next-step", alias = "next", value_name = "TEXT")]
    next_steps: Vec<String>,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Complete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, summary, next_steps, trust, conditions } = self;
        let board = conditions.open(session)?;
        let result = TaskResult { summary: summary.text()?.unwrap_or_default(), next_steps, trust: trust.said() };
        let status = board.complete_task(task, result, conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
