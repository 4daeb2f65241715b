//! The lines of a log: how they are written, sealed and read.
//!
//! A log is JSON Lines: first a [`LogHeader`], then the records. Every line ends with a checksum over itself and the
//! checksum of the line before, so that a changed, moved or missing line is detected. All lines of an append except the
//! last have `more` set: without the last one, none of them counts.

use std::borrow::Cow;

use corkboard_core::{CommitId, Head};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::bytes::ReadableBytes;
use crate::store::{Record, StoreError};

/// The version of the lines and of the folder that this code writes.
pub(super) const FORMAT: u32 = 1;

/// The end of a line, around the sixteen digits of its checksum.
const SUM_BEFORE: &[u8] = b",\"sum\":\"";
const SUM_AFTER: &[u8] = b"\"}";
pub(super) const SEAL_BYTES: usize = SUM_BEFORE.len() + 16 + SUM_AFTER.len();

/// The checksum of a line and, through chaining, of all lines before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineChecksum(u64);

impl LineChecksum {
    pub(super) const NONE: Self = Self(0);

    fn of(before: Self, text: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&before.0.to_le_bytes()).update(text);
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        Self(u64::from_be_bytes(bytes))
    }

    /// Reads the checksum at the end of a line, without checking it.
    pub(super) fn written_in(line: &[u8]) -> Option<Self> {
        let seal = line.get(line.len().checked_sub(SEAL_BYTES)?..)?;
        let digits = seal.strip_prefix(SUM_BEFORE)?.strip_suffix(SUM_AFTER)?;
        // Accept lowercase digits only: a digit in another case is a changed byte too.
        let are_ours = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        u64::from_str_radix(str::from_utf8(digits).ok().filter(|_| are_ours)?, 16).ok().map(Self)
    }
}

/// A position between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinePosition {
    pub(super) offset: u64,
    pub(super) lines: u64,
    /// The checksum of the line before.
    pub(super) sum: LineChecksum,
}

impl LinePosition {
    pub(super) const START: Self = Self { offset: 0, lines: 0, sum: LineChecksum::NONE };
}

impl Serialize for LineChecksum {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for LineChecksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = Cow::<str>::deserialize(deserializer)?;
        u64::from_str_radix(&digits, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

/// The first line of a log, with the data that no record has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogHeader {
    pub(super) format: u32,
    pub(super) space: String,
    /// The tombstone that this life of the space follows, if it is not the first.
    #[serde(default = "never", skip_serializing_if = "is_never")]
    pub(super) born: Head,
    /// Incremented by a deletion or rewrite, which invalidates earlier snapshots. A snapshot of another edition does
    /// not belong to this log.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) edition: u64,
    /// The record before the first one here, if older records were dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trimmed: Option<TrimPoint>,
}

/// The last dropped record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrimPoint {
    pub(super) rev: u64,
    /// Its checksum, so that the remaining lines keep theirs.
    pub(super) sum: LineChecksum,
}

impl LogHeader {
    pub(super) fn new(space: &str, born: Head, edition: u64) -> Self {
        Self { format: FORMAT, space: space.into(), born, edition, trimmed: None }
    }

    /// The first revision that the log can contain.
    pub(super) fn first(&self) -> u64 {
        self.trimmed.map_or(self.born.rev, |trimmed| trimmed.rev) + 1
    }

    /// Writes the line. Returns the position of the first record.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<LinePosition, StoreError> {
        let sum = seal(self, LineChecksum::NONE, out)?;
        Ok(LinePosition { offset: out.len() as u64, lines: 1, sum: self.sum_after(sum) })
    }

    /// The checksum that the first record follows: the header's own, or that of the last dropped record.
    pub(super) fn sum_after(&self, own: LineChecksum) -> LineChecksum {
        self.trimmed.map_or(own, |trimmed| trimmed.sum)
    }

    pub(super) fn read(line: &[u8]) -> Result<Self, Unreadable> {
        check_seal(line, LineChecksum::NONE)?;
        // Check the version first: a newer format may fail to parse, or parse with another meaning.
        let Version { format } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if format > FORMAT {
            return Err(Unreadable::Newer { found: format });
        }
        Ok(serde_json::from_slice(line).map_err(|error| error.to_string())?)
    }
}

/// The one field that every format has.
#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) format: u32,
}

/// Why a line cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    Newer { found: u32 },
    Damaged(String),
}

impl From<String> for Unreadable {
    fn from(text: String) -> Self {
        Self::Damaged(text)
    }
}

fn never() -> Head {
    Head::EMPTY
}

fn is_never(head: &Head) -> bool {
    *head == Head::EMPTY
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Data about the space in the last line of an append.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AppendEnd {
    pub(super) next_due: Option<Timestamp>,
    pub(super) summary: Vec<u8>,
}

/// One line of the log: a record, or a part of one.
#[derive(Serialize, Deserialize)]
pub(super) struct LogLine<'a> {
    pub(super) rev: u64,
    /// Part number and number of parts, if the body is too long for one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<(u64, u64)>,
    pub(super) at: Timestamp,
    pub(super) commit: CommitId,
    #[serde(default, borrow, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_hex: Option<Cow<'a, str>>,
    /// Whether the append continues in the next line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) more: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_due: Option<Timestamp>,
    #[serde(default, borrow, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    summary: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary_text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary_hex: Option<Cow<'a, str>>,
}

/// Keeps `null` as a value instead of `None`.
pub(super) fn some<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> LogLine<'a> {
    /// Reads a line and checks its checksum.
    pub(super) fn read(line: &'a [u8], before: LineChecksum) -> Result<Self, String> {
        check_seal(line, before)?;
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    pub(super) fn head(&self) -> Head {
        Head { rev: self.rev, commit: self.commit }
    }

    /// Takes the end data of the append, if this is its last line. Call this and [`Self::take_body`] only once.
    pub(super) fn take_ending(&mut self) -> Result<Option<AppendEnd>, String> {
        if self.more {
            return Ok(None);
        }
        let form = ReadableBytes { json: self.summary, text: self.summary_text.take(), hex: self.summary_hex.take() };
        let summary = form.bytes()?.unwrap_or_default().into_owned();
        Ok(Some(AppendEnd { next_due: self.next_due, summary }))
    }

    /// Appends the line's part of the body to `body`.
    pub(super) fn take_body(&mut self, body: &mut Vec<u8>) -> Result<(), String> {
        let form = ReadableBytes { json: self.body, text: self.body_text.take(), hex: self.body_hex.take() };
        body.extend_from_slice(&form.bytes()?.ok_or("it has no body")?);
        Ok(())
    }
}

/// Writes a record, in several lines if it is long. The last record of an append includes the end data.
pub(super) fn write_record(
    record: &Record,
    ending: Option<&AppendEnd>,
    position: &mut LinePosition,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let parts = ReadableBytes::parts(&record.body);
    let count = parts.len() as u64;
    for (number, body) in (1..).zip(parts) {
        let ending = ending.filter(|_| number == count);
        let summary =
            ending.filter(|ending| !ending.summary.is_empty()).map(|ending| ReadableBytes::of(&ending.summary));
        let summary = summary.unwrap_or_default();
        let line = LogLine {
            rev: record.rev,
            part: (count > 1).then_some((number, count)),
            at: record.at,
            commit: record.commit,
            body: body.json,
            body_text: body.text,
            body_hex: body.hex,
            more: ending.is_none(),
            next_due: ending.and_then(|ending| ending.next_due),
            summary: summary.json,
            summary_text: summary.text,
            summary_hex: summary.hex,
        };
        let start = out.len();
        position.sum = seal(&line, position.sum, out)?;
        position.offset += (out.len() - start) as u64;
        position.lines += 1;
    }
    Ok(())
}

/// Writes an object as one line, with its checksum as the last field.
pub(super) fn seal(
    object: &impl Serialize,
    before: LineChecksum,
    out: &mut Vec<u8>,
) -> Result<LineChecksum, StoreError> {
    let start = out.len();
    serde_json::to_writer(&mut *out, object)
        .map_err(|error| StoreError::Unavailable(format!("cannot be written as JSON: {error}")))?;
    out.pop();
    let sum = LineChecksum::of(before, out.get(start..).unwrap_or_default());
    out.extend_from_slice(SUM_BEFORE);
    out.extend_from_slice(format!("{:016x}", sum.0).as_bytes());
    out.extend_from_slice(SUM_AFTER);
    out.push(b'\n');
    Ok(sum)
}

/// Checks that a line (without its line break) is unchanged and follows the line with the checksum `before`.
pub(super) fn check_seal(line: &[u8], before: LineChecksum) -> Result<(), String> {
    let written = LineChecksum::written_in(line).ok_or("it has no checksum at its end")?;
    let text = line.get(..line.len() - SEAL_BYTES).unwrap_or_default();
    if LineChecksum::of(before, text) == written { Ok(()) } else { Err("its checksum does not match".into()) }
}
