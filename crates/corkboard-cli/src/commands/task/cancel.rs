//! `cork task cancel`.

use clap::Args;
use corkboard::boards::{TaskId, TaskStatus};

use super::Moved;
use crate::board::BoardConditions;
use crate::exit::Failure;
use crate::input::{text_argument, text_or_stdin};
use crate::session::Session;

/// Cancel a task, and what can no longer begin because of it
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task cancel T-1
  cork task cancel T-1 'the customer withdrew it'")]
pub(crate) struct Cancel {
    /// The task
    task: TaskId,

    /// Why; - reads stdin
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    comment: Option<String>,

    #[command(flatten)]
    conditions: BoardConditions,
}

impl Cancel {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        let Self { task, comment, conditions } = self;
        let board = conditions.open(session)?;
        board.cancel_task(task, comment.map(text_or_stdin).transpose()?).await?;
        Moved { task, status: TaskStatus::Cancelled }.tell(session)
    }
}
