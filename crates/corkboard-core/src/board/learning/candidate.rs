//! Learning candidates: computed from the board's state on every request, never stored.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::BoardItem;
use super::{LearningId, LearningStatus};
use crate::MemoryKind;
use crate::knowledge::{NewCoreEntry, Trust};
use crate::text::enum_text;

/// Source of a learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LearningSource {
    /// A decision that holds and gives its reason.
    Decision,
    /// A discovery that is an insight.
    Insight,
    /// A discovery that names the core to promote it to.
    Marked,
    /// Tasks that followed one another more than once.
    Sequence,
    /// A completed task that needed more than one attempt: a reviewer sent it back, or it failed and was retried.
    Rework,
    /// Tasks that took much longer or much shorter than estimated.
    Estimate,
}

/// A possible learning from a board. Somebody decides whether to promote it to a memory core.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LearningCandidate {
    /// Its ID, which names its source.
    pub id: LearningId,
    pub source: LearningSource,
    pub content: String,
    /// The kind of memory that it would be.
    pub kind: MemoryKind,
    /// How important it would be, from 0 to 1.
    pub importance: f32,
    /// Tags to search and filter by.
    pub tags: Vec<String>,
    /// When its newest source was created.
    pub created_at: Timestamp,
    /// Its author; `corkboard` if it was found by comparing tasks.
    pub created_by: Arc<str>,
    /// When its sources or its status last changed.
    pub updated_at: Timestamp,
    /// Other authors of its text.
    pub contributors: Vec<Arc<str>>,
    /// Trust level: the lowest of its sources.
    pub trust: Trust,
    /// Its sources by ID; only the first ones if there are many.
    pub items: Vec<BoardItem>,
    /// Strength of the evidence, from 0 to 1.
    pub score: f32,
    /// The core to promote it to.
    pub suggested_core: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    pub status: LearningStatus,
}

impl LearningCandidate {
    /// The entry that a core would get, without the board, which the caller fills in.
    pub fn as_entry(&self) -> NewCoreEntry {
        NewCoreEntry {
            content: self.content.clone(),
            kind: self.kind,
            importance: Some(self.importance),
            tags: self.tags.clone(),
            author: Some(self.created_by.to_string()),
            contributors: self.contributors.iter().map(ToString::to_string).collect(),
            trust: Some(self.trust),
            item: Some(self.id.to_string()),
            ..NewCoreEntry::default()
        }
    }
}

enum_text!(LearningSource {
    Decision => "decision",
    Insight => "insight",
    Marked => "marked",
    Sequence => "sequence",
    Rework => "rework",
    Estimate => "estimate",
});
