//! What a board may have taught: found in its state whenever somebody asks, and kept nowhere.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::BoardItem;
use super::{LearningId, LearningState};
use crate::MemoryKind;
use crate::knowledge::{NewCoreEntry, Trust};
use crate::text::enum_text;

/// What a learning was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LearningSource {
    /// A decision that holds and says why.
    Decision,
    /// A discovery that is an insight.
    Insight,
    /// A discovery that names the core it should go to.
    Marked,
    /// Tasks that followed one another more than once.
    Sequence,
    /// A task that was sent back, or failed, before it was completed.
    Rework,
    /// Tasks that took much longer, or much less long, than estimated.
    Estimate,
}

/// Something that a board may have taught. Whether it goes into a memory core, somebody decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LearningCandidate {
    /// Its name, which says what it was made of.
    pub id: LearningId,
    /// What it was made of.
    pub source: LearningSource,
    pub content: String,
    /// What kind of memory it would be.
    pub kind: MemoryKind,
    /// How important it would be, from 0 to 1.
    pub importance: f32,
    /// Words to find and filter by.
    pub tags: Vec<String>,
    /// Who said it; `corkboard` where it was found by comparing.
    pub author: Arc<str>,
    /// Others whose words are in it.
    pub contributors: Vec<Arc<str>>,
    /// How far it may be trusted: as far as the least trusted thing that it was made of.
    pub trust: Trust,
    /// What it was made of, by name; the first of them where there are many.
    pub items: Vec<BoardItem>,
    /// How much speaks for it, from 0 to 1.
    pub score: f32,
    /// The core that it should go to.
    pub suggested_core: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    pub state: LearningState,
}

impl LearningCandidate {
    /// The entry that a core would get. Whoever adds it knows the board that it came from.
    pub fn as_entry(&self) -> NewCoreEntry {
        NewCoreEntry {
            content: self.content.clone(),
            kind: self.kind,
            importance: Some(self.importance),
            tags: self.tags.clone(),
            author: Some(self.author.to_string()),
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
