//! Copies whole logs: from one store to another, to a file, and back.
//!
//! A store keeps bytes by space and revision, so copying does not need to know their meaning. A copy of a space has the
//! head at which its current life began, its snapshot, every held record with its revision, commit ID and time, its
//! next due time, and its summary. It does not have tombstones of deleted spaces, which no store lists: in the copy,
//! such a space begins at revision 1. Spaces of kinds that this version does not know are not copied. An export
//! contains access tokens, as hashes; [`import`] and [`migrate`] omit them unless the options
//! [include](TokenCopying::Include) them.
//!
//! [`migrate`] copies from store to store and compares both. [`export`] and [`import`] use JSON lines, described in the
//! module `format`. All of them work a page at a time, while others write to the source. They can be stopped at any
//! moment: the next run continues where the target ends. Do not write to the target meanwhile. A write there gives its
//! space another history, which is detected and left alone.

pub mod format;

mod checksum;
mod error;
mod export;
mod import;
mod lines;
mod log;
mod migrate;
mod space_lines;
mod verify;
mod write_space;
mod writer;

pub use checksum::Checksum;
pub use error::TransferError;
pub use export::{Exported, Spaces, export};
pub use import::{FileProblem, ImportMode, ImportOptions, Imported, ImportedSpace, check, import};
pub use migrate::{MigrateMode, MigrateOptions, Migrated, MigratedSpace, MigrationProblem, migrate};
pub use write_space::ImportOutcome;

use corkboard_core::SpaceKind;

/// How often a space is tried again because others changed it in the source or the target.
const ATTEMPTS: u32 = 10;

/// Whether to copy access tokens. A token from someone else's data gives its holder access to the store, and a token
/// that was revoked since works again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenCopying {
    /// Do not copy tokens.
    #[default]
    LeaveOut,
    /// Copy tokens like everything else.
    Include,
}

impl TokenCopying {
    /// Whether to omit spaces of this kind.
    fn leave_out(self, kind: SpaceKind) -> bool {
        self == Self::LeaveOut && kind == SpaceKind::Tokens
    }
}

/// Number of tokens in a space of tokens, from its summary.
fn token_count(summary: &[u8]) -> u64 {
    #[derive(serde::Deserialize)]
    struct TokensSummary {
        tokens: u64,
    }
    serde_json::from_slice(summary).map_or(0, |TokensSummary { tokens }| tokens)
}

/// The progress of a transfer. The numbers are those of the current stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferProgress {
    /// The current stage.
    pub stage: Stage,
    /// Spaces done.
    pub spaces: u64,
    /// Spaces at the beginning.
    pub total: u64,
    /// Revisions done.
    pub revisions: u64,
    /// Bytes of these revisions and of snapshots.
    pub bytes: u64,
}

/// A stage of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// [`migrate`] copies what the target lacks.
    Copying,
    /// [`migrate`] compares.
    Verifying,
    /// [`export`] writes.
    Exporting,
    /// [`import`] or [`check`] reads.
    Importing,
}

/// A callback for progress. It is called for every page and every space, so it must not block.
pub type OnProgress<'a> = &'a mut (dyn FnMut(&TransferProgress) + Send);

/// Counts the progress and reports it.
struct Meter<'a> {
    progress: TransferProgress,
    tell: OnProgress<'a>,
}

impl<'a> Meter<'a> {
    fn new(stage: Stage, total: u64, tell: OnProgress<'a>) -> Self {
        let meter = Self { progress: TransferProgress { stage, spaces: 0, total, revisions: 0, bytes: 0 }, tell };
        (meter.tell)(&meter.progress);
        meter
    }

    fn stage(&mut self, stage: Stage) {
        self.progress = TransferProgress { stage, spaces: 0, revisions: 0, bytes: 0, ..self.progress };
        (self.tell)(&self.progress);
    }

    fn revisions(&mut self, revisions: u64, bytes: u64) {
        self.progress.revisions += revisions;
        self.progress.bytes += bytes;
        (self.tell)(&self.progress);
    }

    fn space(&mut self) {
        self.progress.spaces += 1;
        // Spaces may have been created since they were counted.
        self.progress.total = self.progress.total.max(self.progress.spaces);
        (self.tell)(&self.progress);
    }
}
