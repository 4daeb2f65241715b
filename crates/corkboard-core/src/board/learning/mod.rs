//! Learnings of a board. Candidates are computed from its state; only verdicts on them are stored.

mod apply;
mod candidate;
mod extract;
mod id;
mod patterns;
mod sequence;
mod setback;
mod verdict;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use candidate::{LearningCandidate, LearningSource};
pub use id::{LearningId, ParseLearningIdError};
pub use setback::{Setback, SetbackKind};
pub use verdict::{LearningStatus, LearningVerdict, Promotion, RollBack};

use crate::MemoryKind;
use crate::knowledge::Trust;

/// Changes to a learning at its promotion. Missing fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LearningChanges {
    /// New text. Agents cannot set it: their words would appear under another author's name.
    pub content: Option<String>,
    pub kind: Option<MemoryKind>,
    /// From 0 to 1.
    #[serde(with = "crate::number::optional")]
    pub importance: Option<f32>,
    pub tags: Option<Vec<String>>,
    /// Trust level. Only a person may raise it above that of the learning's sources.
    pub trust: Option<Trust>,
}

impl LearningChanges {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Which learnings to roll back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhichLearnings {
    /// All that are in a core.
    All,
    /// The listed ones.
    These(Vec<LearningId>),
}
