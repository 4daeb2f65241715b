//! The end of a board's life: archived, kept for a while, purged; and what keeps it from that.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{BoardInfo, BoardState, BoardStatus, LearningState};
use crate::{Refusal, count};

/// That it was looked through what a board taught, after its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Extraction {
    pub at: Timestamp,
    pub by: Arc<str>,
    /// How many learnings were found.
    pub candidates: u64,
}

/// That nobody wants to know what a board taught.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Waiver {
    /// Who said so.
    pub by: Arc<str>,
    pub at: Timestamp,
    #[serde(default)]
    pub reason: Option<Arc<str>>,
}

/// What became of what a board taught.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Learnings {
    /// Nobody looked for it since the board ended.
    #[default]
    Open,
    /// It was looked for.
    Extracted,
    /// It was given up.
    Waived,
}

/// What decides whether a board may be purged, and whether it is idle. A board's summary carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lifetime {
    /// Where it is in its life.
    pub status: BoardStatus,
    /// When it last changed; none where that was not written down.
    #[serde(default, alias = "changed_at")]
    pub updated_at: Option<Timestamp>,
    /// Until when it is kept at least, once it is archived.
    #[serde(default)]
    pub retain_until: Option<Timestamp>,
    /// What became of what it taught.
    #[serde(default)]
    pub learnings: Learnings,
    /// How many of the learnings that were extracted are neither promoted nor refused; none once they are waived.
    #[serde(default)]
    pub undecided: u64,
    /// Whether a learning is on its way into a memory core.
    #[serde(default)]
    pub promotion_open: bool,
}

/// Something that keeps a board from being purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KeptBy {
    /// It has not ended.
    Active,
    /// It has ended and was not archived.
    NotArchived,
    /// It is to be kept for a while.
    Retention { retain_until: Timestamp },
    /// What it taught was neither extracted nor waived.
    Learnings,
    /// Learnings that were extracted are neither promoted nor refused, nor waived.
    Undecided { learnings: u64 },
    /// A learning is on its way into a memory core.
    Promotion,
}

impl Lifetime {
    /// All that keeps the board from being purged at that time. Nothing: it may be.
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

    /// Since when nothing has happened on an active board, if that is longer than this.
    pub fn idle_since(&self, now: Timestamp, idle_after: SignedDuration) -> Option<Timestamp> {
        let updated_at = self.updated_at.filter(|_| self.status == BoardStatus::Active)?;
        (now.duration_since(updated_at) > idle_after).then_some(updated_at)
    }
}

impl BoardState {
    /// What decides whether the board may be purged; none if it was never made. When it last changed, whoever has its log
    /// knows.
    pub fn lifetime(&self, updated_at: Option<Timestamp>) -> Option<Lifetime> {
        let info = self.info()?;
        let learnings = match (&info.learnings_extracted, &info.waived) {
            (Some(_), _) => Learnings::Extracted,
            (None, Some(_)) => Learnings::Waived,
            (None, None) => Learnings::Open,
        };
        // Looking for them takes a while: only where it matters.
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

    /// How many of its learnings are open: neither promoted nor refused, nor rolled back.
    pub fn undecided_learnings(&self) -> u64 {
        let found = self.learning_candidates();
        found.iter().filter(|candidate| candidate.state == LearningState::Open).count() as u64
    }

    /// What the board says of itself, if there is such a board and it was not purged.
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
            Self::Retention { retain_until } => write!(f, "it is to be kept until {retain_until}"),
            Self::Learnings => f.write_str("what it taught was neither extracted nor waived"),
            Self::Undecided { learnings } => {
                f.write_str(&count(*learnings, "learning waits for a decision", "learnings wait for a decision"))
            }
            Self::Promotion => f.write_str("a learning is on its way into a memory core"),
        }
    }
}
