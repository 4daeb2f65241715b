//! `cork review`, which is also `cork task review`.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use corkboard::boards::{ReviewVerdict, TaskId};
use corkboard::{Error, Refusal};

use super::tell_status;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::named_text::ReviewComment;

/// Review a task: approve, request rework or reject
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork review T-1 approve --principal grace
  cork review T-1 rework 'the error path has no test' --principal grace
  cork task review T-1 reject 'this is not what was asked for' --principal grace")]
pub(crate) struct Review {
    /// Task ID, such as T-1
    task: TaskId,

    /// Result of the review (also: approved, needs_rework, rejected, as in JSON)
    #[arg(value_parser = verdict())]
    verdict: ReviewVerdict,

    #[command(flatten)]
    comment: ReviewComment,

    #[command(flatten)]
    conditions: RequestConditions,
}

fn verdict() -> impl TypedValueParser<Value = ReviewVerdict> {
    let rework = "Send it back to its holder, or make it pending if nobody holds it";
    let values = [
        PossibleValue::new("approve").alias("approved").help("Complete the task"),
        PossibleValue::new("rework").alias("needs_rework").help(rework),
        PossibleValue::new("reject").alias("rejected").help("Fail the task"),
    ];
    PossibleValuesParser::new(values).map(|given| match given.as_str() {
        "approved" | "approve" => ReviewVerdict::Approved,
        "needs_rework" | "rework" => ReviewVerdict::NeedsRework,
        _ => ReviewVerdict::Rejected,
    })
}

impl Review {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, verdict, comment, conditions } = self;
        let board = conditions.open(session)?;
        let status = board.review_task(task, verdict, comment.text()?).await;
        tell_status(session, task, status.map_err(|error| no_comment(task, verdict, error))?)
    }
}

/// Explains which verdicts need a comment.
fn no_comment(task: TaskId, verdict: ReviewVerdict, error: Error) -> CliError {
    match &error {
        Error::Refused(Refusal::Blank { what }) if what == "comment" => {
            let (verdict, why) = match verdict {
                ReviewVerdict::Rejected => ("reject", "why it failed"),
                _ => ("rework", "what to change"),
            };
            CliError::Explained {
                error: error.into(),
                message: Some("rework and rejection need a comment".into()),
                hint: Some(format!("`cork review {task} {verdict} '{why}'`")),
            }
        }
        _ => error.into(),
    }
}
