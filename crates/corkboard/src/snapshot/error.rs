//! Why a snapshot's bytes could not be written or read.

use super::{PassphraseCost, Sealing};

/// What is wrong with a snapshot's bytes, or with the key to them. Nothing was changed.
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
    /// It is sealed, and not what opens it was given.
    #[error("the snapshot is sealed with {sealed_with}, which was not given")]
    NeedsKey { sealed_with: Sealing },
    /// It does not open. The cipher cannot tell a wrong key from a change that was made on purpose; a mere accident is told
    /// apart by the checksum and is [`SnapshotError::Damaged`].
    #[error(
        "the snapshot does not open: it was sealed with {sealed_with} other than this one, or someone has changed it; which \
         of the two cannot be told"
    )]
    WrongKey { sealed_with: Sealing },
    /// A key or a passphrase was given for a snapshot that is not sealed. It may not be the one that was meant: without a
    /// seal, anyone can have written it.
    #[error("the snapshot is not sealed, but a key or a passphrase was given to open it")]
    NotSealed,
    /// It says that it holds more than any memory does under the limits in force.
    #[error("the snapshot would take up {bytes} bytes, allowed are {allowed}")]
    TooLarge { bytes: u64, allowed: u64 },
    /// Deriving the key would cost more than is allowed, or so little that argon2 does not know it.
    #[error(
        "the passphrase's cost ({} KiB, {} passes, {} lanes) is out of bounds: at most {} KiB, {} passes, {} lanes, \
         and at least 8 KiB a lane",
        .cost.memory_kib, .cost.passes, .cost.lanes, .most.memory_kib, .most.passes, .most.lanes
    )]
    Cost { cost: PassphraseCost, most: PassphraseCost },
    /// A passphrase without a character keeps nobody out.
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    /// The operating system gave no random bytes, without which nothing can be sealed.
    #[error("no random bytes could be had: {0}")]
    NoRandomness(String),
}
