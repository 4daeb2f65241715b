//! Errors of tool calls, with what a model needs to correct its call.

use serde_json::Value;
use strsim::levenshtein;

use crate::{Error, ErrorKind};

/// A failed tool call. It changed nothing, unless the store reports an unknown outcome.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The input is invalid.
    #[error("invalid input: {message}. Example of a correct call: {tool} {example}")]
    InvalidInput {
        /// The tool's name.
        tool: &'static str,
        /// The mistake.
        message: String,
        /// A valid input.
        example: Value,
    },
    /// The registry has no tool with this name.
    #[error("unknown tool {name:?}; {}expected one of {}", suggestion(name, known), known.join(", "))]
    UnknownTool {
        /// The requested name.
        name: String,
        /// The names of all tools in the registry.
        known: Vec<&'static str>,
    },
    /// The context of the call lacks something that the tool needs.
    #[error("{tool} needs a {what} in the context of the call")]
    MissingContext {
        /// The tool's name.
        tool: &'static str,
        /// The missing part, such as `board`.
        what: &'static str,
    },
    /// The tool failed, with its own message.
    #[error("{message}")]
    Failed {
        /// The message for the model.
        message: String,
    },
    /// The memory or the board refused, and the model can do something about it.
    #[error("{error}. {advice}")]
    Advised {
        /// Why it was refused.
        error: Error,
        /// What the model should do next.
        advice: String,
    },
    /// The memory refused, or is unavailable.
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

/// The tool with the most similar name, if the name is probably misspelt.
fn suggestion(name: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|tool| (levenshtein(name, tool), tool)).min();
    match nearest.filter(|(distance, tool)| distance * 3 <= tool.len()) {
        Some((_, tool)) => format!("did you mean {tool}? Otherwise, "),
        None => String::new(),
    }
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

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidInput { .. } | Self::MissingContext { .. } | Self::Failed { .. } => ErrorKind::Invalid,
            Self::UnknownTool { .. } => ErrorKind::Gone,
            Self::Advised { error, .. } | Self::Memory(error) => error.kind(),
            Self::Interrupted { error, .. } => error.kind(),
        }
    }
}
