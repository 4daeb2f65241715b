//! Reading a snapshot file.

use std::path::Path;

use corkboard::{Limits, SnapshotError, SnapshotForm};

use crate::atomic_file::unreadable_file;
use crate::error::CliError;
use crate::text_input::read_file_or_stdin;

/// Reads a file or stdin. Stops at the maximum size of a snapshot.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    let allowed = SnapshotForm::most_bytes(&Limits::default());
    let bytes = read_file_or_stdin(file, allowed).map_err(|error| unreadable_file(file, &error))?;
    if bytes.len() as u64 > allowed {
        return Err(SnapshotError::TooLarge { bytes: bytes.len() as u64, allowed }.into());
    }
    Ok(bytes)
}
