//! Why a tool call failed, in words that help a model to call it right.

use serde_json::Value;

use crate::{Error, ErrorKind};

/// A tool call that failed. Nothing was changed, unless the store says that the outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The input makes no sense.
    #[error("invalid input: {message}. Example of a correct call: {tool} {example}")]
    InvalidInput {
        /// Which tool.
        tool: &'static str,
        /// What was wrong.
        message: String,
        /// An input that would have been right.
        example: Value,
    },
    /// There is no such tool.
    #[error("there is no tool {name:?}; there are: {}", known.join(", "))]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The caller did not say for whom.
    #[error("{tool} needs a {what} in the context of the call")]
    MissingContext {
        /// Which tool.
        tool: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// The tool did not do it, and its own words say why.
    #[error("{message}")]
    Failed {
        /// For the model.
        message: String,
    },
    /// The memory or the board refused, and there is something that the model can do about it.
    #[error("{error}. {advice}")]
    Advised {
        /// Why it was refused.
        error: Error,
        /// What to do next.
        advice: String,
    },
    /// The memory refused, or could not be reached.
    #[error(transparent)]
    Memory(#[from] Error),
    /// The call failed while an urgent nudge waits for the caller.
    #[error("{nudges}\n\n{error}")]
    Interrupted {
        /// Why the call failed.
        error: Box<ToolError>,
        /// The nudges, for the model.
        nudges: String,
    },
}

impl ToolError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidInput { .. } => "invalid_input",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::MissingContext { .. } => "missing_context",
            Self::Failed { .. } => "tool_failed",
            Self::Advised { error, .. } | Self::Memory(error) => error.code(),
            Self::Interrupted { error, .. } => error.code(),
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidInput { .. } | Self::MissingContext { .. } | Self::Failed { .. } => ErrorKind::Invalid,
            Self::UnknownTool { .. } => ErrorKind::Gone,
            Self::Advised { error, .. } | Self::Memory(error) => error.kind(),
            Self::Interrupted { error, .. } => error.kind(),
        }
    }
}
