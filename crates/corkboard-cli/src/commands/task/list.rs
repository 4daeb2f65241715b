use std::cmp::Reverse;

use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::boards::{Task, TaskStatus, TaskView};

use crate::board_args::RevisionArgument;
use crate::board_view::task_table;
use crate::command_session::Session;
use crate::error::CliError;
use crate::page::PageArguments;
use crate::value_parsers::one_of;

/// List the tasks of a board
///
/// Views: ready (can be claimed, in the order in which they will be), blocked (cannot start or continue), in_progress and
/// needs_review.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task list
  cork task list --view ready
  cork task list --status failed,cancelled
  cork task list --assigned-to ada --json
  cork task list --ids --status completed | wc -l")]
pub(crate) struct List {
    /// Only tasks of this view
    #[arg(long, value_name = "VIEW", value_parser = task_view())]
    view: Option<TaskView>,

    /// Only tasks with one of these statuses
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = task_status())]
    status: Vec<TaskStatus>,

    /// Only tasks assigned to this agent
    #[arg(long, value_name = "NAME")]
    assigned_to: Option<String>,

    /// Print only the IDs, one per line
    #[arg(long)]
    ids: bool,

    #[command(flatten)]
    moment: RevisionArgument,

    #[command(flatten)]
    page: PageArguments,
}

fn task_view() -> impl TypedValueParser<Value = TaskView> {
    one_of(TaskView::ALL.map(|view| (view.as_str(), view, "")))
}

fn task_status() -> impl TypedValueParser<Value = TaskStatus> {
    one_of(TaskStatus::ALL.map(|status| (status.as_str(), status, "")))
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&session.open_board()?).await?;
        let state = view.state();
        let mut tasks: Vec<&Task> = match self.view {
            None => state.tasks().collect(),
            Some(TaskView::Ready) => view.ready().collect(),
            Some(TaskView::Blocked) => view.blocked().collect(),
            Some(TaskView::InProgress) => view.in_progress().collect(),
            Some(TaskView::NeedsReview) => view.needs_review().collect(),
        };
        if !self.status.is_empty() {
            tasks.retain(|task| self.status.contains(&task.status));
        }
        if let Some(wanted) = &self.assigned_to {
            tasks.retain(|task| task.assigned_to.as_ref().is_some_and(|agent| agent.as_str() == wanted));
        }
        // Ready tasks are in the order in which they will be claimed.
        let is_ranked = self.view == Some(TaskView::Ready);
        let page = self.page.of(tasks, |task| (Reverse(if is_ranked { task.priority } else { 0 }), task.id))?;
        if self.ids {
            let ids = page.map(|task| task.id.to_string());
            return match session.output.is_json() || !ids.items.is_empty() {
                true => session.output.list(&ids, || ids.items.join("\n")),
                false => Ok(()),
            };
        }
        if session.output.is_json() {
            return session.output.document(&page.map(|task| view.task_document(task)));
        }
        let is_filtered = self.view.is_some() || !self.status.is_empty() || self.assigned_to.is_some();
        session.output.line(&match (page.items.is_empty(), is_filtered) {
            (false, _) => page.text(task_table(state, page.items.iter().copied())),
            (true, true) => "no tasks match".into(),
            (true, false) => format!("board {} has no tasks", view.id()),
        })
    }
}
