//! Leases on tasks and on the orchestrator's role.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::AgentId;

/// Who holds a task or the orchestrator's role, and until when. The epoch makes this safe: it is compared in the commit
/// that writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lease {
    pub holder: AgentId,
    /// Increases with every new lease.
    pub epoch: u64,
    /// When it expires unless it is renewed.
    pub deadline: Timestamp,
    /// Lease duration, also for renewals.
    pub lease_ms: u64,
}

impl Lease {
    /// Default lease of a claim made by a tool call, on the command line or over HTTP.
    pub const CLAIM_MS: u64 = 15 * 60_000;
    /// Default lease of the orchestrator's role.
    pub const ORCHESTRATOR_MS: u64 = 30_000;

    /// The minimum: a shorter lease would expire before its holder knows of it.
    pub const LEAST_MS: u64 = 10;
    /// The maximum: a week.
    pub const MOST_MS: u64 = 7 * 24 * 60 * 60_000;

    /// The deadline of a lease that is taken or renewed now.
    pub fn deadline_from(now: Timestamp, lease_ms: u64) -> Timestamp {
        let length = SignedDuration::from_millis(i64::try_from(lease_ms).unwrap_or(i64::MAX));
        now.saturating_add(length).unwrap_or(Timestamp::MAX)
    }

    /// The new deadline, if it is later by more than a tenth of the lease. Smaller steps are not worth a write.
    pub fn renewed(&self, now: Timestamp) -> Option<Timestamp> {
        let deadline = Self::deadline_from(now, self.lease_ms);
        (Self::deadline_from(self.deadline, self.lease_ms / 10) < deadline).then_some(deadline)
    }
}
