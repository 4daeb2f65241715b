//! `cork review`, which `cork task review` is too.

use clap::{Args, ValueEnum};
use corkboard::boards::{ReviewStatus, TaskId};

use super::tell_status;
use crate::board_args::BoardConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Say what a task under review is worth
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork review T-1 approve --as grace
  cork review T-1 rework 'the error path has no test' --as grace
  cork task review T-1 reject 'this is not what was asked for' --as grace")]
pub(crate) struct Review {
    /// The task
    task: TaskId,

    /// The verdict
    verdict: Verdict,

    /// What else there is to say; - reads stdin
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    comments: Option<String>,

    #[command(flatten)]
    conditions: BoardConditions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Verdict {
    /// It is completed
    #[value(alias = "approved")]
    Approve,
    /// It is to be done better: its holder goes on with it, or it is pending again
    #[value(alias = "needs_rework")]
    Rework,
    /// It failed
    #[value(alias = "rejected")]
    Reject,
}

impl Review {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, verdict, comments, conditions } = self;
        let board = conditions.open(session)?;
        let verdict = match verdict {
            Verdict::Approve => ReviewStatus::Approved,
            Verdict::Rework => ReviewStatus::NeedsRework,
            Verdict::Reject => ReviewStatus::Rejected,
        };
        let status = board.review_task(task, verdict, comments.map(text_or_stdin).transpose()?).await?;
        tell_status(session, task, status)
    }
}
