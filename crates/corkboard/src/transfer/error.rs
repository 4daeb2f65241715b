//! Errors of copying logs.

use corkboard_core::SpaceId;

use crate::ErrorKind;
use crate::store::StoreError;
use crate::transfer::format;

/// Why a copy failed. An error that names a space concerns only that one; the copy continues with the others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum TransferError {
    /// The source store failed.
    #[error("cannot read the source: {0}")]
    Source(StoreError),
    /// The target store failed.
    #[error("cannot write the target: {0}")]
    Target(StoreError),
    /// The target has another history of the space. Nothing in it was changed.
    #[error("{space}: the target has another history: its revision {rev} differs from the original")]
    Diverged {
        space: SpaceId,
        /// A revision that differs, not always the first.
        rev: u64,
    },
    /// The target has more revisions. Nothing in it was changed.
    #[error("{space}: the target is ahead, at revision {rev}; the original ends at {end}")]
    Ahead {
        space: SpaceId,
        rev: u64,
        /// The last revision in the source or the file.
        end: u64,
    },
    /// The space was deleted in the target. A deleted space never reuses its old revisions.
    #[error("{space}: it was deleted in the target, at revision {rev}")]
    Deleted { space: SpaceId, rev: u64 },
    /// The source no longer has the revisions that follow the target's head, or prove that they do.
    #[error("{space}: the target is at revision {rev}, and the source no longer has revisions before {oldest}")]
    Gap { space: SpaceId, rev: u64, oldest: u64 },
    /// A copy differs from its original.
    #[error("{space}: the copy differs from the original at revision {rev}: {what}")]
    Mismatch { space: SpaceId, rev: u64, what: &'static str },
    /// The space changed so often while it was read or written that it could not be finished.
    #[error("{space}: others kept changing it during the copy; try again later")]
    Contended { space: SpaceId },
    /// The space cannot be read where it is.
    #[error("{space}: {message}")]
    Unreadable { space: SpaceId, message: String },
    /// The store does not have the space.
    #[error("{space} not found in the store")]
    NoSuchSpace { space: SpaceId },
    /// The file is not a Corkboard export.
    #[error("not a Corkboard export: {0}")]
    NotAnExport(String),
    /// The file is in a newer format.
    #[error("the export is in version {found}; this Corkboard reads versions up to {}", format::VERSION)]
    NewerVersion { found: u64 },
    /// A line is invalid at its place. Nothing of its space was written.
    #[error("line {line}: {message}")]
    ExportLine { line: u64, message: String },
    /// A line is longer than any that an export writes.
    #[error("line {line} has more than {} bytes", format::LINE_BYTES)]
    LineTooLong { line: u64 },
    /// The lines of a space do not match its checksum. Nothing of the space was written.
    #[error("line {line}: the checksum of {space} does not match: its lines were changed")]
    Checksum { line: u64, space: SpaceId },
    /// The file ends too early. Nothing of its last, incomplete space was written.
    #[error("the export is cut off after line {line}")]
    Truncated { line: u64 },
    /// The totals at the end of the file do not match the spaces in it: whole spaces are missing or repeated.
    #[error("line {line}: the totals do not match: exported spaces are missing from the file, or it has others")]
    Totals { line: u64 },
    /// The file has too much damage to continue.
    #[error("line {line}: too much of the file is damaged")]
    TooDamaged { line: u64 },
    /// The file cannot be read.
    #[error("the export cannot be read: {0}")]
    Read(std::io::Error),
    /// The file cannot be written.
    #[error("the export cannot be written: {0}")]
    Write(std::io::Error),
    /// The temporary file that keeps a large space until all of its lines are read failed.
    #[error("the temporary file for a large space failed: {0}")]
    Spool(std::io::Error),
}

impl TransferError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        self.classify().0
    }

    /// The kind of error.
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

    /// Attributes damage that was found while reading a space to that space.
    pub(super) fn of_space(self, space: &SpaceId) -> Self {
        match self {
            Self::Source(StoreError::Corrupt(message)) => Self::Unreadable { space: space.clone(), message },
            other => other,
        }
    }

    /// Whether the copy can continue with the other spaces.
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
