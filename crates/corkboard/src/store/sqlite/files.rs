//! The database file, the files beside it, and their permissions.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::store::{StoreError, permissions};

/// The suffixes of all files of a database.
const SUFFIXES: [&str; 5] = ["", "-wal", "-shm", "-owner", "-head"];

pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Creates the database file if it is missing. SQLite gives its write-ahead log the same permissions.
pub(super) fn create(database: &Path) -> Result<(), StoreError> {
    // Closing a file releases all locks that this process has on it, including SQLite's. So no other thread may open
    // the file before it is closed here.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock();
    match permissions::options().write(true).create_new(true).open(database) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(cannot_write(database, &error)),
        _ => Ok(()),
    }
}

/// Opens a file beside the database. A new file gets the owner and permissions of the database.
pub(super) fn open_beside(database: &Path, suffix: &str) -> Result<File, StoreError> {
    let path = beside(database, suffix);
    let open = || match permissions::options().read(true).write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => File::options().read(true).write(true).open(&path),
        Err(error) => Err(error),
        Ok(file) => {
            permissions::copy_permissions(database, &file)?;
            let (of_database, own) = (std::fs::metadata(database)?, file.metadata()?);
            if (of_database.uid(), of_database.gid()) != (own.uid(), own.gid()) {
                // Only the superuser can do this; for others it is not necessary.
                let _ = std::os::unix::fs::fchown(&file, Some(of_database.uid()), Some(of_database.gid()));
            }
            Ok(file)
        }
    };
    open().map_err(|error| cannot_write(database, &error))
}

/// A warning if other users can open the store.
pub(super) fn warning(database: &Path) -> Option<String> {
    let mut files = SUFFIXES.iter().map(|suffix| beside(database, suffix));
    let open = files.find(|file| permissions::is_open_to_others(file))?;
    let database = database.display();
    Some(format!("other users can open {}; to prevent this, run: chmod 600 {database} {database}-*", open.display()))
}

pub(super) fn cannot_open(path: &Path, reason: String) -> StoreError {
    StoreError::Url { url: format!("sqlite:{}", path.display()), reason }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> StoreError {
    cannot_open(path, format!("cannot write there: {error}"))
}
