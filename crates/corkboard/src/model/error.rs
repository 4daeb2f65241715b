//! Why a model did not answer.

use std::time::Duration;

use crate::ErrorKind;

/// What went wrong between us and a model. No key stands in any of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum ModelError {
    /// The settings make no sense.
    #[error("the model's settings are wrong: {0}")]
    Config(String),
    /// There is no key for a provider that asks for one.
    #[error("the model needs a key: set {variable}")]
    NoKey {
        /// The environment's variable that was looked at.
        variable: String,
    },
    /// The server does not let us in.
    #[error("the model's server refused the key ({status}): {message}")]
    Denied { status: u16, message: String },
    /// The server takes the request for wrong.
    #[error("the model's server rejected the request ({status}): {message}")]
    Rejected { status: u16, message: String },
    /// The server cannot answer now.
    #[error("the model's server cannot answer now ({status}): {message}")]
    Busy { status: u16, retry_after: Option<Duration>, message: String },
    /// There is no connection to the server.
    #[error("the model's server cannot be reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("the model took too long: {what}, {} ms", after.as_millis())]
    TimedOut { what: TimedOut, after: Duration },
    /// The answer ended before it was complete. Nothing of it is used.
    #[error("the model's answer was cut: {0}")]
    Cut(String),
    /// The answer is not what the protocol says.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
    /// The answer is longer than is allowed. Nothing of it is used.
    #[error("the model's answer is longer than {limit} bytes")]
    TooLong { limit: u64 },
    /// The server points elsewhere. The key would go along, so that nobody goes there.
    #[error("the model's server answered with a redirect ({status}), which is not followed: give the final URL")]
    Redirected { status: u16 },
    /// A model that is no client of ours failed.
    #[error("the model failed: {0}")]
    Failed(String),
}

/// What was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedOut {
    /// A connection.
    Connect,
    /// The next part of the answer.
    Idle,
    /// The whole answer, all attempts included.
    Total,
}

impl std::fmt::Display for TimedOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection",
            Self::Idle => "nothing came",
            Self::Total => "no complete answer",
        })
    }
}

impl ModelError {
    /// A short name that never changes.
    pub fn code(&self) -> &'static str {
        self.classify().0
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.classify().1
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.kind() == ErrorKind::Unavailable
    }

    /// The one table, by the code: reports have nothing else.
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
