//! `cork board complete`.

use clap::Args;
use corkboard::Board;
use corkboard::boards::{BoardOutcome, BoardStatus, TaskStatus, Unfinished};
use serde::Serialize;

use crate::board_args::{BoardArgument, BoardConditions};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::count;

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

/// How a board ended.
#[derive(Serialize)]
pub(super) struct Ended<'a> {
    board: &'a str,
    status: BoardStatus,
    outcome: BoardOutcome,
    tasks: Counts,
}

/// What became of its tasks.
#[derive(Serialize)]
struct Counts {
    completed: u64,
    failed: u64,
    cancelled: u64,
}

impl Ended<'_> {
    pub(super) async fn tell(session: &Session, board: &Board, outcome: BoardOutcome) -> Result<(), CliError> {
        // As it was when it ended, whatever became of it since.
        let view = board.at(board.last_rev()).await?;
        let of = |status| view.state().count(status);
        let tasks = Counts {
            completed: of(TaskStatus::Completed),
            failed: of(TaskStatus::Failed),
            cancelled: of(TaskStatus::Cancelled),
        };
        let ended = Ended { board: board.id().as_str(), status: view.info()?.status, outcome, tasks };
        session.output.answer(&ended, || ended.text())
    }

    fn text(&self) -> String {
        let Counts { completed, failed, cancelled } = self.tasks;
        let mut text = format!("{} is {}: {}", self.board, self.status, self.outcome);
        if self.outcome != BoardOutcome::Success {
            let mut parts = vec![format!("{} completed", count(completed, "task", "tasks"))];
            let others = [(failed, "failed"), (cancelled, "cancelled")].into_iter().filter(|(count, _)| *count > 0);
            parts.extend(others.map(|(count, what)| format!("{count} {what}")));
            text += &format!(" ({})", parts.join(", "));
        }
        text
    }
}

impl Complete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.on(self.board.open(session)?);
        let unfinished = if self.cancel_unfinished { Unfinished::Cancel } else { Unfinished::Refuse };
        let outcome = board.complete(self.comment, unfinished).await?;
        Ended::tell(session, &board, outcome).await?;
        match outcome {
            BoardOutcome::Success => Ok(()),
            BoardOutcome::Partial | BoardOutcome::Failed => Err(CliError::Incomplete),
        }
    }
}
