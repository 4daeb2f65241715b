//! Learns of other processes' commits while there are subscribers: by notifications, and by polling in case one is
//! lost.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use corkboard_core::SpaceId;
use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::connection::Connection;
use super::error::PostgresCallError;
use super::notifier::{decode, number};
use super::pool::{Effect, Pool};
use super::queries::Query;
use super::reader::{Result, at, loaded, text_at};
use crate::backoff::{Backoff, jitter};
use crate::store::ChangeNotifier;

/// How often to poll heads: with notifications, and without.
const POLL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(50));
/// How often to poll the heads of all spaces while there are global subscribers: with notifications, and without.
const POLL_ALL: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));
/// Delay between attempts to listen.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), WITHOUT_LISTENING);
/// How long to poll before trying again to listen.
const WITHOUT_LISTENING: Duration = Duration::from_secs(10);

pub(super) struct Listener {
    pool: Arc<Pool>,
    changes: Arc<ChangeNotifier>,
    runtime: tokio::runtime::Handle,
    watched: Mutex<WatchedSpaces>,
}

#[derive(Default)]
struct WatchedSpaces {
    /// The spaces with subscribers, by their numbers in notifications.
    spaces: HashMap<u64, SpaceId>,
    /// All spaces, while there are global subscribers.
    all: Option<AllSpaces>,
    task: Option<AbortHandle>,
}

/// All spaces of the store.
#[derive(Default)]
struct AllSpaces {
    names: HashMap<u64, SpaceId>,
    looked_at: Option<Instant>,
    /// Whether a notification named an unknown space.
    has_unknown: bool,
}

impl AllSpaces {
    fn is_due(&self, every: Duration) -> bool {
        self.has_unknown || self.looked_at.is_none_or(|at| at.elapsed() >= every)
    }
}

enum ListenEnd {
    NobodyListens,
    Broken,
}

impl Listener {
    pub(super) fn new(pool: Arc<Pool>, changes: Arc<ChangeNotifier>) -> Self {
        let runtime = tokio::runtime::Handle::current();
        Self { pool, changes, runtime, watched: Mutex::default() }
    }

    /// Subscribes to a space. The first subscriber starts the listening task.
    pub(super) fn listen(self: &Arc<Self>, space: &SpaceId) -> watch::Receiver<u64> {
        let mut watched = self.watched.lock();
        let listener = self.changes.subscribe(space);
        watched.spaces.insert(number(space), space.clone());
        self.hear(&mut watched);
        listener
    }

    pub(super) fn listen_to_all(self: &Arc<Self>) -> broadcast::Receiver<(SpaceId, u64)> {
        let mut watched = self.watched.lock();
        let listener = self.changes.subscribe_all();
        watched.all.get_or_insert_default();
        self.hear(&mut watched);
        listener
    }

    fn hear(self: &Arc<Self>, watched: &mut WatchedSpaces) {
        if watched.task.is_none() && !self.pool.is_closed() {
            let task = self.runtime.spawn(hear(Arc::downgrade(self)));
            watched.task = Some(task.abort_handle());
        }
    }

    pub(super) fn close(&self) {
        if let Some(task) = self.watched.lock().task.take() {
            task.abort();
        }
    }

    /// The spaces with subscribers. If there are no subscribers at all, returns `None` and the task must end; the next
    /// subscriber starts another.
    fn listened(&self) -> Option<Vec<SpaceId>> {
        let mut watched = self.watched.lock();
        let listened = self.changes.subscribed_spaces();
        watched.spaces = listened.iter().map(|space| (number(space), space.clone())).collect();
        if !self.changes.has_global_subscribers() {
            watched.all = None;
        }
        if listened.is_empty() && watched.all.is_none() {
            watched.task = None;
            return None;
        }
        Some(listened)
    }

    /// Notifies the subscribers that a notification concerns. Returns whether it names an unknown space, which requires
    /// polling all spaces.
    fn told(&self, payload: &str) -> bool {
        let mut watched = self.watched.lock();
        let WatchedSpaces { spaces, all, .. } = &mut *watched;
        for (number, rev) in decode(payload) {
            let known = all.as_ref().and_then(|all| all.names.get(&number));
            if let Some(space) = spaces.get(&number).or(known) {
                self.changes.notify(space, rev);
            } else if let Some(all) = all {
                all.has_unknown = true;
            }
        }
        all.as_ref().is_some_and(|all| all.has_unknown)
    }

    /// Makes the next poll read all spaces, because changes may have been missed.
    fn look_again(&self) {
        if let Some(all) = &mut self.watched.lock().all {
            all.looked_at = None;
        }
    }

    /// Polls the heads of all spaces, if there are global subscribers and a poll is due.
    async fn poll_all(&self, connection: Option<&Connection>) -> Result<()> {
        let every = if connection.is_some() { POLL_ALL.0 } else { POLL_ALL.1 };
        match &mut self.watched.lock().all {
            // Spaces that are named during this poll wait for the next one.
            Some(all) if all.is_due(every) => all.has_unknown = false,
            _ => return Ok(()),
        }
        let rows = match connection {
            Some(connection) => self.pool.query_on(connection, Query::AllHeads, &[]).await,
            None => self.pool.query(Query::AllHeads, &[], Effect::Reads).await,
        };
        let heads = rows.map_err(PostgresCallError::reading).inspect_err(|_| self.look_again())?;
        let heads = heads.iter().map(|row| Ok((SpaceId::from_stored(&text_at(row, 0)?), loaded(at(row, 1)?)?)));
        let heads = heads.collect::<Result<Vec<_>>>()?;
        heads.iter().for_each(|(space, rev)| self.changes.notify(space, *rev));
        if let Some(all) = &mut self.watched.lock().all {
            all.names = heads.into_iter().map(|(space, _)| (number(&space), space)).collect();
            all.looked_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Polls the heads of all subscribed spaces, on this connection or on any.
    async fn poll(&self, listened: &[SpaceId], connection: Option<&Connection>) -> Result<()> {
        self.poll_all(connection).await?;
        if listened.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = listened.iter().map(SpaceId::as_str).collect();
        let rows = match connection {
            Some(connection) => self.pool.query_on(connection, Query::Heads, &[&names]).await,
            None => self.pool.query(Query::Heads, &[&names], Effect::Reads).await,
        };
        for row in rows.map_err(PostgresCallError::reading)? {
            self.changes.notify(&SpaceId::from_stored(&text_at(&row, 0)?), loaded(at(&row, 1)?)?);
        }
        Ok(())
    }

    /// Opens the listening connection, and polls until that has succeeded or failed.
    async fn connect(&self) -> std::result::Result<Option<(Connection, mpsc::UnboundedReceiver<String>)>, ListenEnd> {
        let (sender, payloads) = mpsc::unbounded_channel();
        let connecting = self.pool.listen(sender);
        tokio::pin!(connecting);
        loop {
            tokio::select! {
                connection = &mut connecting => {
                    return match connection {
                        Ok(connection) => Ok(connection.map(|connection| (connection, payloads))),
                        Err(error) => {
                            tracing::debug!(%error, "cannot listen for notifications of PostgreSQL");
                            Err(ListenEnd::Broken)
                        }
                    };
                }
                () = sleep(POLL.1) => self.poll_for_a_while(Duration::ZERO).await?,
            }
        }
    }

    /// Polls frequently for `long`, at least once.
    async fn poll_for_a_while(&self, long: Duration) -> std::result::Result<(), ListenEnd> {
        let until = Instant::now() + long;
        loop {
            let listened = self.listened().ok_or(ListenEnd::NobodyListens)?;
            if let Err(error) = self.poll(&listened, None).await {
                tracing::debug!(%error, "cannot poll for changes");
            }
            if Instant::now() >= until {
                return Ok(());
            }
            sleep(POLL.1).await;
        }
    }

    /// Handles notifications until the connection breaks. First polls for changes that were missed before.
    async fn follow(&self, connection: &Connection, payloads: &mut mpsc::UnboundedReceiver<String>) -> ListenEnd {
        self.look_again();
        loop {
            let Some(listened) = self.listened() else { return ListenEnd::NobodyListens };
            // Polls on the same connection, which detects that it is dead.
            if let Err(error) = self.poll(&listened, Some(connection)).await {
                tracing::debug!(%error, "the listening connection to PostgreSQL broke");
                return ListenEnd::Broken;
            }
            let mut next = Instant::now() + jitter(POLL.0, fastrand::f64());
            loop {
                tokio::select! {
                    payload = payloads.recv() => match payload {
                        Some(payload) if self.told(&payload) => next = next.min(Instant::now() + POLL.1),
                        Some(_) => {}
                        None => return ListenEnd::Broken,
                    },
                    () = sleep_until(next) => break,
                }
            }
        }
    }
}

async fn hear(listener: Weak<Listener>) {
    let mut backoff = BACKOFF;
    while let Some(listener) = listener.upgrade() {
        let ended = match listener.connect().await {
            Ok(Some((connection, mut payloads))) => {
                backoff.reset();
                listener.follow(&connection, &mut payloads).await
            }
            // Listening is disabled or impossible: only poll.
            Ok(None) => match listener.poll_for_a_while(WITHOUT_LISTENING).await {
                Ok(()) => continue,
                Err(ended) => ended,
            },
            Err(ended) => ended,
        };
        match ended {
            ListenEnd::NobodyListens => return,
            ListenEnd::Broken => {
                let waited = listener.poll_for_a_while(jitter(backoff.next_pause(), fastrand::f64())).await;
                if waited.is_err() {
                    return;
                }
            }
        }
    }
}
