//! Leases: who holds something, and until when.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::AgentId;

/// Who holds a task or the orchestrator's role, and until when. The epoch makes it safe: it is compared in the commit that
/// writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lease {
    /// Whose it is.
    pub holder: AgentId,
    /// Counts how often it was given away.
    pub epoch: u64,
    /// Until when it holds, if it is not renewed.
    pub deadline: Timestamp,
    /// For how long it was taken, and is renewed.
    pub lease_ms: u64,
}

impl Lease {
    /// Default lease of a claim made by a tool call, on the command line or over HTTP.
    pub const CLAIM_MS: u64 = 15 * 60_000;
    /// Default lease of the orchestrator's role.
    pub const ORCHESTRATOR_MS: u64 = 30_000;

    /// The shortest there is: a shorter one would be over before it is known.
    pub const LEAST_MS: u64 = 10;
    /// The longest there is: a week.
    pub const MOST_MS: u64 = 7 * 24 * 60 * 60_000;

    /// The deadline if it is taken or renewed now.
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
