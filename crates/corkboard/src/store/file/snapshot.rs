//! The snapshot beside a log: one line of JSON with a checksum, in the format of the log's lines.

use std::borrow::Cow;
use std::path::Path;

use corkboard_core::Head;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::bytes::ReadableBytes;
use super::line::{FORMAT, LineChecksum, Unreadable, Version, check_seal, seal, some};
use crate::store::{Snapshot, StoreError};

/// The file's one line.
#[derive(Serialize, Deserialize)]
struct SnapshotContent<'a> {
    format: u32,
    space: Cow<'a, str>,
    /// The edition of the log that it belongs to.
    #[serde(default)]
    edition: u64,
    head: Head,
    #[serde(default, borrow, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_hex: Option<Cow<'a, str>>,
}

/// A snapshot as stored in its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) edition: u64,
    pub(super) snapshot: Snapshot,
}

pub(super) fn encode(space: &str, edition: u64, snapshot: &Snapshot) -> Result<Vec<u8>, StoreError> {
    let ReadableBytes { json, text, hex } = ReadableBytes::of(&snapshot.body);
    let mut out = Vec::with_capacity(snapshot.body.len() + 256);
    let line = SnapshotContent {
        format: FORMAT,
        space: space.into(),
        edition,
        head: snapshot.head,
        body: json,
        body_text: text,
        body_hex: hex,
    };
    seal(&line, LineChecksum::NONE, &mut out)?;
    Ok(out)
}

/// Content of a snapshot file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SnapshotFile {
    Nothing,
    Snapshot(Stored),
    Damaged(StoreError),
}

pub(super) fn read(path: &Path, space: &str) -> Result<SnapshotFile, StoreError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SnapshotFile::Nothing),
        Err(error) => return Err(super::log::cannot_read(path, &error)),
    };
    match decode(&bytes, space) {
        Ok(stored) => Ok(SnapshotFile::Snapshot(stored)),
        Err(Unreadable::Newer { found }) => Err(StoreError::NewerFormat { found, known: FORMAT }),
        Err(Unreadable::Damaged(text)) => {
            Ok(SnapshotFile::Damaged(StoreError::Corrupt(format!("{}: {text}", path.display()))))
        }
    }
}

fn decode(bytes: &[u8], space: &str) -> Result<Stored, Unreadable> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    check_seal(line, LineChecksum::NONE)?;
    let Version { format } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if format > FORMAT {
        return Err(Unreadable::Newer { found: format });
    }
    let line: SnapshotContent<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if line.space != space {
        return Err(format!("it is the snapshot of {}", line.space).into());
    }
    let form = ReadableBytes { json: line.body, text: line.body_text, hex: line.body_hex };
    let body = form.bytes()?.ok_or_else(|| "it has no body".to_owned())?.into_owned();
    Ok(Stored { edition: line.edition, snapshot: Snapshot { head: line.head, body } })
}
