//! Shared by both protocols: a request, and an answer that arrives whole or in parts.

use serde_json::Value;

use super::sse::Event;
use super::{ModelAnswer, ModelError, ModelRequest, StopReason};

pub(super) trait Protocol: Send + Sync {
    /// The path after the base URL.
    const PATH: &'static str;

    /// The headers that carry the key and the version.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The request as JSON, which asks for a stream.
    fn body(&self, request: &ModelRequest) -> Value;

    /// Reads an answer that arrived whole.
    fn whole(&self, body: &Value) -> Result<ModelAnswer, ModelError>;

    fn part(&self, event: &Event, answer: &mut PartialAnswer) -> Result<(), ModelError>;
}

/// An answer that is still arriving.
#[derive(Debug, Default)]
pub(super) struct PartialAnswer {
    pub(super) text: String,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) stop: Option<StopReason>,
    /// Whether the server has ended the answer.
    pub(super) is_ended: bool,
}

impl PartialAnswer {
    pub(super) fn finish(self) -> Result<ModelAnswer, ModelError> {
        let Self { text, input_tokens, output_tokens, stop, is_ended } = self;
        let stop = stop.or(is_ended.then_some(StopReason::Other));
        let stop = stop.ok_or_else(|| ModelError::Cut("the stream ended before the answer did".into()))?;
        Ok(ModelAnswer { text, input_tokens, output_tokens, stop })
    }
}

pub(super) fn json(data: &str) -> Result<Value, ModelError> {
    serde_json::from_str(data).map_err(|error| ModelError::Malformed(format!("an event is not JSON: {error}")))
}

/// The message of a server's error, in the form that both protocols use.
pub(super) fn error_message(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    let message = error.get("message").or(Some(error)).and_then(Value::as_str);
    let kind = error.get("type").or_else(|| error.get("code")).and_then(Value::as_str);
    match (kind, message) {
        (Some(kind), Some(message)) => Some(format!("{kind}: {message}")),
        (one, other) => other.or(one).map(str::to_owned),
    }
}
