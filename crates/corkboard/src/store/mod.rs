//! Where logs are kept. A store never learns the domain: it keeps bytes by space and revision.

mod change_notifier;
mod file;
mod memory;
mod monitored;
mod permissions;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod server_url;
#[cfg(feature = "sqlite")]
mod sqlite;
mod url;
mod writer_thread;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use tokio::sync::{broadcast, watch};

pub use change_notifier::ChangeNotifier;
pub use file::FileStore;
pub use memory::MemoryStore;
pub(crate) use monitored::MonitoredStore;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use server_url::ServerUrl;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use url::{StoreUrl, open};

use crate::options::Retention;

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What a store's method gives.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A keeper of logs. Every implementation passes the same conformance suite (crate `corkboard-testing`).
///
/// The revisions of a space are numbered without gaps. They go on where they were when a space is deleted and created
/// again, so that no revision ever names two things.
pub trait Store: Send + Sync + 'static {
    /// What kind of store this is, and who shares it.
    fn info(&self) -> StoreInfo;

    /// Appends all records of [`Append`] if the log's head is still the expected one: all or nothing.
    ///
    /// `Ok(Appended::Committed)` means durable. [`StoreError::OutcomeUnknown`] means that it may or may not have been
    /// written; with every other error nothing was.
    fn append(&self, append: Append) -> StoreFuture<'_, Appended>;

    /// Begins an append whose records are still being made, so that the first are written while the last are not there yet.
    /// None: the store wants them all at once, by [`Store::append`].
    fn begin_append(&self, _space: &SpaceId, _expected: Head) -> Option<Box<dyn Appending>> {
        None
    }

    /// The log's present head; [`Head::EMPTY`] where nothing was ever written. This is the check that makes a read
    /// current, so it must be cheap.
    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head>;

    /// The newest snapshot of a space, and where its log begins and ends.
    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded>;

    /// Records after the cursor, oldest first, and where the log ended when they were read: at least one record if there is
    /// one, and no more than about [`Page::BYTES`] and `limit` of them.
    ///
    /// Fails with [`StoreError::Compacted`] when the next record is held no longer, [`StoreError::Diverged`] when the
    /// cursor's commit is not part of this log, and [`StoreError::Future`] when the cursor is beyond its head.
    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page>;

    /// Keeps a snapshot, replacing an older one. A newer one stays.
    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()>;

    /// Drops old records that a snapshot covers, never the last one, which is the head. Returns the oldest revision held
    /// afterwards.
    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64>;

    /// Spaces of one kind in the order of their ids, after the given one.
    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>>;

    /// Spaces of one kind in which something expires at or before `now`, most overdue first.
    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>>;

    /// Removes a space's log and snapshot, if its head is still the expected one. A tombstone keeps the head, so that
    /// the next life of the space goes on counting, and a cache of the former life is found out.
    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended>;

    /// Begins a log as a copy of another store's: anywhere, not only at its first revision. The space must never have been
    /// here, or it is a conflict. What follows is appended.
    fn import(&self, import: Import) -> StoreFuture<'_, Appended>;

    /// Puts other bodies in the place of those of some revisions, and another snapshot in the place of the one held, if any,
    /// if the log's head is still the expected one: all or nothing. Revisions and commit ids stay, so that no reader notices.
    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended>;

    /// Sees to it that nothing is left in the store's files, tables and keys of what was deleted, trimmed or rewritten. It
    /// may take long, and does not hold up readers and writers. PostgreSQL keeps old bytes in the free space of its files
    /// until it reuses that.
    fn scrub(&self) -> StoreFuture<'_, ()>;

    /// Tells when the space may have new revisions, whoever wrote them. The value is the newest revision known.
    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64>;

    /// Tells which spaces may have new revisions, whoever wrote them, and the newest of each that is known. Whatever is
    /// committed from now on is told, at once as a rule and within seconds at worst; that another process deleted a space
    /// may be told when it is written again. Of several revisions the newest may be told alone, and spaces that did not move
    /// may be told of as well. A receiver that lags is told so, and has to look at everything.
    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)>;

    /// The time by the clock that all who share the store go by, if it has one. It is asked for with every command, so it
    /// must not wait.
    fn now(&self) -> Option<Timestamp> {
        None
    }

    /// How much of the old log is kept unless the options say so.
    fn default_retention(&self) -> Retention {
        Retention::Everything
    }

    /// Looks for damage. An empty list is good news.
    fn check(&self) -> StoreFuture<'_, Vec<String>>;

    /// Finishes what was begun and lets go of files and connections. A store on disk answers [`StoreError::Closed`]
    /// from then on.
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// An append whose records come a few at a time. Dropped before it is finished, it never was. While it is open others may have
/// to wait, so whoever opens one makes its records without waiting for anything.
pub trait Appending: Send {
    /// Takes the next records, in order.
    fn add(&mut self, records: Vec<Record>);

    /// Takes the last records, at least one, and what is kept beside the log. The answer is that of [`Store::append`] with all
    /// the records at once.
    fn finish(self: Box<Self>, last: Append) -> StoreFuture<'static, Appended>;
}

/// What a store says of itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoreInfo {
    /// The URL's scheme.
    pub kind: &'static str,
    /// Where it is, for people.
    pub location: String,
    /// Who else may write.
    pub ownership: Ownership,
    /// Facts for people: versions and settings.
    pub details: Vec<(&'static str, String)>,
    /// What may be lost with these settings, and whether other users can open the store, a sentence each. Nobody should have
    /// to look for them.
    pub warnings: Vec<String>,
}

/// Who may write to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// This process alone: what it holds in memory is current.
    Sole,
    /// Others too: a read asks for the head first.
    Shared,
}

/// One revision as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place in the log.
    pub rev: u64,
    /// Its random id.
    pub commit: CommitId,
    /// When it was decided; only [`Trim`] asks.
    pub at: Timestamp,
    /// What happened.
    pub body: Vec<u8>,
}

impl Record {
    /// What a row, a stream entry or a line of a store holds of a body at most. A longer one is stored in parts, and comes
    /// back whole.
    pub const PART_BYTES: usize = 1024 * 1024;

    /// The body in parts: at least one, all full but the last.
    #[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
    pub(crate) fn parts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let count = self.body.len().div_ceil(Self::PART_BYTES).max(1);
        (0..count).map(|part| {
            let start = part * Self::PART_BYTES;
            self.body.get(start..(start + Self::PART_BYTES).min(self.body.len())).unwrap_or_default()
        })
    }
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// Where the log ended when they were read.
    pub head: Head,
}

impl Page {
    /// What a page holds at most, except that it always holds one record if there is one.
    pub const BYTES: usize = 1024 * 1024;

    /// Takes records until the page is full.
    pub(crate) fn fill<E>(records: impl Iterator<Item = Result<Record, E>>, head: Head) -> Result<Self, E> {
        let mut page = Self { records: Vec::new(), head };
        let mut bytes = 0;
        for record in records {
            let record = record?;
            bytes += record.body.len();
            page.records.push(record);
            if bytes >= Self::BYTES {
                break;
            }
        }
        Ok(page)
    }
}

/// Records to append, and what is kept beside the log.
#[derive(Debug, Clone)]
pub struct Append {
    /// Which log.
    pub space: SpaceId,
    /// Where the log must be.
    pub expected: Head,
    /// The records, in order, the first one being `expected.rev + 1`.
    pub records: Vec<Record>,
    /// When something in the space expires next.
    pub next_due: Option<Timestamp>,
    /// A few facts for lists, at most [`Append::SUMMARY_BYTES`].
    pub summary: Vec<u8>,
}

impl Append {
    /// The most that a summary may take.
    pub const SUMMARY_BYTES: usize = 4096;

    /// The head of the log after this append.
    pub fn new_head(&self) -> Head {
        self.records.last().map_or(self.expected, |record| Head { rev: record.rev, commit: record.commit })
    }
}

/// The beginning of a copied log.
#[derive(Debug, Clone)]
pub struct Import {
    /// Which log.
    pub space: SpaceId,
    /// Where this life of the space began.
    pub born: Head,
    /// The snapshot, if records before the first one here are held no longer, or in any case. One that is ahead of these
    /// records is written later, when the log has come to it.
    pub snapshot: Option<Snapshot>,
    /// The oldest records, in order. None: the space was deleted, and `born` is its tombstone.
    pub records: Vec<Record>,
    /// When something in the space expires next.
    pub next_due: Option<Timestamp>,
    /// As in [`Append`].
    pub summary: Vec<u8>,
}

impl Import {
    pub(crate) fn head(&self) -> Head {
        self.records.last().map_or(self.born, |record| Head { rev: record.rev, commit: record.commit })
    }
}

/// Other bodies for revisions that are there.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// Which log.
    pub space: SpaceId,
    /// Where the log must be.
    pub expected: Head,
    /// The revisions as they shall be. Those that are held no longer are passed over.
    pub records: Vec<Record>,
    /// Takes the place of the snapshot, or is the first.
    pub snapshot: Option<Snapshot>,
}

/// How a conditional write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is durable.
    Committed,
    /// Someone else was first. Nothing was written.
    Conflict {
        /// Where the log is now.
        head: Head,
    },
}

/// A position in a log, and the commit that must be there if the reader knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The last revision seen.
    pub rev: u64,
    /// Its commit id, if known.
    pub commit: Option<CommitId>,
}

impl Cursor {
    /// Fails if this log cannot be read after the cursor. `commit_at` finds the commit at the cursor, if it is held.
    pub(crate) fn check(
        self,
        head: Head,
        born: Head,
        oldest: u64,
        commit_at: impl FnOnce() -> Result<Option<CommitId>, StoreError>,
    ) -> Result<(), StoreError> {
        if self.rev > head.rev {
            return Err(StoreError::Future { asked: self.rev, head: head.rev });
        }
        if self.rev + 1 < oldest {
            return Err(StoreError::Compacted { oldest });
        }
        let Some(expected) = self.commit else { return Ok(()) };
        let found = match self.rev {
            rev if rev == head.rev => Some(head.commit),
            rev if rev == born.rev => Some(born.commit),
            _ => commit_at()?,
        };
        if found.is_some_and(|found| found != expected) { Err(StoreError::Diverged) } else { Ok(()) }
    }
}

impl From<Head> for Cursor {
    fn from(head: Head) -> Self {
        Self { rev: head.rev, commit: Some(head.commit) }
    }
}

/// What [`Store::load`] finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The head of the log.
    pub head: Head,
    /// Where this life of the space began: [`Head::EMPTY`], or the tombstone of the one before.
    pub born: Head,
    /// The newest snapshot.
    pub snapshot: Option<Snapshot>,
}

/// A state at one revision, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The revision it shows.
    pub head: Head,
    /// The state.
    pub body: Vec<u8>,
}

/// Which records may go: those up to a revision that were also decided before a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trim {
    /// The newest revision that may go. The store holds it to the snapshot's.
    pub up_to: u64,
    /// Only what was decided before this time may go.
    pub older_than: Option<Timestamp>,
}

/// A line of [`Store::list`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSpace {
    /// Which space.
    pub space: SpaceId,
    /// Where its log is.
    pub head: Head,
    /// When something in it expires next.
    pub next_due: Option<Timestamp>,
    /// The summary of its last append.
    pub summary: Vec<u8>,
}

/// What can go wrong in a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum StoreError {
    /// Others held the store for too long. Nothing was written.
    #[error("the store was busy for {} s", waited.as_secs())]
    Busy { waited: Duration },
    /// Another process owns the store.
    #[error("the store is locked by {holder}")]
    Locked { holder: String },
    /// It cannot be reached or written right now. Nothing was written.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// The disk or the database is full. Nothing was written.
    #[error("there is no space left to write; nothing was written: {0}")]
    NoSpace(String),
    /// The server that keeps it cannot be asked. Nothing was written.
    #[error("the server at {server} is not available: {trouble}")]
    NoServer { server: String, trouble: ConnectError },
    /// The answer was lost: the write may or may not have happened.
    #[error("the outcome is unknown: {0}")]
    OutcomeUnknown(String),
    /// The store has ended, because going on could lose data (a failed fsync). Open it anew.
    #[error("the store has ended: {0}")]
    Failed(String),
    /// What is stored cannot be right.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The store's own format is newer than this Corkboard.
    #[error("the store is in format {found}; this Corkboard knows formats up to {known}")]
    NewerFormat { found: u32, known: u32 },
    /// The records asked for are held no longer.
    #[error("revisions before {oldest} are no longer held")]
    Compacted { oldest: u64 },
    /// The log is not the one that the cursor came from.
    #[error("the log is another one than the cursor's: the space was restored or replaced")]
    Diverged,
    /// The cursor is beyond the log's end.
    #[error("revision {asked} lies in the future; the log is at {head}")]
    Future { asked: u64, head: u64 },
    /// No such store, or a URL that makes no sense.
    #[error("cannot open {url:?}: {reason}")]
    Url { url: String, reason: String },
    /// There is no store, and none is to be created ([`Creation`](crate::Creation)).
    #[error("there is no store at {}", path.display())]
    Missing { path: std::path::PathBuf },
    /// There is no folder for a new store ([`Creation`](crate::Creation)).
    #[error("cannot create a store: the folder {} does not exist", folder.display())]
    NoFolder { folder: std::path::PathBuf },
    /// A URL that names no server, or one that the token must not go to.
    #[error("{url:?} is no server to talk to: {reason}")]
    ServerUrl { url: String, reason: String },
    /// A server that keeps it said no: to the token, to what it opens, to how often is asked.
    #[error("{}", .0.detail)]
    Answered(Box<crate::Problem>),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why a server cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// It is not there, or does not answer: that may pass.
    #[error("{0}")]
    Away(String),
    /// Its certificate does not prove who it is.
    #[error("{0}")]
    Certificate(String),
    /// It was asked by https, and does not encrypt.
    #[error("it does not speak TLS")]
    NotEncrypted,
    /// It was asked by http, and what it answers is something else.
    #[error("what answers there does not speak HTTP")]
    NotHttp,
}

impl StoreError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        let away = matches!(self, Self::NoServer { trouble: ConnectError::Away(_), .. });
        away || matches!(self, Self::Busy { .. } | Self::Unavailable(_) | Self::NoSpace(_))
    }

    /// As one of the problems of [`Store::check`]. That the store is damaged goes without saying there.
    pub(crate) fn into_problem(self) -> String {
        match self {
            Self::Corrupt(problem) => problem,
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sole => "this process alone",
            Self::Shared => "shared",
        })
    }
}
