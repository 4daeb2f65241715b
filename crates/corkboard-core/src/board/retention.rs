//! The end of a board's life: archived, retained, purged; and what keeps it from being purged.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{BoardInfo, BoardState, BoardStatus, LearningStatus};
use crate::{Refusal, count};

/// The extraction of a board's learnings, after its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Extraction {
    pub at: Timestamp,
    pub by: Arc<str>,
    /// How many learnings were found.
    pub candidates: u64,
}

/// The waiver of a board's learnings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Waiver {
    /// Who waived them.
    pub by: Arc<str>,
    pub at: Timestamp,
    #[serde(default)]
    pub reason: Option<Arc<str>>,
}

/// What became of a board's learnings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Learnings {
    /// They were neither extracted nor waived since the board ended.
    #[default]
    Open,
    /// They were extracted.
    Extracted,
    /// They were waived.
    Waived,
}

/// What decides whether a board may be purged, and whether it is idle. Part of a board's summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lifetime {
    pub status: BoardStatus,
    /// When it last changed, if known.
    #[serde(default, alias = "changed_at")]
    pub updated_at: Option<Timestamp>,
    /// End of the minimum retention, once it is archived.
    #[serde(default)]
    pub retain_until: Option<Timestamp>,
    /// What became of its learnings.
    #[serde(default)]
    pub learnings: Learnings,
    /// How many extracted learnings are neither promoted nor refused; 0 once they are waived.
    #[serde(default)]
    pub undecided: u64,
    /// Whether a promotion or rollback of a learning is unfinished.
    #[serde(default)]
    pub promotion_open: bool,
}

/// Why a board cannot be purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KeptBy {
    /// It has not ended.
    Active,
    /// It has ended but is not archived.
    NotArchived,
    /// Its minimum retention is not over.
    Retention { retain_until: Timestamp },
    /// Its learnings were neither extracted nor waived.
    Learnings,
    /// Extracted learnings are neither promoted, refused nor waived.
    Undecided { learnings: u64 },
    /// A promotion or rollback of a learning is unfinished.
    Promotion,
}

impl Lifetime {
    /// All reasons why the board cannot be purged at that time. If empty, it can be.
    pub fn kept_by(&self, now: Timestamp) -> Vec<KeptBy> {
        let stage = match self.status {
            BoardStatus::Active => return [KeptBy::Active].into(),
            BoardStatus::Purged => return Vec::new(),
            BoardStatus::Completed | BoardStatus::Cancelled => Some(KeptBy::NotArchived),
            BoardStatus::Archived => None,
        };
        let retention =
            self.retain_until.filter(|until| *until > now).map(|retain_until| KeptBy::Retention { retain_until });
        let learnings = (self.learnings == Learnings::Open).then_some(KeptBy::Learnings);
        let undecided = (self.undecided > 0).then_some(KeptBy::Undecided { learnings: self.undecided });
        let promotion = self.promotion_open.then_some(KeptBy::Promotion);
        [stage, retention, learnings, undecided, promotion].into_iter().flatten().collect()
    }

    /// Since when nothing has happened on an active board, if for longer than `idle_after`.
    pub fn idle_since(&self, now: Timestamp, idle_after: SignedDuration) -> Option<Timestamp> {
        let updated_at = self.updated_at.filter(|_| self.status == BoardStatus::Active)?;
        (now.duration_since(updated_at) > idle_after).then_some(updated_at)
    }
}

impl BoardState {
    /// What decides whether the board may be purged; none if it was never created. The caller knows from the log when
    /// the board last changed.
    pub fn lifetime(&self, updated_at: Option<Timestamp>) -> Option<Lifetime> {
        let info = self.info()?;
        let learnings = match (&info.learnings_extracted, &info.waived) {
            (Some(_), _) => Learnings::Extracted,
            (None, Some(_)) => Learnings::Waived,
            (None, None) => Learnings::Open,
        };
        // Counting them is slow, so do it only where it matters.
        let matters = info.learnings_extracted.is_some() && info.waived.is_none() && info.status != BoardStatus::Purged;
        Some(Lifetime {
            status: info.status,
            updated_at,
            retain_until: info.retain_until,
            learnings,
            undecided: if matters { self.undecided_learnings() } else { 0 },
            promotion_open: self.has_open_promotion(),
        })
    }

    /// How many of its learnings are open: neither promoted, refused nor rolled back.
    pub fn undecided_learnings(&self) -> u64 {
        let found = self.learning_candidates();
        found.iter().filter(|candidate| candidate.status == LearningStatus::Open).count() as u64
    }

    /// The board's info, if the board exists and was not purged.
    pub fn readable(&self) -> Result<&BoardInfo, Refusal> {
        let info = self.info().ok_or(Refusal::NoBoard)?;
        if info.status == BoardStatus::Purged { Err(Refusal::BoardPurged) } else { Ok(info) }
    }
}

impl fmt::Display for KeptBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active => f.write_str("it has not ended"),
            Self::NotArchived => f.write_str("it is not archived"),
            Self::Retention { retain_until } => write!(f, "it is retained until {retain_until}"),
            Self::Learnings => f.write_str("its learnings were neither extracted nor waived"),
            Self::Undecided { learnings } => {
                f.write_str(&count(*learnings, "learning waits for a decision", "learnings wait for a decision"))
            }
            Self::Promotion => f.write_str("a promotion or rollback of a learning is unfinished"),
        }
    }
}
