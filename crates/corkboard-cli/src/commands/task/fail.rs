use clap::Args;
use corkboard::boards::TaskId;

use super::tell_status;
use crate::board_args::ClaimConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Say that a task did not work
///
/// It is tried again if its retries allow. If not, its failure policy says what becomes of the rest.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task fail T-1 'the server refuses the key' --as ada
  make 2>&1 | tail -20 | cork task fail T-1 - --as ada")]
pub(crate) struct Fail {
    /// The task
    task: TaskId,

    /// Why; - reads stdin
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    reason: String,

    #[command(flatten)]
    conditions: ClaimConditions,
}

impl Fail {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, reason, conditions } = self;
        let board = conditions.board.open(session)?;
        let status = board.fail_task(task, &text_or_stdin(reason)?, conditions.epoch).await?;
        tell_status(session, task, status)
    }
}
