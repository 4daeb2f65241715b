//! `cork task depend`.

use clap::Args;
use corkboard::boards::TaskId;
use serde::Serialize;

use crate::board::BoardConditions;
use crate::exit::Failure;
use crate::session::Session;

/// Make a task wait for another
///
/// Refused with the way round if they would wait for one another, and if work on the task has begun.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork task depend T-2 --on T-1    # T-2 begins after T-1")]
pub(crate) struct Depend {
    /// The task that waits
    task: TaskId,

    /// For which it waits
    #[arg(long, value_name = "TASK")]
    on: TaskId,

    #[command(flatten)]
    conditions: BoardConditions,
}

impl Depend {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Answer {
            task: TaskId,
            on: TaskId,
        }
        let Self { task, on, conditions } = self;
        conditions.open(session)?.add_dependency(task, on).await?;
        session.output.answer(&Answer { task, on }, || format!("{task} waits for {on}"))
    }
}
