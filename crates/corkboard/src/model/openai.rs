//! The protocol of OpenAI's Chat Completions, which many servers support.

use serde_json::{Value, json};

use super::http::Client;
use super::protocol::{self, PartialAnswer, Protocol};
use super::sse::Event;
use super::{Message, Model, ModelAnswer, ModelConfig, ModelError, ModelFuture, ModelRequest, Provider, StopReason};

/// A model behind OpenAI's Chat Completions, or a compatible server.
#[derive(Debug)]
pub struct OpenAiModel {
    client: Client,
    chat: ChatCompletions,
}

#[derive(Debug)]
struct ChatCompletions {
    model: String,
    /// The name of the field for the maximum answer length. OpenAI renamed it, other servers did not.
    max_tokens: &'static str,
}

impl OpenAiModel {
    /// Creates the client. It sends nothing yet.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        let is_own = config.url.as_deref().is_none_or(|url| url.starts_with(Provider::OpenAi.url()));
        let max_tokens = if is_own { "max_completion_tokens" } else { "max_tokens" };
        let chat = ChatCompletions { model: config.model.clone(), max_tokens };
        Ok(Self { client: Client::new(config, ChatCompletions::PATH)?, chat })
    }
}

impl Model for OpenAiModel {
    fn name(&self) -> &str {
        &self.chat.model
    }

    fn complete(&self, request: ModelRequest) -> ModelFuture<'_> {
        Box::pin(async move { self.client.complete(&self.chat, &request).await })
    }
}

impl Protocol for ChatCompletions {
    const PATH: &'static str = "chat/completions";

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn body(&self, request: &ModelRequest) -> Value {
        let system = request.system.as_ref().map(|text| json!({"role": "system", "content": text}));
        let said = |message: &Message| json!({"role": message.role, "content": message.content});
        let messages: Vec<Value> = system.into_iter().chain(request.messages.iter().map(said)).collect();
        json!({
            "model": self.model,
            "messages": messages,
            self.max_tokens: request.max_tokens,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    }

    fn whole(&self, body: &Value) -> Result<ModelAnswer, ModelError> {
        let mut answer = PartialAnswer::default();
        take(body, "message", &mut answer)?;
        // The answer arrived whole, even if it has no reason to stop.
        answer.is_ended = body.pointer("/choices/0/message").is_some();
        if answer.is_ended { answer.finish() } else { Err(ModelError::Malformed("it has no message".into())) }
    }

    fn part(&self, event: &Event, answer: &mut PartialAnswer) -> Result<(), ModelError> {
        if event.data.trim() == "[DONE]" {
            answer.is_ended = true;
            return Ok(());
        }
        take(&protocol::json(&event.data)?, "delta", answer)
    }
}

/// Adds the content of a body, or of a part of it, to the answer.
fn take(body: &Value, message: &str, answer: &mut PartialAnswer) -> Result<(), ModelError> {
    if let Some(error) = protocol::error_message(body) {
        return Err(ModelError::Cut(error));
    }
    if let Some(choice) = body.pointer("/choices/0") {
        let said = choice.get(message);
        match said.and_then(|said| said.get("content")) {
            Some(Value::String(text)) => answer.text.push_str(text),
            None | Some(Value::Null) => {}
            Some(_) => return Err(ModelError::Malformed("its content is not text".into())),
        }
        if said.and_then(|said| said.get("refusal")).is_some_and(Value::is_string) {
            answer.stop = Some(StopReason::Refused);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            answer.stop = answer.stop.or(Some(match reason {
                "stop" => StopReason::Finished,
                "length" => StopReason::Length,
                "content_filter" => StopReason::Refused,
                _ => StopReason::Other,
            }));
        }
    }
    if let Some(usage) = body.get("usage").filter(|usage| usage.is_object()) {
        answer.input_tokens = usage.get("prompt_tokens").and_then(Value::as_u64).or(answer.input_tokens);
        answer.output_tokens = usage.get("completion_tokens").and_then(Value::as_u64).or(answer.output_tokens);
    }
    Ok(())
}
