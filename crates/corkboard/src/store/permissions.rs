//! Files and folders that only their owner can open. What exists keeps its permissions.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// The part of a mode that says what users other than the owner may do.
const OTHERS: u32 = 0o077;

/// For opening a file that may have to be created.
pub(super) fn options() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE);
    options
}

pub(super) fn create_folders(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Whether users other than the owner may open a file or folder, as far as its own permissions say.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & OTHERS != 0)
}

/// Gives a file the permissions of another one, if that exists: its owner chose them.
pub(super) fn copy_permissions(from: &Path, to: &File) -> std::io::Result<()> {
    match std::fs::metadata(from) {
        Ok(metadata) => to.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o777)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
