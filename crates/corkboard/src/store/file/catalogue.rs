//! The data of every space that lists and the ticker need, always in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::disk::{self, HEAD, LOG, NEXT_SNAPSHOT, SNAPSHOT, TORN};
use super::line::{AppendEnd, LineChecksum, LogHeader, LogLine, SEAL_BYTES};
use super::log::cannot_read;
use super::names::{self, FolderName};
use super::space::{self, OpenedLog, SpaceFiles};
use crate::store::{ListedSpace, Record, StoreError};

/// How much of a log's end to read first; almost always enough for the last line.
const TAIL: u64 = 4096;

/// All spaces of a store.
#[derive(Default)]
pub(super) struct Catalogue {
    facts: Mutex<CatalogueFacts>,
    /// Folders of logs whose space is unknown: the name is too long for a folder, and the log is damaged.
    nameless: Vec<PathBuf>,
}

#[derive(Default)]
struct CatalogueFacts {
    spaces: BTreeMap<SpaceId, CatalogueEntry>,
    due: BTreeSet<(Timestamp, SpaceId)>,
}

/// Takes about 400 bytes, including its files and its place in the map.
struct CatalogueEntry {
    files: Arc<SpaceFiles>,
    head: Head,
    /// Whether the space has revisions since it was created.
    lives: bool,
    ending: AppendEnd,
}

impl Catalogue {
    /// Examines every space: checks its folder and reads the last 4 KiB of its log, whatever the log's length. This
    /// takes about 50 microseconds per space if the disk cache has the data. A log is only read completely if its end
    /// is not valid.
    pub(super) fn read(root: &Path) -> Result<Self, StoreError> {
        let mut catalogue = Self::default();
        for (kind, path) in folders(root)? {
            for (name, folder) in folders(&path)? {
                let space = match names::space(&kind, &name) {
                    FolderName::Space(space) => space,
                    FolderName::Cut => match name_in_log(&folder) {
                        Some(space) if root.join(names::folder(&space)) == folder => space,
                        _ => {
                            catalogue.add_nameless(folder)?;
                            continue;
                        }
                    },
                    FolderName::Other => continue,
                };
                catalogue.add(space, folder)?;
            }
        }
        Ok(catalogue)
    }

    fn add(&self, space: SpaceId, folder: PathBuf) -> Result<(), StoreError> {
        let log = folder.join(LOG);
        if [LOG, SNAPSHOT, HEAD].iter().all(|name| is_missing(&folder.join(name))) {
            // The folder was created for a log that was never written.
            for name in [NEXT_SNAPSHOT, TORN] {
                disk::remove(&folder.join(name))?;
            }
            let _ = std::fs::remove_dir(&folder);
            return Ok(());
        }
        let tail = tail(&log, &space).map_err(|error| cannot_read(&log, &error));
        let is_settled = is_missing(&folder.join(NEXT_SNAPSHOT));
        let files = Arc::new(SpaceFiles::unread(space, folder));
        match tail {
            Ok(Some(LastLine::Record { head, ending })) if is_settled => self.set(&files, head, true, ending),
            Ok(Some(LastLine::Header { born })) if is_settled && is_missing(&files.file(SNAPSHOT)) => {
                self.set(&files, born, false, AppendEnd::default());
            }
            // Torn, damaged, interrupted or unreadable: open it to find out.
            _ => match space::open(files.folder(), files.space()) {
                Ok(OpenedLog { index, ending }) => {
                    let (head, lives) = (index.head, index.head != index.header.born);
                    self.set(&files, head, lives, ending);
                }
                // List the space, so that it does not seem deleted. Using it returns the error.
                Err(error @ (StoreError::Corrupt(_) | StoreError::NewerFormat { .. } | StoreError::Unavailable(_))) => {
                    tracing::info!(space = %files.space(), %error, "space is unusable");
                    self.set(&files, Head::EMPTY, true, AppendEnd::default());
                }
                Err(error) => return Err(error),
            },
        }
        Ok(())
    }

    fn add_nameless(&mut self, folder: PathBuf) -> Result<(), StoreError> {
        let log = folder.join(LOG);
        let bytes = std::fs::read(&log).unwrap_or_default();
        let was_never_saved = [SNAPSHOT, HEAD].iter().all(|name| is_missing(&folder.join(name)));
        if !bytes.contains(&b'\n') && was_never_saved {
            // The first line is incomplete: the space was never created.
            disk::remove(&log)?;
        } else {
            tracing::warn!(folder = %folder.display(), "cannot tell which space this log belongs to");
            self.nameless.push(folder);
        }
        Ok(())
    }

    /// The folders of logs whose space is unknown.
    pub(super) fn nameless(&self) -> &[PathBuf] {
        &self.nameless
    }

    /// Returns the files of a space, if it is known.
    pub(super) fn find(&self, space: &SpaceId) -> Option<Arc<SpaceFiles>> {
        self.facts.lock().spaces.get(space).map(|entry| entry.files.clone())
    }

    /// Returns the files of a space, and adds it if it is unknown.
    pub(super) fn find_or_add(&self, root: &Path, space: &SpaceId) -> Arc<SpaceFiles> {
        let mut facts = self.facts.lock();
        let entry = facts.spaces.entry(space.clone()).or_insert_with(|| {
            let files = self.new_files(root, space);
            CatalogueEntry { files, head: Head::EMPTY, lives: false, ending: AppendEnd::default() }
        });
        entry.files.clone()
    }

    /// Creates the files object of an unknown space. There is nothing to read, unless its folder is one of the nameless
    /// ones.
    pub(super) fn new_files(&self, root: &Path, space: &SpaceId) -> Arc<SpaceFiles> {
        let folder = root.join(names::folder(space));
        let is_nameless = self.nameless.contains(&folder);
        let new = if is_nameless { SpaceFiles::unread } else { SpaceFiles::unwritten };
        Arc::new(new(space.clone(), folder))
    }

    /// Returns the head, if the files are known to be good or absent.
    pub(super) fn known_head(&self, space: &SpaceId) -> Option<Head> {
        match self.facts.lock().spaces.get(space) {
            Some(entry) => entry.files.is_good().then_some(entry.head),
            None => self.nameless.is_empty().then_some(Head::EMPTY),
        }
    }

    /// Updates the data of a space.
    pub(super) fn set(&self, files: &Arc<SpaceFiles>, head: Head, lives: bool, ending: AppendEnd) {
        let mut facts = self.facts.lock();
        let (space, next_due) = (files.space().clone(), ending.next_due);
        let entry = CatalogueEntry { files: files.clone(), head, lives, ending };
        let before = facts.spaces.insert(space.clone(), entry).and_then(|before| before.ending.next_due);
        if before != next_due {
            if let Some(before) = before {
                facts.due.remove(&(before, space.clone()));
            }
            if let Some(next_due) = next_due {
                facts.due.insert((next_due, space));
            }
        }
    }

    pub(super) fn list(&self, kind: SpaceKind, after: Option<&SpaceId>, limit: usize) -> Vec<ListedSpace> {
        let facts = self.facts.lock();
        let first = SpaceId::of(kind, "");
        let first = after.filter(|after| **after > first).unwrap_or(&first);
        let spaces = facts.spaces.range(first..).take_while(|(space, _)| space.kind() == Some(kind));
        let listed = spaces.filter(|(space, entry)| entry.lives && after != Some(*space)).take(limit);
        listed
            .map(|(space, entry)| ListedSpace {
                space: space.clone(),
                head: entry.head,
                next_due: entry.ending.next_due,
                summary: entry.ending.summary.clone(),
            })
            .collect()
    }

    pub(super) fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> Vec<SpaceId> {
        let facts = self.facts.lock();
        let due = facts.due.iter().take_while(|(at, _)| *at <= now).map(|(_, space)| space);
        due.filter(|space| space.kind() == Some(kind)).take(limit).cloned().collect()
    }

    /// All spaces, including deleted ones.
    pub(super) fn all(&self) -> Vec<Arc<SpaceFiles>> {
        self.facts.lock().spaces.values().map(|entry| entry.files.clone()).collect()
    }
}

/// Whether a file certainly does not exist.
fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// Returns the names and paths of the subfolders, except hidden ones.
fn folders(path: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let read = || {
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if !name.is_empty() && !name.starts_with('.') && entry.file_type()?.is_dir() {
                folders.push((name, entry.path()));
            }
        }
        Ok(folders)
    };
    read().map_err(|error| cannot_read(path, &error))
}

/// The valid last line of a log.
enum LastLine {
    Record { head: Head, ending: AppendEnd },
    Header { born: Head },
}

/// Reads a log's last line. `None`: the whole log must be read.
fn tail(path: &Path, space: &SpaceId) -> std::io::Result<Option<LastLine>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut window = TAIL;
    loop {
        let start = length.saturating_sub(window);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(window).read_to_end(&mut bytes)?;
        let Some(text) = bytes.strip_suffix(b"\n") else { return Ok(None) };
        let (before, line) = match text.iter().rposition(|byte| *byte == b'\n') {
            // The window cuts off the start of this line, or the checksum of the line before.
            Some(line_break) if start > 0 && line_break < SEAL_BYTES => (None, text),
            Some(line_break) => {
                let (before, line) = text.split_at(line_break);
                (Some(before), line.get(1..).unwrap_or_default())
            }
            None => (None, text),
        };
        match before {
            None if start > 0 && window < 4 * Record::PART_BYTES as u64 => window *= 8,
            None if start > 0 => return Ok(None),
            None => {
                let header = LogHeader::read(line).ok().filter(|header| header.space == space.as_str());
                return Ok(header.map(|header| LastLine::Header { born: header.born }));
            }
            Some(before) => return Ok(last_record(before, line)),
        }
    }
}

/// Reads the last line as a record. Fails for the first record of a trimmed log, because that does not follow the line
/// before it.
fn last_record(before: &[u8], line: &[u8]) -> Option<LastLine> {
    let before = LineChecksum::written_in(before)?;
    let mut line = LogLine::read(line, before).ok()?;
    let ending = line.take_ending().ok()??;
    Some(LastLine::Record { head: line.head(), ending })
}

/// Returns the space ID from the first line of a log, for a folder that has only part of the name.
fn name_in_log(folder: &Path) -> Option<SpaceId> {
    let mut line = Vec::new();
    let log = File::open(folder.join(LOG)).ok()?;
    BufReader::new(log).take(Record::PART_BYTES as u64).read_until(b'\n', &mut line).ok()?;
    let header = LogHeader::read(line.strip_suffix(b"\n").unwrap_or(&line)).ok()?;
    Some(SpaceId::from_stored(&header.space))
}
