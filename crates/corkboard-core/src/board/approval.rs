//! What people say of decisions: approved or rejected.

use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ApprovalId, BoardState, DecisionId};
use crate::text::enum_text;

/// What somebody says of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalVerdict {
    /// It holds.
    Approved,
    /// It does not hold.
    Rejected,
}

/// That somebody approved or rejected a decision. The last one counts, all are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    pub id: ApprovalId,
    /// Of which decision.
    pub decision: DecisionId,
    #[serde(alias = "by")]
    pub created_by: Arc<str>,
    #[serde(alias = "at")]
    pub created_at: Timestamp,
    #[serde(default)]
    pub updated_at: Timestamp,
    /// What was said of it.
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

    /// Everything that was said of decisions, in order.
    pub fn approvals(&self) -> impl DoubleEndedIterator<Item = &Arc<Approval>> {
        self.approvals.values()
    }
}

enum_text!(ApprovalVerdict {
    Approved => "approved",
    Rejected => "rejected",
});
