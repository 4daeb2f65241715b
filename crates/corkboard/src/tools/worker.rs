//! Tools for workers: read a task's context, claim it, update it and complete it.

use corkboard_core::Role;
use corkboard_core::board::{Lease, ReviewVerdict, TaskId, TaskResult, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::board::{counts, heard, mentioned, ready};
use super::definition::{TypedTool, tool};
use super::record::trust_of;
use super::{TEXT_BYTES, ToolContext, ToolEffect, ToolError, ToolOutput};

tool!(
    /// `board_context`: reads what a worker needs for a task.
    BoardContextTool
);
tool!(
    /// `claim_task`: claims a task.
    ClaimTaskTool
);
tool!(
    /// `update_task`: sets a task's status.
    UpdateTaskTool
);
tool!(
    /// `complete_task`: completes a task.
    CompleteTaskTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BoardContextInput {
    /// Default: yours.
    #[schemars(with = "Option<String>")]
    task: Option<TaskId>,
    /// Maximum tokens.
    budget: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimTaskInput {
    /// Default: the next one.
    #[schemars(with = "Option<String>")]
    task: Option<TaskId>,
    /// After a restart: your last epoch of this task.
    epoch: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateTaskInput {
    #[schemars(with = "Option<String>")]
    task: Option<TaskId>,
    status: ReportedStatus,
    /// For blocked and failed.
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ReportedStatus {
    InProgress,
    Blocked,
    Pending,
    Failed,
}

impl From<ReportedStatus> for TaskStatus {
    fn from(update: ReportedStatus) -> Self {
        match update {
            ReportedStatus::InProgress => Self::InProgress,
            ReportedStatus::Blocked => Self::Blocked,
            ReportedStatus::Pending => Self::Pending,
            ReportedStatus::Failed => Self::Failed,
        }
    }
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteTaskInput {
    #[schemars(with = "Option<String>")]
    task: Option<TaskId>,
    /// What you did, for those who build on it.
    summary: String,
    next_steps: Option<Vec<String>>,
    /// See record_discovery.
    outside: Option<bool>,
}

impl TypedTool for BoardContextTool {
    type Input = BoardContextInput;
    const NAME: &'static str = "board_context";
    const DESCRIPTION: &'static str = "Read what you need for a task: goal, constraints, decisions, \
        discoveries, results, artifacts and the task itself. Call it after claiming and when you resume work.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"task": "T-2"})
    }

    async fn run(&self, input: BoardContextInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let task = context.task(&heard(&board).await?, input.task)?;
        let shown = board.context_of_bytes(task, input.budget, TEXT_BYTES).await?;
        let data = json!({
            "task": task, "tokens": shown.tokens, "budget": shown.budget, "rev": shown.rev, "sections": shown.sections
        });
        Ok(ToolOutput::new(shown.text, data))
    }
}

impl TypedTool for ClaimTaskTool {
    type Input = ClaimTaskInput;
    const NAME: &'static str = "claim_task";
    const DESCRIPTION: &'static str = "Claim a task to work on it. It is yours until 15 minutes after your last call.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({})
    }

    fn example_in_errors() -> Value {
        json!({"task": "T-1"})
    }

    async fn run(&self, input: ClaimTaskInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let asked = context.task.as_deref().filter(|task| !task.is_empty()).map(str::parse).transpose();
        let asked = input.task.or(asked.map_err(|error| ToolError::Failed { message: format!("{error}") })?);
        let claim = board.claim_task(asked, Lease::CLAIM);
        let claimed = match input.epoch {
            Some(epoch) => claim.epoch(epoch).await?,
            None => claim.await?,
        };
        let view = heard(&board).await?;
        let Some(claimed) = claimed else {
            let text = match (counts(&view).as_str(), view.state().unfinished()) {
                ("", _) => "No task is ready: the board has no tasks.".into(),
                (counts, 0) => format!("No task is ready: all are finished. Tasks: {counts}."),
                (counts, _) => format!("No task is ready: try again later. Tasks: {counts}."),
            };
            return Ok(ToolOutput::new(text, json!({"task": null})));
        };
        if let Some(claims) = &context.claims {
            claims.remember(&board, claimed.task, claimed.epoch);
        }
        let task = view.task(claimed.task)?;
        let rework = match (task.review_verdict, &task.review_comment) {
            (Some(ReviewVerdict::NeedsRework), Some(comments)) => {
                format!(" It was sent back for rework: {}", mentioned(comments))
            }
            _ => String::new(),
        };
        let text = format!(
            "{} is yours: {}.{rework} Call board_context now, and complete_task when done, or update_task if you \
             cannot finish.",
            task.id,
            mentioned(&task.title)
        );
        let data = json!({
            "task": task.id, "title": task.title, "attempt": claimed.attempt, "epoch": claimed.epoch,
            "deadline": claimed.deadline
        });
        Ok(ToolOutput::new(text, data))
    }
}

impl TypedTool for UpdateTaskTool {
    type Input = UpdateTaskInput;
    const NAME: &'static str = "update_task";
    const DESCRIPTION: &'static str = "Set your task's status: in_progress (you work on it), blocked (you \
        cannot continue now), pending (you release it), failed (it does not work).";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"status": "blocked", "reason": "the database is down"})
    }

    fn explained(message: String) -> String {
        match ["completed", "done"].iter().any(|status| message.contains(&format!("unknown value `{status}`"))) {
            true => format!("{message}. To complete a task, call complete_task"),
            false => message,
        }
    }

    async fn run(&self, input: UpdateTaskInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let UpdateTaskInput { task, status, reason } = input;
        if matches!(status, ReportedStatus::Blocked | ReportedStatus::Failed)
            && reason.as_deref().unwrap_or_default().trim().is_empty()
        {
            return Err(Self::invalid(format!("{} needs a reason", json!(status))));
        }
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let (board, task) = context.claimed(board, task).await?;
        let now = board.update_task_status(task, status.into(), reason, None).await?;
        let text = match (status, now) {
            (ReportedStatus::Pending, _) => format!("{task} is released: stop working on it."),
            (ReportedStatus::Failed, TaskStatus::Pending) => format!("{task} failed and will be retried."),
            _ => format!("{task} is {now}."),
        };
        Ok(ToolOutput::new(text, json!({"task": task, "status": now})))
    }
}

impl TypedTool for CompleteTaskTool {
    type Input = CompleteTaskInput;
    const NAME: &'static str = "complete_task";
    const DESCRIPTION: &'static str = "Report that your task is done.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"summary": "Token service with RS256", "next_steps": ["Add middleware"]})
    }

    async fn run(&self, input: CompleteTaskInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let CompleteTaskInput { task, summary, next_steps, outside } = input;
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let (board, task) = context.claimed(board, task).await?;
        let result = TaskResult { summary, next_steps: next_steps.unwrap_or_default(), trust: trust_of(outside) };
        let now = board.complete_heeding_nudges(task, result).await?;
        let done = match now {
            TaskStatus::Review => "waits for review".into(),
            other => format!("is {other}"),
        };
        let text = format!("{task} {done}. {}", ready(&board.view().await?));
        Ok(ToolOutput::new(text, json!({"task": task, "status": now})))
    }
}
