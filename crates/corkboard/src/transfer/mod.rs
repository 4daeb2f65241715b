//! Moves whole logs: from one store to another, to a file, and back.
//!
//! A store keeps bytes by space and revision, so a copy needs not know what they mean. What is carried of a space: where its
//! present life began, the snapshot, every record held with its revision, commit id and time, when something in it is due,
//! and its summary. What is not: the tombstones of deleted spaces, which no store lists (in the copy, a space of that name
//! begins at revision 1), and spaces of kinds that this version does not know. An export has the access tokens, of which only
//! hashes are stored; [`import`] and [`migrate`] leave them out unless they are told to [include](Tokens::Include) them.
//!
//! [`migrate`] copies from store to store and compares both; [`export`] and [`import`] go through JSON lines, whose form the
//! module `format` tells. All of them work a page at a time, while others write to the source, and can be ended at any
//! moment: the next run goes on where the target is. Nobody should write to the target meanwhile; what is written there
//! makes another history of its space, which is then told apart and left alone.

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

/// How often a space is begun anew because the store that it is read from or written to changed under our hands.
const ATTEMPTS: u32 = 10;

/// Whether access tokens are copied. A token that comes with somebody else's data opens the store to its holder, and one that
/// was revoked since works again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tokens {
    /// They stay where they are.
    #[default]
    LeaveOut,
    /// They are copied like everything else.
    Include,
}

impl Tokens {
    /// Whether spaces of that kind are left out.
    fn leave_out(self, kind: SpaceKind) -> bool {
        self == Self::LeaveOut && kind == SpaceKind::Tokens
    }
}

/// How many tokens there are in a space of tokens, as its summary says.
fn token_count(summary: &[u8]) -> u64 {
    #[derive(serde::Deserialize)]
    struct TokensSummary {
        tokens: u64,
    }
    serde_json::from_slice(summary).map_or(0, |TokensSummary { tokens }| tokens)
}

/// How far a transfer is. The numbers are those of its stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Spaces done.
    pub spaces: u64,
    /// Spaces there were when it began.
    pub total: u64,
    /// Revisions done.
    pub revisions: u64,
    /// Their bytes, and those of snapshots.
    pub bytes: u64,
}

/// What a transfer is doing.
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

/// Who is told of the progress. It is called for every page and every space, so it must not wait.
pub type OnProgress<'a> = &'a mut (dyn FnMut(&Progress) + Send);

/// Counts, and tells.
struct Meter<'a> {
    progress: Progress,
    tell: OnProgress<'a>,
}

impl<'a> Meter<'a> {
    fn new(stage: Stage, total: u64, tell: OnProgress<'a>) -> Self {
        let meter = Self { progress: Progress { stage, spaces: 0, total, revisions: 0, bytes: 0 }, tell };
        (meter.tell)(&meter.progress);
        meter
    }

    fn stage(&mut self, stage: Stage) {
        self.progress = Progress { stage, spaces: 0, revisions: 0, bytes: 0, ..self.progress };
        (self.tell)(&self.progress);
    }

    fn revisions(&mut self, revisions: u64, bytes: u64) {
        self.progress.revisions += revisions;
        self.progress.bytes += bytes;
        (self.tell)(&self.progress);
    }

    fn space(&mut self) {
        self.progress.spaces += 1;
        // Some may have come since they were counted.
        self.progress.total = self.progress.total.max(self.progress.spaces);
        (self.tell)(&self.progress);
    }
}
