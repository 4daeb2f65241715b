//! What came of asking a model for an update: every attempt, what was wrong with it, and what changed.

use corkboard_core::notebook::NotebookProblem;
use serde::{Deserialize, Serialize};

use crate::ErrorKind;
use crate::model::{ModelError, StopReason};

/// What came of asking a model for an update. It can be kept, looked at, and applied by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UpdateReport {
    /// Whose notebook.
    pub agent: String,
    /// Which one.
    pub notebook: String,
    /// The model's name.
    pub model: String,
    /// What it was told about the task.
    #[serde(default)]
    pub task: Option<String>,
    /// What came of it.
    pub outcome: UpdateOutcome,
    /// Every time the model was asked, in order.
    pub attempts: Vec<Attempt>,
    /// What was left out of the prompt for lack of room: IDs of items, `progress`, `task`, `transcript`.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The ids that the notebook does not have, and that were left out.
    #[serde(default)]
    pub skipped: Vec<String>,
    /// What changed, or would have: a line for each change.
    #[serde(default)]
    pub changes: Vec<String>,
    /// The version of the notebook that the model was shown last; 0 if it was never written.
    pub version_before: u64,
    /// The version that its block made.
    #[serde(default)]
    pub version: Option<u64>,
    /// Tokens of all questions, as the server counts them or else by estimate.
    pub input_tokens: u64,
    /// Tokens of all answers, as the server counts them or else by estimate.
    pub output_tokens: u64,
}

/// What came of an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "result", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UpdateOutcome {
    /// The block was applied.
    Applied,
    /// The block was right, and changes nothing.
    Unchanged,
    /// The block is right, and was not to be applied.
    DryRun,
    /// No attempt could be applied. Nothing was changed.
    Refused,
    /// The model gave no answer. Nothing was changed.
    ModelFailed {
        /// The error's short name.
        code: String,
        /// What went wrong.
        message: String,
    },
}

/// One time that the model was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Attempt {
    /// Tokens of all that it was told, by estimate.
    pub prompt_tokens: u64,
    /// What it answered.
    pub answer: String,
    /// Why the answer ended.
    pub stop: StopReason,
    /// What was wrong with it. Warnings did not keep it from being applied.
    #[serde(default)]
    pub problems: Vec<AttemptProblem>,
}

/// Something wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct AttemptProblem {
    /// Whether it is only a warning.
    #[serde(default)]
    pub warning: bool,
    /// The line of the answer, from 1, if it is one line's.
    #[serde(default)]
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// The line, or a part of it.
    #[serde(default)]
    pub excerpt: String,
}

impl AttemptProblem {
    /// A problem with the answer as a whole.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self { warning: false, line: None, message: message.into(), excerpt: String::new() }
    }
}

impl From<&NotebookProblem> for AttemptProblem {
    fn from(problem: &NotebookProblem) -> Self {
        Self {
            warning: !problem.is_error(),
            line: Some(problem.line),
            message: problem.message.clone(),
            excerpt: problem.excerpt.clone(),
        }
    }
}

impl std::fmt::Display for AttemptProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(if self.warning { "warning: " } else { "" })?;
        f.write_str(&self.message)
    }
}

impl UpdateReport {
    /// Whether the notebook is now as the model wants it.
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, UpdateOutcome::Applied | UpdateOutcome::Unchanged)
    }

    /// The last answer of the model: what can be put right and applied by hand.
    pub fn last_answer(&self) -> Option<&str> {
        self.attempts.last().map(|attempt| attempt.answer.as_str())
    }

    /// The short name and the kind of what went wrong, if something did.
    pub fn failure(&self) -> Option<(&'static str, ErrorKind)> {
        match &self.outcome {
            UpdateOutcome::Applied | UpdateOutcome::Unchanged | UpdateOutcome::DryRun => None,
            UpdateOutcome::Refused => Some(("update_refused", ErrorKind::Invalid)),
            UpdateOutcome::ModelFailed { code, .. } => Some(ModelError::by_code(code)),
        }
    }

    pub(super) fn fail(&mut self, error: &ModelError) {
        self.outcome = UpdateOutcome::ModelFailed { code: error.code().into(), message: error.to_string() };
    }
}
