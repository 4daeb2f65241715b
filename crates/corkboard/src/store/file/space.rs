//! One space's files. Nothing of them is read before the space is used.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use corkboard_core::{Head, SpaceId};
use parking_lot::RwLock;

use super::disk::{self, LOG, NEXT_SNAPSHOT, SNAPSHOT, TORN};
use super::head;
use super::line::{AppendEnd, FORMAT, LogHeader, Position, Unreadable};
use super::log::{LogIndex, Records, Repair, Scan, cannot_read, damaged, scan};
use super::snapshot::{self, SnapshotFile};
use crate::store::{Snapshot, StoreError};

pub(super) struct SpaceFiles {
    space: SpaceId,
    folder: PathBuf,
    /// Locked for writing while files take each other's places. A reader that has opened a file may then read it at leisure.
    known: RwLock<FileState>,
    /// Whether the files were read, and are good. It saves a look at the lock.
    is_good: AtomicBool,
}

enum FileState {
    Nothing,
    /// In a box: most spaces are never read.
    Good(Box<LogIndex>),
    /// The space is stopped, with this error for every call.
    Damaged(StoreError),
}

pub(super) struct OpenedLog {
    pub(super) index: LogIndex,
    pub(super) ending: AppendEnd,
}

impl SpaceFiles {
    /// Of a space whose log is still to be read.
    pub(super) fn unread(space: SpaceId, folder: PathBuf) -> Self {
        Self { space, folder, known: RwLock::new(FileState::Nothing), is_good: AtomicBool::new(false) }
    }

    /// Of a space that has none yet.
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

    /// What is known of the log. The first caller reads all of it.
    pub(super) fn with<T>(&self, look: impl FnOnce(&LogIndex) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if let FileState::Good(index) = &*self.known.read() {
            return look(index);
        }
        look(self.read(&mut self.known.write())?)
    }

    /// Changes files while nobody opens them, and what is known of them with it.
    pub(super) fn change<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(&mut LogIndex) -> Result<T, E>,
    ) -> Result<T, E> {
        change(self.read(&mut self.known.write())?)
    }

    /// Before anything is written: the log ends where it is known to end. What could not be repaired when it was read is
    /// tried again.
    pub(super) fn check_end(&self) -> Result<(), StoreError> {
        self.repair()?;
        self.met(self.with(|index| disk::check_length(&self.file(LOG), index.end.offset)))
    }

    /// Repairs the end of the log, if that is still to be done.
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
        // Whoever asks is told. This is for those who look at logs.
        tracing::info!(space = %self.space, %error, "the space is stopped");
        *known = FileState::Damaged(error.clone());
        self.is_good.store(false, Ordering::Release);
    }

    /// Stops the space, if what a caller met is damage.
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

    /// The records from a place on. Must be called while what is known is looked at.
    pub(super) fn records(&self, index: &LogIndex, from: Position) -> Result<Records, StoreError> {
        let path = self.file(LOG);
        let file = File::open(&path).map_err(|error| cannot_read(&path, &error))?;
        Records::new(file, &path, from, index.end.offset)
    }

    /// The snapshot, read anew. Must be called while what is known is looked at.
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
                tracing::warn!(space = %self.space, ?found, "the snapshot cannot be read; the log has everything");
                Ok(None)
            }
        }
    }
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt(_) | StoreError::NewerFormat { .. })
}

/// Whether the log alone does not tell the state.
fn needs_snapshot(index: &LogIndex) -> bool {
    index.header.trimmed.is_some()
}

/// Reads a space's log, once it is durable, and looks at its snapshot. What a crash interrupted is finished or undone: see
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
    // Before anything is cut off: what was saved is not torn.
    head::check(folder, index.head)?;
    if torn {
        index.repair = Some(Repair::Cut);
    } else if line_break_missing {
        index.repair = Some(Repair::EndLine);
    }
    match repair(folder, &mut index) {
        Ok(()) if torn => tracing::warn!(%space, path = %path.display(), end = index.end.offset,
            "an append that was never acknowledged is incomplete; it is cut off and kept as {TORN}"),
        // What is whole can be read all the same.
        Err(error @ StoreError::Unavailable(_)) => {
            tracing::warn!(%space, %error, "nothing can be written to the space until its log is repaired");
        }
        repaired => repaired?,
    }
    let path = folder.join(SNAPSHOT);
    let corrupt = |text: String| StoreError::Corrupt(format!("{}: {text}", path.display()));
    match settle(folder, space, index.header.edition)? {
        SnapshotFile::Nothing if needs_snapshot(&index) => {
            Err(corrupt(format!("it is missing, and the log begins at revision {} only", index.oldest())))
        }
        SnapshotFile::Damaged(error) if needs_snapshot(&index) => Err(error),
        SnapshotFile::Nothing => Ok(OpenedLog { index, ending }),
        SnapshotFile::Damaged(error) => {
            tracing::warn!(%space, %error, "the snapshot cannot be read; the log has everything");
            Ok(OpenedLog { index, ending })
        }
        SnapshotFile::Snapshot(stored) if stored.edition != index.header.edition => {
            Err(corrupt("it belongs to a later log".into()))
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

/// Does what the end of the log calls for, if anything.
fn repair(folder: &Path, index: &mut LogIndex) -> Result<(), StoreError> {
    if let Some(repair) = index.repair {
        disk::repair(folder, repair, index.end.offset)?;
        index.repair = None;
    }
    Ok(())
}

/// Finishes or undoes what a crash interrupted, by the log's edition. Returns the snapshot that is left.
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

/// What is wrong with a snapshot of that head beside a log.
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
    Ok((found != Some(commit)).then(|| format!("it shows another commit at revision {rev} than the log")))
}
