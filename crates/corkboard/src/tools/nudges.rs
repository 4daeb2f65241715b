//! Nudges: the tool `check_nudges`, and urgent nudges in the answers of other tools.

use std::sync::Arc;

use corkboard_core::Role;
use corkboard_core::board::{Nudge, NudgeId, NudgePriority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::board::heard;
use super::definition::{TypedTool, tool};
use super::{BoardContextTool, TEXT_BYTES, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::{escaped_line, shows};
use crate::{Board, Corkboard, Error};

tool!(
    /// `check_nudges`: reads and acknowledges messages from people to the caller.
    CheckNudgesTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckNudgesInput {
    /// Nudges you read and follow.
    #[schemars(with = "Option<Vec<String>>")]
    ack: Option<Vec<NudgeId>>,
}

/// Maximum number of nudges in one answer. Others follow when these are acknowledged.
const MOST_SHOWN: usize = 20;

/// Maximum bytes of a nudge that the caller has already read but not acknowledged: it is only a reminder.
const REMINDED_BYTES: usize = 1024;

/// Maximum bytes of all nudges in one answer, which leaves room for the rest of the answer.
const MOST_SHOWN_BYTES: usize = TEXT_BYTES - 4 * 1024;

impl TypedTool for CheckNudgesTool {
    type Input = CheckNudgesInput;
    const NAME: &'static str = "check_nudges";
    const DESCRIPTION: &'static str = "Read nudges (messages from people) and acknowledge them. Check between steps.";
    const EFFECT: ToolEffect = ToolEffect::AddsOnce;

    fn example() -> Value {
        json!({"ack": ["N-1"]})
    }

    async fn run(&self, input: CheckNudgesInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, None, listening_role(context))?;
        // A nudge that the caller has not read yet is shown below, not acknowledged.
        let (view, reader) = (board.view().await?, &board.actor().principal);
        let unread: Vec<NudgeId> =
            board.told(&view).iter().filter(|nudge| !nudge.is_delivered_to(reader)).map(|nudge| nudge.id).collect();
        let read: Vec<NudgeId> = input.ack.unwrap_or_default().into_iter().filter(|id| !unread.contains(id)).collect();
        let acknowledged = if read.is_empty() { Vec::new() } else { board.acknowledge(&read).await? };
        heard(&board).await?;
        let told = board.nudges_fitting(fitting).await?;
        let mut lines: Vec<String> = Vec::new();
        if !acknowledged.is_empty() {
            let named: Vec<String> = acknowledged.iter().map(ToString::to_string).collect();
            lines.push(format!("Acknowledged {}.", named.join(", ")));
        }
        lines.extend(told.iter().map(|nudge| nudge_line(nudge)));
        lines.push(match told.first() {
            None => "No new nudges.".into(),
            Some(first) => format!(r#"Follow each, then acknowledge it: check_nudges {{"ack":["{}"]}}"#, first.id),
        });
        let shown = |nudge: &Arc<Nudge>| {
            json!({"id": nudge.id, "priority": nudge.priority, "created_by": nudge.created_by,
                "created_at": nudge.created_at, "message": nudge.message})
        };
        let nudges: Vec<Value> = told.iter().map(shown).collect();
        Ok(ToolOutput::new(lines.join("\n"), json!({"nudges": nudges, "acknowledged": acknowledged})))
    }
}

/// The role whose nudges the caller reads: an orchestrator reads those to the orchestrator.
fn listening_role(context: &ToolContext) -> Role {
    match context.actor.as_ref().map(|actor| actor.role) {
        Some(Role::Orchestrator) => Role::Orchestrator,
        _ => Role::Worker,
    }
}

/// Puts the caller's waiting urgent nudges before a tool's answer, and records that they were delivered. If the board
/// cannot be read, the answer stays unchanged, because the call has already taken effect.
pub(super) async fn interrupt(
    corkboard: &Corkboard,
    context: &ToolContext,
    (tool, board): (&str, Option<&str>),
    answer: Result<ToolOutput, ToolError>,
) -> Result<ToolOutput, ToolError> {
    let Ok(board) = context.board(corkboard, "", board, listening_role(context)) else { return answer };
    let text = answer.as_ref().map_or("", |output| output.text.as_str());
    // These two tools show nudges themselves, as far as there is room.
    let is_shown = |nudge: &Nudge| match tool {
        CheckNudgesTool::NAME => text.contains(&nudge_line(nudge)),
        BoardContextTool::NAME => shows(text, nudge),
        _ => false,
    };
    match carried(&board, is_shown).await {
        Ok(Some(nudges)) => match answer {
            Ok(output) => Ok(output.after(&nudges)),
            Err(error) => Err(ToolError::Interrupted { error: Box::new(error), nudges }),
        },
        Ok(None) => answer,
        Err(error) => {
            tracing::debug!(board = %board.id(), %error, "cannot read the nudges of the board");
            answer
        }
    }
}

/// The text with the urgent nudges to the board's actor that the answer does not show yet, and how many others wait.
async fn carried(board: &Board, is_shown: impl Fn(&Nudge) -> bool) -> Result<Option<String>, Error> {
    let waiting = board.told(&board.view().await?);
    let (urgent, others): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|nudge| nudge.priority == NudgePriority::Urgent);
    let mut urgent: Vec<Arc<Nudge>> = urgent.into_iter().filter(|nudge| !is_shown(nudge)).collect();
    if urgent.is_empty() {
        return Ok(None);
    }
    // Unread nudges come first, so that none waits forever behind others.
    let is_read = |nudge: &Nudge| nudge.is_delivered_to(&board.actor().principal);
    urgent.sort_by_key(|nudge| is_read(nudge));
    let left_out = urgent.split_off(fitting(&urgent)).len();
    board.delivered(&urgent).await?;
    let mut text = String::from("Stop and read this first:\n");
    for nudge in &urgent {
        let line = nudge_line(nudge);
        let most = if is_read(nudge) { REMINDED_BYTES } else { MOST_SHOWN_BYTES };
        text.push_str(line.get(..line.floor_char_boundary(most)).unwrap_or_default());
        text.push_str(if line.len() > most { "…\n" } else { "\n" });
    }
    let ids: Vec<String> = urgent.iter().map(|nudge| nudge.id.to_string()).collect();
    text.push_str(&format!("Follow it, then acknowledge it: check_nudges {}.", json!({ "ack": ids })));
    match others.len() + left_out {
        0 => {}
        1 => text.push_str(" 1 other nudge waits: call check_nudges."),
        many => text.push_str(&format!(" {many} other nudges wait: call check_nudges.")),
    }
    Ok(Some(text))
}

fn nudge_line(nudge: &Nudge) -> String {
    let message = nudge.message.split_whitespace().collect::<Vec<_>>().join(" ");
    let (by, message) = (escaped_line(&nudge.created_by), escaped_line(&message));
    format!("{} ({}) from {by}: {message}", nudge.id, nudge.priority)
}

/// How many of these nudges fit into one answer, at least one. A nudge that was cut off would count as read without
/// being.
fn fitting(nudges: &[Arc<Nudge>]) -> usize {
    let mut bytes = 0;
    let fits = |nudge: &&Arc<Nudge>| {
        bytes += nudge_line(nudge).len() + 1;
        bytes <= MOST_SHOWN_BYTES
    };
    nudges.iter().take(MOST_SHOWN).take_while(fits).count().max(1)
}
