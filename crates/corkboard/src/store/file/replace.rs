//! Replaces a log, so that a crash at any point leaves all or nothing of the change.
//!
//! The log is authoritative; a snapshot only makes loading faster. A new log is written outside all spaces, fsynced,
//! and read back. One rename then replaces the old log: at that moment the change happens. A snapshot belongs to one
//! edition of its log, so the next opening knows which log each snapshot belongs to:
//!
//! - An import or a rewrite with a snapshot first puts it into the folder as `snapshot-next.json`, with the edition of
//!   the new log. Then the log is replaced, then the snapshot. If a crash prevents replacing the log, the next snapshot
//!   has a later edition than the log: it is removed, and nothing has happened. If the log was replaced, the next
//!   snapshot has the log's edition: it replaces the old one, which has an earlier edition, and everything has
//!   happened.
//! - A deletion is a log of the next edition. A leftover snapshot has an earlier edition and is removed.
//! - A trimmed log keeps its edition, and the snapshot fits both logs.
//!
//! The head is saved when all of that is durable. It never decreases, because a deletion is a revision, too.
//!
//! The folder is fsynced after every step, so that the steps reach the disk in this order.

use std::fs::File;

use corkboard_core::Head;

use super::disk::{self, LOG, NEXT_SNAPSHOT, Root, SNAPSHOT, TemporaryFile, sync_folder, sync_parents};
use super::head;
use super::jobs::Result;
use super::line::{AppendEnd, LinePosition, LogHeader, write_record};
use super::log::{LogIndex, Records, cannot_read, scan};
use super::snapshot;
use super::space::{SpaceFiles, snapshot_problem};
use crate::store::writer_thread::WriteFailure;
use crate::store::{Record, Snapshot, StoreError};

pub(super) struct NewLog {
    file: TemporaryFile,
    space: String,
    position: LinePosition,
    out: Vec<u8>,
}

impl NewLog {
    pub(super) fn begin(root: &Root, header: &LogHeader) -> Result<Self> {
        let mut file = root.temporary_file()?;
        let mut out = Vec::new();
        let position = header.write(&mut out)?;
        file.write(&out)?;
        Ok(Self { file, space: header.space.clone(), position, out })
    }

    pub(super) fn record(&mut self, record: &Record, ending: Option<&AppendEnd>) -> Result<()> {
        self.out.clear();
        write_record(record, ending, &mut self.position, &mut self.out)?;
        Ok(self.file.write(&self.out)?)
    }

    /// Copies the records of another log from a position on, unchanged.
    pub(super) fn copy(&mut self, records: Records, from: LinePosition) -> Result<()> {
        Ok(self.file.copy(&mut records.into_bytes(from)?)?)
    }

    /// Waits for the disk and reads everything back, because this log is about to replace the old one.
    pub(super) fn finish(mut self) -> Result<FinishedLog> {
        self.file.sync()?;
        let path = self.file.path();
        let scanned = File::open(path).and_then(|file| {
            let length = file.metadata()?.len();
            scan(file, length, &self.space, 1)
        });
        let scan = scanned.map_err(|error| cannot_read(path, &error))?;
        if let Some((line, problem)) = scan.problems.first() {
            return Err(
                StoreError::Unavailable(format!("the new log would be invalid: line {line}, {problem:?}")).into()
            );
        }
        if scan.torn {
            return Err(StoreError::Unavailable("the new log would be incomplete".into()).into());
        }
        Ok(FinishedLog { file: self.file, index: scan.index })
    }
}

pub(super) struct FinishedLog {
    file: TemporaryFile,
    index: LogIndex,
}

impl FinishedLog {
    /// Keeps the existing snapshot.
    pub(super) fn beside(mut self, snapshot: Option<Head>) -> Self {
        self.index.snapshot = snapshot;
        self
    }
}

pub(super) struct NewSnapshot {
    file: TemporaryFile,
    head: Head,
}

impl NewSnapshot {
    /// Writes the snapshot of a new log, if it has one.
    pub(super) fn write(root: &Root, log: &FinishedLog, snapshot: Option<&Snapshot>) -> Result<Option<Self>> {
        let Some(snapshot) = snapshot else {
            if log.index.header.trimmed.is_some() && log.index.snapshot.is_none() {
                let text = "the start of the log is missing, and there is no snapshot to replace it";
                return Err(StoreError::Unavailable(text.into()).into());
            }
            return Ok(None);
        };
        if let Some(problem) = snapshot_problem(log.file.path(), &log.index, snapshot.head)? {
            return Err(StoreError::Unavailable(format!("the snapshot does not fit the log: {problem}")).into());
        }
        let LogHeader { space, edition, .. } = &log.index.header;
        let mut file = root.temporary_file()?;
        file.write(&snapshot::encode(space, *edition, snapshot)?)?;
        file.sync()?;
        Ok(Some(Self { file, head: snapshot.head }))
    }
}

/// Replaces the log, and its snapshot if there is a new one, then removes leftover files.
pub(super) fn replace(
    root: &Root,
    files: &SpaceFiles,
    log: FinishedLog,
    snapshot: Option<NewSnapshot>,
    leftovers: &[&str],
) -> Result<()> {
    let FinishedLog { file: log, index: mut new } = log;
    files.check_end()?;
    root.create_folder(files.folder())?;
    let mut next = None;
    if let Some(NewSnapshot { file, head }) = snapshot {
        file.rename(&files.file(NEXT_SNAPSHOT))?;
        sync_folder(files.folder())?;
        new.snapshot = Some(head);
        next = Some(files.file(NEXT_SNAPSHOT));
    }
    files.change(|index| {
        let is_new = index.end.offset == 0;
        log.rename(&files.file(LOG)).map_err(WriteFailure::in_doubt)?;
        *index = new;
        sync_folder(files.folder()).map_err(WriteFailure::in_doubt)?;
        if is_new {
            sync_parents(files.folder()).map_err(WriteFailure::in_doubt)?;
        }
        let mut changed = false;
        if let Some(next) = &next {
            disk::rename(next, &files.file(SNAPSHOT)).map_err(WriteFailure::in_doubt)?;
            changed = true;
        }
        for leftover in leftovers {
            changed |= disk::remove(&files.file(leftover)).map_err(WriteFailure::in_doubt)?;
        }
        if changed {
            sync_folder(files.folder()).map_err(WriteFailure::in_doubt)?;
        }
        head::write(files.folder(), index.head);
        Ok(())
    })
}
