//! The lines of an export.
//!
//! Every line is a JSON object with one field, which is the kind of line:
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
//! The header comes first and the total last. A space has at most one snapshot, and its records without gaps up to its
//! head. A body that is JSON on one line is embedded unchanged; any other is in base64 (`summary_base64` for a
//! summary). Both restore the stored bytes exactly. `{"void":{}}` instead of `end` cancels a space that was trimmed or
//! deleted while it was read. `spaces` in the header is the number of spaces at the beginning, for progress displays.
//!
//! The checksum of a space is a chain (see [`Checksum`]) over its line, its snapshot and its records. The checksum of
//! the total is a chain over those of the spaces. Checksums detect accidents and edits by hand. An attacker can compute
//! new ones, so trust an export only as much as its source.

use std::borrow::Cow;

use corkboard_core::{CommitId, Head};
use data_encoding::BASE64;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Checksum;

/// The version that is written. Earlier versions are also read.
pub const VERSION: u64 = 1;
/// The `format` in the header.
pub const FORMAT: &str = "corkboard";
/// Maximum bytes of a line. The largest state under the default limits takes a third of it.
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

/// The fields of a header that every version has.
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

/// Reads a value that may be `null`: a `null` is a body too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Embeds bytes in a line: JSON on one line unchanged, anything else as base64.
pub(super) fn embed(bytes: &[u8]) -> (Option<&RawValue>, Option<Cow<'_, str>>) {
    let is_one_line = !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    let json = is_one_line.then(|| serde_json::from_slice::<&RawValue>(bytes).ok()).flatten();
    // `RawValue` drops white space around the value, so such bytes must be base64.
    match json.filter(|json| json.get().len() == bytes.len()) {
        Some(json) => (Some(json), None),
        None => (None, Some(BASE64.encode(bytes).into())),
    }
}

pub(super) fn extract(json: Option<&RawValue>, base64: Option<&str>) -> Result<Vec<u8>, String> {
    match (json, base64) {
        (Some(json), None) => Ok(json.get().as_bytes().to_vec()),
        (None, Some(base64)) => BASE64.decode(base64.as_bytes()).map_err(|error| format!("not base64: {error}")),
        _ => Err("expected either JSON or base64".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_restored_exactly() {
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
