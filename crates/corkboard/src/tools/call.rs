//! Calls of tools as documents: one of several in a request or on a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ToolContext, ToolOutput};
use crate::Problem;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Any JSON value, such as the ID that a provider gave the call. The answer repeats it.
    #[serde(default)]
    pub id: Value,
    /// The tool's name.
    pub name: String,
    /// The tool's input: a JSON object, or a string that holds one. `arguments`, OpenAI's word, is accepted too.
    #[serde(default, alias = "arguments")]
    pub input: Value,
    /// What this call is about, where that differs from the context of all calls.
    #[serde(default)]
    pub context: ToolContext,
}

/// What became of one call: an output or a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallAnswer {
    /// The call's `id`; `null` if it has none.
    pub id: Value,
    /// The tool's name; `null` if the call could not be read.
    pub name: Option<String>,
    /// What the tool answered; `null` if the call failed.
    pub output: Option<ToolOutput>,
    /// Why the call failed; `null` if it succeeded.
    pub problem: Option<Problem>,
}
