//! Tools with which workers record decisions, discoveries and artifacts.

use corkboard_core::Role;
use corkboard_core::board::{ArtifactType, DecisionId, DiscoveryType, NewArtifact, NewDecision, NewDiscovery, TaskId};
use corkboard_core::knowledge::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::board::heard;
use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::{NoChecksum, RecordedArtifact};

tool!(
    /// `record_decision`: records a choice that others must know.
    RecordDecisionTool
);
tool!(
    /// `record_discovery`: records a finding that others must know.
    RecordDiscoveryTool
);
tool!(
    /// `record_artifact`: records a file that was made or changed.
    RecordArtifactTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordDecisionInput {
    question: String,
    choice: String,
    rationale: Option<String>,
    alternatives: Option<Vec<String>>,
    /// Default: all.
    #[schemars(with = "Option<Vec<String>>")]
    affects_tasks: Option<Vec<TaskId>>,
    reversible: Option<bool>,
    /// Your earlier decision that this replaces.
    #[schemars(with = "Option<String>")]
    supersedes: Option<DecisionId>,
    /// The tasks wait until a person approves.
    needs_approval: Option<bool>,
    /// See record_discovery.
    outside: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordDiscoveryInput {
    content: String,
    #[serde(rename = "type")]
    kind: Option<DiscoveryType>,
    /// Default: all.
    #[schemars(with = "Option<Vec<String>>")]
    affects_tasks: Option<Vec<TaskId>>,
    /// Memory core that should keep it.
    promote_to_core: Option<String>,
    /// From the web, a tool or a stranger.
    outside: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordArtifactInput {
    path: String,
    #[serde(rename = "type")]
    kind: Option<ArtifactType>,
    description: Option<String>,
    /// Default: yours.
    #[serde(alias = "associated_task")]
    #[schemars(with = "Option<String>")]
    task: Option<TaskId>,
    /// The text itself, if it is short.
    content: Option<String>,
    /// See record_discovery.
    outside: Option<bool>,
}

/// The trust of a text, from the model's statement whether it came from outside.
pub(super) fn trust_of(outside: Option<bool>) -> Option<Trust> {
    outside.unwrap_or_default().then_some(Trust::Outside)
}

impl TypedTool for RecordDecisionTool {
    type Input = RecordDecisionInput;
    const NAME: &'static str = "record_decision";
    const DESCRIPTION: &'static str = "Tell all workers about a choice you made, and why.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"question": "Which JWT library?", "choice": "jose", "alternatives": ["jsonwebtoken"],
            "rationale": "maintained", "affects_tasks": ["T-2"]})
    }

    async fn run(&self, input: RecordDecisionInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let supersedes = input.supersedes;
        let needs_approval = input.needs_approval.unwrap_or_default();
        let affects_tasks = match input.affects_tasks {
            Some(tasks) => tasks,
            // A worker who asks for approval without naming a task means the task that they work on.
            None if needs_approval => vec![context.task(&board.view().await?, None)?],
            None => Vec::new(),
        };
        let decision = NewDecision {
            question: input.question,
            choice: input.choice,
            alternatives: input.alternatives.unwrap_or_default(),
            rationale: input.rationale.unwrap_or_default(),
            affects_tasks,
            reversible: input.reversible,
            supersedes,
            force: false,
            needs_approval,
            trust: trust_of(input.outside),
        };
        let id = board.record_decision(decision).await?;
        heard(&board).await?;
        let instead = supersedes.map_or_else(String::new, |old| format!(" instead of {old}"));
        Ok(ToolOutput::new(format!("Recorded {id}{instead}."), json!({"id": id})))
    }
}

impl TypedTool for RecordDiscoveryTool {
    type Input = RecordDiscoveryInput;
    const NAME: &'static str = "record_discovery";
    const DESCRIPTION: &'static str = "Tell all workers about something you found out.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"content": "users has no refresh_token column", "type": "constraint", "affects_tasks": ["T-2"]})
    }

    async fn run(&self, input: RecordDiscoveryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let discovery = NewDiscovery {
            content: input.content,
            kind: input.kind.unwrap_or_default(),
            affects_tasks: input.affects_tasks.unwrap_or_default(),
            promote_to_core: input.promote_to_core,
            trust: trust_of(input.outside),
        };
        let id = board.record_discovery(discovery).await?;
        heard(&board).await?;
        Ok(ToolOutput::new(format!("Recorded {id}."), json!({"id": id})))
    }
}

impl TypedTool for RecordArtifactTool {
    type Input = RecordArtifactInput;
    const NAME: &'static str = "record_artifact";
    const DESCRIPTION: &'static str =
        "Tell all workers about a file you made or changed. The same path again is its next version.";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"path": "src/token.rs", "type": "code", "description": "Token service"})
    }

    async fn run(&self, input: RecordArtifactInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, None, Role::Worker)?;
        let view = heard(&board).await?;
        let task = match input.task {
            Some(task) => Some(task),
            // If the caller holds no task, or several, the artifact belongs to the board.
            None => context.task(&view, None).ok(),
        };
        let artifact = NewArtifact {
            kind: input.kind.unwrap_or_default(),
            path: input.path,
            description: input.description.unwrap_or_default(),
            task,
            content: input.content,
            trust: trust_of(input.outside),
            ..NewArtifact::default()
        };
        let mut recording = board.record_artifact(artifact);
        if let Some(folder) = &context.folder {
            recording = recording.in_folder(folder);
        }
        let RecordedArtifact { id, version, checksum, no_checksum } = recording.recorded().await?;
        let of = task.map_or_else(String::new, |task| format!(" of {task}"));
        // Without a folder, nobody expects a checksum.
        let why = no_checksum.filter(|why| *why != NoChecksum::NotRead && *why != NoChecksum::Url);
        let why = why.map_or_else(String::new, |why| format!(" It has no checksum: {why}."));
        let text = format!("Recorded {id}{of}, version {version}.{why}");
        let data =
            json!({"id": id, "version": version, "task": task, "checksum": checksum, "no_checksum": no_checksum});
        Ok(ToolOutput::new(text, data))
    }
}
