//! Repairs the end of a log after a crash.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::disk::{LOG, TORN, failed, sync_folder};
use super::log::LogIndex;
use crate::store::{StoreError, permissions};

/// What the end of a log needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// Cut off the incomplete last append.
    Cut,
    /// Add the missing last line break.
    EndLine,
}

/// Performs the pending repair of a log, if any. On [`StoreError::Unavailable`] the log is unchanged and the repair can
/// be retried.
pub(super) fn repair(folder: &Path, index: &mut LogIndex) -> Result<(), StoreError> {
    match index.repair {
        Some(Repair::Cut) => cut(folder, index.end.offset)?,
        Some(Repair::EndLine) => end_line(&folder.join(LOG))?,
        None => {}
    }
    index.repair = None;
    Ok(())
}

/// Cuts off the incomplete append that a crash left, and keeps its bytes in a file beside the log.
fn cut(folder: &Path, end: u64) -> Result<(), StoreError> {
    let (path, torn) = (folder.join(LOG), folder.join(TORN));
    let cut = || {
        let mut log = File::options().read(true).write(true).open(&path)?;
        std::io::Seek::seek(&mut log, std::io::SeekFrom::Start(end))?;
        let mut kept = permissions::options().write(true).create(true).truncate(true).open(&torn)?;
        std::io::copy(&mut log, &mut kept)?;
        log.set_len(end)?;
        Ok(log)
    };
    let log = cut().map_err(|error: std::io::Error| {
        let (path, torn) = (path.display(), torn.display());
        StoreError::Unavailable(format!("{path}: cannot move an incomplete append to {torn}: {error}"))
    })?;
    log.sync_all().map_err(|error| failed("repair", &path, &error))?;
    sync_folder(folder)
}

/// Adds the last line break, removed by an editor or by a crash at the very last byte.
fn end_line(path: &Path) -> Result<(), StoreError> {
    let ended = File::options().append(true).open(path).and_then(|mut log| log.write_all(b"\n").map(|()| log));
    let log = ended.map_err(|error| {
        StoreError::Unavailable(format!("{}: cannot add the last line break: {error}", path.display()))
    })?;
    log.sync_all().map_err(|error| failed("repair", path, &error))
}
