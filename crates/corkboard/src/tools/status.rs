//! The tool `board_status`: the progress of a board, in at most a page.

use corkboard_core::Role;
use corkboard_core::board::{Task, TaskId, TaskStatus};
use corkboard_core::knowledge::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::board::{counts, mentioned};
use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::BoardView;
use crate::context::label;

/// Maximum number of items that each list shows.
const NAMED: usize = 10;

tool!(
    /// `board_status`: reads the progress of a board.
    BoardStatusTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BoardStatusInput {
    board: Option<String>,
    /// To read one task in full, with its result.
    #[schemars(with = "Option<String>")]
    task: Option<TaskId>,
}

impl TypedTool for BoardStatusTool {
    type Input = BoardStatusInput;
    const NAME: &'static str = "board_status";
    const DESCRIPTION: &'static str =
        "Read a board's progress: tasks ready, in progress, blocked, in review or failed, and open choices.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"board": "auth-1a2b3c4d"})
    }

    async fn run(&self, input: BoardStatusInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, input.board.as_deref(), Role::Orchestrator)?;
        if let Some(task) = input.task {
            let shown = board.preview_for_task(task, None).await?;
            let data = json!({"task": task, "tokens": shown.tokens, "rev": shown.rev, "sections": shown.sections});
            return Ok(ToolOutput::new(shown.text, data));
        }
        let view = board.view().await?;
        Ok(ToolOutput::new(page(&view)?, json!(view.progress()?)))
    }
}

fn page(view: &BoardView) -> Result<String, ToolError> {
    let (info, state) = (view.info()?, view.state());
    let mut text = format!("{} ({}): {}\n", mentioned(&info.name), info.status, mentioned(&info.goal));
    text.push_str(&match state.task_count() {
        0 => "No tasks yet: call add_tasks.\n".into(),
        count => format!("{count} tasks: {}\n", counts(view)),
    });
    let plain = |task: &Task| format!("{} {}", task.id, mentioned(&task.title));
    let with_agent = |task: &Task| match &task.assigned_to {
        Some(agent) => format!("{} ({agent})", plain(task)),
        None => plain(task),
    };
    let ready = match &info.paused {
        Some(pause) => {
            let (by, since) = (mentioned(&pause.by), pause.at);
            text.push_str(&format!(
                "Paused by {by} since {since}: nothing can be claimed until a person resumes it.\n"
            ));
            "Ready when resumed"
        }
        None => "Ready",
    };
    section(&mut text, ready, view.ready(), plain);
    section(&mut text, "Assigned", view.startable(), with_agent);
    section(&mut text, "In progress", view.in_progress(), with_agent);
    section(&mut text, "Blocked", view.blocked(), |task| {
        let why: Vec<String> = state.hindrances(task.id).iter().map(ToString::to_string).collect();
        format!("{}: {}", with_agent(task), mentioned(&why.join("; ")))
    });
    section(&mut text, "In review", view.needs_review(), |task| {
        let (summary, trust) = task.result.as_ref().map_or(("", Trust::Agent), |it| (&it.summary, it.trust()));
        format!("{}{}: {}", trust.mark(), with_agent(task), mentioned(summary))
    });
    section(&mut text, "Failed", view.with_status(TaskStatus::Failed), |task| {
        format!("{}: {}", with_agent(task), mentioned(task.failure.as_deref().unwrap_or_default()))
    });
    section(&mut text, "Open choices", state.open_choices(), |id| {
        let Some(choice) = state.choice(id) else { return id.to_string() };
        let options: Vec<String> = choice.options.iter().take(NAMED).map(|branch| mentioned(&branch.name)).collect();
        format!("{} {}: {}", choice.id, mentioned(&choice.question), options.join(" | "))
    });
    if state.task_count() > 0 && state.unfinished() == 0 {
        text.push_str("All tasks are finished.\n");
    }
    let trusts = view.needs_review().take(NAMED).filter_map(|task| Some(task.result.as_ref()?.trust()));
    text.push_str(label::warning(trusts).unwrap_or_default());
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// Adds a section with the first items, one per line.
fn section<T>(text: &mut String, name: &str, mut items: impl ExactSizeIterator<Item = T>, line: impl Fn(T) -> String) {
    let count = items.len();
    if count == 0 {
        return;
    }
    text.push_str(&format!("{name}:\n"));
    items.by_ref().take(NAMED).for_each(|item| text.push_str(&format!("  {}\n", line(item))));
    if count > NAMED {
        text.push_str(&format!("  and {} more\n", count - NAMED));
    }
}
