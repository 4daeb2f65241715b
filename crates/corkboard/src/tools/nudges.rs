//! The tool by which workers hear what people say to them.

use std::sync::Arc;

use corkboard_core::Role;
use corkboard_core::board::{Nudge, NudgeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::board::heard;
use super::definition::{TypedTool, tool};
use super::{TEXT_BYTES, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::escaped_line;

tool!(
    /// `check_nudges`: what people say to whoever asks.
    CheckNudgesTool
);

/// What `check_nudges` takes.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckNudges {
    /// Those you heed.
    #[schemars(with = "Option<Vec<String>>")]
    ack: Option<Vec<NudgeId>>,
}

/// More are told when these are acknowledged: what a model is told has an end.
const TOLD: usize = 20;

/// The most bytes of them: less than a tool's answer may have, by what else is in it.
const TOLD_BYTES: usize = TEXT_BYTES - 4 * 1024;

impl TypedTool for CheckNudgesTool {
    type Input = CheckNudges;
    const NAME: &'static str = "check_nudges";
    const DESCRIPTION: &'static str = "Read what people tell you, and acknowledge it. Check between steps.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    fn example() -> Value {
        json!({"ack": ["N-1"]})
    }

    async fn run(&self, input: CheckNudges, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Whoever runs a board hears what is said to whoever runs it.
        let role = match context.actor.as_ref().map(|actor| actor.role) {
            Some(Role::Orchestrator) => Role::Orchestrator,
            _ => Role::Worker,
        };
        let board = context.board(&self.corkboard, Self::NAME, None, role)?;
        let acknowledged = match input.ack.unwrap_or_default() {
            none if none.is_empty() => Vec::new(),
            nudges => board.acknowledge(&nudges).await?,
        };
        heard(&board).await?;
        let told = board.nudges_fitting(fitting).await?;
        let mut lines: Vec<String> = Vec::new();
        if !acknowledged.is_empty() {
            let named: Vec<String> = acknowledged.iter().map(ToString::to_string).collect();
            lines.push(format!("Acknowledged {}.", named.join(", ")));
        }
        lines.extend(told.iter().map(said));
        lines.push(match told.len() {
            0 => "Nobody tells you anything new.".into(),
            _ => "Heed them, then acknowledge them by ack.".to_string(),
        });
        let shown = |nudge: &Arc<Nudge>| {
            json!({"id": nudge.id, "priority": nudge.priority, "by": nudge.injected_by, "at": nudge.injected_at,
                "message": nudge.message})
        };
        let nudges: Vec<Value> = told.iter().map(shown).collect();
        Ok(ToolOutput::new(lines.join("\n"), json!({"nudges": nudges, "acknowledged": acknowledged})))
    }
}

fn said(nudge: &Arc<Nudge>) -> String {
    let message = nudge.message.split_whitespace().collect::<Vec<_>>().join(" ");
    let (by, message) = (escaped_line(&nudge.injected_by), escaped_line(&message));
    format!("{} ({}) from {by}: {message}", nudge.id, nudge.priority)
}

/// How many of these are told at once: what is cut off would not have been read. One is told in any case.
fn fitting(nudges: &[Arc<Nudge>]) -> usize {
    let mut bytes = 0;
    let fits = |nudge: &&Arc<Nudge>| {
        bytes += said(nudge).len() + 1;
        bytes <= TOLD_BYTES
    };
    nudges.iter().take(TOLD).take_while(fits).count().max(1)
}
