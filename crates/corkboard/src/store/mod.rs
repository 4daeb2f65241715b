//! Stores keep logs. A store knows nothing of the domain: it keeps bytes by space and revision.

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

/// The future that a store's method returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps logs. Every implementation passes the same conformance suite (crate `corkboard-testing`).
///
/// The revisions of a space are numbered without gaps. Numbering continues when a space is deleted and created again,
/// so a revision number never names two things.
pub trait Store: Send + Sync + 'static {
    /// The kind of store, and who shares it.
    fn info(&self) -> StoreInfo;

    /// Appends all records of [`Append`] if the log's head is still the expected one, all or nothing.
    ///
    /// `Ok(Appended::Committed)` means durable. [`StoreError::OutcomeUnknown`] means that the records may or may not
    /// have been written; after any other error, nothing was written.
    fn append(&self, append: Append) -> StoreFuture<'_, Appended>;

    /// Begins an append before all of its records are known, so that the first are written while the last are still
    /// being created. `None`: the store only supports [`Store::append`].
    fn begin_append(&self, _space: &SpaceId, _expected: Head) -> Option<Box<dyn Appending>> {
        None
    }

    /// The current head of the log; [`Head::EMPTY`] if nothing was ever written. Reads call this to check that they are
    /// current, so it must be cheap.
    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head>;

    /// The newest snapshot of a space, and where its log begins and ends.
    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded>;

    /// Records after the cursor, oldest first, and the head of the log at that time. Returns at least one record if
    /// there is one, and at most `limit` records or about [`Page::BYTES`].
    ///
    /// Fails with [`StoreError::Compacted`] if the next record was dropped, [`StoreError::Diverged`] if the cursor's
    /// commit is not part of this log, and [`StoreError::Future`] if the cursor is beyond the head.
    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page>;

    /// Stores a snapshot, replacing an older one. Does nothing if the store has a newer one.
    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()>;

    /// Drops old records that a snapshot covers, but never the last record, which is the head. Returns the oldest
    /// revision left.
    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64>;

    /// Spaces of one kind, ordered by ID, starting after `after`.
    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>>;

    /// Spaces of one kind in which something expires at or before `now`, most overdue first.
    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>>;

    /// Removes a space's log and snapshot, if its head is still the expected one. A tombstone keeps the head: revision
    /// numbers continue if the space is created again, and outdated caches are detected.
    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended>;

    /// Begins a log as a copy of another store's log, at any revision. Conflicts if the space ever existed here. Later
    /// records are appended.
    fn import(&self, import: Import) -> StoreFuture<'_, Appended>;

    /// Replaces the bodies of some revisions, and the snapshot if one is given, if the log's head is still the expected
    /// one; all or nothing. Revisions and commit IDs stay the same, so readers notice nothing. Afterwards, the store keeps
    /// no earlier summary of these revisions.
    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended>;

    /// Removes all traces of deleted, trimmed and rewritten content from the store's files, tables and keys. This may
    /// take long, but does not block readers and writers. PostgreSQL keeps old bytes in the free space of its files
    /// until it reuses that space.
    fn scrub(&self) -> StoreFuture<'_, ()>;

    /// Notifies when the space may have new revisions, from any process. The value is the newest known revision.
    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64>;

    /// Notifies which spaces may have new revisions, from any process, and the newest known revision of each. Every
    /// later commit is reported, usually at once and within seconds at worst. A deletion by another process may only be
    /// reported when the space is written again. Of several revisions only the newest may be reported, and unchanged
    /// spaces may be reported too. A receiver that falls behind gets a lag error and must check all spaces.
    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)>;

    /// The time of the clock that all users of the store share, if it has one. Called for every command, so it must not
    /// block.
    fn now(&self) -> Option<Timestamp> {
        None
    }

    /// The retention to use if the options do not set one.
    fn default_retention(&self) -> Retention {
        Retention::Everything
    }

    /// Checks for damage and returns a description of each problem found.
    fn check(&self) -> StoreFuture<'_, Vec<String>>;

    /// Finishes pending work and closes files and connections. Afterwards, a store on disk returns
    /// [`StoreError::Closed`].
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// An append that receives its records in several steps. Dropping it before [`Appending::finish`] writes nothing. An
/// open append may block other writers, so create its records without waiting for anything.
pub trait Appending: Send {
    /// Adds the next records, in order.
    fn add(&mut self, records: Vec<Record>);

    /// Adds the last records, at least one, and the data kept beside the log. Returns what [`Store::append`] would
    /// return for all the records at once.
    fn finish(self: Box<Self>, last: Append) -> StoreFuture<'static, Appended>;
}

/// Description of a store.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StoreInfo {
    /// The scheme of its URL.
    pub kind: &'static str,
    /// Its location, in readable form.
    pub location: String,
    /// Who may write to it.
    pub ownership: Ownership,
    /// Versions and settings, in readable form.
    pub details: Vec<(&'static str, String)>,
    /// What these settings can lose, and whether other users can open the store; one sentence each.
    pub warnings: Vec<String>,
}

/// Who may write to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// Only this process, so its in-memory state is always current.
    Sole,
    /// Other processes too, so reads check the head first.
    Shared,
}

/// One revision as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its revision number.
    pub rev: u64,
    /// Its random ID.
    pub commit: CommitId,
    /// When it was decided; used only by [`Trim`].
    pub at: Timestamp,
    /// The encoded commit.
    pub body: Vec<u8>,
}

impl Record {
    /// The maximum part of a body in one row, stream entry or line of a store. A longer body is stored in several parts
    /// and read back as one.
    pub const PART_BYTES: usize = 1024 * 1024;

    /// The body in parts: at least one, and all but the last are full.
    #[cfg(any(feature = "postgres", feature = "redis", feature = "sqlite"))]
    pub(crate) fn parts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let count = self.body.len().div_ceil(Self::PART_BYTES).max(1);
        (0..count).map(|part| {
            let start = part * Self::PART_BYTES;
            self.body.get(start..(start + Self::PART_BYTES).min(self.body.len())).unwrap_or_default()
        })
    }
}

/// Consecutive records of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// The head of the log when they were read.
    pub head: Head,
}

impl Page {
    /// A page ends with the record that reaches this size, so it holds at least one record if there is one.
    pub const BYTES: usize = 1024 * 1024;

    /// Collects records until the page is full.
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

/// Records to append, and data to keep beside the log.
#[derive(Debug, Clone)]
pub struct Append {
    /// The space to append to.
    pub space: SpaceId,
    /// The head that the log must have.
    pub expected: Head,
    /// The records, in order, the first one being `expected.rev + 1`.
    pub records: Vec<Record>,
    /// When something in the space expires next.
    pub next_due: Option<Timestamp>,
    /// Summary for lists, at most [`Append::SUMMARY_BYTES`] long.
    pub summary: Vec<u8>,
}

impl Append {
    /// Maximum size of a summary.
    pub const SUMMARY_BYTES: usize = 4096;

    /// The head of the log after this append.
    pub fn new_head(&self) -> Head {
        self.records.last().map_or(self.expected, |record| Head { rev: record.rev, commit: record.commit })
    }
}

/// The beginning of a copied log.
#[derive(Debug, Clone)]
pub struct Import {
    /// The space to create.
    pub space: SpaceId,
    /// The head that the space was created or last deleted at.
    pub born: Head,
    /// The snapshot; required if earlier records are missing here. If the snapshot is ahead of these records, write it
    /// later, when the log has reached it.
    pub snapshot: Option<Snapshot>,
    /// The oldest records, in order. Empty if the space was deleted; `born` is then its tombstone.
    pub records: Vec<Record>,
    /// When something in the space expires next.
    pub next_due: Option<Timestamp>,
    /// See [`Append::summary`].
    pub summary: Vec<u8>,
}

impl Import {
    pub(crate) fn head(&self) -> Head {
        self.records.last().map_or(self.born, |record| Head { rev: record.rev, commit: record.commit })
    }
}

/// New bodies for existing revisions.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// The space to rewrite.
    pub space: SpaceId,
    /// The head that the log must have.
    pub expected: Head,
    /// The new versions of the revisions. Revisions that are no longer stored are ignored.
    pub records: Vec<Record>,
    /// Replaces the snapshot, or becomes the first one.
    pub snapshot: Option<Snapshot>,
}

/// Result of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The write is durable.
    Committed,
    /// Another writer was first. Nothing was written.
    Conflict {
        /// The current head of the log.
        head: Head,
    },
}

/// A position in a log, and the commit expected there, if the reader knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The last revision seen.
    pub rev: u64,
    /// Its commit ID, if known.
    pub commit: Option<CommitId>,
}

impl Cursor {
    /// Fails if this log cannot be read after the cursor. `commit_at` looks up the commit at the cursor, if it is
    /// stored.
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

/// Result of [`Store::load`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The head of the log.
    pub head: Head,
    /// The head that the space was created at: [`Head::EMPTY`], or the tombstone of its last deletion.
    pub born: Head,
    /// The newest snapshot.
    pub snapshot: Option<Snapshot>,
}

/// An encoded state at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The revision of the state.
    pub head: Head,
    /// The encoded state.
    pub body: Vec<u8>,
}

/// Which records to drop: those up to a revision that were also decided before a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trim {
    /// The newest revision to drop; the store limits it to the snapshot's.
    pub up_to: u64,
    /// Drop only revisions decided before this time.
    pub older_than: Option<Timestamp>,
}

/// An item of [`Store::list`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSpace {
    /// The agent, board or core that the log belongs to.
    pub space: SpaceId,
    /// The head of its log.
    pub head: Head,
    /// When something in it expires next.
    pub next_due: Option<Timestamp>,
    /// The summary from its last append.
    pub summary: Vec<u8>,
}

/// An error of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum StoreError {
    /// Other processes blocked the store for too long. Nothing was written.
    #[error("the store was busy for {} s", waited.as_secs())]
    Busy { waited: Duration },
    /// Another process is using the store.
    #[error("the store is locked by {holder}")]
    Locked { holder: String },
    /// The store cannot be reached or written right now. Nothing was written.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// The disk or the database is full. Nothing was written.
    #[error("no space left; nothing was written: {0}")]
    NoSpace(String),
    /// The server that keeps the store cannot be reached. Nothing was written.
    #[error("the server at {server} is not available: {trouble}")]
    NoServer { server: String, trouble: ConnectError },
    /// The answer was lost: the write may or may not have happened.
    #[error("the outcome is unknown: {0}")]
    OutcomeUnknown(String),
    /// The store has stopped, because continuing could lose data (for example after a failed fsync). Open it again.
    #[error("the store has stopped: {0}")]
    Failed(String),
    /// Stored data is invalid.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The store's own format is newer than this Corkboard.
    #[error("the store is in format {found}; this Corkboard knows formats up to {known}")]
    NewerFormat { found: u32, known: u32 },
    /// The requested records were dropped.
    #[error("revisions before {oldest} are no longer available")]
    Compacted { oldest: u64 },
    /// The cursor belongs to a different log.
    #[error("the cursor belongs to a different log: the space was restored or replaced")]
    Diverged,
    /// The cursor is beyond the log's end.
    #[error("revision {asked} does not exist yet; the log ends at {head}")]
    Future { asked: u64, head: u64 },
    /// The store does not exist, or its URL is invalid.
    #[error("cannot open {url:?}: {reason}")]
    Url { url: String, reason: String },
    /// There is no store, and [`Creation`](crate::Creation) forbids creating one.
    #[error("there is no store at {}", path.display())]
    Missing { path: std::path::PathBuf },
    /// The parent folder of a new store does not exist, and [`Creation`](crate::Creation) forbids creating it.
    #[error("cannot create a store: the folder {} does not exist", folder.display())]
    NoFolder { folder: std::path::PathBuf },
    /// The server URL is invalid, or the token must not be sent there.
    #[error("invalid server URL {url:?}: {reason}")]
    ServerUrl { url: String, reason: String },
    /// The server answered with an error, for example about the token, permissions or a rate limit.
    #[error("{}", .0.detail)]
    Answered(Box<crate::Problem>),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why a server cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// It is unreachable or does not respond; this may be temporary.
    #[error("{0}")]
    Away(String),
    /// Its certificate is not valid for this server.
    #[error("{0}")]
    Certificate(String),
    /// The URL says https, but the server does not use TLS.
    #[error("it does not speak TLS")]
    NotEncrypted,
    /// The URL says http, but the server speaks another protocol.
    #[error("the server does not speak HTTP")]
    NotHttp,
}

impl StoreError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        let away = matches!(self, Self::NoServer { trouble: ConnectError::Away(_), .. });
        away || matches!(self, Self::Busy { .. } | Self::Unavailable(_) | Self::NoSpace(_))
    }

    /// Converts the error to a problem of [`Store::check`], without the prefix that says the store is damaged.
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
