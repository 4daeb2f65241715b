//! A file that appears only when it is complete and on disk. It holds memory, so only its owner may read it.

use std::fs::{File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::CliError;

const OWNER_ALONE: u32 = 0o600;
/// The permission bits of a file mode.
const PERMISSIONS: u32 = 0o777;

/// What to do with an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Kept,
    Replaced,
}

impl Existing {
    pub(crate) fn from_flag(force: bool) -> Self {
        if force { Self::Replaced } else { Self::Kept }
    }

    /// Fails if the file exists and must be kept.
    pub(crate) fn check(self, path: &Path) -> Result<(), CliError> {
        if self == Self::Kept && path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        Ok(())
    }
}

fn exists(path: &Path) -> CliError {
    CliError::invalid("file_exists", format!("{} already exists", path.display()))
        .hint("choose another name, or overwrite it with --force")
}

/// A file under a temporary name. `finish` renames it; dropping it unfinished deletes it.
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
        let file = file.map_err(|error| cannot_create(path, &error))?;
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

    /// Makes the file durable, then visible under its name.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.file.sync_all().map_err(|error| self.failure(&error))?;
        match self.existing {
            Existing::Kept => self.appear()?,
            Existing::Replaced => self.replace().map_err(|error| self.failure(&error))?,
        }
        self.finished = true;
        // Sync the folder too, so that the name is durable.
        let named = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        named.map_err(|error| self.failure(&error))
    }

    /// Renames the file, unless another file got the name meanwhile.
    fn appear(&self) -> Result<(), CliError> {
        match std::fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => std::fs::remove_file(&self.temporary).map_err(|error| self.failure(&error)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists(&self.path)),
            // The file system has no hard links. Between this check and the rename, another process can still take the name.
            Err(_) => {
                self.existing.check(&self.path)?;
                std::fs::rename(&self.temporary, &self.path).map_err(|error| self.failure(&error))
            }
        }
    }

    /// Replaces the existing file and keeps its permissions, which its owner has chosen.
    fn replace(&self) -> std::io::Result<()> {
        if let Ok(replaced) = self.path.symlink_metadata()
            && replaced.is_file()
        {
            let mode = replaced.permissions().mode() & PERMISSIONS;
            self.file.set_permissions(Permissions::from_mode(mode))?;
        }
        std::fs::rename(&self.temporary, &self.path)
    }

    /// An error about the file, with its final name.
    pub(crate) fn failure(&self, error: &std::io::Error) -> CliError {
        file_error(&self.path, error)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.finished {
            // A failure cannot be reported here.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

fn cannot_create(file: &Path, error: &std::io::Error) -> CliError {
    match folder_of(file) {
        folder if error.kind() == ErrorKind::NotFound => {
            let (file, folder) = (file.display(), folder.display());
            CliError::invalid("file", format!("cannot write {file}: the folder {folder} does not exist"))
        }
        _ => file_error(file, error),
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn unreadable_file(file: &Path, error: &std::io::Error) -> CliError {
    CliError::invalid("file", format!("cannot read {}: {error}", file.display()))
}

pub(crate) fn file_error(file: &Path, error: &std::io::Error) -> CliError {
    CliError::invalid("file", format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_appeared_meanwhile_is_replaced_only_with_force() {
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
