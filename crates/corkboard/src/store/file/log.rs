//! Reads a log file line by line and checks every checksum.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use corkboard_core::{CommitId, Head};

use super::line::{AppendEnd, LineChecksum, LinePosition, LogHeader, LogLine, Unreadable, check_seal};
use super::repair::Repair;
use crate::store::{Record, StoreError};

/// The maximum length of a line: an escaped part of a body, and everything around it. Corkboard writes no longer lines.
const LONGEST_LINE: u64 = 2 * Record::PART_BYTES as u64;
/// Approximate distance between two marks. A read starts at a mark, so it reads up to this many bytes in vain.
const STRIDE: u64 = 16 * 1024;
const BUFFER: usize = 64 * 1024;

/// Index of a log that was read: where it begins and ends, and where to find a revision. Takes about 300 bytes, plus 32
/// for every 16 KiB of log.
#[derive(Debug, Clone)]
pub(super) struct LogIndex {
    pub(super) header: LogHeader,
    pub(super) head: Head,
    pub(super) end: LinePosition,
    /// The positions of some revisions, in order, always including the first.
    pub(super) marks: Vec<(u64, LinePosition)>,
    /// The head of the snapshot beside the log.
    pub(super) snapshot: Option<Head>,
    /// Repair that the end of the file needs before anything is written. It failed when the log was read.
    pub(super) repair: Option<Repair>,
}

impl LogIndex {
    /// The index of a log that has not been written yet.
    pub(super) fn new(header: LogHeader) -> Self {
        Self { head: header.born, header, end: LinePosition::START, marks: Vec::new(), snapshot: None, repair: None }
    }

    /// The oldest revision in the log; the one after the head if the log is empty.
    pub(super) fn oldest(&self) -> u64 {
        self.header.first()
    }

    /// Remembers the position of a revision, if it is far enough from the last one remembered.
    pub(super) fn mark(&mut self, rev: u64, position: LinePosition) {
        if self.marks.last().is_none_or(|(_, last)| position.offset >= last.offset + STRIDE) {
            self.marks.push((rev, position));
        }
    }

    /// Returns a position at or before a revision.
    pub(super) fn before(&self, rev: u64) -> LinePosition {
        let after = self.marks.partition_point(|(marked, _)| *marked <= rev);
        self.marks.get(after.saturating_sub(1)).map_or(self.end, |(_, position)| *position)
    }
}

/// How a line of a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    /// With a line break.
    InLineBreak,
    /// With the end of the file.
    Abruptly,
}

struct Lines {
    input: BufReader<std::io::Take<File>>,
    position: LinePosition,
    line: Vec<u8>,
}

impl Lines {
    fn new(mut file: File, from: LinePosition, end: u64) -> std::io::Result<Self> {
        file.seek(SeekFrom::Start(from.offset))?;
        let input = BufReader::with_capacity(BUFFER, file.take(end.saturating_sub(from.offset)));
        Ok(Self { input, position: from, line: Vec::new() })
    }

    /// Reads the next line, if there is one. Skips the rest of a line that is too long; the checksum then fails.
    fn next(&mut self) -> std::io::Result<Option<LineEnd>> {
        self.line.clear();
        let mut length = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line)? as u64;
        let mut has_break = self.line.pop_if(|last| *last == b'\n').is_some();
        while !has_break {
            let more = self.input.fill_buf()?;
            if more.is_empty() {
                break;
            }
            let end = more.iter().position(|byte| *byte == b'\n');
            has_break = end.is_some();
            let passed = end.map_or(more.len(), |end| end + 1);
            self.input.consume(passed);
            length += passed as u64;
        }
        if length == 0 {
            return Ok(None);
        }
        self.position.offset += length;
        self.position.lines += 1;
        Ok(Some(if has_break { LineEnd::InLineBreak } else { LineEnd::Abruptly }))
    }

    /// Whether an unreadable line was cut off by a crash. A line that is complete except for its last byte was not: its
    /// line break was changed.
    fn is_torn(&self, ended: LineEnd, before: LineChecksum) -> bool {
        let is_whole = self.line.split_last().is_some_and(|(_, line)| check_seal(line, before).is_ok());
        ended == LineEnd::Abruptly && !is_whole
    }
}

/// Which line must come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedLine {
    Rev(u64),
    Part {
        head: Head,
        number: u64,
        count: u64,
    },
    /// Any line, because the one before was unreadable.
    Anything,
}

impl ExpectedLine {
    /// Checks that a line is the expected one, and returns what must follow it.
    fn follow(self, line: &LogLine<'_>) -> Result<Self, String> {
        let (number, count) = line.part.unwrap_or((1, 1));
        let fits = match self {
            Self::Rev(rev) => line.rev == rev && number == 1,
            Self::Part { head, number: expected, count: of } => {
                line.head() == head && (number, count) == (expected, of)
            }
            Self::Anything => true,
        };
        if !fits {
            return Err(format!("revision {}, part {number} of {count}, does not follow the line before", line.rev));
        }
        if number < count && line.more {
            return Ok(Self::Part { head: line.head(), number: number + 1, count });
        }
        if number == count { Ok(Self::Rev(line.rev + 1)) } else { Err("the last part of a record is missing".into()) }
    }
}

pub(super) struct Scan {
    pub(super) index: LogIndex,
    pub(super) ending: AppendEnd,
    /// The problems found, with line numbers.
    pub(super) problems: Vec<(u64, Unreadable)>,
    /// Whether the last append is incomplete. It begins where the index ends.
    pub(super) torn: bool,
    /// Whether only the last line break is missing.
    pub(super) line_break_missing: bool,
}

/// Reads a log up to an offset. Continues after damage until `most_problems` are found.
///
/// A line or append that was cut off by a crash is torn: the file ends inside a line, or before the append is complete.
/// This relies on a file's size reaching the disk after its bytes, as on ext4, XFS and Btrfs. Anything else that cannot
/// be read is damage, and is never dropped, because it may have been acknowledged.
pub(super) fn scan(file: File, end: u64, space: &str, most_problems: usize) -> std::io::Result<Scan> {
    let index = LogIndex::new(LogHeader::new(space, Head::EMPTY, 0));
    let ending = AppendEnd::default();
    let mut scan = Scan { index, ending, problems: Vec::new(), torn: false, line_break_missing: false };
    let mut lines = Lines::new(file, LinePosition::START, end)?;
    match lines.next()? {
        None => return Ok(scan),
        Some(ended) => match (LogHeader::read(&lines.line), ended) {
            (Ok(header), _) if header.space != space => {
                scan.problems.push((1, Unreadable::Damaged(format!("it is the log of {}", header.space))));
                return Ok(scan);
            }
            (Ok(header), ended) => {
                lines.position.sum =
                    header.sum_after(LineChecksum::written_in(&lines.line).unwrap_or(LineChecksum::NONE));
                scan.index = LogIndex { end: lines.position, ..LogIndex::new(header) };
                scan.finish_line(&mut lines, ended);
            }
            (Err(_), ended) if lines.is_torn(ended, LineChecksum::NONE) => {
                scan.torn = true;
                return Ok(scan);
            }
            (Err(unreadable), _) => {
                scan.problems.push((1, unreadable));
                return Ok(scan);
            }
        },
    }
    let mut expected = ExpectedLine::Rev(scan.index.header.first());
    while scan.problems.len() < most_problems {
        let before = lines.position;
        let Some(ended) = lines.next()? else { break };
        scan.torn = true;
        let written = LineChecksum::written_in(&lines.line);
        let read = LogLine::read(&lines.line, before.sum).and_then(|mut line| {
            let next = expected.follow(&line)?;
            Ok((next, line.head(), line.part, line.take_ending()?))
        });
        lines.position.sum = written.unwrap_or(LineChecksum::NONE);
        match read {
            Ok((next, head, part, ending)) => {
                if part.is_none_or(|(number, _)| number == 1) {
                    scan.index.mark(head.rev, before);
                }
                expected = next;
                if let Some(ending) = ending {
                    scan.torn = false;
                    scan.ending = ending;
                    scan.index.head = head;
                    scan.finish_line(&mut lines, ended);
                }
            }
            Err(_) if lines.is_torn(ended, before.sum) => break,
            Err(text) => {
                scan.problems.push((before.lines + 1, Unreadable::Damaged(text)));
                expected = ExpectedLine::Anything;
            }
        }
    }
    let end = scan.index.end.offset;
    scan.index.marks.retain(|(_, position)| position.offset < end);
    Ok(scan)
}

impl Scan {
    /// Ends an append: everything up to this line counts.
    fn finish_line(&mut self, lines: &mut Lines, ended: LineEnd) {
        if ended == LineEnd::Abruptly {
            self.line_break_missing = true;
            lines.position.offset += 1;
        }
        self.index.end = lines.position;
    }
}

/// Reads the records of a log from a position on. The last record of each append comes with the append's end data.
pub(super) struct Records {
    lines: Lines,
    path: PathBuf,
    end: u64,
}

impl Records {
    /// Reads an open file up to `end`, which is known to be good. `path` is for messages.
    pub(super) fn new(file: File, path: &Path, from: LinePosition, end: u64) -> Result<Self, StoreError> {
        let lines = Lines::new(file, from, end).map_err(|error| cannot_read(path, &error))?;
        Ok(Self { lines, path: path.to_owned(), end })
    }

    pub(super) fn position(&self) -> LinePosition {
        self.lines.position
    }

    pub(super) fn next(&mut self) -> Result<Option<(Record, Option<AppendEnd>)>, StoreError> {
        let mut record: Option<Record> = None;
        loop {
            let before = self.lines.position;
            let ended = self.lines.next().map_err(|error| cannot_read(&self.path, &error))?;
            if ended.is_none() {
                return match record {
                    None => Ok(None),
                    Some(_) => Err(damaged(&self.path, before.lines, "the last part of a record is missing")),
                };
            }
            let read = LogLine::read(&self.lines.line, before.sum).and_then(|mut line| {
                let Head { rev, commit } = line.head();
                let record = record.get_or_insert_with(|| Record { rev, commit, at: line.at, body: Vec::new() });
                line.take_body(&mut record.body)?;
                let is_last = line.part.is_none_or(|(number, count)| number == count);
                Ok((is_last, line.take_ending()?))
            });
            let (is_last, ending) = read.map_err(|text| damaged(&self.path, before.lines + 1, &text))?;
            self.lines.position.sum = LineChecksum::written_in(&self.lines.line).unwrap_or(LineChecksum::NONE);
            if is_last {
                return Ok(record.map(|record| (record, ending)));
            }
        }
    }

    /// Returns the records from a position on as raw bytes.
    pub(super) fn into_bytes(self, from: LinePosition) -> Result<impl Read, StoreError> {
        let mut file = self.lines.input.into_inner().into_inner();
        file.seek(SeekFrom::Start(from.offset)).map_err(|error| cannot_read(&self.path, &error))?;
        Ok(file.take(self.end.saturating_sub(from.offset)))
    }

    pub(super) fn find_commit(&mut self, rev: u64) -> Result<Option<CommitId>, StoreError> {
        while let Some((record, _)) = self.next()? {
            if record.rev >= rev {
                return Ok((record.rev == rev).then_some(record.commit));
            }
        }
        Ok(None)
    }
}

/// The error for a damaged line.
pub(super) fn damaged(path: &Path, line: u64, text: &str) -> StoreError {
    StoreError::Corrupt(format!("{}, line {line}: {text}", path.display()))
}

pub(super) fn cannot_read(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot read {}: {error}", path.display()))
}
