use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::Board;
use corkboard::boards::{BoardOutcome, TaskStatus, Unfinished};

use crate::board_args::BoardArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::{count, json_object};
use crate::value_parsers::one_of;

/// Complete a board whose tasks are finished
///
/// The outcome is success, partial or failed, depending on the tasks. The board no longer changes after that. Exits with 9
/// if the outcome is partial or failed, that is, if a task failed or was cancelled. Tasks of options that were not chosen
/// do not count.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board complete
  cork board complete --unfinished cancel --reason 'good enough'")]
pub(crate) struct Complete {
    #[command(flatten)]
    board: BoardArgument,

    /// Reason for completing the board
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// What to do with unfinished tasks
    #[arg(long, value_name = "ACTION", default_value = "refuse", value_parser = unfinished())]
    unfinished: Unfinished,

    #[command(flatten)]
    conditions: RequestConditions,
}

fn unfinished() -> impl TypedValueParser<Value = Unfinished> {
    one_of([
        ("refuse", Unfinished::Refuse, "Keep the board active and fail"),
        ("cancel", Unfinished::Cancel, "Cancel them"),
    ])
}

/// Prints how a board ended.
pub(super) async fn tell_end(session: &Session, board: &Board, outcome: BoardOutcome) -> Result<(), CliError> {
    // The board as it ended: it may have been archived since.
    let view = board.at(board.last_rev()).await?;
    let number = |status| view.state().count(status);
    let completed = number(TaskStatus::Completed);
    let (failed, cancelled) = (number(TaskStatus::Failed), number(TaskStatus::Cancelled));
    let (board, status) = (board.id().as_str(), view.info()?.status);
    let tasks = json_object! { completed, failed, cancelled };
    session.output.answer(&json_object! { id: board, status, outcome, tasks }, || {
        let mut text = format!("{board} {}", outcome.in_words(status));
        if outcome != BoardOutcome::Success {
            let mut parts = vec![format!("{} completed", count(completed, "task", "tasks"))];
            let others = [(failed, "failed"), (cancelled, "cancelled")].into_iter().filter(|(count, _)| *count > 0);
            parts.extend(others.map(|(count, what)| format!("{count} {what}")));
            text += &format!(" ({})", parts.join(", "));
        }
        text
    })
}

impl Complete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        let outcome = board.complete(self.reason, self.unfinished).await?;
        tell_end(session, &board, outcome).await?;
        match outcome {
            BoardOutcome::Success => Ok(()),
            BoardOutcome::Partial | BoardOutcome::Failed => Err(CliError::Incomplete),
        }
    }
}
