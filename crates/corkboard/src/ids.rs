//! Creates IDs. All randomness comes from here.

use corkboard_core::CommitId;
use jiff::Timestamp;
use uuid::{Builder, Uuid};

pub(crate) fn commit() -> CommitId {
    CommitId(Uuid::new_v4())
}

/// An ID that sorts by time (UUID version 7).
pub(crate) fn at(now: Timestamp) -> Uuid {
    let mut random = [0; 10];
    random.iter_mut().zip(Uuid::new_v4().into_bytes()).for_each(|(to, from)| *to = from);
    let millisecond = u64::try_from(now.as_millisecond()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millisecond, &random).into_uuid()
}

/// Cryptographically random bytes, for salts and nonces.
pub(crate) fn unguessable<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
