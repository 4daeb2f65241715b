//! `postgres:`: a head row per space and a table of events, shared by many processes on many machines.
//!
//! Every call is one statement. It therefore does not matter which server process answers it, and a proxy that pools
//! transactions can be in between.

mod clock;
mod connection;
mod error;
mod heads;
mod jobs;
mod listener;
mod notifier;
mod pool;
mod queries;
mod reader;
mod schema;
mod settings;
mod tls;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use tokio::sync::{broadcast, watch};

use super::server_url::ServerUrl;
use super::{
    Append, Appended, ChangeNotifier, Cursor, Import, ListedSpace, Loaded, Ownership, Page, Rewrite, Snapshot, Store,
    StoreError, StoreFuture, StoreInfo, Trim,
};
use error::PostgresCallError;
use heads::HeadReader;
use listener::Listener;
use notifier::Notifier;
use pool::Pool;
use queries::Query;
use reader::{at, text_at};
use settings::Listen;
use writer::Writer;

/// Minimum timeout: a network needs some time.
const SHORTEST: Duration = Duration::from_millis(100);

/// Keeps logs in a schema of a PostgreSQL database.
pub struct PostgresStore {
    pool: Arc<Pool>,
    heads: Arc<HeadReader>,
    writer: Arc<Writer>,
    listener: Arc<Listener>,
    runtime: tokio::runtime::Handle,
    info: StoreInfo,
}

impl PostgresStore {
    /// Connects to the server, and creates schema and tables if they are missing. `patience` is how long a call may
    /// wait for the server or for other processes.
    pub async fn open(url: &ServerUrl, patience: Duration) -> Result<Self, StoreError> {
        let patience = patience.max(SHORTEST);
        let pool = Arc::new(Pool::new(settings::Settings::parse(url, patience)?, patience));
        let info = facts(&pool).await?;
        schema::prepare(&pool).await?;
        let changes = Arc::new(ChangeNotifier::default());
        let writer = Arc::new(Writer::new(pool.clone(), changes.clone(), Arc::new(Notifier::default())));
        let listener = Arc::new(Listener::new(pool.clone(), changes));
        let runtime = tokio::runtime::Handle::current();
        Ok(Self { pool, heads: Arc::default(), writer, listener, runtime, info })
    }

    /// How many transactions of appends this process committed.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }
}

async fn facts(pool: &Pool) -> Result<StoreInfo, StoreError> {
    let connection = pool.take().await?;
    let rows = connection.query(Query::Facts, &[]).await.map_err(PostgresCallError::reading)?;
    let row = rows.first().ok_or_else(|| StoreError::Unavailable("the server returned no settings".into()))?;
    let settings = pool.settings();
    let (version, encoding) = (text_at(row, 0)?, text_at(row, 1)?);
    let (synchronous_commit, fsync, full_pages) = (text_at(row, 2)?, text_at(row, 3)?, text_at(row, 4)?);
    if encoding != "UTF8" {
        let reason = format!("the database's encoding is {encoding}; it must be UTF8");
        return Err(StoreError::Url { url: settings.location(), reason });
    }
    let is_direct = connection.connection().is_direct();
    let encrypted: bool = at(row, 5)?;
    let tls = match (&settings.server.tls, is_direct) {
        (tls::Tls::Off, _) => "off",
        (tls::Tls::On(_), true) if encrypted => "on",
        (tls::Tls::On(_), true) => "off: the server has no TLS",
        (tls::Tls::On(_), false) => "depends on the proxy",
    };
    let listens = match &settings.listen {
        Listen::Off => "polled every 50 ms",
        Listen::Auto if !is_direct => "polled every 50 ms: a proxy is in between",
        Listen::Auto | Listen::On | Listen::At(_) => "LISTEN, polled every second",
    };
    let mut durability = format!("acknowledged writes are committed with synchronous_commit={synchronous_commit}");
    if synchronous_commit == "off" {
        durability = "acknowledged writes are committed with synchronous_commit=on; the server's default is off".into();
    }
    let mut warnings: Vec<String> = settings.server.warning.iter().map(|warning| (*warning).into()).collect();
    if fsync != "on" {
        warnings
            .push("fsync is off on this server: a crash of its machine loses or damages acknowledged writes".into());
    }
    if full_pages != "on" {
        warnings.push("full_page_writes is off on this server: a crash of its machine may damage the tables".into());
    }
    let details = vec![
        ("postgres", version),
        ("schema", settings.schema.name().into()),
        ("durability", durability),
        ("fsync", fsync),
        ("full_page_writes", full_pages),
        ("tls", tls.into()),
        ("statements", if connection.connection().prepares() { "prepared" } else { "not prepared" }.into()),
        ("wake-ups", listens.into()),
        ("forget", "old bytes stay in free space of the table files until reused; VACUUM FULL removes them".into()),
    ];
    Ok(StoreInfo { kind: "postgres", location: settings.location(), ownership: Ownership::Shared, details, warnings })
}

impl Store for PostgresStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        Box::pin(self.writer.append(append))
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        Box::pin(self.heads.head(&self.pool, space))
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        Box::pin(reader::load(&self.pool, space))
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        Box::pin(reader::read_after(&self.pool, space, cursor, limit))
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        Box::pin(async move { jobs::write_snapshot(&self.pool, space, &snapshot).await })
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        Box::pin(jobs::trim(&self.pool, space, trim))
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        Box::pin(reader::list(&self.pool, kind, after, limit))
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        Box::pin(reader::due(&self.pool, kind, now, limit))
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        Box::pin(async move {
            let deleted = jobs::delete(&self.pool, space, expected, tombstone).await?;
            if deleted == Appended::Committed {
                self.writer.wake(space, expected.rev + 1);
            }
            Ok(deleted)
        })
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        Box::pin(async move {
            let imported = jobs::import(&self.pool, &import).await?;
            if imported == Appended::Committed {
                self.writer.wake(&import.space, import.head().rev);
            }
            Ok(imported)
        })
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        Box::pin(async move { jobs::rewrite(&self.pool, &rewrite).await })
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(jobs::scrub(&self.pool))
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        self.listener.listen(space)
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        self.listener.listen_to_all()
    }

    fn now(&self) -> Option<Timestamp> {
        let clock = self.pool.clock();
        if clock.is_stale() {
            let pool = self.pool.clone();
            self.runtime.spawn(async move { pool.set_clock().await });
        }
        clock.now()
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(reader::check(&self.pool))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.writer.close().await;
            self.listener.close();
            self.pool.close();
            Ok(())
        })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.listener.close();
    }
}
