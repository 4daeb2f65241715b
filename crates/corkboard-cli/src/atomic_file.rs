//! A file that is complete and on disk, or not there. It holds what somebody remembers, and is for its owner alone.

use std::fs::{File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::CliError;

const OWNER_ALONE: u32 = 0o600;
/// What of a mode says who may do what.
const PERMISSIONS: u32 = 0o777;

/// What to do with a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Kept,
    Replaced,
}

impl Existing {
    pub(crate) fn from_flag(force: bool) -> Self {
        if force { Self::Replaced } else { Self::Kept }
    }

    /// Refuses a file that is there already, if it is to be kept.
    pub(crate) fn check(self, path: &Path) -> Result<(), CliError> {
        if self == Self::Kept && path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        Ok(())
    }
}

fn exists(path: &Path) -> CliError {
    CliError::invalid("file_exists", format!("{} exists already", path.display()))
        .hint("another name, or --force to replace it")
}

/// A file under a temporary name. It gets its own when it is finished; given up, it goes.
pub(crate) struct AtomicFile {
    path: PathBuf,
    existing: Existing,
    temporary: PathBuf,
    file: File,
    finished: bool,
}

impl AtomicFile {
    pub(crate) fn create(path: &Path, existing: Existing) -> Result<Self, CliError> {
        existing.check(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(OWNER_ALONE).open(&temporary);
        let file = file.map_err(|error| file_error(path, &error))?;
        Ok(Self { path: path.to_owned(), existing, temporary, file, finished: false })
    }

    pub(crate) fn file(&self) -> Result<File, CliError> {
        self.file.try_clone().map_err(|error| self.failure(&error))
    }

    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.file.write_all(bytes).map_err(|error| self.failure(&error))?;
        self.finish()
    }

    /// Makes it durable, then visible.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.file.sync_all().map_err(|error| self.failure(&error))?;
        match self.existing {
            Existing::Kept => self.appear()?,
            Existing::Replaced => self.replace().map_err(|error| self.failure(&error))?,
        }
        self.finished = true;
        // The name must be on disk too.
        let named = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        named.map_err(|error| self.failure(&error))
    }

    /// Gets its name, unless another file got it meanwhile.
    fn appear(&self) -> Result<(), CliError> {
        match std::fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => std::fs::remove_file(&self.temporary).map_err(|error| self.failure(&error)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists(&self.path)),
            // Not every file system lets a file have two names, and without that a moment stays between looking and naming.
            Err(_) => {
                self.existing.check(&self.path)?;
                std::fs::rename(&self.temporary, &self.path).map_err(|error| self.failure(&error))
            }
        }
    }

    /// Takes the place of what has the name, and is as open as that was: its owner has chosen.
    fn replace(&self) -> std::io::Result<()> {
        if let Ok(replaced) = self.path.symlink_metadata()
            && replaced.is_file()
        {
            let mode = replaced.permissions().mode() & PERMISSIONS;
            self.file.set_permissions(Permissions::from_mode(mode))?;
        }
        std::fs::rename(&self.temporary, &self.path)
    }

    /// What is wrong with the file, under the name that it was to have.
    pub(crate) fn failure(&self, error: &std::io::Error) -> CliError {
        file_error(&self.path, error)
    }
}

impl Drop for AtomicFile {
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

pub(crate) fn file_error(file: &Path, error: &std::io::Error) -> CliError {
    CliError::invalid("file", format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_got_the_name_meanwhile_is_not_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        for (existing, left) in [(Existing::Kept, "theirs"), (Existing::Replaced, "ours")] {
            let _ = std::fs::remove_file(&path);
            let file = AtomicFile::create(&path, existing).unwrap();
            std::fs::write(&path, "theirs").unwrap();
            let written = file.write(b"ours");
            assert_eq!(written.is_err(), existing == Existing::Kept, "{written:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
        }
    }
}
