//! What became of learnings. Nothing else about them is stored.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Map;

use super::super::BoardState;
use super::super::record::unknown_author;
use super::LearningId;
use crate::knowledge::{CoreEntryId, NewCoreEntry};
use crate::{Actor, CoreId};

/// What became of a learning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum LearningStatus {
    /// Nobody has decided about it.
    #[default]
    Open,
    /// Its promotion into a core began.
    Begun(Promotion),
    /// It is in a core.
    Promoted {
        core: CoreId,
        /// The core entry.
        entry: CoreEntryId,
        /// Who promoted it.
        #[serde(alias = "by")]
        decided_by: Arc<str>,
        #[serde(alias = "at")]
        decided_at: Timestamp,
    },
    /// It was refused permanently.
    Refused {
        #[serde(alias = "by")]
        decided_by: Arc<str>,
        #[serde(alias = "at")]
        decided_at: Timestamp,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// Its removal from its core began.
    RollingBack(RollBack),
    /// It was removed from its core.
    RolledBack {
        core: CoreId,
        /// The former core entry.
        entry: CoreEntryId,
        /// Who rolled it back.
        #[serde(alias = "by")]
        decided_by: Arc<str>,
        #[serde(alias = "at")]
        decided_at: Timestamp,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
}

/// A promotion that began on the board, with everything that any process needs to finish it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Promotion {
    /// The target core.
    pub core: CoreId,
    /// The entry that the core will get, without the board.
    pub entry: NewCoreEntry,
    /// Who promotes it. The core command runs as this actor.
    #[serde(alias = "by")]
    pub actor: Actor,
    #[serde(alias = "at")]
    pub begun_at: Timestamp,
    /// The revision in which it began.
    pub begun_rev: u64,
    /// Why the core refused it, if it did. The process that finishes the promotion then removes an entry that another
    /// process may have added, and abandons the promotion.
    #[serde(default)]
    pub refused: Option<Arc<str>>,
}

/// A rollback that began on the board, with everything that any process needs to finish it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RollBack {
    /// The core that it is removed from.
    pub core: CoreId,
    /// The core entry.
    pub entry: CoreEntryId,
    /// Who rolls it back. The core command runs as this actor.
    #[serde(alias = "by")]
    pub actor: Actor,
    #[serde(alias = "at")]
    pub begun_at: Timestamp,
    #[serde(default)]
    pub reason: Option<Arc<str>>,
    /// The revision in which it began.
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
    #[serde(flatten, deserialize_with = "stored_status")]
    pub status: LearningStatus,
    /// The revision that last changed it.
    pub version: u64,
}

/// Reads a status. Older snapshots name it `state`.
fn stored_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LearningStatus, D::Error> {
    let mut fields = Map::deserialize(deserializer)?;
    if let Some(status) = fields.remove("state") {
        fields.insert("status".into(), status);
    }
    serde_json::from_value(fields.into()).map_err(D::Error::custom)
}

impl LearningStatus {
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

    /// When an unfinished promotion or rollback began.
    pub fn open_since(&self) -> Option<Timestamp> {
        match self {
            Self::Begun(promotion) => Some(promotion.begun_at),
            Self::RollingBack(roll_back) => Some(roll_back.begun_at),
            Self::Open | Self::Promoted { .. } | Self::Refused { .. } | Self::RolledBack { .. } => None,
        }
    }
}

impl fmt::Display for LearningStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl LearningVerdict {
    pub fn bytes(&self) -> u64 {
        const FIXED: usize = 200;
        let texts = match &self.status {
            LearningStatus::Begun(promotion) => {
                let NewCoreEntry { content, tags, contributors, .. } = &promotion.entry;
                let names = tags.iter().chain(contributors).map(|text| text.len()).sum::<usize>();
                content.len() + names + length(&promotion.refused)
            }
            LearningStatus::Refused { reason, .. } | LearningStatus::RolledBack { reason, .. } => length(reason),
            LearningStatus::RollingBack(roll_back) => length(&roll_back.reason),
            LearningStatus::Open | LearningStatus::Promoted { .. } => 0,
        };
        (FIXED + self.id.bytes() + texts) as u64
    }
}

fn length(text: &Option<Arc<str>>) -> usize {
    text.as_ref().map_or(0, |text| text.len())
}

impl BoardState {
    /// How long the process that began a promotion or rollback may take before others finish it.
    pub const LEARNING_PATIENCE: SignedDuration = SignedDuration::from_secs(30);

    /// All verdicts on learnings, by ID.
    pub fn learning_verdicts(&self) -> impl ExactSizeIterator<Item = &Arc<LearningVerdict>> {
        self.learnings.values()
    }

    pub fn learning_status(&self, learning: &LearningId) -> LearningStatus {
        self.learnings.get(learning).map(|verdict| verdict.status.clone()).unwrap_or_default()
    }

    /// Whether a promotion or rollback is unfinished.
    pub fn has_open_promotion(&self) -> bool {
        !self.open_learnings.is_empty()
    }

    /// The learnings whose promotion or rollback is unfinished.
    pub fn open_learnings(&self) -> Vec<Arc<LearningVerdict>> {
        self.open_learnings.iter().filter_map(|learning| self.learnings.get(learning).cloned()).collect()
    }

    pub(in super::super) fn learnings_due(&self) -> Option<Timestamp> {
        let open = self.open_learnings.iter().filter_map(|learning| self.learnings.get(learning));
        let since = open.filter_map(|verdict| verdict.status.open_since()).min()?;
        Some(since.saturating_add(Self::LEARNING_PATIENCE).unwrap_or(Timestamp::MAX))
    }

    pub(in super::super) fn put_learning(&mut self, verdict: LearningVerdict) {
        let learning = verdict.id.clone();
        self.drop_learning(&learning);
        self.bytes += verdict.bytes();
        if verdict.status.open_since().is_some() {
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
