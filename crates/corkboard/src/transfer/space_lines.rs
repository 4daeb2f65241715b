//! Keeps the lines of one space until all of them were read: in memory, or in a temporary file if they are large.

use std::io::{BufRead, BufReader, Seek, Write};

use corkboard_core::{Head, SpaceId};
use jiff::Timestamp;
use tempfile::SpooledTempFile;

use super::format::{EndLine, ExportLine, RecordLine, SnapshotLine, SpaceLine, extract};
use super::{Checksum, TransferError};
use crate::store::{Append, Record, Snapshot};

/// Maximum bytes of a space's lines that are kept in memory.
const IN_MEMORY: usize = 4 * 1024 * 1024;
const ID_BYTES: usize = 1024;
/// The largest revision that every store can count to.
const LAST_REV: u64 = i64::MAX as u64;
/// Maximum characters of a text from the file in an error.
const SHOWN: usize = 200;

pub(super) struct SpaceLines {
    pub(super) space: SpaceId,
    pub(super) born: Head,
    pub(super) head: Head,
    pub(super) next_due: Option<Timestamp>,
    pub(super) summary: Vec<u8>,
    /// The head of the snapshot, if there is one.
    pub(super) snapshot: Option<Head>,
    pub(super) first: u64,
    /// The head of the last record so far.
    last: Head,
    records: u64,
    bytes: u64,
    checksum: Checksum,
    spool: SpooledTempFile,
}

/// Why a line is invalid at its place, or that the temporary file failed.
pub(super) enum Misfit {
    ExportLine(String),
    Checksum,
    Spool(std::io::Error),
}

impl From<String> for Misfit {
    fn from(message: String) -> Self {
        Self::ExportLine(message)
    }
}

impl From<&str> for Misfit {
    fn from(message: &str) -> Self {
        Self::ExportLine(message.into())
    }
}

impl SpaceLines {
    pub(super) fn begin(line: &SpaceLine<'_>) -> Result<Self, Misfit> {
        let space = SpaceId::from_stored(&line.id);
        let name = space.name();
        if space.kind().is_none() {
            return Err(format!("space {:?} has a kind that this Corkboard does not know", shown(&line.id)).into());
        }
        if line.id.len() > ID_BYTES || name.trim().is_empty() || name.contains(char::is_control) {
            return Err(format!("invalid space ID {:?}", shown(&line.id)).into());
        }
        let (born, head) = (line.born, line.head);
        if head.rev <= born.rev || head.rev > LAST_REV {
            return Err(format!("a log cannot go from revision {} to {}", born.rev, head.rev).into());
        }
        let summary = extract(line.summary, line.summary_base64.as_deref())?;
        if summary.len() > Append::SUMMARY_BYTES {
            return Err(format!("a summary has at most {} bytes", Append::SUMMARY_BYTES).into());
        }
        let mut checksum = Checksum::default();
        checksum.space(&line.id, born, head, line.next_due, &summary);
        Ok(Self {
            space,
            born,
            head,
            next_due: line.next_due,
            summary,
            snapshot: None,
            first: 0,
            last: born,
            records: 0,
            bytes: 0,
            checksum,
            spool: SpooledTempFile::new(IN_MEMORY),
        })
    }

    /// Adds a line with a snapshot: the parsed line, and its bytes in the file.
    pub(super) fn snapshot(&mut self, line: &SnapshotLine<'_>, raw: &[u8]) -> Result<(), Misfit> {
        if self.snapshot.is_some() || self.records > 0 {
            return Err("a space has at most one snapshot, before its records".into());
        }
        if line.rev <= self.born.rev || line.rev > self.head.rev {
            return Err(format!("the snapshot's revision {} is not in this log", line.rev).into());
        }
        let snapshot = snapshot_of(line)?;
        self.checksum.snapshot(&snapshot);
        self.snapshot = Some(snapshot.head);
        self.bytes += snapshot.body.len() as u64;
        self.keep(raw)
    }

    pub(super) fn record(&mut self, line: &RecordLine<'_>, raw: &[u8]) -> Result<(), Misfit> {
        if self.records == 0 {
            let covered = self.snapshot.map_or(self.born.rev, |snapshot| snapshot.rev.max(self.born.rev));
            if line.rev <= self.born.rev || line.rev > covered + 1 {
                return Err(format!("the log cannot begin with revision {}", line.rev).into());
            }
            self.first = line.rev;
        } else if line.rev != self.last.rev + 1 {
            return Err(format!("revision {} follows {}", line.rev, self.last.rev).into());
        }
        if line.rev > self.head.rev {
            return Err(format!("revision {} is beyond the head", line.rev).into());
        }
        if self.snapshot.is_some_and(|snapshot| snapshot.rev == line.rev && snapshot.commit != line.commit) {
            return Err("the snapshot belongs to another commit".into());
        }
        let record = record_of(line)?;
        self.checksum.record(&record);
        self.last = Head { rev: record.rev, commit: record.commit };
        self.records += 1;
        self.bytes += record.body.len() as u64;
        self.keep(raw)
    }

    /// Checks that these are all lines of the space, unchanged.
    pub(super) fn end(&self, line: &EndLine) -> Result<(), Misfit> {
        if (self.last, self.records) != (self.head, line.records) {
            let expected = line.records;
            return Err(
                format!("found {} of {expected} records, up to revision {}", self.records, self.last.rev).into()
            );
        }
        if (self.bytes, self.checksum) == (line.bytes, line.checksum) { Ok(()) } else { Err(Misfit::Checksum) }
    }

    pub(super) fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Number of records, and bytes of records and snapshot.
    pub(super) fn amount(&self) -> (u64, u64) {
        (self.records, self.bytes)
    }

    pub(super) fn read(&mut self) -> Result<KeptLines<'_>, TransferError> {
        self.spool.rewind().map_err(TransferError::Spool)?;
        let mut kept = KeptLines { reader: BufReader::new(&mut self.spool), line: Vec::new(), snapshot: None };
        if self.snapshot.is_some() {
            kept.snapshot = Some(kept.next_line(|line| match line {
                ExportLine::Snapshot(line) => snapshot_of(line).ok(),
                _ => None,
            })?);
        }
        Ok(kept)
    }

    fn keep(&mut self, raw: &[u8]) -> Result<(), Misfit> {
        self.spool.write_all(raw).and_then(|()| self.spool.write_all(b"\n")).map_err(Misfit::Spool)
    }
}

/// Reads the kept snapshot and records of a space.
pub(super) struct KeptLines<'a> {
    reader: BufReader<&'a mut SpooledTempFile>,
    line: Vec<u8>,
    pub(super) snapshot: Option<Snapshot>,
}

impl KeptLines<'_> {
    pub(super) fn next(&mut self) -> Result<Option<Record>, TransferError> {
        if self.reader.fill_buf().map_err(TransferError::Spool)?.is_empty() {
            return Ok(None);
        }
        let record = |line: &ExportLine<'_>| match line {
            ExportLine::Record(line) => record_of(line).ok(),
            _ => None,
        };
        self.next_line(record).map(Some)
    }

    /// Parses the next line. It was valid before, so only a failing disk can have changed it.
    fn next_line<T>(&mut self, read: impl Fn(&ExportLine<'_>) -> Option<T>) -> Result<T, TransferError> {
        self.line.clear();
        self.reader.read_until(b'\n', &mut self.line).map_err(TransferError::Spool)?;
        let line = serde_json::from_slice(&self.line).ok();
        line.and_then(|line| read(&line)).ok_or_else(|| TransferError::Spool(std::io::ErrorKind::InvalidData.into()))
    }
}

fn snapshot_of(line: &SnapshotLine<'_>) -> Result<Snapshot, String> {
    let head = Head { rev: line.rev, commit: line.commit };
    Ok(Snapshot { head, body: extract(line.body, line.base64.as_deref())? })
}

fn record_of(line: &RecordLine<'_>) -> Result<Record, String> {
    let body = extract(line.body, line.base64.as_deref())?;
    Ok(Record { rev: line.rev, commit: line.commit, at: line.at, body })
}

/// The beginning of a text of any length.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
