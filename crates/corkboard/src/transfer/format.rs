//! The lines of an export.
//!
//! Every line is one JSON object with one field, which tells what the line is:
//!
//! ```text
//! {"export":{"format":"corkboard","version":1,"at":"2026-11-02T09:00:00Z","store":"sqlite","spaces":1}}
//! {"space":{"id":"agent/ada","born":{…},"head":{"rev":2,"commit":"…"},"next_due":null,"summary":{…}}}
//! {"snapshot":{"rev":1,"commit":"…","body":{…}}}
//! {"record":{"rev":1,"commit":"…","at":"…","body":{…}}}
//! {"record":{"rev":2,"commit":"…","at":"…","base64":"…"}}
//! {"end":{"records":2,"bytes":17,"checksum":"…"}}
//! {"total":{"spaces":1,"records":2,"bytes":17,"checksum":"…"}}
//! ```
//!
//! The header comes first and the total last. A space has one snapshot or none, and its records without gaps up to its head.
//! A body that is JSON on one line stands as it is; any other is in base64 (`summary_base64` for a summary). Both give
//! the stored bytes back exactly. `{"void":{}}` instead of `end` takes a space back: it was trimmed or deleted while it was
//! read. `spaces` in the header is how many there were at the beginning, for whoever shows progress.
//!
//! The checksum of a space is a chain (see [`Checksum`]) over its own line, the snapshot and the records, that of the total one
//! over those of the spaces. They find accidents, and whoever changes a file by hand. Whoever means harm can make them anew:
//! an export is to be trusted as much as the place it comes from.

use std::borrow::Cow;

use corkboard_core::{CommitId, Head};
use data_encoding::BASE64;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Checksum;

/// The version that is written. This one and those before it are read.
pub const VERSION: u64 = 1;
/// What stands in the header.
pub const FORMAT: &str = "corkboard";
/// The longest line that is read. The largest state of the default limits takes a third of it.
pub const LINE_BYTES: usize = 256 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExportLine<'a> {
    #[serde(borrow)]
    Export(FileHeader<'a>),
    #[serde(borrow)]
    Space(SpaceLine<'a>),
    #[serde(borrow)]
    Snapshot(SnapshotLine<'a>),
    #[serde(borrow)]
    Record(RecordLine<'a>),
    End(EndLine),
    Void {},
    Total(TotalLine),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileHeader<'a> {
    #[serde(borrow)]
    pub(super) format: Cow<'a, str>,
    pub(super) version: u64,
    pub(super) at: Timestamp,
    #[serde(borrow)]
    pub(super) store: Cow<'a, str>,
    pub(super) spaces: u64,
}

/// As much of a header as any version has.
#[derive(Deserialize)]
pub(super) struct AnyHeader<'a> {
    #[serde(borrow)]
    pub(super) export: AnyVersion<'a>,
}

#[derive(Deserialize)]
pub(super) struct AnyVersion<'a> {
    #[serde(borrow)]
    pub(super) format: Cow<'a, str>,
    pub(super) version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpaceLine<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    pub(super) born: Head,
    pub(super) head: Head,
    pub(super) next_due: Option<Timestamp>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) summary_base64: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SnapshotLine<'a> {
    pub(super) rev: u64,
    pub(super) commit: CommitId,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) base64: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordLine<'a> {
    pub(super) rev: u64,
    pub(super) commit: CommitId,
    pub(super) at: Timestamp,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) base64: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) checksum: Checksum,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TotalLine {
    pub(super) spaces: u64,
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) checksum: Checksum,
}

/// A `null` is a body too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Bytes as a line holds them: JSON on one line as it is, or else base64.
pub(super) fn embed(bytes: &[u8]) -> (Option<&RawValue>, Option<Cow<'_, str>>) {
    let is_one_line = !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    let json = is_one_line.then(|| serde_json::from_slice::<&RawValue>(bytes).ok()).flatten();
    // White space around a value is no part of it.
    match json.filter(|json| json.get().len() == bytes.len()) {
        Some(json) => (Some(json), None),
        None => (None, Some(BASE64.encode(bytes).into())),
    }
}

pub(super) fn extract(json: Option<&RawValue>, base64: Option<&str>) -> Result<Vec<u8>, String> {
    match (json, base64) {
        (Some(json), None) => Ok(json.get().as_bytes().to_vec()),
        (None, Some(base64)) => BASE64.decode(base64.as_bytes()).map_err(|error| format!("not base64: {error}")),
        _ => Err("either JSON or base64 belongs here".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_exactly() {
        let as_json: [&[u8]; 7] = [
            b"{}",
            b"null",
            b"1.50",
            b"[1, 2 ]",
            b"\"a\\nb\"",
            b"{\"a\":\"\xc3\xa9\"}",
            b"123456789012345678901234567890",
        ];
        let as_base64: [&[u8]; 9] =
            [b"", b" {}", b"{}\n", b"{\n}", b"{} {}", b"\xff", b"{\"a\":\"\xff\"}", b"nul", b"\"a\nb\""];
        for (bytes, is_json) in
            as_json.map(|bytes| (bytes, true)).into_iter().chain(as_base64.map(|bytes| (bytes, false)))
        {
            let (body, base64) = embed(bytes);
            assert_eq!(body.is_some(), is_json, "{bytes:?}");
            let line = RecordLine { rev: 1, commit: CommitId::NONE, at: Timestamp::UNIX_EPOCH, body, base64 };
            let written = serde_json::to_vec(&ExportLine::Record(line)).unwrap();
            assert!(!written.contains(&b'\n'));
            let Ok(ExportLine::Record(read)) = serde_json::from_slice(&written) else { panic!("{written:?}") };
            assert_eq!(extract(read.body, read.base64.as_deref()).as_deref(), Ok(bytes));
        }
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert!(embed(&deep).0.is_some_and(|json| json.get().len() == deep.len()), "depth is no danger");
        assert!(extract(None, None).is_err());
        assert!(extract(None, Some("*")).is_err());
    }
}
