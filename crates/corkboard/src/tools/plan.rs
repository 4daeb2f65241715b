//! Tools for planning: create a board, and add tasks that depend on one another.

use corkboard_core::Role;
use corkboard_core::board::{FailurePolicy, NewBoard, NewBranch, NewChoice, NewTask, TriggerRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::board::mentioned;
use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::item::push_key;
use crate::context::{escaped_line, label};
use crate::knowledge::SourcedEntry;

tool!(
    /// `create_board`: creates a board.
    CreateBoardTool
);
tool!(
    /// `add_tasks`: adds all tasks and choices, or none.
    AddTasksTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBoardInput {
    name: String,
    goal: String,
    constraints: Option<Vec<String>>,
    /// Memory cores whose knowledge workers see.
    #[serde(alias = "memory_cores", alias = "memoryCores", alias = "memory_core_refs")]
    cores: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddTasksInput {
    board: Option<String>,
    tasks: Vec<PlannedTask>,
    choices: Option<Vec<PlannedChoice>>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct PlannedTask {
    /// Name for references within this call.
    key: Option<String>,
    title: String,
    description: Option<String>,
    /// Keys or IDs.
    depends_on: Option<Vec<String>>,
    needs_review: Option<bool>,
    /// Higher first.
    priority: Option<i32>,
    retry_limit: Option<u32>,
    trigger_rule: Option<TriggerRule>,
    on_failure: Option<FailurePolicy>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct PlannedChoice {
    question: String,
    options: Vec<PlannedBranch>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct PlannedBranch {
    name: String,
    /// Its first tasks: keys or IDs.
    tasks: Vec<String>,
}

impl TypedTool for CreateBoardTool {
    type Input = CreateBoardInput;
    const NAME: &'static str = "create_board";
    const DESCRIPTION: &'static str = "Create a board: shared memory for tasks that several agents work on.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"name": "Auth", "goal": "Add JWT to the API", "constraints": ["No breaking changes"]})
    }

    async fn run(&self, input: CreateBoardInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let new = NewBoard {
            name: input.name,
            goal: input.goal,
            constraints: input.constraints.unwrap_or_default(),
            cores: input.cores.unwrap_or_default(),
            ..NewBoard::default()
        };
        let actor = context.board_actor(Role::Orchestrator);
        let made = self.corkboard.create_board(new).acting_as(actor).report().await?;
        let board = &made.board;
        let mut text = format!("Created board {}. Pass this ID in later calls. Next: add_tasks.", board.id());
        let known = board.knowledge(&board.view().await?, None).await?.entries;
        if !known.is_empty() {
            text.push_str("\nFrom its memory cores, shown to workers:");
        }
        for SourcedEntry { core, entry } in &known {
            text.push_str(&format!("\n- {}", entry.trust().mark()));
            push_key(&mut text, core.as_str());
            text.push_str(&format!(" {} by ", entry.id));
            push_key(&mut text, entry.author());
            text.push_str(&format!(": {}", mentioned(&entry.content)));
        }
        if let Some(warning) = label::warning(known.iter().map(|known| known.entry.trust())) {
            text.push_str(&format!("\n{warning}"));
        }
        Ok(ToolOutput::new(text, json!({"id": board.id(), "drawn": made.drawn})))
    }
}

impl TypedTool for AddTasksTool {
    type Input = AddTasksInput;
    const NAME: &'static str = "add_tasks";
    const DESCRIPTION: &'static str = "Add tasks, and choices between branches of tasks, all or none. \
        A branch can start once choose_branch picks it.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"tasks": [{"key": "design", "title": "Design the schema"},
            {"title": "Build it", "depends_on": ["design"], "needs_review": true}]})
    }

    async fn run(&self, input: AddTasksInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let AddTasksInput { board, tasks, choices } = input;
        let choices = choices.unwrap_or_default();
        if tasks.is_empty() && choices.is_empty() {
            return Err(Self::invalid("tasks must not be empty"));
        }
        let board = context.board(&self.corkboard, Self::NAME, board.as_deref(), Role::Orchestrator)?;
        let keys: Vec<Option<String>> = tasks.iter().map(|task| task.key.clone()).collect();
        let new = tasks.into_iter().map(PlannedTask::into_new).collect();
        let (tasks, choices) = board.add_tasks(new, choices.into_iter().map(PlannedChoice::into_new).collect()).await?;
        let named = tasks.iter().zip(&keys).map(|(id, key)| match key {
            Some(key) => format!("{id} ({})", escaped_line(key)),
            None => id.to_string(),
        });
        let all: Vec<String> = named.chain(choices.iter().map(ToString::to_string)).collect();
        let by_key: Map<String, Value> =
            tasks.iter().zip(keys).filter_map(|(id, key)| Some((key?, json!(id)))).collect();
        let data = json!({"tasks": tasks, "keys": by_key, "choices": choices});
        Ok(ToolOutput::new(format!("Added {}.", all.join(", ")), data))
    }
}

impl PlannedTask {
    fn into_new(self) -> NewTask {
        NewTask {
            key: self.key,
            title: self.title,
            description: self.description.unwrap_or_default(),
            depends_on: self.depends_on.unwrap_or_default().iter().map(|on| on.as_str().into()).collect(),
            trigger_rule: self.trigger_rule.unwrap_or_default(),
            on_failure: self.on_failure,
            priority: self.priority.unwrap_or_default(),
            needs_review: self.needs_review.unwrap_or_default(),
            retry_limit: self.retry_limit.unwrap_or_default(),
            ..NewTask::default()
        }
    }
}

impl PlannedChoice {
    fn into_new(self) -> NewChoice {
        let branch = |branch: PlannedBranch| NewBranch {
            name: branch.name,
            tasks: branch.tasks.iter().map(|task| task.as_str().into()).collect(),
        };
        NewChoice { question: self.question, options: self.options.into_iter().map(branch).collect() }
    }
}
