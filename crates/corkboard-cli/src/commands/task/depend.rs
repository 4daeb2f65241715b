use clap::Args;
use corkboard::boards::TaskId;

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::json_object;

/// Make a task wait for another, or end the wait
///
/// Fails if the tasks would wait for each other, and shows the cycle. Also fails if work on the task has begun. With
/// --remove, the task no longer waits for the other and may become ready.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task depend T-2 --depends-on T-1             # T-2 starts after T-1
  cork task depend T-2 --depends-on T-1 --remove    # T-2 no longer waits for T-1")]
pub(crate) struct Depend {
    /// Task that waits
    task: TaskId,

    /// Task that it waits for
    #[arg(long, alias = "on", value_name = "TASK")]
    depends_on: TaskId,

    /// Remove the dependency
    #[arg(long)]
    remove: bool,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Depend {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { task, depends_on, remove, conditions } = self;
        let board = conditions.open(session)?;
        if remove {
            let removed = board.remove_dependency(task, depends_on).await?;
            return session.output.answer(&json_object! { id: task, depends_on, removed }, || match removed {
                true => format!("{task} no longer waits for {depends_on}"),
                false => format!("{task} did not wait for {depends_on}"),
            });
        }
        board.add_dependency(task, depends_on).await?;
        session.output.answer(&json_object! { id: task, depends_on }, || format!("{task} waits for {depends_on}"))
    }
}
