//! Models: requests, answers, and clients for two protocols.
//!
//! The trait is always available, so that a program can implement another model. The clients for OpenAI-compatible
//! servers and for Anthropic need the feature `model`.

#[cfg(feature = "model")]
mod anthropic;
#[cfg(feature = "model")]
mod config;
mod error;
#[cfg(feature = "model")]
mod http;
#[cfg(feature = "model")]
mod openai;
#[cfg(feature = "model")]
mod openai_embeddings;
#[cfg(feature = "model")]
mod protocol;
#[cfg(feature = "model")]
mod retry;
#[cfg(feature = "model")]
mod sse;

use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(feature = "model")]
pub use anthropic::AnthropicModel;
#[cfg(feature = "model")]
pub use config::{ModelConfig, ModelTimeouts, Provider};
pub use error::{ModelError, TimedOut};
#[cfg(feature = "model")]
pub use openai::OpenAiModel;
#[cfg(feature = "model")]
pub use openai_embeddings::OpenAiEmbedder;
#[cfg(feature = "model")]
pub use retry::ModelRetries;

/// A future that a model returns.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelError>> + Send + 'a>>;

/// A language model.
pub trait Model: Send + Sync {
    /// The model's name, for reports.
    fn name(&self) -> &str;

    /// Returns the complete answer. A partial answer is an error.
    fn complete(&self, request: ModelRequest) -> ModelFuture<'_>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn complete(&self, request: ModelRequest) -> ModelFuture<'_> {
        (**self).complete(request)
    }
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The messages, the oldest first. The last one is the user's.
    pub messages: Vec<Message>,
    /// Maximum tokens of the answer.
    pub max_tokens: u64,
}

impl ModelRequest {
    /// Default maximum tokens of an answer.
    pub const MAX_TOKENS: u64 = 4_096;

    /// A request with one user message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { system: None, messages: vec![Message::user(message)], max_tokens: Self::MAX_TOKENS }
    }

    /// Sets the system prompt.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Adds a message.
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Sets the maximum tokens of the answer.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = tokens;
        self
    }
}

/// A message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// The author's role.
    pub role: MessageRole,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message by the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: MessageRole::User, content: content.into() }
    }

    /// A message by the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: MessageRole::Assistant, content: content.into() }
    }
}

/// The role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Corkboard, which asks.
    User,
    /// The model, which answers.
    Assistant,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelAnswer {
    /// What the model wrote, without its reasoning.
    pub text: String,
    /// Tokens of the request, if the server reports them.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, if the server reports them.
    pub output_tokens: Option<u64>,
    /// Why the answer ended.
    pub stop: StopReason,
}

impl ModelAnswer {
    /// A finished answer without token counts, for other implementations of [`Model`].
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), input_tokens: None, output_tokens: None, stop: StopReason::Finished }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished its answer.
    Finished,
    /// The answer reached its maximum length and is incomplete.
    Length,
    /// The model refused to answer, or a filter stopped it.
    Refused,
    /// Another reason.
    Other,
}
