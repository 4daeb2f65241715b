//! The head of a log when it was last saved, in a file beside the log.
//!
//! A log that lost its last lines still looks complete. Therefore the head is written to `head.json` after each fsync
//! of the log. That file is not fsynced: it may be behind the log, never ahead of it. A saved head beyond the log's end
//! means that lines are lost.

use std::io::{Read, Write};
use std::path::Path;

use corkboard_core::Head;
use serde::{Deserialize, Serialize};

use super::disk::{HEAD, LOG};
use super::line::{FORMAT, LineChecksum, check_seal, seal};
use super::log::cannot_read;
use crate::store::{StoreError, permissions};

const LONGEST: u64 = 1024;

/// The file's one line.
#[derive(Serialize, Deserialize)]
struct HeadLine {
    format: u32,
    head: Head,
}

pub(super) fn write(folder: &Path, head: Head) {
    let write = || {
        let mut line = Vec::new();
        seal(&HeadLine { format: FORMAT, head }, LineChecksum::NONE, &mut line).map_err(std::io::Error::other)?;
        // One write over the previous content: a head never gets shorter.
        let mut options = permissions::options();
        options.write(true).create(true).truncate(false).open(folder.join(HEAD))?.write_all(&line)
    };
    if let Err(error) = write() {
        // The log is durable nevertheless.
        tracing::warn!(folder = %folder.display(), %error, "failed to save the head of the log");
    }
}

/// Reads the saved head. `None` if there is none, or if a crash left only a part of it.
fn read(folder: &Path) -> Result<Option<Head>, StoreError> {
    let path = folder.join(HEAD);
    let mut bytes = Vec::new();
    match std::fs::File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| cannot_read(&path, &error))?,
    };
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_whole = check_seal(line, LineChecksum::NONE).is_ok();
    let line: Option<HeadLine> = serde_json::from_slice(line).ok().filter(|_| is_whole);
    Ok(line.map(|line| line.head))
}

/// Fails if the log ends before the saved head.
pub(super) fn check(folder: &Path, end: Head) -> Result<(), StoreError> {
    let Some(saved) = read(folder)? else { return Ok(()) };
    let problem = if saved.rev > end.rev {
        format!("it ends at revision {}, but revision {} was saved", end.rev, saved.rev)
    } else if saved.rev == end.rev && saved.commit != end.commit {
        format!("its revision {} is not the one that was saved", end.rev)
    } else {
        return Ok(());
    };
    Err(StoreError::Corrupt(format!(
        "{}: {problem}; restore it from a backup, or remove {HEAD} beside it to continue with what is left",
        folder.join(LOG).display()
    )))
}
