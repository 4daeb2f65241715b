//! `sqlite:`: one file in WAL mode with `synchronous=FULL`, shared by many processes on one machine.

mod appender;
mod checkpoint;
mod checksum;
mod files;
mod jobs;
mod reader;
mod schema;
mod stream;
mod wal;
mod wipe;
mod writer;

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use tokio::sync::{broadcast, watch};

use super::permissions;
use super::writer_thread::{WriteJob, WriterThread};
use super::{
    Append, Appended, Appending, ChangeNotifier, Cursor, Import, ListedSpace, Loaded, Ownership, Page, Rewrite,
    Snapshot, Store, StoreError, StoreFuture, StoreInfo, Trim,
};
use crate::backoff::Backoff;
use files::{cannot_open, open_beside};
use jobs::OwnSqliteJob;
use wal::WalNotes;
use writer::WriterState;

/// How often to check for other processes' commits while there are subscribers. inotify is not used, because it fires
/// before the commit is visible.
const POLL: Duration = Duration::from_millis(25);
/// How often to read all spaces while there are global subscribers: a deletion leaves no record to find.
const LOOK: Duration = Duration::from_secs(5);
/// Delay between attempts to empty the write-ahead log while a reader uses it.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(100));
const IDLE_READERS: usize = 4;
/// Maximum number of concurrent reads of heads.
const MOST_HEADS: usize = 4;
/// Maximum number of heads in each [`HeadCache`].
const KNOWN_HEADS: usize = 10_000;
/// Suffix of the lock file.
const OWNER: &str = "-owner";

/// Keeps all logs in one SQLite file.
pub struct SqliteStore {
    inner: Arc<SqliteShared>,
    writer: WriterThread<OwnSqliteJob>,
    writer_state: Arc<WriterState>,
    /// The lock that other processes share, or that keeps them out.
    owner: Mutex<Option<File>>,
}

struct SqliteShared {
    path: PathBuf,
    ownership: Ownership,
    /// Several, so that concurrent readers on several cores do not wait for each other. `None` once the store is
    /// closed.
    heads: Vec<Mutex<Option<HeadCache>>>,
    readers: Mutex<Vec<Connection>>,
    notifier: Arc<ChangeNotifier>,
    polling: AtomicBool,
    busy_timeout: Duration,
    runtime: tokio::runtime::Handle,
}

/// The heads read since the file last changed.
struct HeadCache {
    connection: Connection,
    data_version: i64,
    known: HashMap<SpaceId, Head>,
}

/// The result of the last check of all spaces.
struct FullPoll {
    version: Option<i64>,
    /// The file's version when all spaces were last read, not only the appended ones.
    wholly: Option<i64>,
    at: Instant,
    end: Option<reader::LogEnd>,
}

impl FullPoll {
    fn new() -> Self {
        Self { version: None, wholly: None, at: Instant::now(), end: None }
    }
}

impl SqliteStore {
    /// Opens the file, and creates it and its folder if they are missing.
    pub async fn open(path: PathBuf, ownership: Ownership, busy_timeout: Duration) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Handle::current();
        let opened =
            tokio::task::spawn_blocking(move || Self::open_blocking(path, ownership, busy_timeout, runtime)).await;
        opened.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }

    fn open_blocking(
        path: PathBuf,
        ownership: Ownership,
        busy_timeout: Duration,
        runtime: tokio::runtime::Handle,
    ) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            permissions::create_folders(folder)
                .map_err(|error| cannot_open(&path, format!("cannot create {}: {error}", folder.display())))?;
        }
        if path.is_dir() {
            return Err(cannot_open(&path, format!("{} is a folder; sqlite: needs a file", path.display())));
        }
        if !schema::is_ours_to_open(&path) {
            return Err(cannot_open(&path, "this file is not a Corkboard database".into()));
        }
        files::create(&path)?;
        // SQLite puts its log beside the target of a symbolic link, so use the target everywhere.
        let path = if path.is_symlink() { path.canonicalize().unwrap_or(path) } else { path };
        let owner = own(&path, ownership)?;
        wal::check(&path)?;
        let mut connection = schema::connect(&path)?;
        schema::prepare(&mut connection, busy_timeout).map_err(|error| match error {
            StoreError::Url { reason, .. } => cannot_open(&path, reason),
            other => other,
        })?;
        let notifier = Arc::new(ChangeNotifier::default());
        let notes = WalNotes::open(&path)?;
        let (writer, writer_state) = writer::start(connection, notes, notifier.clone(), runtime.clone(), busy_timeout)?;
        let readers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_HEADS));
        let heads = (0..readers).map(|_| HeadCache::connect(&path, busy_timeout).map(|heads| Mutex::new(Some(heads))));
        let heads = heads.collect::<Result<Vec<_>, _>>()?;
        let inner = SqliteShared {
            path,
            ownership,
            heads,
            readers: Mutex::default(),
            notifier,
            polling: AtomicBool::new(false),
            busy_timeout,
            runtime,
        };
        Ok(Self { inner: Arc::new(inner), writer, writer_state, owner: Mutex::new(Some(owner)) })
    }

    /// Number of transactions that this process committed. Each cost one fsync of the log.
    pub fn commits(&self) -> u64 {
        self.writer_state.commits.load(Ordering::Relaxed)
    }

    /// Wipes leftovers of deleted content from the database, a few pages at a time, and empties the write-ahead log.
    async fn wipe_leftovers(&self) -> Result<(), StoreError> {
        if self.read(|connection| wipe::is_possible(connection)).await? {
            let mut next = Some(1);
            while let Some(from) = next {
                let found = self.read(move |connection| wipe::find(connection, from)).await?;
                next = found.next;
                if !found.pages.is_empty() {
                    self.writer.perform(WriteJob::Own(OwnSqliteJob::Wipe(found.pages))).await?;
                }
            }
        } else {
            self.read(|connection| connection.execute_batch("VACUUM").map_err(schema::error)).await?;
        }
        let (started, mut backoff) = (Instant::now(), BACKOFF);
        loop {
            // Copies most of the log without blocking others; only a little remains for the writer thread.
            self.read(|connection| checkpoint::copy(connection)).await.inspect_err(|error| {
                // A further fsync could wrongly report success.
                self.writer_state.fatal.record(error);
            })?;
            match self.writer.perform(WriteJob::Own(OwnSqliteJob::EmptyLog)).await {
                Err(StoreError::Busy { .. }) if started.elapsed() < self.inner.busy_timeout => {
                    backoff.sleep().await;
                }
                Err(StoreError::Busy { .. }) => return Err(StoreError::Busy { waited: started.elapsed() }),
                emptied => return emptied,
            }
        }
    }

    fn read<T: Send + 'static>(
        &self,
        query: impl FnMut(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let inner = self.inner.clone();
        Box::pin(async move {
            self.writer_state.fatal.check()?;
            inner.read(query).await
        })
    }
}

/// Locks the store, shared or exclusively. The operating system releases the lock when the process ends.
fn own(path: &Path, ownership: Ownership) -> Result<File, StoreError> {
    let unavailable = |error: std::io::Error| StoreError::Unavailable(format!("cannot lock the store: {error}"));
    let mut file = open_beside(path, OWNER)?;
    let locked = match ownership {
        Ownership::Shared => file.try_lock_shared(),
        Ownership::Sole => file.try_lock(),
    };
    match locked {
        Ok(()) => {}
        Err(TryLockError::Error(error)) => return Err(unavailable(error)),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let holder = if holder.is_empty() { "other processes that share the store".into() } else { holder };
            return Err(StoreError::Locked { holder });
        }
    }
    file.set_len(0).map_err(unavailable)?;
    if ownership == Ownership::Sole {
        write!(file, "process {}", std::process::id()).map_err(unavailable)?;
    }
    Ok(file)
}

impl HeadCache {
    fn connect(path: &Path, busy_timeout: Duration) -> Result<Self, StoreError> {
        let connection = schema::connect(path)?;
        let data_version = schema::retry(busy_timeout, || reader::data_version(&connection))?;
        Ok(Self { connection, data_version, known: HashMap::new() })
    }
}

impl SqliteShared {
    /// Returns a cache that is not in use, or else waits for the first.
    fn heads(&self) -> Result<MutexGuard<'_, Option<HeadCache>>, StoreError> {
        let idle = self.heads.iter().find_map(|heads| heads.try_lock());
        idle.or_else(|| self.heads.first().map(|heads| heads.lock())).ok_or(StoreError::Closed)
    }

    fn head(&self, space: &SpaceId) -> Result<Head, StoreError> {
        let mut heads = self.heads()?;
        let heads = heads.as_mut().ok_or(StoreError::Closed)?;
        // A read only waits while the file is being recovered after a crash.
        let data_version = schema::retry(self.busy_timeout, || reader::data_version(&heads.connection))?;
        if data_version != heads.data_version || heads.known.len() > KNOWN_HEADS {
            heads.known.clear();
            heads.data_version = data_version;
        }
        if let Some(head) = heads.known.get(space) {
            return Ok(*head);
        }
        let row = schema::retry(self.busy_timeout, || reader::space_row(&heads.connection, space))?;
        let head = row.map_or(Head::EMPTY, |row| row.head);
        heads.known.insert(space.clone(), head);
        Ok(head)
    }

    fn data_version(&self) -> Result<i64, StoreError> {
        // Always use the same connection, because each counts differently.
        let heads = self.heads.first().ok_or(StoreError::Closed)?.lock();
        reader::data_version(&heads.as_ref().ok_or(StoreError::Closed)?.connection)
    }

    async fn read<T: Send + 'static>(
        self: Arc<Self>,
        mut query: impl FnMut(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let result = tokio::task::spawn_blocking(move || {
            if self.heads()?.is_none() {
                return Err(StoreError::Closed);
            }
            let idle = self.readers.lock().pop();
            let mut connection = idle.map_or_else(|| schema::connect(&self.path), Ok)?;
            let result = schema::retry(self.busy_timeout, || query(&mut connection));
            let mut readers = self.readers.lock();
            if readers.len() < IDLE_READERS {
                readers.push(connection);
            }
            result
        });
        result.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }

    /// Notifies the global subscribers of all changes since the last check.
    async fn look_at_all(self: &Arc<Self>, looked: &mut FullPoll, version: i64) {
        if looked.version == Some(version) && (looked.wholly == Some(version) || looked.at.elapsed() < LOOK) {
            return;
        }
        let is_whole = looked.end.is_none() || looked.at.elapsed() >= LOOK;
        let since = looked.end.clone().filter(|_| !is_whole);
        match self.clone().read(move |connection| reader::moved(connection, since.as_ref())).await {
            Ok((moved, end)) => {
                moved.iter().for_each(|(space, rev)| self.notifier.notify(space, *rev));
                looked.end = end;
                looked.version = Some(version);
                if is_whole {
                    (looked.wholly, looked.at) = (Some(version), Instant::now());
                }
            }
            Err(error) => tracing::debug!(%error, "cannot check for other processes' commits"),
        }
    }

    /// Starts polling for other processes' writes, if the store is shared.
    fn listen(self: &Arc<Self>) {
        if self.ownership == Ownership::Shared && !self.polling.swap(true, Ordering::SeqCst) {
            self.runtime.spawn(self.clone().poll());
        }
    }

    /// Notifies the subscribers of every space that another process wrote to, while there are subscribers.
    async fn poll(self: Arc<Self>) {
        let mut seen = None;
        let mut looked = None;
        loop {
            // Read the version first: the next check then finds later commits.
            let version = self.data_version();
            let listened = self.notifier.subscribed_spaces();
            let is_all_listened_to = self.notifier.has_global_subscribers();
            if listened.is_empty() && !is_all_listened_to {
                self.polling.store(false, Ordering::SeqCst);
                // A new subscriber may have arrived in between.
                let nobody_listens =
                    self.notifier.subscribed_spaces().is_empty() && !self.notifier.has_global_subscribers();
                if nobody_listens || self.polling.swap(true, Ordering::SeqCst) {
                    return;
                }
                continue;
            }
            match &version {
                Ok(version) if is_all_listened_to => {
                    self.look_at_all(looked.get_or_insert_with(FullPoll::new), *version).await;
                }
                // The next global subscriber starts with a full check.
                _ => looked = None,
            }
            match version {
                Ok(version) if seen.as_ref() != Some(&(version, listened.len())) => {
                    let heads = listened.iter().map(|space| self.head(space).map(|head| (space, head)));
                    if let Ok(heads) = heads.collect::<Result<Vec<_>, _>>() {
                        heads.into_iter().for_each(|(space, head)| self.notifier.notify(space, head.rev));
                        seen = Some((version, listened.len()));
                    }
                }
                Err(StoreError::Closed) => return,
                Ok(_) | Err(_) => {}
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Store for SqliteStore {
    fn info(&self) -> StoreInfo {
        let details = vec![
            ("sqlite", rusqlite::version().into()),
            ("durability", "acknowledged writes are fsynced (WAL, synchronous=FULL)".into()),
        ];
        StoreInfo {
            kind: "sqlite",
            location: self.inner.path.display().to_string(),
            ownership: self.inner.ownership,
            details,
            warnings: files::warning(&self.inner.path).into_iter().collect(),
        }
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        self.writer.append(WriteJob::Append(append))
    }

    fn begin_append(&self, space: &SpaceId, expected: Head) -> Option<Box<dyn Appending>> {
        stream::begin(&self.writer, &self.writer_state, space.clone(), expected)
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        let head = self.writer_state.fatal.check().and_then(|()| self.inner.head(space));
        Box::pin(std::future::ready(head))
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        let space = space.clone();
        self.read(move |connection| reader::load(connection, &space))
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        let space = space.clone();
        self.read(move |connection| reader::read_after(connection, &space, cursor, limit))
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        self.writer.perform(WriteJob::Snapshot { space: space.clone(), snapshot })
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        self.writer.trim(space, trim)
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        let after = after.cloned();
        self.read(move |connection| reader::list(connection, kind, after.as_ref(), limit))
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        self.read(move |connection| reader::due(connection, kind, now, limit))
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        self.writer.append(WriteJob::Delete { space: space.clone(), expected, tombstone })
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        self.writer.append(WriteJob::Import(import))
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        self.writer.append(WriteJob::Rewrite(rewrite))
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.wipe_leftovers())
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        let listener = self.inner.notifier.subscribe(space);
        self.inner.listen();
        listener
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        let listener = self.inner.notifier.subscribe_all();
        self.inner.listen();
        listener
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        let path = self.inner.path.clone();
        self.read(move |connection| {
            let mut problems = reader::check(connection)?;
            problems.extend(wal::problem(&path)?);
            Ok(problems)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.writer.close().await;
            self.inner.heads.iter().for_each(|heads| drop(heads.lock().take()));
            self.inner.readers.lock().clear();
            self.owner.lock().take();
            Ok(())
        })
    }
}
