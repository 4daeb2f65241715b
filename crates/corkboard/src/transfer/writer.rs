//! Writes a copied log, page by page.

use corkboard_core::{Head, SpaceId};
use jiff::Timestamp;

use super::log::PAGE;
use crate::store::{Append, Appended, Import, Page, Record, Snapshot, Store, StoreError};

/// Writes one space's log to a store that has none of it, or its beginning.
///
/// Until the last page is written, the copy has no summary and no due time, so that nobody mistakes it for the whole.
pub(super) struct SpaceWriter<'a> {
    to: &'a dyn Store,
    space: &'a SpaceId,
    born: Head,
    head: Head,
    /// The snapshot, until it is written: it must not be ahead of its log.
    snapshot: Option<Snapshot>,
    page: Vec<Record>,
    page_bytes: usize,
    written: (u64, u64),
}

impl<'a> SpaceWriter<'a> {
    /// A writer that continues after `head`, the target's head. [`Head::EMPTY`] begins the log.
    pub(super) fn new(
        to: &'a dyn Store,
        space: &'a SpaceId,
        born: Head,
        head: Head,
        snapshot: Option<Snapshot>,
    ) -> Self {
        Self { to, space, born, head, snapshot, page: Vec::new(), page_bytes: 0, written: (0, 0) }
    }

    /// Adds the next record, and writes those before it if they fill a page.
    pub(super) async fn push(&mut self, record: Record) -> Result<Appended, StoreError> {
        let full = self.page.len() == PAGE || self.page_bytes + record.body.len() > Page::BYTES;
        if full && !self.needs_its_snapshot() && self.flush(None, Vec::new()).await? != Appended::Committed {
            return Ok(Appended::Conflict { head: self.head });
        }
        self.page_bytes += record.body.len();
        self.page.push(record);
        Ok(Appended::Committed)
    }

    /// Whether the waiting records begin a trimmed log and do not yet reach its snapshot. They are then not written
    /// yet, even if they exceed a page, so that no store ever holds a log that cannot be read.
    fn needs_its_snapshot(&self) -> bool {
        let (Some(first), Some(last)) = (self.page.first(), self.page.last()) else { return false };
        self.head == Head::EMPTY
            && first.rev > self.born.rev + 1
            && self.snapshot.as_ref().is_some_and(|snapshot| snapshot.head.rev > last.rev)
    }

    /// Writes the last page with the due time and the summary, and the snapshot.
    pub(super) async fn finish(
        &mut self,
        next_due: Option<Timestamp>,
        summary: Vec<u8>,
    ) -> Result<Appended, StoreError> {
        let appended = self.flush(next_due, summary).await?;
        if appended == Appended::Committed {
            self.place_snapshot().await?;
        }
        Ok(appended)
    }

    /// Number of revisions and bytes written to the target so far.
    pub(super) fn written(&self) -> (u64, u64) {
        self.written
    }

    async fn flush(&mut self, next_due: Option<Timestamp>, summary: Vec<u8>) -> Result<Appended, StoreError> {
        let records = std::mem::take(&mut self.page);
        let bytes = std::mem::take(&mut self.page_bytes) as u64;
        let count = records.len() as u64;
        let Some(last) = records.last().map(|record| Head { rev: record.rev, commit: record.commit }) else {
            return Ok(Appended::Committed);
        };
        let (space, expected) = (self.space.clone(), self.head);
        let appended = if expected == Head::EMPTY {
            let snapshot = self.snapshot.take_if(|snapshot| snapshot.head.rev <= last.rev);
            let born = self.born;
            self.to.import(Import { space, born, snapshot, records, next_due, summary }).await?
        } else {
            self.to.append(Append { space, expected, records, next_due, summary }).await?
        };
        if appended == Appended::Committed {
            self.head = last;
            self.written = (self.written.0 + count, self.written.1 + bytes);
            self.place_snapshot().await?;
        }
        Ok(appended)
    }

    async fn place_snapshot(&mut self) -> Result<(), StoreError> {
        let head = self.head;
        match self.snapshot.take_if(|snapshot| snapshot.head.rev <= head.rev) {
            Some(snapshot) => self.to.write_snapshot(self.space, snapshot).await,
            None => Ok(()),
        }
    }
}
