//! Why logs were not moved.

use corkboard_core::SpaceId;

use crate::ErrorKind;
use crate::store::StoreError;
use crate::transfer::format;

/// What can go wrong when logs are moved. Errors that name a space concern that one alone: the others go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum TransferError {
    /// The store that is read failed.
    #[error("reading: {0}")]
    Source(StoreError),
    /// The store that is written failed.
    #[error("writing: {0}")]
    Target(StoreError),
    /// The target has another history of the space. Nothing in it was changed.
    #[error("{space}: the target has another history: its revision {rev} is another one")]
    Diverged {
        space: SpaceId,
        /// A revision that differs, not always the first.
        rev: u64,
    },
    /// The target went on by itself. Nothing in it was changed.
    #[error("{space}: the target is ahead, at revision {rev}; what was to be copied ends at {end}")]
    Ahead {
        space: SpaceId,
        rev: u64,
        /// Where the source is, or where the file ends.
        end: u64,
    },
    /// The space was deleted in the target, and a deleted space does not come back under its old revisions.
    #[error("{space}: it was deleted in the target, at revision {rev}")]
    Deleted { space: SpaceId, rev: u64 },
    /// The source no longer holds what should follow in the target, or what shows that it does.
    #[error("{space}: the target is at revision {rev}, and the source holds none before {oldest} any more")]
    Gap { space: SpaceId, rev: u64, oldest: u64 },
    /// A copy is not what it was copied from.
    #[error("{space}: the copy differs from the original at revision {rev}: {what}")]
    Mismatch { space: SpaceId, rev: u64, what: &'static str },
    /// The space changed so often while it was read or written that it could not be finished.
    #[error("{space}: others changed it again and again meanwhile")]
    Contended { space: SpaceId },
    /// The space cannot be read where it is.
    #[error("{space}: {message}")]
    Unreadable { space: SpaceId, message: String },
    /// There is no such space.
    #[error("there is no {space} in the store")]
    NoSuchSpace { space: SpaceId },
    /// The file is no export of Corkboard's.
    #[error("not an export of Corkboard's: {0}")]
    NotAnExport(String),
    /// The file is in a newer format.
    #[error("the export is in version {found}; this Corkboard knows versions up to {}", format::VERSION)]
    NewerVersion { found: u64 },
    /// A line is not what belongs there. Nothing of its space was written.
    #[error("line {line}: {message}")]
    ExportLine { line: u64, message: String },
    /// A line is longer than any that an export writes.
    #[error("line {line} has more than {} bytes", format::LINE_BYTES)]
    LineTooLong { line: u64 },
    /// The lines of a space do not add up to its checksum. Nothing of the space was written.
    #[error("line {line}: the checksum of {space} does not match: its lines were changed")]
    Checksum { line: u64, space: SpaceId },
    /// The file ends too early. Nothing of the space that it ends in was written.
    #[error("the export is cut off after line {line}")]
    Truncated { line: u64 },
    /// The totals at the end of the file are others than what was read: whole spaces are missing, or came twice.
    #[error("line {line}: the totals do not match: the file has not all the spaces that were exported, or others")]
    Totals { line: u64 },
    /// So much is wrong with the file that going on makes no sense.
    #[error("line {line}: too much of the file is damaged")]
    TooDamaged { line: u64 },
    /// The file cannot be read.
    #[error("the export cannot be read: {0}")]
    Read(std::io::Error),
    /// The file cannot be written.
    #[error("the export cannot be written: {0}")]
    Write(std::io::Error),
    /// A large space is kept in a temporary file until all of it was seen. That failed.
    #[error("the temporary file for a large space: {0}")]
    Spool(std::io::Error),
}

impl TransferError {
    /// A short name that never changes.
    pub fn code(&self) -> &'static str {
        self.classify().0
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.classify().1
    }

    fn classify(&self) -> (&'static str, ErrorKind) {
        use ErrorKind::*;
        match self {
            Self::Source(error) | Self::Target(error) => error.classify(),
            Self::Diverged { .. } => ("diverged", Conflict),
            Self::Ahead { .. } => ("ahead", Conflict),
            Self::Deleted { .. } => ("deleted", Conflict),
            Self::Gap { .. } => ("gap", Gone),
            Self::Mismatch { .. } => ("mismatch", Damaged),
            Self::Contended { .. } => ("contended", Unavailable),
            Self::Unreadable { .. } => ("unreadable", Damaged),
            Self::NoSuchSpace { .. } => ("not_found", Gone),
            Self::NotAnExport(_) => ("not_an_export", Invalid),
            Self::NewerVersion { .. } => ("newer_format", Damaged),
            Self::ExportLine { .. } => ("malformed", Damaged),
            Self::LineTooLong { .. } => ("line_too_long", Limit),
            Self::Checksum { .. } => ("checksum", Damaged),
            Self::Truncated { .. } => ("truncated", Damaged),
            Self::Totals { .. } => ("totals", Damaged),
            Self::TooDamaged { .. } => ("too_damaged", Damaged),
            Self::Read(_) => ("read", Damaged),
            Self::Write(_) => ("write", Damaged),
            Self::Spool(_) => ("spool", Unavailable),
        }
    }

    /// Damage that was met when one space was read is that space's.
    pub(super) fn of_space(self, space: &SpaceId) -> Self {
        match self {
            Self::Source(StoreError::Corrupt(message)) => Self::Unreadable { space: space.clone(), message },
            other => other,
        }
    }

    /// Whether the other spaces can go on.
    pub(super) fn concerns_one_space(&self) -> bool {
        matches!(
            self,
            Self::Diverged { .. }
                | Self::Ahead { .. }
                | Self::Deleted { .. }
                | Self::Gap { .. }
                | Self::Mismatch { .. }
                | Self::Contended { .. }
                | Self::Unreadable { .. }
        )
    }
}
