//! Models: what is asked of them, what they answer, and clients for two protocols.
//!
//! The trait is always there, so that a program can bring a model of its own. The clients for OpenAI-compatible servers and
//! for Anthropic come with the feature `model`.

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
pub use retry::ModelRetries;

/// A future that a model returns.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelError>> + Send + 'a>>;

/// Something that answers in words.
pub trait Model: Send + Sync {
    /// What it is called, for reports.
    fn name(&self) -> &str;

    /// Its answer, whole. Half an answer is an error.
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

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Who it is and what it is to do.
    pub system: Option<String>,
    /// What was said, the oldest first. The last one is the user's.
    pub messages: Vec<Message>,
    /// The most tokens that its answer may have.
    pub max_tokens: u64,
}

impl ModelRequest {
    /// How long an answer may be unless it is said otherwise, in tokens.
    pub const MAX_TOKENS: u64 = 4_096;

    /// A request with one message of the user.
    pub fn new(message: impl Into<String>) -> Self {
        Self { system: None, messages: vec![Message::user(message)], max_tokens: Self::MAX_TOKENS }
    }

    /// With instructions that stand above all messages.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// With one more message.
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// With an answer of at most so many tokens.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = tokens;
        self
    }
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// By whom.
    pub role: MessageRole,
    /// What.
    pub content: String,
}

impl Message {
    /// Said by the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: MessageRole::User, content: content.into() }
    }

    /// Said by the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: MessageRole::Assistant, content: content.into() }
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelAnswer {
    /// Its words.
    pub text: String,
    /// The tokens of the question, as the server counts them, if it says.
    pub input_tokens: Option<u64>,
    /// The tokens of the answer, as the server counts them, if it says.
    pub output_tokens: Option<u64>,
    /// Why it ended there.
    pub stop: StopReason,
}

impl ModelAnswer {
    /// An answer that ended by itself. For models of one's own.
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
    /// The model had said what it wanted to say.
    Finished,
    /// It had used up its tokens: what it says is not all.
    Length,
    /// It would not answer, or was not let.
    Refused,
    /// Something else.
    Other,
}
