//! A notebook: the progress of a task, key learnings, and snippets that are kept word for word. Models update it with
//! texts in a small language that people can read.

mod additions;
mod block;
mod bullet;
mod check;
mod diff;
mod fences;
mod id;
mod line;
mod parse;
mod print;
mod problem;
mod snippet;
mod update;

use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use block::{Archival, Block, NewLearning, NewSnippet};
pub use diff::{NotebookChange, NotebookDiff};
pub use id::{NotebookItemId, NotebookLearningId, ParseNotebookItemIdError, SnippetId};
pub use parse::{Parsed, parse};
pub use problem::{NotebookProblem, NotebookProblemKind, NotebookSeverity};
pub use update::{NotebookContent, NotebookUpdate, UnknownIds};

/// The progress of the current work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// Completed work.
    #[serde(default)]
    pub completed: Vec<Arc<str>>,
    /// Work in progress.
    #[serde(default)]
    pub in_progress: Vec<Arc<str>>,
    #[serde(default)]
    /// Remaining work.
    pub remaining: Vec<Arc<str>>,
}

impl Progress {
    pub fn is_empty(&self) -> bool {
        self.bullets().next().is_none()
    }

    /// All bullets, in order.
    pub fn bullets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.completed.iter().chain(&self.in_progress).chain(&self.remaining)
    }

    /// The lists by name, in order.
    pub fn lists(&self) -> [(&'static str, &[Arc<str>]); 3] {
        [("Completed", &self.completed), ("In Progress", &self.in_progress), ("Remaining", &self.remaining)]
    }
}

/// A key learning: one line that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Learning {
    /// `KL-n`.
    pub id: NotebookLearningId,
    /// The insight.
    pub text: Arc<str>,
    /// Why it is worth keeping.
    pub reason: Arc<str>,
    pub added_at: Timestamp,
    pub added_by: Arc<str>,
}

/// Verbatim context: a snippet that is kept byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snippet {
    /// `VC-n`.
    pub id: SnippetId,
    /// A short description, such as a path or a setting.
    pub label: Arc<str>,
    /// The snippet, with LF line endings.
    pub text: Arc<str>,
    /// Why it is worth keeping.
    pub reason: Arc<str>,
    pub added_at: Timestamp,
    pub added_by: Arc<str>,
}

/// An archived learning or snippet. It is no longer shown, but is kept unchanged and can be listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Archived<T> {
    /// The archived item.
    #[serde(flatten)]
    pub item: Arc<T>,
    pub archived_because: Arc<str>,
    pub archived_at: Timestamp,
    pub archived_by: Arc<str>,
}

/// A notebook at one revision. Items are in ID order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Notebook {
    /// The revision that last changed the notebook. 0 if it was never written.
    pub version: u64,
    /// When the notebook was last changed.
    pub updated_at: Timestamp,
    /// The progress of the current work.
    #[serde(default)]
    pub progress: Progress,
    /// The key learnings.
    #[serde(default)]
    pub learnings: Vec<Arc<Learning>>,
    /// The snippets.
    #[serde(default)]
    pub snippets: Vec<Arc<Snippet>>,
    /// Archived learnings.
    #[serde(default)]
    pub archived_learnings: Vec<Archived<Learning>>,
    /// Archived snippets.
    #[serde(default)]
    pub archived_snippets: Vec<Archived<Snippet>>,
    /// The last assigned learning ID. It never decreases, so no ID is used twice.
    pub last_learning: NotebookLearningId,
    /// The last assigned snippet ID.
    pub last_snippet: SnippetId,
}

impl Notebook {
    /// The default name of a notebook.
    pub const MAIN: &str = "main";

    /// Whether the notebook is empty, including archived items. IDs may have been assigned nevertheless.
    pub fn is_empty(&self) -> bool {
        self.progress.is_empty()
            && self.learnings.is_empty()
            && self.snippets.is_empty()
            && self.archived_learnings.is_empty()
            && self.archived_snippets.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        let progress: usize = self.progress.bullets().map(|bullet| bullet.len()).sum();
        let active: usize = self.learnings.iter().map(|learning| learning.bytes()).sum::<usize>()
            + self.snippets.iter().map(|snippet| snippet.bytes()).sum::<usize>();
        let learnings = self.archived_learnings.iter().map(|old| old.item.bytes() + old.archived_because.len());
        let snippets = self.archived_snippets.iter().map(|old| old.item.bytes() + old.archived_because.len());
        (progress + active + learnings.sum::<usize>() + snippets.sum::<usize>()) as u64
    }
}

impl Learning {
    fn bytes(&self) -> usize {
        self.text.len() + self.reason.len()
    }
}

impl Snippet {
    fn bytes(&self) -> usize {
        self.label.len() + self.text.len() + self.reason.len()
    }
}

/// An item with an ID.
pub(crate) trait NotebookItem {
    type Id: Copy + Ord;
    fn id(&self) -> Self::Id;
    /// All texts of the item.
    fn texts(&mut self) -> Vec<&mut Arc<str>>;
}

impl NotebookItem for Learning {
    type Id = NotebookLearningId;
    fn id(&self) -> NotebookLearningId {
        self.id
    }

    fn texts(&mut self) -> Vec<&mut Arc<str>> {
        [&mut self.text, &mut self.reason].into()
    }
}

impl NotebookItem for Snippet {
    type Id = SnippetId;
    fn id(&self) -> SnippetId {
        self.id
    }

    fn texts(&mut self) -> Vec<&mut Arc<str>> {
        [&mut self.label, &mut self.text, &mut self.reason].into()
    }
}
