//! Errors of models.

use std::time::Duration;

use crate::ErrorKind;

/// Why a request to a model failed. No message contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum ModelError {
    /// The settings are invalid.
    #[error("invalid model settings: {0}")]
    Config(String),
    /// The provider needs a key, and none is set.
    #[error("no API key: set {variable}")]
    NoKey {
        /// The environment variable that should contain the key.
        variable: String,
    },
    /// The server denies access.
    #[error("the model's server refused the key ({status}): {message}")]
    Denied { status: u16, message: String },
    /// The server considers the request invalid.
    #[error("the model's server rejected the request ({status}): {message}")]
    Rejected { status: u16, message: String },
    /// The server cannot answer now.
    #[error("the model's server cannot answer now ({status}): {message}")]
    Busy { status: u16, retry_after: Option<Duration>, message: String },
    /// The connection to the server failed.
    #[error("the model's server cannot be reached: {0}")]
    Unreachable(String),
    /// A timeout expired.
    #[error("the model timed out after {} ms: {what}", after.as_millis())]
    TimedOut { what: TimedOut, after: Duration },
    /// The answer ended before it was complete. None of it is used.
    #[error("the model's answer is incomplete: {0}")]
    Cut(String),
    /// The answer violates the protocol.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
    /// The answer exceeds the maximum length. None of it is used.
    #[error("the model's answer is longer than {limit} bytes")]
    TooLong { limit: u64 },
    /// The server answered with a redirect. It is not followed, because the key would be sent along.
    #[error("the model's server answered with a redirect ({status}), which is not followed: set the final URL")]
    Redirected { status: u16 },
    /// A model outside this crate failed.
    #[error("the model failed: {0}")]
    Failed(String),
}

/// Which timeout expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedOut {
    /// Waiting for a connection.
    Connect,
    /// Waiting for the next part of the answer.
    Idle,
    /// Waiting for the whole answer, including all attempts.
    Total,
}

impl std::fmt::Display for TimedOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection",
            Self::Idle => "no data",
            Self::Total => "no complete answer",
        })
    }
}

impl ModelError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        self.classify().0
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.classify().1
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.kind() == ErrorKind::Unavailable
    }

    /// The table of codes and kinds. Reports store only the code.
    pub(crate) fn by_code(code: &str) -> (&'static str, ErrorKind) {
        use ErrorKind::*;
        let kinds = [
            ("model_config", Invalid),
            ("model_no_key", Denied),
            ("model_denied", Denied),
            ("model_rejected", Invalid),
            ("model_busy", Unavailable),
            ("model_unreachable", Unavailable),
            ("model_timeout", Unavailable),
            ("model_cut", Unavailable),
            ("model_malformed", Invalid),
            ("model_too_long", Limit),
            ("model_redirected", Invalid),
        ];
        kinds.into_iter().find(|(known, _)| *known == code).unwrap_or(("model_failed", Caller))
    }

    fn classify(&self) -> (&'static str, ErrorKind) {
        Self::by_code(match self {
            Self::Config(_) => "model_config",
            Self::NoKey { .. } => "model_no_key",
            Self::Denied { .. } => "model_denied",
            Self::Rejected { .. } => "model_rejected",
            Self::Busy { .. } => "model_busy",
            Self::Unreachable(_) => "model_unreachable",
            Self::TimedOut { .. } => "model_timeout",
            Self::Cut(_) => "model_cut",
            Self::Malformed(_) => "model_malformed",
            Self::TooLong { .. } => "model_too_long",
            Self::Redirected { .. } => "model_redirected",
            Self::Failed(_) => "model_failed",
        })
    }
}
