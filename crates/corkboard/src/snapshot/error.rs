//! Errors of writing and reading a snapshot's bytes.

use super::{PassphraseCost, Sealing};

/// A problem with a snapshot's bytes, or with their key. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum SnapshotError {
    /// Written by a newer Corkboard.
    #[error("the snapshot was written in format {found}; this Corkboard is too old to read it")]
    Newer { found: u32 },
    /// Cut short or changed since it was written.
    #[error("the snapshot is damaged: {0}")]
    Damaged(&'static str),
    /// It is sealed, and the required secret was not given.
    #[error("the snapshot is encrypted with {sealed_with}, which was not given")]
    NeedsKey { sealed_with: Sealing },
    /// It cannot be opened. The cipher cannot tell a wrong key from deliberate tampering. The checksum detects
    /// accidental damage, which is [`SnapshotError::Damaged`].
    #[error(
        "cannot open the snapshot: it was encrypted with {sealed_with} other than the given one, or it was changed"
    )]
    WrongKey { sealed_with: Sealing },
    /// A key or a passphrase was given for a snapshot that is not sealed. It may be the wrong snapshot: without a seal,
    /// anyone can have written it.
    #[error("the snapshot is not encrypted, but a key or passphrase was given to open it")]
    NotSealed,
    /// It is larger than any memory can be under the current limits.
    #[error("the snapshot would take up {bytes} bytes; the maximum is {allowed}")]
    TooLarge { bytes: u64, allowed: u64 },
    /// Deriving the key would cost more than the maximum, or less than the minimum of argon2.
    #[error(
        "the passphrase's cost ({} KiB, {} passes, {} lanes) is out of bounds: at most {} KiB, {} passes, {} lanes, \
         and at least 8 KiB per lane",
        .cost.memory_kib, .cost.passes, .cost.lanes, .most.memory_kib, .most.passes, .most.lanes
    )]
    Cost { cost: PassphraseCost, most: PassphraseCost },
    /// An empty passphrase protects nothing.
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    /// The operating system gave no random bytes, without which nothing can be sealed.
    #[error("cannot get random bytes from the operating system: {0}")]
    NoRandomness(String),
}
