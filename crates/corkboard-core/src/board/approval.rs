//! Approvals and rejections of decisions.

use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ApprovalId, BoardState, DecisionId};
use crate::text::enum_text;

/// Verdict on a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalVerdict {
    /// The decision holds.
    Approved,
    /// The decision does not hold.
    Rejected,
}

/// An approval or rejection of a decision. All are kept; the last one counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    pub id: ApprovalId,
    pub decision: DecisionId,
    #[serde(alias = "by")]
    pub created_by: Arc<str>,
    #[serde(alias = "at")]
    pub created_at: Timestamp,
    #[serde(default)]
    pub updated_at: Timestamp,
    pub verdict: ApprovalVerdict,
    #[serde(default)]
    pub comment: Option<Arc<str>>,
}

impl Approval {
    pub fn bytes(&self) -> u64 {
        const FIXED: usize = 100;
        (FIXED + self.created_by.len() + self.comment.as_ref().map_or(0, |comment| comment.len())) as u64
    }
}

impl BoardState {
    pub fn approval(&self, id: ApprovalId) -> Option<&Approval> {
        self.approvals.get(&id).map(|approval| &**approval)
    }

    /// All approvals and rejections, in order.
    pub fn approvals(&self) -> impl DoubleEndedIterator<Item = &Arc<Approval>> {
        self.approvals.values()
    }
}

enum_text!(ApprovalVerdict {
    Approved => "approved",
    Rejected => "rejected",
});
