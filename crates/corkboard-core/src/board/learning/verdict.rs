//! What became of learnings: this is kept, and nothing else about them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::super::BoardState;
use super::super::record::unknown_author;
use super::LearningId;
use crate::knowledge::{CoreEntryId, NewCoreEntry};
use crate::{Actor, CoreId};

/// What became of a learning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LearningState {
    /// Nobody has decided anything.
    #[default]
    Open,
    /// It is on its way into a core.
    Begun(Promotion),
    /// It is in a core.
    Promoted {
        core: CoreId,
        /// The entry that says it.
        entry: CoreEntryId,
        /// Who promoted it.
        by: Arc<str>,
        at: Timestamp,
    },
    /// It is not wanted, for ever.
    Refused {
        by: Arc<str>,
        at: Timestamp,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// It is on its way out of its core.
    RollingBack(RollBack),
    /// It was in a core, and was taken out of it.
    RolledBack {
        core: CoreId,
        /// The entry that said it.
        entry: CoreEntryId,
        /// Who took it out.
        by: Arc<str>,
        at: Timestamp,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
}

/// A promotion that was begun on the board: all that is needed to finish it, whoever does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Promotion {
    /// The core that it goes to.
    pub core: CoreId,
    /// What the core is to get, less the board.
    pub entry: NewCoreEntry,
    /// Who promotes it: the core hears it in their name.
    pub by: Actor,
    /// When it was begun.
    pub at: Timestamp,
    /// The revision in which it was begun: no two promotions have the same.
    pub begun_rev: u64,
    /// What the core said if it did not take it: whoever finishes it takes out what another may have got in, and gives it up.
    #[serde(default)]
    pub refused: Option<Arc<str>>,
}

/// A roll-back that was begun on the board: all that is needed to finish it, whoever does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RollBack {
    /// The core that it is taken out of.
    pub core: CoreId,
    /// The entry that says it.
    pub entry: CoreEntryId,
    /// Who takes it out: the core hears it in their name.
    pub by: Actor,
    /// When it was begun.
    pub at: Timestamp,
    #[serde(default)]
    pub reason: Option<Arc<str>>,
    /// The revision in which it was begun.
    pub begun_rev: u64,
}

/// What became of one learning of a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LearningVerdict {
    #[serde(alias = "learning")]
    pub id: LearningId,
    #[serde(default)]
    pub created_at: Timestamp,
    #[serde(default = "unknown_author")]
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    /// What became of it.
    #[serde(flatten)]
    pub state: LearningState,
    /// The revision that last changed it.
    pub version: u64,
}

impl LearningState {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Begun(_) => "begun",
            Self::Promoted { .. } => "promoted",
            Self::Refused { .. } => "refused",
            Self::RollingBack(_) => "rolling_back",
            Self::RolledBack { .. } => "rolled_back",
        }
    }

    /// When something was begun that is not finished.
    pub fn open_since(&self) -> Option<Timestamp> {
        match self {
            Self::Begun(promotion) => Some(promotion.at),
            Self::RollingBack(roll_back) => Some(roll_back.at),
            Self::Open | Self::Promoted { .. } | Self::Refused { .. } | Self::RolledBack { .. } => None,
        }
    }
}

impl fmt::Display for LearningState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl LearningVerdict {
    pub fn bytes(&self) -> u64 {
        const FIXED: usize = 200;
        let texts = match &self.state {
            LearningState::Begun(promotion) => {
                let NewCoreEntry { content, tags, contributors, .. } = &promotion.entry;
                let names = tags.iter().chain(contributors).map(|text| text.len()).sum::<usize>();
                content.len() + names + length(&promotion.refused)
            }
            LearningState::Refused { reason, .. } | LearningState::RolledBack { reason, .. } => length(reason),
            LearningState::RollingBack(roll_back) => length(&roll_back.reason),
            LearningState::Open | LearningState::Promoted { .. } => 0,
        };
        (FIXED + self.id.bytes() + texts) as u64
    }
}

fn length(text: &Option<Arc<str>>) -> usize {
    text.as_ref().map_or(0, |text| text.len())
}

impl BoardState {
    /// For how long whoever began to promote or to roll back may take before others finish it for them.
    pub const LEARNING_PATIENCE: SignedDuration = SignedDuration::from_secs(30);

    /// Everything that was decided about learnings, by their names.
    pub fn learning_verdicts(&self) -> impl ExactSizeIterator<Item = &Arc<LearningVerdict>> {
        self.learnings.values()
    }

    pub fn learning_state(&self, learning: &LearningId) -> LearningState {
        self.learnings.get(learning).map(|verdict| verdict.state.clone()).unwrap_or_default()
    }

    /// Whether something was begun with a memory core and is not finished.
    pub fn has_open_promotion(&self) -> bool {
        !self.open_learnings.is_empty()
    }

    /// What was begun with memory cores and is not finished.
    pub fn open_learnings(&self) -> Vec<Arc<LearningVerdict>> {
        self.open_learnings.iter().filter_map(|learning| self.learnings.get(learning).cloned()).collect()
    }

    pub(in super::super) fn learnings_due(&self) -> Option<Timestamp> {
        let open = self.open_learnings.iter().filter_map(|learning| self.learnings.get(learning));
        let since = open.filter_map(|verdict| verdict.state.open_since()).min()?;
        Some(since.saturating_add(Self::LEARNING_PATIENCE).unwrap_or(Timestamp::MAX))
    }

    pub(in super::super) fn put_learning(&mut self, verdict: LearningVerdict) {
        let learning = verdict.id.clone();
        self.drop_learning(&learning);
        self.bytes += verdict.bytes();
        if verdict.state.open_since().is_some() {
            self.open_learnings.insert(learning.clone());
        }
        self.learnings.insert(learning, Arc::new(verdict));
    }

    pub(in super::super) fn drop_learning(&mut self, learning: &LearningId) {
        if let Some(old) = self.learnings.remove(learning) {
            self.bytes -= old.bytes();
            self.open_learnings.remove(learning);
        }
    }
}
