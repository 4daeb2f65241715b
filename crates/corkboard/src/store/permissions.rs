//! Creates files and folders that only their owner can open. Existing ones keep their permissions.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// The mode bits for users other than the owner.
const OTHERS: u32 = 0o077;

/// Options for opening a file that may have to be created.
pub(super) fn options() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE);
    options
}

pub(super) fn create_folders(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Whether the permissions of a file or folder give other users access.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & OTHERS != 0)
}

/// Copies the permissions of another file, if that exists, because its owner chose them.
pub(super) fn copy_permissions(from: &Path, to: &File) -> std::io::Result<()> {
    match std::fs::metadata(from) {
        Ok(metadata) => to.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o777)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
