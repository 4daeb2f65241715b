//! Changes to the folder, but for repairs (`repair.rs`). Files and folders that must be durable are fsynced here.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::line::{FORMAT, Version};
use crate::store::{StoreError, permissions};

/// The files of one space, in its folder.
pub(super) const LOG: &str = "log.jsonl";
pub(super) const SNAPSHOT: &str = "snapshot.json";
/// Head of the log at the last save; see `head.rs`.
pub(super) const HEAD: &str = "head.json";
/// A new snapshot that replaces the old one after the log was replaced.
pub(super) const NEXT_SNAPSHOT: &str = "snapshot-next.json";
/// The incomplete last append that a crash left. Kept for inspection until the space is deleted, rewritten or scrubbed.
pub(super) const TORN: &str = "log.torn";

const README: &str = "README.txt";
const MARKER: &str = "corkboard.json";
const LOCK: &str = "corkboard.lock";
/// Folder of temporary files. No space's folder begins with a dot.
const TEMPORARY: &str = ".tmp";

const README_TEXT: &str = "\
This folder is a Corkboard store: the memory of LLM agents.

  agent/NAME/log.jsonl      all changes of that agent's memory, one revision per line, oldest first
  agent/NAME/snapshot.json  the whole memory at one revision, to avoid reading the whole log
  agent/NAME/head.json      the newest revision, to detect a log that lost its end

You can read these files with any tool. Do not edit them: every line ends with a checksum over itself and the line
before. An agent with a changed log cannot be used until the log is restored. You may remove other files in an
agent's folder. In folder names, all characters except letters, digits and ._- are percent-encoded; the first line
of a log contains the original name.

Only one process at a time can use the folder; corkboard.lock names it. To look inside, or to check for damage:

  cork --store file:PATH stats --all
  cork --store file:PATH doctor

For a backup, copy the folder while no process uses it.
";

#[derive(Serialize)]
struct Marker {
    store: &'static str,
    format: u32,
}

pub(super) struct Root {
    path: PathBuf,
    temporary: AtomicU64,
}

impl Root {
    /// Locks the folder for this process, and creates it if it is missing.
    pub(super) fn open(path: PathBuf) -> Result<(Self, File), StoreError> {
        // The process may change its working directory later.
        let path = std::path::absolute(&path).map_err(|error| refused(&path, &error.to_string()))?;
        let made = path.ancestors().skip(1).take_while(|folder| !folder.exists()).count();
        permissions::create_folders(&path)
            .map_err(|error| refused(&path, &format!("cannot create {}: {error}", path.display())))?;
        // Create nothing, not even the lock, in a folder that is not a store.
        if !is_ours(&path).map_err(|error| refused(&path, &format!("cannot read the folder: {error}")))? {
            return Err(refused(&path, "the folder contains other files and is not a Corkboard store"));
        }
        let lock = lock(&path)?;
        let root = Self { path, temporary: AtomicU64::new(0) };
        // The folder itself may be new, and some of its parents.
        root.prepare(made + 1)?;
        Ok((root, lock))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Initializes the folder if it is not a store yet, and removes the temporary files of the last process.
    fn prepare(&self, parents: usize) -> Result<(), StoreError> {
        let unavailable = |what: &str, error: &std::io::Error| StoreError::Unavailable(format!("{what}: {error}"));
        match std::fs::remove_dir_all(self.path.join(TEMPORARY)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(unavailable("cannot remove temporary files", &error));
            }
            _ => {}
        }
        permissions::create_folders(&self.path.join(TEMPORARY))
            .map_err(|error| unavailable("cannot create a folder for temporary files", &error))?;
        match std::fs::read(self.path.join(MARKER)) {
            Ok(marker) => match serde_json::from_slice(&marker) {
                Ok(Version { format }) if format > FORMAT => {
                    Err(StoreError::NewerFormat { found: format, known: FORMAT })
                }
                Ok(_) => Ok(()),
                Err(error) => Err(StoreError::Corrupt(format!("{}: {error}", self.path.join(MARKER).display()))),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.found(parents),
            Err(error) => Err(unavailable("cannot read corkboard.json", &error)),
        }
    }

    /// Initializes the folder. The marker is written last: it makes the folder a store, and a process that finds it
    /// checks nothing else. By then, the folder's entries in its parents must be durable.
    fn found(&self, parents: usize) -> Result<(), StoreError> {
        let mut readme = self.temporary_file()?;
        readme.write(README_TEXT.as_bytes())?;
        readme.sync()?;
        readme.rename(&self.path.join(README))?;
        self.path.ancestors().skip(1).take(parents).try_for_each(sync_folder)?;
        let marker = serde_json::to_string(&Marker { store: "corkboard", format: FORMAT });
        let mut file = self.temporary_file()?;
        file.write(marker.map_err(|error| StoreError::Unavailable(error.to_string()))?.as_bytes())?;
        file.write(b"\n")?;
        file.sync()?;
        file.rename(&self.path.join(MARKER))?;
        sync_folder(&self.path)
    }

    /// Creates a file outside all spaces. It is removed when dropped, unless it was renamed.
    pub(super) fn temporary_file(&self) -> Result<TemporaryFile, StoreError> {
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(TEMPORARY).join(number.to_string());
        let file = permissions::options().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|error| cannot_create(&path, &error))?;
        Ok(TemporaryFile { path, file: std::io::BufWriter::new(file) })
    }

    /// A warning if other users can open the files in the folder.
    pub(super) fn warning(&self) -> Option<String> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut open = entries.filter(|entry| permissions::is_open_to_others(&entry.path()));
        let is_open = permissions::is_open_to_others(&self.path) && open.next().is_some();
        let path = self.path.display();
        is_open.then(|| format!("other users can open {path}; to prevent this, run: chmod -R go= {path}"))
    }

    /// Creates a space's folder. It is durable only after [`sync_parents`].
    pub(super) fn create_folder(&self, folder: &Path) -> Result<(), StoreError> {
        permissions::create_folders(folder).map_err(|error| cannot_create(folder, &error))
    }
}

/// Whether the folder is a store, or empty. An interrupted initialization counts as empty.
fn is_ours(path: &Path) -> std::io::Result<bool> {
    let mut is_half_made = true;
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        if name == MARKER {
            return Ok(true);
        }
        is_half_made &= [README, LOCK, TEMPORARY].iter().any(|ours| name == *ours);
    }
    Ok(is_half_made)
}

/// Locks out other processes. The operating system releases the lock when the process ends.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let unavailable = |error: std::io::Error| StoreError::Unavailable(format!("cannot lock the store: {error}"));
    let mut options = permissions::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(folder.join(LOCK));
    let mut file = file.map_err(|error| refused(folder, &format!("cannot write there: {error}")))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::Error(error)) => return Err(unavailable(error)),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            // The holder may not have written its name yet.
            let holder = if holder.is_empty() { "another process".into() } else { holder.trim_end().to_owned() };
            return Err(StoreError::Locked { holder });
        }
    }
    file.set_len(0).map_err(unavailable)?;
    writeln!(file, "process {}", std::process::id()).map_err(unavailable)?;
    Ok(file)
}

/// Clears the holder's name, before other processes can lock the folder.
pub(super) fn clear_holder(lock: &File) {
    let _ = lock.set_len(0);
}

pub(super) struct TemporaryFile {
    path: PathBuf,
    file: std::io::BufWriter<File>,
}

impl TemporaryFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).map_err(|error| unwritten(&self.path, &error))
    }

    pub(super) fn copy(&mut self, from: &mut impl Read) -> Result<(), StoreError> {
        std::io::copy(from, &mut self.file).map(|_| ()).map_err(|error| unwritten(&self.path, &error))
    }

    /// Waits until everything written is on disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.file.flush().map_err(|error| unwritten(&self.path, &error))?;
        self.file.get_ref().sync_all().map_err(|error| failed("fsync", &self.path, &error))
    }

    /// Moves the file to its place, with the permissions of the file that it replaces. Durable only after the folder is
    /// synced.
    pub(super) fn rename(self, to: &Path) -> Result<(), StoreError> {
        permissions::copy_permissions(to, self.file.get_ref()).map_err(|error| cannot_create(to, &error))?;
        std::fs::rename(&self.path, to).map_err(|error| failed("rename", to, &error))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Appends to a log that ends at `end`, and waits for the disk. If the disk is full, the append is cut off again. After
/// any other failure, any part of it may be there.
pub(super) fn append(path: &Path, end: u64, bytes: &[u8]) -> Result<(), AppendError> {
    let file = permissions::options().append(true).create(true).open(path);
    let mut file = file.map_err(|error| AppendError::NotBegun(cannot_create(path, &error)))?;
    if let Err(error) = file.write_all(bytes) {
        let unwritten = unwritten(path, &error);
        if !matches!(unwritten, StoreError::NoSpace(_)) {
            return Err(AppendError::Failed(unwritten));
        }
        // The part that was written may contain complete records. They must not survive a crash, because they are never
        // acknowledged.
        let cut = file.set_len(end).and_then(|()| file.sync_all());
        cut.map_err(|error| AppendError::Failed(failed("cutting off an incomplete append", path, &error)))?;
        return Err(AppendError::NotBegun(unwritten));
    }
    // This makes the new length durable too, because the bytes cannot be read without it.
    file.sync_data().map_err(|error| AppendError::Failed(failed("fsync", path, &error)))
}

/// Checks that a log has the expected length. Otherwise another program or a person changed it, and nothing may be
/// overwritten.
pub(super) fn check_length(path: &Path, length: u64) -> Result<(), StoreError> {
    let found = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        found => found.map_err(|error| cannot_create(path, &error))?.len(),
    };
    if found == length {
        return Ok(());
    }
    let text = format!("{}: another program changed it ({found} bytes instead of {length})", path.display());
    Err(StoreError::Corrupt(text))
}

/// Why an append failed.
pub(super) enum AppendError {
    /// Nothing was appended, or it was cut off again.
    NotBegun(StoreError),
    /// It is unknown how much was appended.
    Failed(StoreError),
}

/// Makes all file creations, renames and removals in the folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("fsync", folder, &error))
}

/// Makes a new space's folder durable. Its kind's folder may be new too, perhaps created for another space.
pub(super) fn sync_parents(folder: &Path) -> Result<(), StoreError> {
    folder.ancestors().skip(1).take(2).try_for_each(sync_folder)
}

/// Makes the files of a space durable that another process wrote. That process may have been killed before its fsync,
/// and this process is about to rely on its data. Bytes are synced before the names that lead to them.
pub(super) fn adopt(log: &File, folder: &Path) -> Result<(), StoreError> {
    log.sync_data().map_err(|error| failed("fsync", &folder.join(LOG), &error))?;
    sync_folder(folder)?;
    sync_parents(folder)
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    std::fs::rename(from, to).map_err(|error| failed("rename", to, &error))
}

/// Removes a file. Returns whether there was one.
pub(super) fn remove(path: &Path) -> Result<bool, StoreError> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::Unavailable(format!("cannot remove {}: {error}", path.display()))),
    }
}

fn refused(path: &Path, reason: &str) -> StoreError {
    StoreError::Url { url: format!("file:{}", path.display()), reason: reason.into() }
}

fn cannot_create(path: &Path, error: &std::io::Error) -> StoreError {
    let text = format!("cannot open or create {}: {error}", path.display());
    if is_no_space(error) { StoreError::NoSpace(text) } else { StoreError::Unavailable(text) }
}

/// The error of a failed write. A full disk leaves nothing in doubt, unlike a failed fsync.
fn unwritten(path: &Path, error: &std::io::Error) -> StoreError {
    match is_no_space(error) {
        true => StoreError::NoSpace(format!("write of {} failed: {error}", path.display())),
        false => failed("write", path, error),
    }
}

/// Whether the disk is full, the quota is used up, or the file has its maximum size.
fn is_no_space(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, WriteZero};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | WriteZero)
}

/// A fatal error: the content of the disk is unknown, and a retry could wrongly report success.
pub(super) fn failed(what: &str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!("{what} of {} failed: {error}", path.display()))
}
