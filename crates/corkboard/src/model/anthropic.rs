//! The protocol of Anthropic's Messages API.

use serde_json::{Value, json};

use super::http::Client;
use super::protocol::{self, PartialAnswer, Protocol};
use super::sse::Event;
use super::{Model, ModelAnswer, ModelConfig, ModelError, ModelFuture, ModelRequest, StopReason};

/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// A model behind Anthropic's Messages API.
#[derive(Debug)]
pub struct AnthropicModel {
    client: Client,
    messages: Messages,
}

#[derive(Debug)]
struct Messages {
    model: String,
}

impl AnthropicModel {
    /// Creates the client. It sends nothing yet.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        let messages = Messages { model: config.model.clone() };
        Ok(Self { client: Client::new(config, Messages::PATH)?, messages })
    }
}

impl Model for AnthropicModel {
    fn name(&self) -> &str {
        &self.messages.model
    }

    fn complete(&self, request: ModelRequest) -> ModelFuture<'_> {
        Box::pin(async move { self.client.complete(&self.messages, &request).await })
    }
}

impl Protocol for Messages {
    const PATH: &'static str = "v1/messages";

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", VERSION.to_owned())].into_iter().chain(key).collect()
    }

    fn body(&self, request: &ModelRequest) -> Value {
        let mut body = json!({
            "model": self.model,
            "messages": request.messages,
            "max_tokens": request.max_tokens,
            "stream": true,
        });
        if let (Some(system), Some(body)) = (&request.system, body.as_object_mut()) {
            body.insert("system".into(), json!(system));
        }
        body
    }

    fn whole(&self, body: &Value) -> Result<ModelAnswer, ModelError> {
        if let Some(error) = protocol::error_message(body) {
            return Err(ModelError::Cut(error));
        }
        let blocks = body.get("content").and_then(Value::as_array);
        let blocks = blocks.ok_or_else(|| ModelError::Malformed("it has no content".into()))?;
        let text = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
        let mut answer = PartialAnswer { text, is_ended: true, ..PartialAnswer::default() };
        take_stop(body, &mut answer);
        take_usage(body, &mut answer);
        answer.finish()
    }

    fn part(&self, event: &Event, answer: &mut PartialAnswer) -> Result<(), ModelError> {
        let data = protocol::json(&event.data)?;
        // The name is also in the data; some servers send it only there.
        match data.get("type").and_then(Value::as_str).unwrap_or(&event.name) {
            "message_start" => data.get("message").into_iter().for_each(|message| take_usage(message, answer)),
            "content_block_start" => {
                answer.text.push_str(data.pointer("/content_block/text").and_then(Value::as_str).unwrap_or_default());
            }
            "content_block_delta" => {
                answer.text.push_str(data.pointer("/delta/text").and_then(Value::as_str).unwrap_or_default());
            }
            "message_delta" => {
                data.get("delta").into_iter().for_each(|delta| take_stop(delta, answer));
                take_usage(&data, answer);
            }
            "message_stop" => answer.is_ended = true,
            "error" => {
                let message = protocol::error_message(&data).unwrap_or_else(|| "the server failed".into());
                return Err(ModelError::Cut(message));
            }
            // Pings, and events that are unknown here.
            _ => {}
        }
        Ok(())
    }
}

fn take_stop(body: &Value, answer: &mut PartialAnswer) {
    if let Some(reason) = body.get("stop_reason").and_then(Value::as_str) {
        answer.stop = Some(match reason {
            "end_turn" | "stop_sequence" => StopReason::Finished,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Refused,
            _ => StopReason::Other,
        });
    }
}

/// Input tokens include those from the provider's cache.
fn take_usage(body: &Value, answer: &mut PartialAnswer) {
    let count = |name: &str| body.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
    if let Some(input) = count("input_tokens") {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        answer.input_tokens = Some(cached.iter().filter_map(|name| count(name)).sum::<u64>() + input);
    }
    answer.output_tokens = count("output_tokens").or(answer.output_tokens);
}
