//! A new log in the place of the old one, so that a crash at any point leaves all or nothing of the change.
//!
//! The log is the truth; a snapshot only spares reading it. A new log is written beside all spaces, fsynced, read back, and
//! takes the old one's place by one rename: that is the moment at which the change happens. A snapshot belongs to one
//! edition of its log, so the next opening can tell whose is whose:
//!
//! - An import or a rewrite that brings a snapshot puts it into the folder first, as `snapshot-next.json` with the edition
//!   of the new log. Then the log takes its place, then the snapshot. If the log did not get there, the next snapshot is of a
//!   later edition than the log, and is removed: nothing has happened. If it did, the next snapshot is the log's own and
//!   takes its place, and the old one is of a former edition and goes: all has happened.
//! - A deletion is a log of the next edition. A snapshot that is left behind is of a former one, and is removed.
//! - A trimmed log is of the same edition, and the snapshot fits both.
//!
//! The head is written down when all of that is durable. It never goes back: a deletion is a revision, too.
//!
//! The folder is fsynced after every step, so that the disk sees the steps in this order.

use std::fs::File;

use corkboard_core::Head;

use super::disk::{self, LOG, NEXT_SNAPSHOT, Root, SNAPSHOT, TemporaryFile, sync_folder, sync_parents};
use super::head;
use super::jobs::Result;
use super::line::{AppendEnd, LogHeader, Position, write_record};
use super::log::{LogIndex, Records, cannot_read, scan};
use super::snapshot;
use super::space::{SpaceFiles, snapshot_problem};
use crate::store::writer_thread::WriteFailure;
use crate::store::{Record, Snapshot, StoreError};

pub(super) struct NewLog {
    file: TemporaryFile,
    space: String,
    position: Position,
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

    /// The records of another log from a place on, as they are.
    pub(super) fn copy(&mut self, records: Records, from: Position) -> Result<()> {
        Ok(self.file.copy(&mut records.into_bytes(from)?)?)
    }

    /// Waits for the disk, and reads everything back: the old log goes on the strength of this one.
    pub(super) fn finish(mut self) -> Result<FinishedLog> {
        self.file.sync()?;
        let path = self.file.path();
        let scanned = File::open(path).and_then(|file| {
            let length = file.metadata()?.len();
            scan(file, length, &self.space, 1)
        });
        let scan = scanned.map_err(|error| cannot_read(path, &error))?;
        if let Some((line, problem)) = scan.problems.first() {
            return Err(StoreError::Unavailable(format!("it would not make a log: line {line}, {problem:?}")).into());
        }
        if scan.torn {
            return Err(StoreError::Unavailable("it would not make a log: it is incomplete".into()).into());
        }
        Ok(FinishedLog { file: self.file, index: scan.index })
    }
}

pub(super) struct FinishedLog {
    file: TemporaryFile,
    index: LogIndex,
}

impl FinishedLog {
    /// The snapshot that is there stays.
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
    /// Writes the snapshot that a new log comes with, if it comes with one.
    pub(super) fn write(root: &Root, log: &FinishedLog, snapshot: Option<&Snapshot>) -> Result<Option<Self>> {
        let Some(snapshot) = snapshot else {
            if log.index.header.trimmed.is_some() && log.index.snapshot.is_none() {
                let text = "the log begins in the middle, and no snapshot tells what was before";
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

/// Puts a new log in the place of the old one, and its snapshot with it. Then the leftovers are removed.
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
