//! Tools for the learnings of a board: extract them, promote them to a memory core, or refuse them.

use corkboard_core::Role;
use corkboard_core::board::{LearningCandidate, LearningId, LearningStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::{escaped_line, label};

tool!(
    /// `extract_learnings`: lists the open learnings of a board.
    ExtractLearningsTool
);
tool!(
    /// `promote_learning`: promotes a learning to a memory core, or refuses it.
    PromoteLearningTool
);

/// Maximum number of learnings in one answer, the best first. Others follow when these are decided.
const MOST_SHOWN: usize = 20;

/// Maximum characters of a learning in an answer.
const SHOWN_CHARACTERS: usize = 500;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtractLearningsInput {
    board: Option<String>,
}

/// Input of `promote_learning`. It cannot change the learning's text, because an agent's own words would be refused.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromoteLearningInput {
    board: Option<String>,
    #[schemars(with = "String")]
    learning: LearningId,
    action: LearningAction,
    /// Default: the suggested one.
    core: Option<String>,
    /// For refuse.
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum LearningAction {
    Promote,
    Refuse,
}

impl TypedTool for ExtractLearningsTool {
    type Input = ExtractLearningsInput;
    const NAME: &'static str = "extract_learnings";
    const DESCRIPTION: &'static str =
        "List what a board learned that later boards should know. Call it when the work is done.";
    const EFFECT: ToolEffect = ToolEffect::AddsOnce;

    fn example() -> Value {
        json!({"board": "auth-1a2b3c4d"})
    }

    async fn run(&self, input: ExtractLearningsInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let board = context.board(&self.corkboard, Self::NAME, input.board.as_deref(), Role::Orchestrator)?;
        let mut learnings = board.extract_learning_candidates().await?;
        learnings.retain(|learning| learning.status == LearningStatus::Open);
        let open = learnings.len();
        learnings.truncate(MOST_SHOWN);
        Ok(ToolOutput::new(page(&learnings, open), json!({"open": open, "learnings": learnings})))
    }
}

impl TypedTool for PromoteLearningTool {
    type Input = PromoteLearningInput;
    const NAME: &'static str = "promote_learning";
    const DESCRIPTION: &'static str =
        "Keep a learning in a memory core, or refuse it permanently. Promote only what is also true elsewhere.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"learning": "D-1", "action": "promote", "core": "house-rules"})
    }

    async fn run(&self, input: PromoteLearningInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let PromoteLearningInput { board, learning, action, core, reason } = input;
        let board = context.board(&self.corkboard, Self::NAME, board.as_deref(), Role::Orchestrator)?;
        match (action, core, reason) {
            (LearningAction::Promote, _, Some(_)) => Err(Self::invalid("reason is only valid with action \"refuse\"")),
            (LearningAction::Refuse, Some(_), _) => {
                let example = json!({"learning": learning, "action": "refuse", "reason": "only so on this machine"});
                Err(Self::invalid_as("core is only valid with action \"promote\"", example))
            }
            (LearningAction::Promote, core, None) => {
                let promote = board.promote_learning(learning);
                let promote = match core {
                    Some(core) => promote.core(core),
                    None => promote,
                };
                let promoted = promote.await?;
                let core = escaped_line(promoted.core.as_str());
                let text = format!("Promoted {} to the core {core} as {}.", promoted.learning, promoted.entry);
                Ok(ToolOutput::new(text, json!(promoted)))
            }
            (LearningAction::Refuse, None, reason) => {
                board.refuse_learning(learning.clone(), reason).await?;
                let data = json!({"learning": learning, "status": "refused"});
                Ok(ToolOutput::new(format!("{learning} is refused."), data))
            }
        }
    }
}

fn page(learnings: &[LearningCandidate], open: usize) -> String {
    if learnings.is_empty() {
        return "No learning is left to promote or refuse.".into();
    }
    let mut lines: Vec<String> = learnings.iter().map(line).collect();
    if open > learnings.len() {
        lines.push(format!("and {} more", open - learnings.len()));
    }
    lines.extend(label::warning(learnings.iter().map(|learning| learning.trust)).map(str::to_owned));
    lines.push("Promote or refuse each with promote_learning.".into());
    lines.join("\n")
}

fn line(learning: &LearningCandidate) -> String {
    let LearningCandidate { id, source, score, created_by, trust, .. } = learning;
    let text = learning.content.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", escaped_line(text.get(..end).unwrap_or_default())),
        None => escaped_line(&text),
    };
    let core = match &learning.suggested_core {
        Some(core) => format!(", for the core {}", escaped_line(core)),
        None => String::new(),
    };
    format!("{}{id} ({source}, {score:.2}) by {}{core}: {text}", trust.mark(), escaped_line(created_by))
}
