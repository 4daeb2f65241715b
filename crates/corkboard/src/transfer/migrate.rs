//! Copies from one store to another, and compares both.

use std::collections::BTreeMap;

use corkboard_core::{Head, SpaceId};

use super::log::{Listing, LogReader, count, find, oldest};
use super::writer::SpaceWriter;
use super::{ATTEMPTS, Checksum, Meter, OnProgress, Stage, TokenCopying, TransferError, token_count};
use crate::store::{Appended, Cursor, ListedSpace, Loaded, Snapshot, Store, StoreError};

/// Options of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrateOptions {
    /// Whether to copy, or only to compare.
    pub mode: MigrateMode,
    /// Maximum number of rounds to catch up with a source that others write to.
    pub rounds: u32,
    /// Whether to copy and compare access tokens.
    pub tokens: TokenCopying,
}

impl Default for MigrateOptions {
    /// Without access tokens.
    fn default() -> Self {
        Self { mode: MigrateMode::Copy, rounds: 5, tokens: TokenCopying::default() }
    }
}

/// Whether a migration copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrateMode {
    /// Copies what the target lacks, then compares.
    Copy,
    /// Only compares.
    VerifyOnly,
}

/// The result of a migration.
#[derive(Debug, Default)]
pub struct Migrated {
    /// The spaces of the source without problems, in the order of their IDs.
    pub spaces: Vec<MigratedSpace>,
    /// The spaces that could not be copied, or differ from their original.
    pub problems: Vec<MigrationProblem>,
    /// Spaces of the target that the source does not have, or no longer has. They were not changed.
    pub only_in_target: Vec<SpaceId>,
    /// Number of access tokens of the source that were omitted. Those of the target were not changed.
    pub left_out_tokens: u64,
}

impl Migrated {
    /// The spaces of which the source has more revisions by now.
    pub fn behind(&self) -> impl Iterator<Item = &MigratedSpace> {
        self.spaces.iter().filter(|space| !space.caught_up)
    }
}

/// One space of a migration.
#[derive(Debug, Clone)]
pub struct MigratedSpace {
    /// The agent, board or core that was copied.
    pub space: SpaceId,
    /// The head up to which both were compared and are equal.
    pub head: Head,
    /// Revisions copied in this run.
    pub copied_revisions: u64,
    /// Bytes of these revisions.
    pub copied_bytes: u64,
    /// Revisions compared.
    pub verified_revisions: u64,
    /// Bytes of these revisions.
    pub verified_bytes: u64,
    /// Checksum over the compared revisions, as read from the target.
    pub checksum: Checksum,
    /// Whether the target has everything that the source had when it was last read.
    pub caught_up: bool,
    /// The last round in which the source had the space.
    pub(super) seen: u32,
}

/// A space that was not copied, and why.
#[derive(Debug)]
pub struct MigrationProblem {
    /// The agent, board or core that was not copied.
    pub space: SpaceId,
    /// Why it was not copied.
    pub error: TransferError,
}

/// Copies every space with its whole held log, then compares both sides. Access tokens are omitted from both steps
/// unless the options include them.
///
/// A migration can be stopped at any moment and run again: it continues where the target ends. A space with another
/// history in the target is a [`MigrationProblem`]. Nothing in it is overwritten, and the other spaces continue. Others
/// may write to the source meanwhile: new revisions are copied and compared in the next round. After the last round,
/// [`Migrated::behind`] lists the spaces that are still ahead in the source.
///
/// These parts of a space are compared, up to the target's head:
/// - the head, and the head at which the current life began: revision and commit ID;
/// - every revision that both hold: commit ID, time to the millisecond, body. The target must hold everything that the
///   source holds. It may hold more, because the source has trimmed its log since; there is no original of that to
///   compare with;
/// - the snapshots: byte by byte if they are of the same revision. Otherwise only the commit of the target's snapshot
///   must be in the log, because the content of snapshots is unknown here. If the target's log does not begin with the
///   space, it must have a snapshot that covers the missing part;
/// - the next due time, and the summary.
///
/// Memory use: a page of records, a snapshot, and about 200 bytes per space.
pub async fn migrate(
    from: &dyn Store,
    to: &dyn Store,
    options: MigrateOptions,
    progress: OnProgress<'_>,
) -> Result<Migrated, TransferError> {
    let total = count(from, options.tokens).await.map_err(TransferError::Source)?;
    let left_out = match options.tokens {
        TokenCopying::LeaveOut => find(from, &SpaceId::tokens()).await.map_err(TransferError::Source)?,
        TokenCopying::Include => None,
    };
    let left_out_tokens = left_out.map_or(0, |tokens| token_count(&tokens.summary));
    let stage = if options.mode == MigrateMode::Copy { Stage::Copying } else { Stage::Verifying };
    let mut migration = Migration {
        from,
        to,
        round: 0,
        meter: Meter::new(stage, total, progress),
        spaces: BTreeMap::new(),
        problems: BTreeMap::new(),
        tokens: options.tokens,
    };
    for round in 1..=options.rounds.max(1) {
        migration.round = round;
        if options.mode == MigrateMode::Copy {
            migration.copy().await?;
        }
        if migration.verify().await? == 0 || options.mode == MigrateMode::VerifyOnly {
            break;
        }
    }
    Ok(Migrated { left_out_tokens, ..migration.finish().await? })
}

pub(super) struct Migration<'a> {
    pub(super) from: &'a dyn Store,
    pub(super) to: &'a dyn Store,
    pub(super) round: u32,
    pub(super) meter: Meter<'a>,
    pub(super) spaces: BTreeMap<SpaceId, MigratedSpace>,
    pub(super) problems: BTreeMap<SpaceId, TransferError>,
    pub(super) tokens: TokenCopying,
}

impl Migration<'_> {
    async fn copy(&mut self) -> Result<(), TransferError> {
        self.meter.stage(Stage::Copying);
        let mut listing = Listing::new(self.from, self.tokens);
        while let Some(listed) = listing.next().await.map_err(TransferError::Source)? {
            if !self.is_done(&listed) {
                let copied = self.copy_space(&listed).await;
                self.note(&listed, copied)?;
            }
            self.meter.space();
        }
        Ok(())
    }

    /// Whether this space, as it is listed, needs no more work.
    pub(super) fn is_done(&self, listed: &ListedSpace) -> bool {
        let is_verified = self.spaces.get(&listed.space).is_some_and(|space| space.head == listed.head);
        is_verified || self.problems.contains_key(&listed.space)
    }

    /// Records an error that concerns only one space. Any other error ends the migration.
    pub(super) fn note(
        &mut self,
        listed: &ListedSpace,
        result: Result<(), TransferError>,
    ) -> Result<(), TransferError> {
        match result.map_err(|error| error.of_space(&listed.space)) {
            Err(error) if error.concerns_one_space() => {
                self.problems.insert(listed.space.clone(), error);
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn report(&mut self, space: &SpaceId) -> &mut MigratedSpace {
        self.spaces.entry(space.clone()).or_insert_with(|| MigratedSpace {
            space: space.clone(),
            head: Head::EMPTY,
            copied_revisions: 0,
            copied_bytes: 0,
            verified_revisions: 0,
            verified_bytes: 0,
            checksum: Checksum::default(),
            caught_up: false,
            seen: 0,
        })
    }

    /// Copies a space up to its listed revision, to which the listed due time and summary belong.
    async fn copy_space(&mut self, listed: &ListedSpace) -> Result<(), TransferError> {
        let space = &listed.space;
        let mut uncovered = 0;
        for _ in 0..ATTEMPTS {
            let target = self.to.load(space).await.map_err(TransferError::Target)?;
            let source = self.from.load(space).await.map_err(TransferError::Source)?;
            if source.born.rev >= listed.head.rev || source.head.rev < listed.head.rev {
                // It was deleted since. The next round handles its new state.
                return Ok(());
            }
            let start = if target.head == Head::EMPTY {
                let oldest = oldest(self.from, space, source.born).await.map_err(TransferError::Source)?;
                if oldest > listed.head.rev && source.head != listed.head {
                    // All its records up to the listed revision were trimmed since.
                    return Ok(());
                }
                if oldest > source.head.rev || !is_covered(&source, oldest) {
                    // It may have been trimmed between two reads.
                    uncovered += 1;
                    continue;
                }
                Cursor { rev: oldest.saturating_sub(1), commit: None }
            } else {
                self.expect_continuation(space, &source, &target).await?;
                Cursor::from(target.head)
            };
            let newer =
                |snapshot: &Snapshot| target.snapshot.as_ref().is_none_or(|held| held.head.rev < snapshot.head.rev);
            let snapshot = source.snapshot.filter(newer);
            let writer = SpaceWriter::new(self.to, space, source.born, target.head, snapshot);
            if self.copy_records(listed, start, writer).await? == Appended::Committed {
                return Ok(());
            }
        }
        Err(if uncovered == ATTEMPTS { cut_off(space) } else { TransferError::Contended { space: space.clone() } })
    }

    /// Copies the records after the cursor. A conflict means that one of the two logs has changed, so the caller reads
    /// both again.
    async fn copy_records(
        &mut self,
        listed: &ListedSpace,
        start: Cursor,
        mut writer: SpaceWriter<'_>,
    ) -> Result<Appended, TransferError> {
        let moved = Appended::Conflict { head: listed.head };
        let mut reader = LogReader::new(self.from, &listed.space, start, listed.head.rev);
        let mut is_last = false;
        let mut appended = Appended::Committed;
        while appended == Appended::Committed && !is_last {
            let before = writer.written();
            appended = match reader.next().await {
                Ok(Some(record)) => writer.push(record).await.map_err(TransferError::Target)?,
                Ok(None) => {
                    is_last = true;
                    let finished = writer.finish(listed.next_due, listed.summary.clone()).await;
                    finished.map_err(TransferError::Target)?
                }
                Err(StoreError::Compacted { .. } | StoreError::Diverged | StoreError::Future { .. }) => moved,
                Err(error) => return Err(TransferError::Source(error)),
            };
            let written = writer.written();
            if written != before {
                self.meter.revisions(written.0 - before.0, written.1 - before.1);
            }
        }
        let (revisions, bytes) = writer.written();
        let report = self.report(&listed.space);
        report.copied_revisions += revisions;
        report.copied_bytes += bytes;
        Ok(appended)
    }

    /// Fails unless the target's log is the beginning of the source's: the source must contain the target's head, both
    /// revision and commit.
    pub(super) async fn expect_continuation(
        &self,
        space: &SpaceId,
        source: &Loaded,
        target: &Loaded,
    ) -> Result<(), TransferError> {
        let (space, Head { rev, commit }) = (space.clone(), target.head);
        if target.born != source.born {
            let was_deleted = target.head == target.born;
            return Err(if was_deleted {
                TransferError::Deleted { space, rev }
            } else {
                TransferError::Diverged { space, rev: target.born.rev.max(source.born.rev) }
            });
        }
        if rev > source.head.rev {
            return Err(TransferError::Ahead { space, rev, end: source.head.rev });
        }
        let heads = [Some(source.head), Some(source.born), source.snapshot.as_ref().map(|snapshot| snapshot.head)];
        let known = heads.into_iter().flatten().find(|head| head.rev == rev).map(|head| head.commit);
        let found = match known {
            Some(found) => Some(found),
            None => match self.from.read_after(&space, Cursor { rev: rev.saturating_sub(1), commit: None }, 1).await {
                Ok(page) => page.records.first().map(|record| record.commit),
                Err(StoreError::Compacted { oldest }) => return Err(TransferError::Gap { space, rev, oldest }),
                Err(error) => return Err(TransferError::Source(error)),
            },
        };
        if found == Some(commit) { Ok(()) } else { Err(TransferError::Diverged { space, rev }) }
    }

    async fn finish(mut self) -> Result<Migrated, TransferError> {
        let mut only_in_target = Vec::new();
        self.spaces.retain(|_, space| space.seen == self.round);
        let mut listing = Listing::new(self.to, self.tokens);
        while let Some(listed) = listing.next().await.map_err(TransferError::Target)? {
            if !self.spaces.contains_key(&listed.space) && !self.problems.contains_key(&listed.space) {
                only_in_target.push(listed.space);
            }
        }
        self.spaces.retain(|id, _| !self.problems.contains_key(id));
        let problems = self.problems.into_iter().map(|(space, error)| MigrationProblem { space, error }).collect();
        Ok(Migrated { spaces: self.spaces.into_values().collect(), problems, only_in_target, left_out_tokens: 0 })
    }
}

/// Whether a log that begins at `oldest` can be read: it begins with the space, or a snapshot covers the revisions
/// before.
pub(super) fn is_covered(loaded: &Loaded, oldest: u64) -> bool {
    let snapshot = loaded.snapshot.as_ref().map_or(0, |snapshot| snapshot.head.rev);
    oldest == loaded.born.rev + 1 || snapshot + 1 >= oldest
}

/// The error for a log without a beginning or an end.
pub(super) fn cut_off(space: &SpaceId) -> TransferError {
    let message = "its log has no last record, or no snapshot covers the revisions before its first record".into();
    TransferError::Unreadable { space: space.clone(), message }
}
