//! The report of an update by a model: every attempt, its problems, and what changed.

use corkboard_core::notebook::NotebookProblem;
use serde::{Deserialize, Serialize};

use crate::ErrorKind;
use crate::model::{ModelError, StopReason};

/// The report of an update by a model. It can be stored, inspected, and applied by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UpdateReport {
    /// The agent whose notebook it is.
    pub agent: String,
    /// The notebook's name.
    pub notebook: String,
    /// The model's name.
    pub model: String,
    /// The description of the task in the prompt.
    #[serde(default)]
    pub task: Option<String>,
    /// The result of the update.
    pub outcome: UpdateOutcome,
    /// All attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Content that was cut or omitted from the prompt: IDs of items, `progress`, `task`, `transcript`.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Unknown IDs in the model's block, which were skipped.
    #[serde(default)]
    pub skipped: Vec<String>,
    /// What changed, or would have changed: a line for each change.
    #[serde(default)]
    pub changes: Vec<String>,
    /// The version of the notebook in the last prompt; 0 if it was never written.
    pub version_before: u64,
    /// The version after the update, if it changed the notebook.
    #[serde(default)]
    pub version: Option<u64>,
    /// Tokens of all requests, from the server or else estimated.
    pub input_tokens: u64,
    /// Tokens of all answers, from the server or else estimated.
    pub output_tokens: u64,
}

/// The result of an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "result", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UpdateOutcome {
    /// The block was applied.
    Applied,
    /// The block is valid and changes nothing.
    Unchanged,
    /// The block is valid. It was not applied, because the request was a dry run.
    DryRun,
    /// No attempt could be applied. Nothing was changed.
    Refused,
    /// The model gave no answer. Nothing was changed.
    ModelFailed {
        /// The error's code.
        code: String,
        /// The error's message.
        message: String,
    },
}

/// One request to the model, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Attempt {
    /// Estimated tokens of the whole prompt.
    pub prompt_tokens: u64,
    /// The model's answer.
    pub answer: String,
    /// Why the answer ended.
    pub stop: StopReason,
    /// Problems of the answer. Warnings do not prevent applying it.
    #[serde(default)]
    pub problems: Vec<AttemptProblem>,
}

/// A problem of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct AttemptProblem {
    /// Whether it is only a warning.
    #[serde(default)]
    pub warning: bool,
    /// The line of the answer, starting at 1; `null` for the answer as a whole.
    #[serde(default)]
    pub line: Option<usize>,
    /// The problem.
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
    /// Whether the notebook is now in the state that the model's answer describes.
    pub fn is_done(&self) -> bool {
        matches!(self.outcome, UpdateOutcome::Applied | UpdateOutcome::Unchanged)
    }

    /// The model's last answer, which a person can correct and apply by hand.
    pub fn last_answer(&self) -> Option<&str> {
        self.attempts.last().map(|attempt| attempt.answer.as_str())
    }

    /// The code and the kind of the error, if the update failed.
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
