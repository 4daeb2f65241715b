//! One space's files. They are first read when the space is first used.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use corkboard_core::{Head, SpaceId};
use parking_lot::RwLock;

use super::disk::{self, LOG, NEXT_SNAPSHOT, SNAPSHOT, TORN};
use super::head;
use super::line::{AppendEnd, FORMAT, LinePosition, LogHeader, Unreadable};
use super::log::{LogIndex, Records, Scan, cannot_read, damaged, scan};
use super::repair::{Repair, repair};
use super::snapshot::{self, SnapshotFile};
use crate::store::{Snapshot, StoreError};

pub(super) struct SpaceFiles {
    space: SpaceId,
    folder: PathBuf,
    /// Locked for writing while files are replaced. A reader that has opened a file can then read it without the lock.
    known: RwLock<FileState>,
    /// Whether the files were read and are good; readable without the lock.
    is_good: AtomicBool,
}

enum FileState {
    Nothing,
    /// Boxed, because most spaces are never read.
    Good(Box<LogIndex>),
    /// The space is unusable; every call returns this error.
    Damaged(StoreError),
}

pub(super) struct OpenedLog {
    pub(super) index: LogIndex,
    pub(super) ending: AppendEnd,
}

impl SpaceFiles {
    /// The files of a space whose log has not been read yet.
    pub(super) fn unread(space: SpaceId, folder: PathBuf) -> Self {
        Self { space, folder, known: RwLock::new(FileState::Nothing), is_good: AtomicBool::new(false) }
    }

    /// The files of a space that does not exist yet.
    pub(super) fn unwritten(space: SpaceId, folder: PathBuf) -> Self {
        let index = LogIndex::new(LogHeader::new(space.as_str(), Head::EMPTY, 0));
        Self { space, folder, known: RwLock::new(FileState::Good(Box::new(index))), is_good: AtomicBool::new(true) }
    }

    pub(super) fn space(&self) -> &SpaceId {
        &self.space
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn is_good(&self) -> bool {
        self.is_good.load(Ordering::Acquire)
    }

    /// Calls `look` with the log's index. The first caller reads the whole log.
    pub(super) fn with<T>(&self, look: impl FnOnce(&LogIndex) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if let FileState::Good(index) = &*self.known.read() {
            return look(index);
        }
        look(self.read(&mut self.known.write())?)
    }

    /// Changes files and the index while no reader can open them.
    pub(super) fn change<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(&mut LogIndex) -> Result<T, E>,
    ) -> Result<T, E> {
        change(self.read(&mut self.known.write())?)
    }

    /// Checks before a write that the log ends where the index says. First retries a repair that failed when the log
    /// was read.
    pub(super) fn check_end(&self) -> Result<(), StoreError> {
        self.repair()?;
        self.met(self.with(|index| disk::check_length(&self.file(LOG), index.end.offset)))
    }

    /// Repairs the end of the log, if this is still necessary.
    pub(super) fn repair(&self) -> Result<(), StoreError> {
        match self.with(|index| Ok(index.repair))? {
            Some(_) => self.change(|index| repair(&self.folder, index)),
            None => Ok(()),
        }
    }

    fn read<'a>(&self, known: &'a mut FileState) -> Result<&'a mut LogIndex, StoreError> {
        if matches!(known, FileState::Nothing) {
            match open(&self.folder, &self.space) {
                Ok(OpenedLog { index, .. }) => {
                    *known = FileState::Good(Box::new(index));
                    self.is_good.store(true, Ordering::Release);
                }
                Err(error) if is_damage(&error) => self.stop(known, &error),
                Err(error) => return Err(error),
            }
        }
        match known {
            FileState::Good(index) => Ok(index),
            FileState::Damaged(error) => Err(error.clone()),
            FileState::Nothing => Err(StoreError::Unavailable("the log was not read".into())),
        }
    }

    fn stop(&self, known: &mut FileState, error: &StoreError) {
        // Callers get the error; this is for readers of the logs.
        tracing::info!(space = %self.space, %error, "space stopped because its files are damaged");
        *known = FileState::Damaged(error.clone());
        self.is_good.store(false, Ordering::Release);
    }

    /// Stops the space if the result is an error that means damage.
    pub(super) fn met<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result
            && is_damage(error)
        {
            let mut known = self.known.write();
            if !matches!(&*known, FileState::Damaged(_)) {
                self.stop(&mut known, error);
            }
        }
        result
    }

    /// Returns the records from a position on. Call it inside [`Self::with`] or [`Self::change`].
    pub(super) fn records(&self, index: &LogIndex, from: LinePosition) -> Result<Records, StoreError> {
        let path = self.file(LOG);
        let file = File::open(&path).map_err(|error| cannot_read(&path, &error))?;
        Records::new(file, &path, from, index.end.offset)
    }

    /// Reads the snapshot. Call it inside [`Self::with`] or [`Self::change`].
    pub(super) fn snapshot(&self, index: &LogIndex) -> Result<Option<Snapshot>, StoreError> {
        let Some(head) = index.snapshot else { return Ok(None) };
        let path = self.file(SNAPSHOT);
        match snapshot::read(&path, self.space.as_str())? {
            SnapshotFile::Snapshot(stored) if stored.snapshot.head == head => Ok(Some(stored.snapshot)),
            SnapshotFile::Damaged(error) if needs_snapshot(index) => Err(error),
            SnapshotFile::Nothing | SnapshotFile::Snapshot(_) if needs_snapshot(index) => {
                Err(StoreError::Corrupt(format!("{}: another program changed it", path.display())))
            }
            found => {
                tracing::warn!(space = %self.space, ?found, "cannot read the snapshot; the log is complete");
                Ok(None)
            }
        }
    }
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt(_) | StoreError::NewerFormat { .. })
}

/// Whether the state cannot be computed from the log alone.
fn needs_snapshot(index: &LogIndex) -> bool {
    index.header.trimmed.is_some()
}

/// Makes a space's log durable, reads it, and checks its snapshot. Finishes or undoes what a crash interrupted; see
/// `replace.rs`.
pub(super) fn open(folder: &Path, space: &SpaceId) -> Result<OpenedLog, StoreError> {
    let path = folder.join(LOG);
    let log = File::open(&path);
    if let Ok(log) = &log {
        disk::adopt(log, folder)?;
    }
    let scanned = log.and_then(|file| {
        let length = file.metadata()?.len();
        scan(file, length, space.as_str(), 1)
    });
    let Scan { mut index, ending, problems, torn, line_break_missing } = match scanned {
        Ok(scan) => scan,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreError::Corrupt(format!("{} is missing", path.display())));
        }
        Err(error) => return Err(cannot_read(&path, &error)),
    };
    match problems.into_iter().next() {
        Some((_, Unreadable::Newer { found })) => return Err(StoreError::NewerFormat { found, known: FORMAT }),
        Some((line, Unreadable::Damaged(text))) => return Err(damaged(&path, line, &text)),
        None => {}
    }
    // Check before cutting anything off: revisions that were saved are not torn.
    head::check(folder, index.head)?;
    if torn {
        index.repair = Some(Repair::Cut);
    } else if line_break_missing {
        index.repair = Some(Repair::EndLine);
    }
    match repair(folder, &mut index) {
        Ok(()) if torn => tracing::warn!(%space, path = %path.display(), end = index.end.offset,
            "moved an incomplete, never acknowledged append to {TORN}"),
        // The complete revisions can be read nevertheless.
        Err(error @ StoreError::Unavailable(_)) => {
            tracing::warn!(%space, %error, "the space is read-only until its log is repaired");
        }
        repaired => repaired?,
    }
    let path = folder.join(SNAPSHOT);
    let corrupt = |text: String| StoreError::Corrupt(format!("{}: {text}", path.display()));
    match settle(folder, space, index.header.edition)? {
        SnapshotFile::Nothing if needs_snapshot(&index) => {
            Err(corrupt(format!("it is missing, but the log only begins at revision {}", index.oldest())))
        }
        SnapshotFile::Damaged(error) if needs_snapshot(&index) => Err(error),
        SnapshotFile::Nothing => Ok(OpenedLog { index, ending }),
        SnapshotFile::Damaged(error) => {
            tracing::warn!(%space, %error, "cannot read the snapshot; the log is complete");
            Ok(OpenedLog { index, ending })
        }
        SnapshotFile::Snapshot(stored) if stored.edition != index.header.edition => {
            Err(corrupt("it belongs to a later edition of the log".into()))
        }
        SnapshotFile::Snapshot(stored) => match snapshot_problem(&folder.join(LOG), &index, stored.snapshot.head)? {
            Some(problem) => Err(corrupt(problem)),
            None => {
                index.snapshot = Some(stored.snapshot.head);
                Ok(OpenedLog { index, ending })
            }
        },
    }
}

/// Finishes or undoes an interrupted replacement, according to the log's edition. Returns the remaining snapshot.
fn settle(folder: &Path, space: &SpaceId, edition: u64) -> Result<SnapshotFile, StoreError> {
    let (path, next) = (folder.join(SNAPSHOT), folder.join(NEXT_SNAPSHOT));
    let found = snapshot::read(&next, space.as_str())?;
    if matches!(&found, SnapshotFile::Snapshot(stored) if stored.edition == edition) {
        disk::rename(&next, &path)?;
        disk::sync_folder(folder)?;
        return Ok(found);
    }
    let mut changed = disk::remove(&next)?;
    let mut found = snapshot::read(&path, space.as_str())?;
    if matches!(&found, SnapshotFile::Snapshot(stored) if stored.edition < edition) {
        changed |= disk::remove(&path)?;
        found = SnapshotFile::Nothing;
    }
    if changed {
        disk::sync_folder(folder)?;
    }
    Ok(found)
}

/// Describes why a snapshot with this head does not fit the log, if so.
pub(super) fn snapshot_problem(log: &Path, index: &LogIndex, head: Head) -> Result<Option<String>, StoreError> {
    let Head { rev, commit } = head;
    if rev > index.head.rev {
        return Ok(Some(format!("it shows revision {rev}, but the log ends at {}", index.head.rev)));
    }
    if rev + 1 < index.oldest() || rev <= index.header.born.rev {
        return Ok(Some(format!("it shows revision {rev}, but the log begins at {}", index.oldest())));
    }
    if rev < index.oldest() {
        return Ok(None);
    }
    let file = File::open(log).map_err(|error| cannot_read(log, &error))?;
    let found = Records::new(file, log, index.before(rev), index.end.offset)?.find_commit(rev)?;
    Ok((found != Some(commit)).then(|| format!("at revision {rev} it shows a different commit than the log")))
}
