//! Checks that the write-ahead log that a crash left still contains everything that was committed.
//!
//! When SQLite opens the log, it reads up to the first frame with a wrong checksum and drops the rest, because a
//! transaction cut off by a crash looks like that. A frame that was damaged later looks the same, and everything
//! committed after it would be lost silently. So after each commit the number of frames is written to a file beside the
//! database, `-head`. It is not fsynced, and two processes may overwrite each other's number: it may be behind the log,
//! never ahead of it.
//!
//! The format of the log is described in <https://www.sqlite.org/fileformat2.html#walformat>.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::checksum;
use super::files::{beside, open_beside};
use crate::store::StoreError;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The file that holds the [`WalNote`].
const HEAD: &str = "-head";
const LOG: &str = "-wal";
/// How often to read the log again if it changes during reading.
const ATTEMPTS: usize = 10;

/// Random numbers that change every time the log restarts.
type Salts = [u8; 8];

/// The number of committed frames in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WalNote {
    salts: Salts,
    frames: u64,
}

impl WalNote {
    const BYTES: usize = 32;
    const MAGIC: [u8; 8] = *b"corkwal1";

    fn encode(self) -> [u8; Self::BYTES] {
        let sum = u64::from(checksum::of(&[self.frames], &[&Self::MAGIC, &self.salts])).to_be_bytes();
        let mut bytes = [0; Self::BYTES];
        let parts = [Self::MAGIC, self.salts, self.frames.to_be_bytes(), sum];
        bytes.iter_mut().zip(parts.as_flattened()).for_each(|(byte, part)| *byte = *part);
        bytes
    }

    /// `None` if there is no note, or only a part of one.
    fn read(database: &Path) -> std::io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        match File::open(beside(database, HEAD)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file?.take(Self::BYTES as u64).read_to_end(&mut bytes)?,
        };
        let [_, salts, frames, _] = *bytes.as_chunks::<8>().0 else { return Ok(None) };
        let note = Self { salts, frames: u64::from_be_bytes(frames) };
        Ok((note.encode() == *bytes).then_some(note))
    }
}

/// Saves the length of the log after each commit.
pub(super) struct WalNotes {
    file: File,
    log: PathBuf,
    /// Opened at the first commit. SQLite keeps the log file while a connection is open.
    opened: Option<File>,
}

impl WalNotes {
    pub(super) fn open(database: &Path) -> Result<Self, StoreError> {
        let file = open_beside(database, HEAD)?;
        Ok(Self { file, log: beside(database, LOG), opened: None })
    }

    /// Call this after every commit, before acknowledging it.
    pub(super) fn write(&mut self, frames: u64) {
        if let Err(error) = self.try_write(frames) {
            // The commit is durable nevertheless.
            tracing::warn!(%error, "failed to save the length of the write-ahead log");
        }
    }

    fn try_write(&mut self, frames: u64) -> std::io::Result<()> {
        let log = match &mut self.opened {
            Some(log) => log,
            none => none.insert(File::open(&self.log)?),
        };
        let mut header = [0; HEADER];
        log.read_exact_at(&mut header, 0)?;
        let header = WalHeader(header);
        // Another process may have restarted the log since the commit: then the commit is in the database.
        let mut frame = [0; FRAME_HEADER];
        let at = HEADER as u64 + frames.saturating_sub(1) * header.frame_bytes();
        let is_commit = log.read_exact_at(&mut frame, at).is_ok() && header.owns(&frame) && word(&frame, 4) != 0;
        if !is_commit {
            return Ok(());
        }
        self.file.write_all_at(&WalNote { salts: header.salts(), frames }.encode(), 0)
    }
}

/// Fails if the log of a database is damaged. Call it before SQLite opens the database.
pub(super) fn check(database: &Path) -> Result<(), StoreError> {
    match problem(database)? {
        Some(problem) => Err(StoreError::Corrupt(problem)),
        None => Ok(()),
    }
}

/// Describes the problem of the log, if there is one. Others may write to the log during the check.
pub(super) fn problem(database: &Path) -> Result<Option<String>, StoreError> {
    for _ in 0..ATTEMPTS {
        let looked = look(database).map_err(|error| {
            StoreError::Unavailable(format!("cannot read {}: {error}", beside(database, LOG).display()))
        })?;
        match looked {
            WalState::Whole => return Ok(None),
            WalState::Damaged(problem) => return Ok(Some(problem)),
            WalState::Changed => std::thread::yield_now(),
        }
    }
    Ok(None)
}

enum WalState {
    Whole,
    Damaged(String),
    /// The log restarted while it was read.
    Changed,
}

fn look(database: &Path) -> std::io::Result<WalState> {
    let note = WalNote::read(database)?;
    let path = beside(database, LOG);
    let log = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(WalState::Whole),
        log => log?,
    };
    let length = log.metadata()?.len();
    let Some(header) = WalHeader::read(&log)? else { return Ok(WalState::Whole) };
    let has_frames = length > HEADER as u64;
    let (path, head) = (path.display(), beside(database, HEAD));
    let problem = match (header.is_valid(), note) {
        // SQLite fsyncs the header before it writes a frame.
        (false, _) if has_frames => format!(
            "the header of the write-ahead log {path} is damaged, and all changes in it would be lost; \
             restore the database and {path} from a backup, or move {path} away to open the database without them"
        ),
        (true, Some(note)) if note.salts == header.salts() => {
            let frames = valid_frames(&log, &header, note.frames)?;
            if frames >= note.frames {
                return Ok(WalState::Whole);
            }
            format!(
                "the write-ahead log {path} is damaged: {} of its {} pages cannot be read, and the changes in them \
                 would be lost; restore the database and {path} from a backup, or remove {} to open the database \
                 without them",
                note.frames - frames,
                note.frames,
                head.display()
            )
        }
        _ => return Ok(WalState::Whole),
    };
    let is_same = WalHeader::read(&log)?.is_some_and(|now| now.0 == header.0) && log.metadata()?.len() >= length;
    Ok(if is_same { WalState::Damaged(problem) } else { WalState::Changed })
}

/// Counts the valid frames from the first on, up to `most`.
fn valid_frames(log: &File, header: &WalHeader, most: u64) -> std::io::Result<u64> {
    let page = header.number(8) as usize;
    let mut input = BufReader::with_capacity(1 << 16, FromStart { file: log, at: HEADER as u64 });
    let (mut frame, mut body) = ([0; FRAME_HEADER], vec![0; page]);
    let mut sum = header.sum();
    for number in 0..most {
        let read = input.read_exact(&mut frame).and_then(|()| input.read_exact(&mut body));
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(number),
            read => read?,
        }
        // The checksum covers the page's number and the database's size, not the salts.
        sum = header.add(header.add(sum, frame.get(..8).unwrap_or_default()), &body);
        if !header.owns(&frame) || sum != (word(&frame, 16), word(&frame, 20)) {
            return Ok(number);
        }
    }
    Ok(most)
}

/// Reads a file without moving its shared file position.
struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

struct WalHeader([u8; HEADER]);

impl WalHeader {
    /// `None` if the log is empty.
    fn read(log: &File) -> std::io::Result<Option<Self>> {
        let mut bytes = [0; HEADER];
        match log.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.map(|()| Some(Self(bytes))),
        }
    }

    fn number(&self, at: usize) -> u32 {
        word(&self.0, at)
    }

    fn frame_bytes(&self) -> u64 {
        FRAME_HEADER as u64 + u64::from(self.number(8))
    }

    fn salts(&self) -> Salts {
        self.0.get(16..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default()
    }

    /// Whether a frame belongs to this header.
    fn owns(&self, frame: &[u8; FRAME_HEADER]) -> bool {
        frame.get(8..16) == Some(self.salts().as_slice())
    }

    fn sum(&self) -> (u32, u32) {
        (self.number(24), self.number(28))
    }

    fn is_valid(&self) -> bool {
        let (start, page) = (self.0.first_chunk::<24>(), self.number(8));
        let has_sum = start.is_some_and(|start| self.add((0, 0), start) == self.sum());
        has_sum
            && matches!(self.number(0), 0x377f_0682 | 0x377f_0683)
            && page.is_power_of_two()
            && (512..=65536).contains(&page)
    }

    /// Continues SQLite's checksum. The lowest bit of the log's first number determines the byte order.
    fn add(&self, (mut first, mut second): (u32, u32), bytes: &[u8]) -> (u32, u32) {
        let is_big_endian = self.number(0) & 1 == 1;
        let take = |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        for pair in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            let [one, two] = *pair;
            first = first.wrapping_add(take(one)).wrapping_add(second);
            second = second.wrapping_add(take(two)).wrapping_add(first);
        }
        (first, second)
    }
}
