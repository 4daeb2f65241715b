//! What a board taught: candidates are computed from its state, what became of them is kept.

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
pub use verdict::{LearningState, LearningVerdict, Promotion, RollBack};

use crate::MemoryKind;
use crate::knowledge::Trust;

/// What whoever promotes a learning wants to have otherwise. What is none stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct LearningChanges {
    /// What it says. Not for agents: it would be their own words in another's name.
    pub content: Option<String>,
    pub kind: Option<MemoryKind>,
    /// From 0 to 1.
    #[serde(with = "crate::number::optional")]
    pub importance: Option<f32>,
    pub tags: Option<Vec<String>>,
    /// How far it may be trusted. Only a person may say more than what it was made of.
    pub trust: Option<Trust>,
}

impl LearningChanges {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Which learnings are to be rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhichLearnings {
    /// All that are in a core.
    All,
    /// These.
    These(Vec<LearningId>),
}
