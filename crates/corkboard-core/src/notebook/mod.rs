//! A notebook: the progress of a task, what was learned, and what must be kept word for word. It is updated by texts in a
//! small language of its own, which models write and people can read.

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

/// What is being worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// What is done.
    #[serde(default)]
    pub completed: Vec<Arc<str>>,
    /// What is being done.
    #[serde(default)]
    pub in_progress: Vec<Arc<str>>,
    #[serde(default)]
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

/// A key learning: one line that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Learning {
    /// `KL-n`.
    pub id: NotebookLearningId,
    /// The insight.
    pub text: Arc<str>,
    /// Why it was kept.
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
    /// What it is: a path, a setting.
    pub label: Arc<str>,
    /// The snippet. Its lines end in LF.
    pub text: Arc<str>,
    /// Why it was kept.
    pub reason: Arc<str>,
    pub added_at: Timestamp,
    pub added_by: Arc<str>,
}

/// A learning or a snippet that is no longer shown. It stays as it was and can be listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Archived<T> {
    /// What was archived.
    #[serde(flatten)]
    pub item: Arc<T>,
    pub archived_because: Arc<str>,
    pub archived_at: Timestamp,
    pub archived_by: Arc<str>,
}

/// A notebook at one revision. Items stand in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Notebook {
    /// The revision that last changed it; 0 if it was never written.
    pub version: u64,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// What is being worked on.
    #[serde(default)]
    pub progress: Progress,
    /// What was learned.
    #[serde(default)]
    pub learnings: Vec<Arc<Learning>>,
    /// What is kept word for word.
    #[serde(default)]
    pub snippets: Vec<Arc<Snippet>>,
    /// Learnings that are no longer shown.
    #[serde(default)]
    pub archived_learnings: Vec<Archived<Learning>>,
    /// Snippets that are no longer shown.
    #[serde(default)]
    pub archived_snippets: Vec<Archived<Snippet>>,
    /// The last number given to a learning. It only goes up, so that no id names two things.
    pub last_learning: NotebookLearningId,
    /// The last number given to a snippet.
    pub last_snippet: SnippetId,
}

impl Notebook {
    /// What a notebook is called if nobody says.
    pub const MAIN: &str = "main";

    /// Whether there is nothing in it, archived items included. Its ids may be used up nevertheless.
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

/// What stands under a number.
pub(crate) trait NotebookItem {
    type Id: Copy + Ord;
    fn id(&self) -> Self::Id;
    /// All that it says.
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
