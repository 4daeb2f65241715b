//! Setbacks: what went wrong with a task before it was completed.

use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::{ReviewVerdict, Task};
use crate::space::Stamp;
use crate::text::enum_text;

/// Kind of a setback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SetbackKind {
    /// The reviewer requested rework.
    NeedsRework,
    /// The reviewer rejected it.
    Rejected,
    /// The task failed.
    Failed,
}

/// A task was sent back or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Setback {
    pub kind: SetbackKind,
    pub at: Timestamp,
    /// The reviewer, or the agent that reported the failure.
    pub by: Arc<str>,
    #[serde(default)]
    pub comment: Option<Arc<str>>,
}

impl SetbackKind {
    pub(in super::super) fn of(verdict: ReviewVerdict) -> Option<Self> {
        match verdict {
            ReviewVerdict::Approved => None,
            ReviewVerdict::NeedsRework => Some(Self::NeedsRework),
            ReviewVerdict::Rejected => Some(Self::Rejected),
        }
    }
}

enum_text!(SetbackKind {
    NeedsRework => "needs rework",
    Rejected => "rejected",
    Failed => "failed",
});

impl Setback {
    pub fn bytes(&self) -> u64 {
        const FIXED: usize = 60;
        (FIXED + self.by.len() + self.comment.as_ref().map_or(0, |comment| comment.len())) as u64
    }
}

impl Task {
    /// Only this many setbacks are kept, the latest ones.
    pub const MOST_SETBACKS: usize = 8;

    pub(in super::super) fn set_back(&mut self, kind: SetbackKind, comment: Option<Arc<str>>, stamp: Stamp<'_>) {
        if self.setbacks.len() >= Self::MOST_SETBACKS {
            self.setbacks.remove(0);
        }
        let (at, by) = (stamp.at, stamp.principal.into());
        self.setbacks.push(Arc::new(Setback { kind, at, by, comment }));
    }
}
