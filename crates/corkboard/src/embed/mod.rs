//! Embedding models of the user's choice, and the vectors that they make of texts.
//!
//! Set [`Options::embedder`](crate::Options::embedder), for example to an `OpenAiEmbedder` of [`crate::model`].
//! The vectors of a space's texts are computed in the background and
//! stored in a log beside that of the space. A search uses those that are there, and the built-in model for other texts.

mod error;
mod indexer;
#[cfg(feature = "local-embedder")]
mod local;
mod record;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::EmbedError;
pub(crate) use indexer::{Indexer, TextCounts, VectorIndex};
#[cfg(feature = "local-embedder")]
pub use local::LocalEmbedder;
pub(crate) use record::{VectorRecord, vectors_of};

pub(crate) use crate::search::{TextHash, Vector};

/// A future that an embedder returns.
pub type EmbedFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<Vec<f32>>, EmbedError>> + Send + 'a>>;

/// An embedding model: it turns texts into vectors that are close if the texts mean nearly the same.
pub trait Embedder: fmt::Debug + Send + Sync + 'static {
    /// Identifies the model. When this changes, all stored vectors are dropped and computed again.
    fn model(&self) -> &str;

    /// Returns a vector for each text, in the same order and all of the same length.
    fn embed<'a>(&'a self, texts: &'a [String], kind: TextKind) -> EmbedFuture<'a>;
}

impl<E: Embedder + ?Sized> Embedder for Arc<E> {
    fn model(&self) -> &str {
        (**self).model()
    }

    fn embed<'a>(&'a self, texts: &'a [String], kind: TextKind) -> EmbedFuture<'a> {
        (**self).embed(texts, kind)
    }
}

/// What a text is. Some models treat queries and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// The query of a search.
    Query,
    /// A text to be found.
    Document,
}

/// The state of a space's vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VectorStatus {
    /// The embedding model; null if none is configured.
    pub model: Option<String>,
    /// Number of texts that a search of the space examines.
    pub entries: u64,
    /// How many of them have no vector yet. They are found with the built-in model.
    pub without_vector: u64,
    /// How many of these the model refused. They are tried again with the next index or restart.
    pub refused_texts: u64,
    /// Why the last attempt to compute vectors failed; null if it succeeded.
    pub problem: Option<String>,
}

/// Which vectors of a space to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reindex {
    /// All: those that are stored are dropped first.
    All,
    /// Only those that are missing.
    Missing,
}

/// Which embedding model a search used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchEmbedder {
    /// The model.
    pub model: String,
    /// Number of texts in the space that have no vector yet. They were searched with the built-in model.
    pub without_vector: u64,
    /// Why the query has no vector, so that the built-in model was used for all texts; null if it has one.
    pub problem: Option<String>,
}

/// Embeds texts and checks the answer.
pub(crate) async fn embed(
    embedder: &dyn Embedder,
    texts: &[String],
    kind: TextKind,
    dimensions: Option<usize>,
) -> Result<Vec<Vector>, EmbedError> {
    let vectors = embedder.embed(texts, kind).await?;
    if vectors.len() != texts.len() {
        return Err(EmbedError::WrongCount { asked: texts.len(), got: vectors.len() });
    }
    let mut expected = dimensions;
    let checked = vectors.iter().map(|vector| {
        let expected = *expected.get_or_insert(vector.len());
        if vector.len() != expected || expected == 0 {
            return Err(EmbedError::WrongDimensions { expected, got: vector.len() });
        }
        Vector::new(vector).ok_or_else(|| match vector.iter().all(|value| value.is_finite()) {
            true => EmbedError::Zero,
            false => EmbedError::NotFinite,
        })
    });
    checked.collect()
}
