//! Snapshots in files: read whole, written whole or not at all.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use corkboard::{Limits, SnapshotError, SnapshotForm};

use crate::exit::Failure;

/// Whether the file is stdin or stdout.
pub(super) fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// All bytes of a file, or of stdin. What is too large for any snapshot is not read to its end.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let allowed = SnapshotForm::most_bytes(&Limits::default());
    let bytes = match is_dash(file) {
        true => read_one_more(std::io::stdin(), allowed),
        false => File::open(file).and_then(|file| read_one_more(file, allowed)),
    };
    let bytes = bytes.map_err(|error| file_failure(file, &error))?;
    if bytes.len() as u64 > allowed {
        let too_large = SnapshotError::TooLarge { bytes: bytes.len() as u64, allowed };
        return Err(Failure::Library(too_large.into()));
    }
    Ok(bytes)
}

/// Reads what is allowed, and one byte more to notice that it is too much.
fn read_one_more(from: impl Read, allowed: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(allowed.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Kept,
    Replaced,
}

impl Existing {
    pub(super) fn check(self, file: &Path) -> Result<(), Failure> {
        if self == Self::Kept && file.symlink_metadata().is_ok() {
            return Err(Failure::invalid("file_exists", format!("{} exists already", file.display()))
                .hint("another name, or --force to replace it"));
        }
        Ok(())
    }
}

/// Writes a file that is either complete and on disk, or not there.
pub(super) fn write_whole(file: &Path, bytes: &[u8], existing: Existing) -> Result<(), Failure> {
    existing.check(file)?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = file.with_file_name(name);
    let written = write_durably(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, file))
        // The name must be on disk too.
        .and_then(|()| File::open(folder_of(file))?.sync_all());
    written.map_err(|error| {
        // It may never have come into being.
        let _ = std::fs::remove_file(&temporary);
        file_failure(file, &error)
    })
}

fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn file_failure(file: &Path, error: &std::io::Error) -> Failure {
    Failure::invalid("file", format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read_to_its_end() {
        assert_eq!(read_one_more(std::io::repeat(7), 10).unwrap(), [7; 11]);
        assert_eq!(read_one_more(&[7; 10][..], 10).unwrap(), [7; 10]);
    }
}
