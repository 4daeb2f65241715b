//! Errors of embedding models.

use std::time::Duration;

use crate::model::ModelError;

/// Why texts have no vectors. None of an answer with an error is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum EmbedError {
    /// The request to the model's server failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The query took too long. The search continues without its vector.
    #[error("the embedding model did not answer within {} ms", after.as_millis())]
    TimedOut { after: Duration },
    /// The number of vectors is not that of the texts.
    #[error("the embedding model returned {got} vectors for {asked} texts")]
    WrongCount { asked: usize, got: usize },
    /// The vectors do not have the length of the earlier ones.
    #[error("the embedding model returned a vector of {got} dimensions instead of {expected}")]
    WrongDimensions { expected: usize, got: usize },
    /// A vector contains NaN or infinity.
    #[error("the embedding model returned a vector with a value that is not a number")]
    NotFinite,
    /// A vector is all zeros, so it has no direction.
    #[error("the embedding model returned a vector of zeros")]
    Zero,
    /// Another process on this store uses another model.
    #[error("another process stores vectors of the embedding model {found:?} here")]
    OtherModel { found: String },
    /// The vectors cannot be stored or read.
    #[error("the vectors cannot be stored: {0}")]
    Store(String),
    /// A model outside this crate failed.
    #[error("the embedding model failed: {0}")]
    Failed(String),
}

impl EmbedError {
    /// Whether the error may be due to one of the texts, so that the others can be tried without it.
    pub(super) fn may_be_about_a_text(&self) -> bool {
        matches!(
            self,
            Self::NotFinite | Self::Zero | Self::Model(ModelError::Rejected { .. } | ModelError::TooLong { .. })
        )
    }

    /// How long the model's server asked to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(ModelError::Busy { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }
}
