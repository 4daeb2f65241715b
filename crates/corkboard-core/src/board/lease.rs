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
    #[serde(flatten, with = "seconds")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
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

/// The stored form of a lease duration: `lease_s`, in seconds, with a fraction if needed. Older logs have `lease_ms`.
pub(super) mod seconds {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Whole {
        lease_s: u64,
    }

    #[derive(Serialize)]
    struct Fraction {
        lease_s: f64,
    }

    #[derive(Deserialize)]
    struct Stored {
        lease_s: Option<f64>,
        lease_ms: Option<u64>,
    }

    pub(in crate::board) fn serialize<S: Serializer>(lease_ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        match lease_ms % 1_000 {
            0 => Whole { lease_s: lease_ms / 1_000 }.serialize(serializer),
            _ => Fraction { lease_s: *lease_ms as f64 / 1_000.0 }.serialize(serializer),
        }
    }

    pub(in crate::board) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let Stored { lease_s, lease_ms } = Stored::deserialize(deserializer)?;
        // Adding a half rounds: `f64::round` needs the standard library.
        let from_seconds = || lease_s.map(|seconds| (seconds * 1_000.0 + 0.5) as u64);
        lease_ms.or_else(from_seconds).ok_or_else(|| D::Error::missing_field("lease_s"))
    }
}
