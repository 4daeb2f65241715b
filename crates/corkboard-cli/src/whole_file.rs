//! A file that is complete and on disk, or not there.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// What to do with a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Kept,
    Replaced,
}

impl Existing {
    /// What `--force` says.
    pub(crate) fn from_flag(force: bool) -> Self {
        if force { Self::Replaced } else { Self::Kept }
    }

    /// Refuses a file that is there already, if it is to be kept.
    pub(crate) fn check(self, path: &Path) -> Result<(), Failure> {
        if self == Self::Kept && path.symlink_metadata().is_ok() {
            return Err(Failure::invalid("file_exists", format!("{} exists already", path.display()))
                .hint("another name, or --force to replace it"));
        }
        Ok(())
    }
}

/// A file under a temporary name. It gets its own when it is finished; given up, it goes.
pub(crate) struct WholeFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    finished: bool,
}

impl WholeFile {
    pub(crate) fn create(path: &Path, existing: Existing) -> Result<Self, Failure> {
        existing.check(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&temporary);
        let file = file.map_err(|error| file_failure(path, &error))?;
        Ok(Self { path: path.to_owned(), temporary, file, finished: false })
    }

    /// The file, to write to.
    pub(crate) fn file(&self) -> Result<File, Failure> {
        self.file.try_clone().map_err(|error| self.failure(&error))
    }

    /// The name that the file has until it is finished.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Writes it all at once, and finishes it.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(|error| self.failure(&error))?;
        self.finish()
    }

    /// Makes it durable, then visible.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let synced = self.file.sync_all().and_then(|()| std::fs::rename(&self.temporary, &self.path));
        synced.map_err(|error| self.failure(&error))?;
        self.finished = true;
        // The name must be on disk too.
        let named = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        named.map_err(|error| self.failure(&error))
    }

    /// What is wrong with the file, under the name that it was to have.
    pub(crate) fn failure(&self, error: &std::io::Error) -> Failure {
        file_failure(&self.path, error)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.finished {
            // There is nobody to tell.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn file_failure(file: &Path, error: &std::io::Error) -> Failure {
    Failure::invalid("file", format!("{}: {error}", file.display()))
}
