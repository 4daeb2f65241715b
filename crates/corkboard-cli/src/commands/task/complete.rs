use clap::Args;
use corkboard::boards::{TaskId, TaskResult};

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::core_args::TrustArguments;
use crate::error::CliError;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Say that a task is done, and what came of it
///
/// A task that needs a review waits for it then; what depends on it begins when it is approved.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task complete T-1 'tables users and sessions, with a migration' --as ada
  cork task complete T-1 'token service with RS256' --next 'add middleware' --next 'write tests' --as ada
  curl -s https://example.org | cork task complete T-1 - --outside --as ada
  git log -1 --format=%B | cork task complete T-1 - --epoch 1 --as ada")]
pub(crate) struct Complete {
    /// The task
    task: TaskId,

    /// What was done; - reads stdin
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    summary: String,

    /// What should come next; may be given many times
    #[arg(long = "next", value_name = "TEXT")]
    next_steps: Vec<String>,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Complete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, summary, next_steps, trust, conditions } = self;
        let board = conditions.board.open(session)?;
        let result = TaskResult { summary: text_or_stdin(summary)?, next_steps, trust: trust.said() };
        let status = board.complete_task(task, result, conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
