//! Write jobs on one space's files. `replace.rs` defines the order in which files replace each other.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corkboard_core::{CommitId, Head, SpaceId};
use parking_lot::Mutex;

use super::catalogue::Catalogue;
use super::disk::{self, AppendError, HEAD, LOG, Root, SNAPSHOT, TORN, sync_folder, sync_parents};
use super::head;
use super::line::{AppendEnd, LineChecksum, LinePosition, LogHeader, TrimPoint, write_record};
use super::log::{Records, cannot_read};
use super::replace::{NewLog, NewSnapshot, replace};
use super::snapshot;
use super::space::{SpaceFiles, snapshot_problem};
use crate::store::writer_thread::{FatalError, OwnJob, QueuedJob, WriteFailure, WriteJob, WriteOutcome};
use crate::store::{Append, Appended, Import, Rewrite, Snapshot, StoreError, Trim};

pub(super) type FileJob = WriteJob<Scrub>;

/// Removes all files except the log, its snapshot and its head.
pub(super) struct Scrub(pub(super) SpaceId);

impl OwnJob for Scrub {}

pub(super) fn space_of(job: &FileJob) -> &SpaceId {
    match job {
        WriteJob::Append(append) => &append.space,
        WriteJob::Import(import) => &import.space,
        WriteJob::Rewrite(rewrite) => &rewrite.space,
        WriteJob::Delete { space, .. }
        | WriteJob::Snapshot { space, .. }
        | WriteJob::Trim { space, .. }
        | WriteJob::Own(Scrub(space)) => space,
    }
}

pub(super) type Result<T> = std::result::Result<T, WriteFailure>;

pub(super) struct DataFolder {
    pub(super) root: Root,
    pub(super) catalogue: Catalogue,
    /// Locks out other processes. Dropped after the last write.
    pub(super) lock: Mutex<Option<File>>,
    pub(super) fatal: Arc<FatalError>,
    /// Number of writes to logs; each cost one fsync.
    pub(super) writes: AtomicU64,
}

impl DataFolder {
    pub(super) fn new(root: Root, catalogue: Catalogue, lock: File) -> Self {
        let fatal = FatalError::new("file", |error| matches!(error, StoreError::Failed(_)));
        Self { root, catalogue, lock: Mutex::new(Some(lock)), fatal, writes: AtomicU64::new(0) }
    }

    /// Returns the files of a space for writing.
    pub(super) fn files(&self, space: &SpaceId) -> Arc<SpaceFiles> {
        self.catalogue.find_or_add(self.root.path(), space)
    }

    /// Returns the files of a space for reading.
    pub(super) fn look(&self, space: &SpaceId) -> Arc<SpaceFiles> {
        self.catalogue.find(space).unwrap_or_else(|| self.catalogue.new_files(self.root.path(), space))
    }

    /// Performs appends to one space together, or one other job.
    pub(super) fn perform(&self, jobs: &[QueuedJob<Scrub>]) -> Result<Vec<WriteOutcome>> {
        let appends: Vec<&Append> = jobs
            .iter()
            .filter_map(|queued| match &queued.job {
                WriteJob::Append(append) => Some(append),
                _ => None,
            })
            .collect();
        let outcomes: Vec<WriteOutcome> = match appends.first() {
            Some(first) => {
                let appended = self.append(&self.files(&first.space), &appends)?;
                appended.into_iter().map(WriteOutcome::Appended).collect()
            }
            None => jobs.iter().map(|queued| self.perform_one(&queued.job)).collect::<Result<_>>()?,
        };
        if outcomes.iter().any(|outcome| !matches!(outcome, WriteOutcome::Appended(Appended::Conflict { .. }))) {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(outcomes)
    }

    fn perform_one(&self, job: &FileJob) -> Result<WriteOutcome> {
        let files = self.files(space_of(job));
        match job {
            WriteJob::Append(append) => {
                let appended = self.append(&files, &[append])?;
                Ok(WriteOutcome::Appended(appended.first().copied().unwrap_or(Appended::Committed)))
            }
            WriteJob::Delete { expected, tombstone, .. } => {
                self.delete(&files, *expected, *tombstone).map(WriteOutcome::Appended)
            }
            WriteJob::Import(import) => self.import(&files, import).map(WriteOutcome::Appended),
            WriteJob::Rewrite(rewrite) => self.rewrite(&files, rewrite).map(WriteOutcome::Appended),
            WriteJob::Snapshot { snapshot, .. } => self.snapshot(&files, snapshot).map(|()| WriteOutcome::Done),
            WriteJob::Trim { trim, .. } => self.trim(&files, *trim).map(WriteOutcome::Trimmed),
            WriteJob::Own(Scrub(_)) => self.scrub(&files).map(|()| WriteOutcome::Done),
        }
    }

    /// Performs all waiting appends to one space: one write, one fsync.
    fn append(&self, files: &Arc<SpaceFiles>, appends: &[&Append]) -> Result<Vec<Appended>> {
        let (mut head, end, header) = files.with(|index| {
            let is_new = index.end.offset == 0;
            Ok((index.head, index.end, is_new.then(|| index.header.clone())))
        })?;
        let (mut position, mut bytes, mut places) = (end, Vec::new(), Vec::new());
        if let Some(header) = &header {
            position = header.write(&mut bytes)?;
        }
        let mut ending = None;
        let mut answers = Vec::with_capacity(appends.len());
        for append in appends {
            if append.expected != head {
                answers.push(Appended::Conflict { head });
                continue;
            }
            let own = AppendEnd { next_due: append.next_due, summary: append.summary.clone() };
            for record in &append.records {
                places.push((record.rev, position));
                let is_last = record.rev == append.new_head().rev;
                write_record(record, is_last.then_some(&own), &mut position, &mut bytes)?;
            }
            head = append.new_head();
            ending = Some(own);
            answers.push(Appended::Committed);
        }
        let Some(ending) = ending else { return Ok(answers) };
        if header.is_some() {
            self.root.create_folder(files.folder())?;
        }
        files.check_end()?;
        disk::append(&files.file(LOG), end.offset, &bytes).map_err(|error| match error {
            AppendError::NotBegun(error) => error.into(),
            AppendError::Failed(error) => WriteFailure::in_doubt(error),
        })?;
        if header.is_some() {
            sync_folder(files.folder()).map_err(WriteFailure::in_doubt)?;
            sync_parents(files.folder()).map_err(WriteFailure::in_doubt)?;
        }
        head::write(files.folder(), head);
        let published: Result<()> = files.change(|index| {
            index.head = head;
            index.end = position;
            places.into_iter().for_each(|(rev, place)| index.mark(rev, place));
            Ok(())
        });
        // A reader may have found damage in the meantime. The append was written nevertheless.
        published.map_err(|failure| WriteFailure::in_doubt(failure.error))?;
        self.catalogue.set(files, head, true, ending);
        Ok(answers)
    }

    fn delete(&self, files: &Arc<SpaceFiles>, expected: Head, tombstone: CommitId) -> Result<Appended> {
        let (head, edition) = files.with(|index| Ok((index.head, index.header.edition)))?;
        if head != expected {
            return Ok(Appended::Conflict { head });
        }
        let born = Head { rev: expected.rev + 1, commit: tombstone };
        let header = LogHeader::new(files.space().as_str(), born, edition + 1);
        let log = NewLog::begin(&self.root, &header)?.finish()?;
        replace(&self.root, files, log, None, &[SNAPSHOT, TORN])?;
        self.catalogue.set(files, born, false, AppendEnd::default());
        Ok(Appended::Committed)
    }

    fn import(&self, files: &Arc<SpaceFiles>, import: &Import) -> Result<Appended> {
        let (head, edition) = files.with(|index| Ok((index.head, index.header.edition)))?;
        if head != Head::EMPTY {
            return Ok(Appended::Conflict { head });
        }
        let mut header = LogHeader::new(files.space().as_str(), import.born, edition + 1);
        let first = import.records.first().map_or(import.born.rev + 1, |record| record.rev);
        if first <= import.born.rev {
            return Err(StoreError::Unavailable("the records begin before the space was born".into()).into());
        }
        if first > import.born.rev + 1 {
            header.trimmed = Some(TrimPoint { rev: first - 1, sum: LineChecksum::NONE });
        }
        let ending = AppendEnd { next_due: import.next_due, summary: import.summary.clone() };
        let mut log = NewLog::begin(&self.root, &header)?;
        for record in &import.records {
            let is_last = record.rev == import.head().rev;
            log.record(record, is_last.then_some(&ending))?;
        }
        let log = log.finish()?;
        let snapshot = NewSnapshot::write(&self.root, &log, import.snapshot.as_ref())?;
        let (head, lives) = (import.head(), !import.records.is_empty());
        replace(&self.root, files, log, snapshot, &[TORN])?;
        self.catalogue.set(files, head, lives, ending);
        Ok(Appended::Committed)
    }

    fn rewrite(&self, files: &Arc<SpaceFiles>, rewrite: &Rewrite) -> Result<Appended> {
        let (head, held) = files.with(|index| {
            // An empty log has nothing to rewrite.
            let is_wanted = index.head == rewrite.expected && index.end.offset > 0;
            let records = is_wanted.then(|| files.records(index, index.before(0))).transpose()?;
            Ok((index.head, records.map(|records| (records, index.header.clone(), index.snapshot))))
        })?;
        if head != rewrite.expected {
            return Ok(Appended::Conflict { head });
        }
        let Some((mut records, mut header, held)) = held else { return Ok(Appended::Committed) };
        let snapshot = rewrite.snapshot.as_ref();
        // The new edition keeps the replaced snapshot from being taken for one of this log.
        header.edition += u64::from(snapshot.is_some());
        let bodies: HashMap<u64, &Vec<u8>> = rewrite.records.iter().map(|record| (record.rev, &record.body)).collect();
        let mut log = NewLog::begin(&self.root, &header)?;
        while let Some((mut record, mut ending)) = files.met(records.next())? {
            if let Some(body) = bodies.get(&record.rev) {
                record.body = body.to_vec();
                // Only the newest summary is read. An older one may contain what is to be forgotten.
                if let Some(ending) = ending.as_mut().filter(|_| record.rev < head.rev) {
                    ending.summary.clear();
                }
            }
            log.record(&record, ending.as_ref())?;
        }
        let log = log.finish()?.beside(held);
        let snapshot = NewSnapshot::write(&self.root, &log, snapshot)?;
        replace(&self.root, files, log, snapshot, &[TORN])?;
        Ok(Appended::Committed)
    }

    fn snapshot(&self, files: &SpaceFiles, snapshot: &Snapshot) -> Result<()> {
        let edition = files.with(|index| {
            let is_newer = index.snapshot.is_none_or(|held| held.rev < snapshot.head.rev);
            // Ignore a snapshot of an earlier life or of another history.
            let fits = is_newer
                && snapshot.head.rev > index.header.born.rev
                && snapshot_problem(&files.file(LOG), index, snapshot.head)?.is_none();
            Ok(fits.then_some(index.header.edition))
        })?;
        let Some(edition) = edition else { return Ok(()) };
        let mut file = self.root.temporary_file()?;
        file.write(&snapshot::encode(files.space().as_str(), edition, snapshot)?)?;
        file.sync()?;
        files.change(|index| {
            file.rename(&files.file(SNAPSHOT)).map_err(WriteFailure::in_doubt)?;
            sync_folder(files.folder()).map_err(WriteFailure::in_doubt)?;
            index.snapshot = Some(snapshot.head);
            Ok(())
        })
    }

    fn trim(&self, files: &SpaceFiles, trim: Trim) -> Result<u64> {
        let held = files.with(|index| {
            // Read the snapshot again to verify it: after the trim, it alone has the old state.
            let covered = files.snapshot(index)?.map_or(0, |snapshot| snapshot.head.rev);
            // The last record stays: it is the head.
            let up_to = covered.min(trim.up_to).min(index.head.rev.saturating_sub(1));
            let may_go = up_to >= index.oldest();
            let records = may_go.then(|| files.records(index, index.before(0))).transpose()?;
            Ok((index.oldest(), index.header.clone(), index.snapshot, records, up_to))
        });
        let (oldest, mut header, snapshot, records, up_to) = files.met(held)?;
        let Some(mut records) = records else { return Ok(oldest) };
        let last_to_go = files.met(last_to_go(&mut records, up_to, trim))?;
        let Some((trimmed, from)) = last_to_go else { return Ok(oldest) };
        header.trimmed = Some(trimmed);
        let mut log = NewLog::begin(&self.root, &header)?;
        log.copy(records, from)?;
        let log = log.finish()?.beside(snapshot);
        replace(&self.root, files, log, None, &[])?;
        Ok(trimmed.rev + 1)
    }

    fn scrub(&self, files: &SpaceFiles) -> Result<()> {
        files.repair()?;
        let has_snapshot = files.with(|index| Ok(index.snapshot.is_some()))?;
        let entries = match std::fs::read_dir(files.folder()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|error| cannot_read(files.folder(), &error))?,
        };
        let mut removed = false;
        for entry in entries {
            let entry = entry.map_err(|error| cannot_read(files.folder(), &error))?;
            let (name, is_folder) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
            if !is_folder && name != LOG && name != HEAD && !(name == SNAPSHOT && has_snapshot) {
                removed |= disk::remove(&entry.path())?;
            }
        }
        if removed { Ok(sync_folder(files.folder())?) } else { Ok(()) }
    }
}

/// Returns the last record to drop, if any, and the position after it.
fn last_to_go(
    records: &mut Records,
    up_to: u64,
    trim: Trim,
) -> std::result::Result<Option<(TrimPoint, LinePosition)>, StoreError> {
    let mut last = None;
    while let Some((record, _)) = records.next()? {
        if record.rev > up_to || trim.older_than.is_some_and(|time| record.at >= time) {
            break;
        }
        let position = records.position();
        last = Some((TrimPoint { rev: record.rev, sum: position.sum }, position));
    }
    Ok(last)
}
