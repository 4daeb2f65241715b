//! The operations that a text in the notebook format asks for.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{NotebookItemId, NotebookLearningId, Progress, SnippetId};

/// The operations of one block: progress first, then learnings, then snippets. An empty block changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Block {
    /// The new progress, which replaces the old one.
    #[serde(default)]
    pub progress: Option<Progress>,
    /// Learnings to add.
    #[serde(default)]
    pub learnings: Vec<NewLearning>,
    /// Learnings to archive.
    #[serde(default)]
    pub archived_learnings: Vec<Archival<NotebookLearningId>>,
    /// Snippets to add.
    #[serde(default)]
    pub snippets: Vec<NewSnippet>,
    /// Snippets to archive.
    #[serde(default)]
    pub archived_snippets: Vec<Archival<SnippetId>>,
}

/// A learning to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewLearning {
    /// The insight: one line.
    pub text: Arc<str>,
    /// Why it is worth keeping.
    pub reason: Arc<str>,
}

/// A snippet to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewSnippet {
    /// A short description, such as a path or a setting.
    pub label: Arc<str>,
    /// The snippet, byte for byte.
    pub text: Arc<str>,
    /// Why it is worth keeping.
    pub reason: Arc<str>,
}

/// An item to archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Archival<Id> {
    pub id: Id,
    pub reason: Arc<str>,
}

impl Block {
    pub fn bytes(&self) -> u64 {
        let progress = self.progress.iter().flat_map(|progress| progress.bullets()).map(|bullet| bullet.len());
        let learnings = self.learnings.iter().map(|learning| learning.text.len() + learning.reason.len());
        let snippets = self.snippets.iter();
        let snippets = snippets.map(|snippet| snippet.label.len() + snippet.text.len() + snippet.reason.len());
        let reasons = self.archived_learnings.iter().map(|old| old.reason.len());
        let reasons = reasons.chain(self.archived_snippets.iter().map(|old| old.reason.len()));
        progress.chain(learnings).chain(snippets).chain(reasons).map(|bytes| bytes as u64).sum()
    }

    /// The items to archive: learnings, then snippets.
    pub fn archived(&self) -> impl Iterator<Item = NotebookItemId> {
        let learnings = self.archived_learnings.iter().map(|old| NotebookItemId::from(old.id));
        learnings.chain(self.archived_snippets.iter().map(|old| NotebookItemId::from(old.id)))
    }

    pub fn is_empty(&self) -> bool {
        self.progress.is_none()
            && self.learnings.is_empty()
            && self.archived_learnings.is_empty()
            && self.snippets.is_empty()
            && self.archived_snippets.is_empty()
    }
}
