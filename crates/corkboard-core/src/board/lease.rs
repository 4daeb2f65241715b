//! Leases on tasks and on the orchestrator's role.

use core::time::Duration;

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
    pub lease: Duration,
}

impl Lease {
    /// Default lease of a claim made by a tool call, on the command line or over HTTP.
    pub const CLAIM: Duration = Duration::from_secs(15 * 60);
    /// Default lease of the orchestrator's role.
    pub const ORCHESTRATOR: Duration = Duration::from_secs(30);

    /// The minimum: a shorter lease would expire before its holder knows of it.
    pub const LEAST: Duration = Duration::from_millis(10);
    /// The maximum: a week.
    pub const MOST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// The deadline of a lease that is taken or renewed now.
    pub fn deadline_from(now: Timestamp, lease: Duration) -> Timestamp {
        let lease = SignedDuration::try_from(lease).unwrap_or(SignedDuration::MAX);
        now.saturating_add(lease).unwrap_or(Timestamp::MAX)
    }

    /// The new deadline, if it is later by more than a tenth of the lease. Smaller steps are not worth a write.
    pub fn renewed(&self, now: Timestamp) -> Option<Timestamp> {
        let deadline = Self::deadline_from(now, self.lease);
        (Self::deadline_from(self.deadline, self.lease / 10) < deadline).then_some(deadline)
    }
}

/// The JSON form of a lease duration: `lease_s`, in seconds, to the millisecond. Older logs have `lease_ms`.
pub(super) mod seconds {
    use core::time::Duration;

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

    pub(in crate::board) fn serialize<S: Serializer>(lease: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        match lease.subsec_millis() {
            0 => Whole { lease_s: lease.as_secs() }.serialize(serializer),
            _ => Fraction { lease_s: lease.as_millis() as f64 / 1_000.0 }.serialize(serializer),
        }
    }

    pub(in crate::board) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let Stored { lease_s, lease_ms } = Stored::deserialize(deserializer)?;
        // Adding a half rounds: `f64::round` needs the standard library.
        let from_seconds = || lease_s.map(|seconds| (seconds * 1_000.0 + 0.5) as u64);
        lease_ms.or_else(from_seconds).map(Duration::from_millis).ok_or_else(|| D::Error::missing_field("lease_s"))
    }
}
