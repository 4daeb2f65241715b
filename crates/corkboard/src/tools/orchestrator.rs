//! Tools for the agent that runs a board: assign tasks, review them, choose branches.

use corkboard_core::Role;
use corkboard_core::board::{ChoiceId, ReviewVerdict, TaskId, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::board::ready;
use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::escaped_line;

tool!(
    /// `assign_task`: assigns a task, or its review, to an agent.
    AssignTaskTool
);
tool!(
    /// `review_task`: approves a task, requests rework or rejects it.
    ReviewTaskTool
);
tool!(
    /// `choose_branch`: chooses one branch of a choice.
    ChooseBranchTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AssignTaskInput {
    board: Option<String>,
    #[schemars(with = "String")]
    task: TaskId,
    agent: String,
    /// Assign the review, not the work.
    review: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewTaskInput {
    board: Option<String>,
    #[schemars(with = "String")]
    task: TaskId,
    #[serde(alias = "status")]
    verdict: ReviewVerdict,
    /// Required unless approved.
    #[serde(alias = "comments")]
    comment: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChooseBranchInput {
    board: Option<String>,
    #[schemars(with = "String")]
    choice: ChoiceId,
    option: String,
    rationale: Option<String>,
}

impl TypedTool for AssignTaskTool {
    type Input = AssignTaskInput;
    const NAME: &'static str = "assign_task";
    const DESCRIPTION: &'static str = "Assign a task to an agent.";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"task": "T-1", "agent": "dev-1"})
    }

    async fn run(&self, input: AssignTaskInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let AssignTaskInput { board, task, agent, review } = input;
        let board = context.board(&self.corkboard, Self::NAME, board.as_deref(), Role::Orchestrator)?;
        let shown = escaped_line(&agent);
        let text = if review == Some(true) {
            board.assign_review(task, &agent).await?;
            format!("Assigned the review of {task} to {shown}.")
        } else {
            board.assign_task(task, &agent).await?;
            format!("Assigned {task} to {shown}, who gets it with claim_task.")
        };
        Ok(ToolOutput::new(text, json!({"task": task, "agent": agent})))
    }
}

impl TypedTool for ReviewTaskTool {
    type Input = ReviewTaskInput;
    const NAME: &'static str = "review_task";
    const DESCRIPTION: &'static str = "Review a task: approved, needs_rework or rejected (it fails).";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"task": "T-2", "verdict": "needs_rework", "comment": "Tests are missing"})
    }

    async fn run(&self, input: ReviewTaskInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ReviewTaskInput { board, task, verdict, comment } = input;
        let board = context.board(&self.corkboard, Self::NAME, board.as_deref(), Role::Orchestrator)?;
        let now = board.review_task(task, verdict, comment).await?;
        let view = board.view().await?;
        let text = match (now, &view.task(task)?.assigned_to) {
            (TaskStatus::InProgress, Some(agent)) => format!("{task} was sent back to {agent} for rework."),
            _ => format!("{task} is {now}. {}", ready(&view)),
        };
        Ok(ToolOutput::new(text, json!({"task": task, "status": now})))
    }
}

impl TypedTool for ChooseBranchTool {
    type Input = ChooseBranchInput;
    const NAME: &'static str = "choose_branch";
    const DESCRIPTION: &'static str = "Choose a branch; the other branches are cancelled.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"choice": "C-1", "option": "jose", "rationale": "maintained"})
    }

    async fn run(&self, input: ChooseBranchInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ChooseBranchInput { board, choice, option, rationale } = input;
        let board = context.board(&self.corkboard, Self::NAME, board.as_deref(), Role::Orchestrator)?;
        let cancelled = board.choose(choice, &option, rationale).await?;
        let names: Vec<String> = cancelled.iter().map(ToString::to_string).collect();
        let losers = if names.is_empty() { String::new() } else { format!(" Cancelled: {}.", names.join(", ")) };
        let text = format!("{choice}: {} is chosen.{losers} {}", escaped_line(&option), ready(&board.view().await?));
        Ok(ToolOutput::new(text, json!({"choice": choice, "option": option, "cancelled": cancelled})))
    }
}
