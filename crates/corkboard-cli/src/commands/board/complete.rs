use clap::Args;
use corkboard::Board;
use corkboard::boards::{BoardOutcome, TaskStatus, Unfinished};

use crate::board_args::{BoardArgument, BoardConditions};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{count, json_object};

/// End a board whose tasks are finished
///
/// Its outcome is success, partial or failed, by what became of its tasks. Nothing on it changes after that. Exit code 9 if
/// the outcome is partial or failed: the board has ended, but not all of its tasks were completed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board complete
  cork board complete --cancel-unfinished --comment 'good enough'")]
pub(crate) struct Complete {
    #[command(flatten)]
    board: BoardArgument,

    /// What else there is to say
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// Cancel what is not finished
    #[arg(long)]
    cancel_unfinished: bool,

    #[command(flatten)]
    conditions: BoardConditions,
}

/// Says how a board ended.
pub(super) async fn tell_end(session: &Session, board: &Board, outcome: BoardOutcome) -> Result<(), CliError> {
    // As it was when it ended, whatever became of it since.
    let view = board.at(board.last_rev()).await?;
    let number = |status| view.state().count(status);
    let completed = number(TaskStatus::Completed);
    let (failed, cancelled) = (number(TaskStatus::Failed), number(TaskStatus::Cancelled));
    let (board, status) = (board.id().as_str(), view.info()?.status);
    let tasks = json_object! { completed, failed, cancelled };
    session.output.answer(&json_object! { board, status, outcome, tasks }, || {
        let mut text = format!("{board} is {status}: {outcome}");
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
        let board = self.conditions.on(self.board.open(session)?);
        let unfinished = if self.cancel_unfinished { Unfinished::Cancel } else { Unfinished::Refuse };
        let outcome = board.complete(self.comment, unfinished).await?;
        tell_end(session, &board, outcome).await?;
        match outcome {
            BoardOutcome::Success => Ok(()),
            BoardOutcome::Partial | BoardOutcome::Failed => Err(CliError::Incomplete),
        }
    }
}
