//! `cork review`, which `cork task review` is too.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
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
    #[arg(value_parser = verdict())]
    verdict: ReviewStatus,

    /// What else there is to say; - reads stdin
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    comment: Option<String>,

    #[command(flatten)]
    conditions: BoardConditions,
}

fn verdict() -> impl TypedValueParser<Value = ReviewStatus> {
    let rework = "Send it back: its holder continues, or it is pending again";
    let values = [
        PossibleValue::new("approved").alias("approve").help("The task is completed"),
        PossibleValue::new("needs_rework").alias("rework").help(rework),
        PossibleValue::new("rejected").alias("reject").help("The task failed"),
    ];
    PossibleValuesParser::new(values).map(|given| match given.as_str() {
        "approved" | "approve" => ReviewStatus::Approved,
        "needs_rework" | "rework" => ReviewStatus::NeedsRework,
        _ => ReviewStatus::Rejected,
    })
}

impl Review {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, verdict, comment, conditions } = self;
        let board = conditions.open(session)?;
        let status = board.review_task(task, verdict, comment.map(text_or_stdin).transpose()?).await?;
        tell_status(session, task, status)
    }
}
