//! `redis:`, `rediss:`: a stream per space on a Redis server, shared by many machines and processes.
//!
//! The keys of a space, all with the hash tag `{space}`:
//!
//! - `PREFIX:{space}:log`: a stream. An entry's ID is `revision-part`; its fields are `c` commit, `t` time, `b` body. A
//!   long body continues in the parts 1, 2, …, which only have `b`.
//! - `PREFIX:{space}:head`: a hash: `rev`, `commit`, `born_rev`, `born_commit`, `due`, `hint`, `summary`. It remains as
//!   a tombstone when the space is deleted.
//! - `PREFIX:{space}:snapshot`: a hash: `rev`, `commit`, `body`.
//! - `PREFIX:{space}:wake`: the channel on which new revisions are published.
//!
//! The indexes have the keys `PREFIX:{index}:…`; see [`index`].
//!
//! The user needs these permissions (`ACL SETUSER`): `~PREFIX:* &PREFIX:* +eval +evalsha +exists +hget +hmget +hset
//! +info +ping +publish +rename +subscribe +time +unlink +unsubscribe +xadd +xrange +xtrim +zadd +zrangebylex
//! +zrangebyscore +zrem`, and `+select` for another database than 0. Optional: `+config|get` for warnings about data
//! loss, `+scan +zscore` for checks, `+bgrewriteaof +bgsave` for scrubbing, and `+psubscribe +punsubscribe` to learn
//! immediately of writes to any space instead of polling every second.

mod address;
mod answer;
mod clock;
mod connection;
mod damage;
mod index;
mod keys;
mod listener;
mod reader;
mod script;
mod scrub;
mod server;
mod writer;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

use super::{
    Append, Appended, ChangeNotifier, Cursor, Import, ListedSpace, Loaded, Ownership, Page, Rewrite, ServerUrl,
    Snapshot, Store, StoreError, StoreFuture, StoreInfo, Trim,
};
use crate::options::Retention;
use address::Address;
use clock::ServerClock;
use connection::{Connection, RedisCallError};
use keys::Keys;
use listener::Listening;
use server::Server;

/// Number of connections for appends and heads, opened when first used. Redis reads up to 16 KiB from a connection at a
/// time. With `appendfsync always` it syncs once for what it read from all of them. Of 64 callers' small appends, 26
/// share an fsync with one connection, about 40 with two, 45 with four (38 with `redis-benchmark`, which uses 64). With
/// everysec it makes no difference.
const QUICK: usize = 4;
const CLOCK: Duration = Duration::from_secs(10);
/// Number of due dates to remember, so that an append need not repeat a known hint.
const KNOWN_DUES: usize = 10_000;
/// Default retention of the log, because it is in memory.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps logs on a Redis server.
pub struct RedisStore {
    inner: Arc<RedisShared>,
}

struct RedisShared {
    address: Arc<Address>,
    keys: Keys,
    /// For appends and heads, which are small and must be quick. Each space uses one of them.
    quick: [Connection; QUICK],
    /// For pages of logs and of indexes.
    pages: Connection,
    /// For large data: snapshots and long bodies.
    bulk: Connection,
    server: OnceLock<Server>,
    clock: ServerClock,
    /// The due dates that this process wrote last. The scripts compare them with the stored ones.
    known_dues: Mutex<HashMap<SpaceId, Option<i64>>>,
    notifier: ChangeNotifier,
    listening: Listening,
    runtime: tokio::runtime::Handle,
    closed: AtomicBool,
}

impl RedisStore {
    /// Connects to the server of a `redis://` or `rediss://` URL. `answer_within` is the timeout of each answer.
    pub async fn open(url: &ServerUrl, answer_within: Duration) -> Result<Self, StoreError> {
        let address = Arc::new(Address::parse(url)?);
        let runtime = tokio::runtime::Handle::current();
        let connection = || Connection::new(address.clone(), answer_within, runtime.clone());
        let inner = Arc::new(RedisShared {
            keys: Keys::new(&address.prefix),
            quick: std::array::from_fn(|_| connection()),
            pages: connection(),
            bulk: connection(),
            address: address.clone(),
            server: OnceLock::new(),
            clock: ServerClock::new(),
            known_dues: Mutex::default(),
            notifier: ChangeNotifier::default(),
            listening: Listening::default(),
            runtime: runtime.clone(),
            closed: AtomicBool::new(false),
        });
        // Only one attempt, so that opening fails at once if the server is unreachable.
        inner.first().connect().await.map_err(|failure| match failure {
            RedisCallError::Denied(reason) => StoreError::Url { url: address.location.clone(), reason },
            other => other.of_reading(),
        })?;
        let server = inner.inspect().await?;
        for warning in server.warnings() {
            tracing::warn!(server = address.location, "{warning}");
        }
        let _ = inner.server.set(server);
        inner.set_clock().await?;
        let weak = Arc::downgrade(&inner);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(CLOCK).await;
                match weak.upgrade() {
                    // While the server is unreachable, the clock continues as it was.
                    Some(inner) if !inner.is_closed() => drop(inner.set_clock().await),
                    Some(_) | None => return,
                }
            }
        });
        Ok(Self { inner })
    }
}

impl RedisShared {
    fn first(&self) -> &Connection {
        let [first, ..] = &self.quick;
        first
    }

    /// The connection for small commands of a space.
    fn connection_of(&self, space: &SpaceId) -> &Connection {
        let mut hasher = DefaultHasher::new();
        space.hash(&mut hasher);
        self.quick.get(hasher.finish() as usize % QUICK).unwrap_or(self.first())
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Store for RedisStore {
    fn info(&self) -> StoreInfo {
        let inner = &self.inner;
        let server = inner.server.get().cloned().unwrap_or_default();
        let details = vec![
            ("redis", server.version.clone()),
            ("durability", server.persistence()),
            ("eviction", server.policy.clone()),
            ("prefix", inner.keys.prefix().into()),
            ("tls", inner.address.tls.into()),
        ];
        StoreInfo {
            kind: "redis",
            location: inner.address.location.clone(),
            ownership: Ownership::Shared,
            details,
            warnings: server.warnings(),
        }
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        Box::pin(async move { self.inner.append(&append).await })
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        Box::pin(self.inner.head(space))
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        Box::pin(self.inner.load(space))
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        Box::pin(self.inner.read_after(space, cursor, limit))
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.inner.write_snapshot(space, &snapshot).await })
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        Box::pin(self.inner.trim(space, trim))
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        Box::pin(self.inner.list(kind, after, limit))
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        Box::pin(self.inner.due(kind, now, limit))
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        Box::pin(self.inner.delete(space, expected, tombstone))
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        Box::pin(async move { self.inner.import(&import).await })
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        Box::pin(async move { self.inner.rewrite(&rewrite).await })
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.inner.scrub())
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

    fn now(&self) -> Option<Timestamp> {
        self.inner.clock.now()
    }

    fn default_retention(&self) -> Retention {
        Retention::Age(RETENTION)
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(self.inner.check())
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.inner.closed.store(true, Ordering::Release);
            self.inner.quick.iter().for_each(Connection::close);
            self.inner.pages.close();
            self.inner.bulk.close();
            self.inner.listening.wake();
            Ok(())
        })
    }
}
