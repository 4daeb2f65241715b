//! The end of a board's life: archived, kept for a while, purged; and what keeps it from that.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{BoardInfo, BoardState, BoardStatus};
use crate::Refusal;

/// That it was looked through what a board taught, after its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Extraction {
    /// When.
    pub at: Timestamp,
    /// By whom.
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
    /// When.
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// Until when it is kept at least, once it is archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain_until: Option<Timestamp>,
    /// What became of what it taught.
    #[serde(default, skip_serializing_if = "Learnings::are_open")]
    pub learnings: Learnings,
    /// Whether a learning is on its way into a memory core.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub promotion_open: bool,
}

/// Something that keeps a board from being purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum KeptBy {
    /// It has not ended.
    Active,
    /// It has ended and was not archived.
    NotArchived,
    /// It is to be kept for a while.
    Retention {
        /// Until when.
        until: Timestamp,
    },
    /// What it taught was neither extracted nor waived.
    Learnings,
    /// A learning is on its way into a memory core.
    Promotion,
}

impl Learnings {
    fn are_open(&self) -> bool {
        *self == Self::Open
    }
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
        let retention = self.retain_until.filter(|until| *until > now).map(|until| KeptBy::Retention { until });
        let learnings = (self.learnings == Learnings::Open).then_some(KeptBy::Learnings);
        let promotion = self.promotion_open.then_some(KeptBy::Promotion);
        [stage, retention, learnings, promotion].into_iter().flatten().collect()
    }

    /// Since when nothing has happened on an active board, if that is longer than this.
    pub fn idle_since(&self, now: Timestamp, idle_after: SignedDuration) -> Option<Timestamp> {
        let changed_at = self.changed_at.filter(|_| self.status == BoardStatus::Active)?;
        (now.duration_since(changed_at) > idle_after).then_some(changed_at)
    }
}

impl BoardState {
    /// What decides whether the board may be purged; none if it was never made. When it last changed, whoever has its log
    /// knows.
    pub fn lifetime(&self, changed_at: Option<Timestamp>) -> Option<Lifetime> {
        let info = self.info()?;
        let learnings = match (&info.learnings_extracted, &info.waived) {
            (Some(_), _) => Learnings::Extracted,
            (None, Some(_)) => Learnings::Waived,
            (None, None) => Learnings::Open,
        };
        Some(Lifetime {
            status: info.status,
            changed_at,
            retain_until: info.retain_until,
            learnings,
            promotion_open: self.has_open_promotion(),
        })
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
            Self::Retention { until } => write!(f, "it is to be kept until {until}"),
            Self::Learnings => f.write_str("what it taught was neither extracted nor waived"),
            Self::Promotion => f.write_str("a learning is on its way into a memory core"),
        }
    }
}

/// All of them in one line.
pub(crate) fn reasons(kept_by: &[KeptBy]) -> String {
    kept_by.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
