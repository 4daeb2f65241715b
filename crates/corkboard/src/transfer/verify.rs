//! Compares a copy with its original.

use corkboard_core::{Head, SpaceId};

use super::log::{Listing, LogReader, find, oldest};
use super::migrate::{Migration, is_covered};
use super::{ATTEMPTS, Checksum, Stage, TransferError};
use crate::store::{Cursor, ListedSpace, Loaded, Record, StoreError};

/// The amount and the checksum of compared records.
#[derive(Default)]
struct Compared {
    revisions: u64,
    bytes: u64,
    checksum: Checksum,
}

impl Migration<'_> {
    /// Compares every space. Returns the number of spaces of which the source has more revisions.
    pub(super) async fn verify(&mut self) -> Result<u64, TransferError> {
        self.meter.stage(Stage::Verifying);
        let mut listing = Listing::new(self.from, self.tokens);
        while let Some(listed) = listing.next().await.map_err(TransferError::Source)? {
            if !self.is_done(&listed) {
                let verified = self.verify_space(&listed).await;
                self.note(&listed, verified)?;
            }
            self.report(&listed.space).seen = self.round;
            self.meter.space();
        }
        let (round, problems) = (self.round, &self.problems);
        let behind = self.spaces.values().filter(|space| space.seen == round && !space.caught_up);
        Ok(behind.filter(|space| !problems.contains_key(&space.space)).count() as u64)
    }

    /// Compares the part of a space that was not compared in an earlier round.
    async fn verify_space(&mut self, listed: &ListedSpace) -> Result<(), TransferError> {
        let space = &listed.space;
        self.report(space).caught_up = false;
        for _ in 0..ATTEMPTS {
            let source = self.from.load(space).await.map_err(TransferError::Source)?;
            let target = self.to.load(space).await.map_err(TransferError::Target)?;
            if source.born.rev >= listed.head.rev || target.head == Head::EMPTY {
                // It was deleted since, or is not copied yet.
                return Ok(());
            }
            self.expect_continuation(space, &source, &target).await?;
            let held = oldest(self.from, space, source.born).await.map_err(TransferError::Source)?;
            let copied = oldest(self.to, space, target.born).await.map_err(TransferError::Target)?;
            if copied > held {
                return Err(mismatch(space, held, "the copy does not hold it"));
            }
            let is_complete = target.head.rev >= listed.head.rev;
            if is_complete {
                expect_readable(space, &source, &target, copied)?;
            }
            let verified = self.report(space).head.rev;
            let Some(compared) = self.compare(space, &target, held.max(verified + 1)).await? else { continue };
            if target.head == listed.head && !self.compare_facts(listed).await? {
                continue;
            }
            let report = self.report(space);
            report.head = target.head;
            report.verified_revisions += compared.revisions;
            report.verified_bytes += compared.bytes;
            report.checksum = compared.checksum;
            report.caught_up = is_complete;
            return Ok(());
        }
        Err(TransferError::Contended { space: space.clone() })
    }

    /// Compares records from `first` to the target's head. `None` if one side trimmed its log meanwhile, so the caller
    /// reads both again.
    async fn compare(
        &mut self,
        space: &SpaceId,
        target: &Loaded,
        first: u64,
    ) -> Result<Option<Compared>, TransferError> {
        let before = Cursor { rev: first.saturating_sub(1), commit: None };
        let mut originals = LogReader::new(self.from, space, before, target.head.rev);
        let mut copies = LogReader::new(self.to, space, before, target.head.rev);
        let mut compared = Compared { checksum: self.report(space).checksum, ..Compared::default() };
        loop {
            let original = match originals.next().await {
                Err(StoreError::Compacted { .. } | StoreError::Diverged | StoreError::Future { .. }) => {
                    return Ok(None);
                }
                other => other.map_err(TransferError::Source)?,
            };
            let copy = match copies.next().await {
                Err(StoreError::Compacted { .. }) => return Ok(None),
                other => other.map_err(TransferError::Target)?,
            };
            let (Some(original), Some(copy)) = (original, copy) else { return Ok(Some(compared)) };
            if let Some(what) = difference(&original, &copy) {
                return Err(mismatch(space, copy.rev, what));
            }
            if let Some(snapshot) = &target.snapshot
                && snapshot.head.rev == copy.rev
                && snapshot.head.commit != copy.commit
            {
                return Err(mismatch(space, copy.rev, "the snapshot belongs to another commit"));
            }
            let bytes = copy.body.len() as u64;
            compared.revisions += 1;
            compared.bytes += bytes;
            compared.checksum.record(&copy);
            self.meter.revisions(1, bytes);
        }
    }

    /// Compares the due time and the summary. `false` if the target has changed, so the caller reads both again.
    async fn compare_facts(&self, listed: &ListedSpace) -> Result<bool, TransferError> {
        let space = &listed.space;
        let copy = find(self.to, space).await.map_err(TransferError::Target)?;
        let Some(copy) = copy.filter(|copy| copy.head == listed.head) else { return Ok(false) };
        let due = |listed: &ListedSpace| listed.next_due.map(|at| at.as_millisecond());
        if due(&copy) != due(listed) {
            return Err(mismatch(space, listed.head.rev, "its next due time"));
        }
        if copy.summary != listed.summary {
            return Err(mismatch(space, listed.head.rev, "its summary"));
        }
        Ok(true)
    }
}

/// Fails unless the copy can be read. Its snapshot must equal the original's if both are of the same revision.
fn expect_readable(space: &SpaceId, source: &Loaded, target: &Loaded, oldest: u64) -> Result<(), TransferError> {
    if !is_covered(target, oldest) {
        return Err(mismatch(space, oldest.saturating_sub(1), "no snapshot covers the revisions before the log"));
    }
    if let (Some(original), Some(copy)) = (&source.snapshot, &target.snapshot)
        && original.head.rev == copy.head.rev
        && original != copy
    {
        return Err(mismatch(space, copy.head.rev, "the snapshot"));
    }
    Ok(())
}

/// The part in which two records of one revision differ.
pub(super) fn difference(one: &Record, other: &Record) -> Option<&'static str> {
    if one.commit != other.commit {
        return Some("its commit id");
    }
    if one.at.as_millisecond() != other.at.as_millisecond() {
        return Some("its time");
    }
    (one.body != other.body).then_some("its content")
}

pub(super) fn mismatch(space: &SpaceId, rev: u64, what: &'static str) -> TransferError {
    TransferError::Mismatch { space: space.clone(), rev, what }
}
