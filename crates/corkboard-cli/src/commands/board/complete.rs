//! `cork board complete`.

use clap::Args;
use corkboard::boards::{Outcome, Unfinished};
use serde::Serialize;

use crate::board::{BoardArgument, BoardConditions};
use crate::exit::Failure;
use crate::session::Session;

/// End a board whose tasks are finished
///
/// Its outcome is success, partial or failed, by what became of its tasks. Nothing on it changes after that.
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
    pub(super) board: &'a str,
    pub(super) status: &'static str,
    pub(super) outcome: Outcome,
}

impl Ended<'_> {
    pub(super) fn tell(&self, session: &Session) -> Result<(), Failure> {
        session.output.answer(self, || format!("{} is {}: {}", self.board, self.status, self.outcome))
    }
}

impl Complete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        let board = self.conditions.on(self.board.open(session)?);
        let unfinished = if self.cancel_unfinished { Unfinished::Cancel } else { Unfinished::Refuse };
        let outcome = board.complete(self.comment, unfinished).await?;
        Ended { board: board.id().as_str(), status: "completed", outcome }.tell(session)
    }
}
