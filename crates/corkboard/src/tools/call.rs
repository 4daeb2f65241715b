//! Tool calls as JSON documents: in a batch request, or one per line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ToolContext, ToolOutput};
use crate::Problem;

/// A tool call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Any JSON value, such as the ID that a provider gave the call. The answer repeats it.
    #[serde(default)]
    pub id: Value,
    /// The tool's name.
    pub name: String,
    /// The tool's input: a JSON object, or a string that contains one. OpenAI's name `arguments` is accepted too.
    #[serde(default, alias = "arguments")]
    pub input: Value,
    /// The context of this call. Missing fields come from the shared context.
    #[serde(default)]
    pub context: ToolContext,
}

/// The answer to one call: an output or a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCallAnswer {
    /// The call's `id`; `null` if it has none.
    pub id: Value,
    /// The tool's name; `null` if the call could not be parsed.
    pub name: Option<String>,
    /// The tool's answer; `null` if the call failed.
    pub output: Option<ToolOutput>,
    /// Why the call failed; `null` if it succeeded.
    pub problem: Option<Problem>,
}
