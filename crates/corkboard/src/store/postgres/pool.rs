//! The connection pool of one process: connections that each serve one call at a time, and one that all readers of
//! heads share.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio_postgres::Row;

use super::clock::ServerClock;
use super::connection::{Connection, Parameter};
use super::error::PostgresCallError;
use super::queries::{Queries, Query};
use super::settings::{Listen, Prepare, Server, Settings};
use crate::backoff::{Backoff, jitter};
use crate::store::StoreError;

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(1));
/// How long calls wait for a server that went away. After that, calls fail at once until it responds again.
const OUTAGE: Duration = Duration::from_secs(2);
/// This many idle connections stay open; others are closed after this time.
const IDLE: (usize, Duration) = (2, Duration::from_secs(30));
const CONNECT: Duration = Duration::from_secs(10);

pub(super) struct Pool {
    settings: Settings,
    queries: Queries,
    clock: ServerClock,
    patience: Duration,
    permits: Semaphore,
    /// Idle connections and since when they are idle; the last used is at the end.
    idle: Mutex<VecDeque<(Instant, Arc<Connection>)>>,
    shared: ArcSwapOption<Connection>,
    connecting_shared: tokio::sync::Mutex<()>,
    outage: Mutex<Option<Outage>>,
    was_reached: AtomicBool,
    /// Whether a proxy was found to mix up the names of prepared statements.
    names_clash: AtomicBool,
    is_closed: AtomicBool,
}

struct Outage {
    error: StoreError,
    since: Instant,
    /// No attempt to connect before this time.
    until: Instant,
    backoff: Backoff,
}

impl Outage {
    /// Records a failed attempt that began at `tried`. The duration of the attempt is part of the outage, because the
    /// server may just not respond.
    fn after(before: Option<Self>, tried: Instant, error: StoreError) -> Self {
        // A failure long ago belongs to an earlier outage.
        let before = before.filter(|before| tried < before.until + OUTAGE);
        let (mut backoff, since) = before.map_or((BACKOFF, tried), |before| (before.backoff, before.since));
        Self { error, since, until: Instant::now() + jitter(backoff.next_pause(), fastrand::f64()), backoff }
    }

    fn is_lasting(&self) -> bool {
        self.since.elapsed() >= OUTAGE
    }
}

/// Whether a statement may be repeated if its connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
}

impl Pool {
    pub(super) fn new(settings: Settings, patience: Duration) -> Self {
        Self {
            queries: Queries::new(&settings.schema),
            clock: ServerClock::new(),
            permits: Semaphore::new(settings.connections),
            settings,
            patience,
            idle: Mutex::default(),
            shared: ArcSwapOption::empty(),
            connecting_shared: tokio::sync::Mutex::default(),
            outage: Mutex::default(),
            was_reached: AtomicBool::new(false),
            names_clash: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn clock(&self) -> &ServerClock {
        &self.clock
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Runs a statement on an exclusive connection.
    pub(super) async fn query(
        &self,
        query: Query,
        parameters: &[Parameter<'_>],
        effect: Effect,
    ) -> Result<Vec<Row>, PostgresCallError> {
        let mut again = true;
        loop {
            let connection = self.take().await.map_err(PostgresCallError::NotSent)?;
            let answer = connection.query(query, parameters).await;
            match &answer {
                Err(error) if again && self.may_repeat(error, effect) => again = false,
                _ => return answer,
            }
        }
    }

    /// Runs a read-only statement on the shared connection.
    pub(super) async fn query_shared(
        &self,
        query: Query,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PostgresCallError> {
        let mut again = true;
        loop {
            let connection = self.shared().await.map_err(PostgresCallError::NotSent)?;
            let answer = connection.query(&self.queries, query, parameters, self.patience).await;
            match &answer {
                Err(error) if again && self.may_repeat(error, Effect::Reads) => again = false,
                _ => return answer,
            }
        }
    }

    fn may_repeat(&self, error: &PostgresCallError, effect: Effect) -> bool {
        if error.is_stale_statement() {
            if !self.names_clash.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "prepared statements do not work on this server, perhaps because of a proxy; no longer using them"
                );
            }
            return true;
        }
        // An idle connection may have been cut long ago, so repeat the call on a new one.
        match error {
            PostgresCallError::NotSent(_) => true,
            PostgresCallError::Lost(_) => effect == Effect::Reads,
            PostgresCallError::Refused { .. } => effect == Effect::Reads && error.is_collision(),
            PostgresCallError::Cancelled { .. } => false,
        }
    }

    /// Reads the server's time again. If that fails, the clock continues unchanged.
    pub(super) async fn set_clock(&self) {
        if let Ok(connection) = self.take().await {
            let _ = connection.connection().set_clock(&self.queries, &self.clock, self.patience).await;
        }
    }

    pub(super) async fn take(&self) -> Result<PooledConnection<'_>, StoreError> {
        let started = Instant::now();
        let permit = tokio::time::timeout(self.patience, self.permits.acquire()).await;
        let permit =
            permit.map_err(|_| StoreError::Busy { waited: started.elapsed() })?.map_err(|_| StoreError::Closed)?;
        let connection = match self.pop_idle() {
            Some(connection) => connection,
            None => Arc::new(self.connect().await?),
        };
        Ok(PooledConnection { connection, in_use: AtomicBool::new(false), pool: self, _permit: permit })
    }

    fn pop_idle(&self) -> Option<Arc<Connection>> {
        let mut idle = self.idle.lock();
        idle.retain(|(_, connection)| self.may_serve(connection));
        idle.pop_back().map(|(_, connection)| connection)
    }

    fn may_serve(&self, connection: &Connection) -> bool {
        connection.is_usable() && !(connection.prepares() && self.names_clash.load(Ordering::Relaxed))
    }

    async fn shared(&self) -> Result<Arc<Connection>, StoreError> {
        let usable = || self.shared.load_full().filter(|connection| self.may_serve(connection));
        if let Some(connection) = usable() {
            return Ok(connection);
        }
        // Connecting has a timeout, so the callers that wait here do not wait longer than that.
        let _one_at_a_time = self.connecting_shared.lock().await;
        if let Some(connection) = usable() {
            return Ok(connection);
        }
        let connection = match self.pop_idle() {
            Some(connection) => connection,
            None => Arc::new(self.connect().await?),
        };
        self.shared.store(Some(connection.clone()));
        if self.is_closed() {
            self.shared.store(None);
        }
        Ok(connection)
    }

    /// Connects. Waits for a server that went away briefly, for example for a restart. Does not wait after a long
    /// outage, nor if the server was never reached.
    async fn connect(&self) -> Result<Connection, StoreError> {
        loop {
            if self.is_closed() {
                return Err(StoreError::Closed);
            }
            let pause = match &*self.outage.lock() {
                Some(outage) if Instant::now() < outage.until => {
                    if outage.is_lasting() {
                        return Err(outage.error.clone());
                    }
                    Some(outage.until - Instant::now())
                }
                _ => None,
            };
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
                continue;
            }
            let names_clash = self.names_clash.load(Ordering::Relaxed);
            let prepare = if names_clash { Prepare::Off } else { self.settings.prepare };
            let tried = Instant::now();
            let connected = self.connect_to(&self.settings.server, prepare, None).await;
            let mut outage = self.outage.lock();
            match connected {
                Ok(connection) => {
                    *outage = None;
                    self.was_reached.store(true, Ordering::Relaxed);
                    return Ok(connection);
                }
                Err(error) => {
                    let may_pass = matches!(error, StoreError::Unavailable(_));
                    let next = Outage::after(outage.take(), tried, error.clone());
                    let is_lasting = next.is_lasting();
                    *outage = Some(next);
                    if is_lasting || !may_pass || !self.was_reached.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn connect_to(
        &self,
        server: &Server,
        prepare: Prepare,
        notified: Option<mpsc::UnboundedSender<String>>,
    ) -> Result<Connection, StoreError> {
        let patience = self.patience.min(CONNECT);
        Connection::connect(server, prepare, &self.queries, &self.clock, patience, notified).await
    }

    /// Opens a connection that listens to the channel. `None` if listening is disabled, or impossible because of a
    /// proxy.
    pub(super) async fn listen(
        &self,
        notified: mpsc::UnboundedSender<String>,
    ) -> Result<Option<Connection>, StoreError> {
        let server = match &self.settings.listen {
            Listen::Off => return Ok(None),
            Listen::At(server) => server,
            Listen::Auto | Listen::On => &self.settings.server,
        };
        let connection = self.connect_to(server, Prepare::Off, Some(notified)).await?;
        if matches!(self.settings.listen, Listen::Auto) && !connection.is_direct() {
            return Ok(None);
        }
        let listen = format!("LISTEN \"{}\"", self.settings.schema.channel());
        let late = |_| StoreError::Unavailable("no answer to LISTEN".into());
        tokio::time::timeout(self.patience, connection.execute(&listen))
            .await
            .map_err(late)?
            .map_err(PostgresCallError::reading)?;
        Ok(Some(connection))
    }

    /// Runs a statement on a connection from [`listen`](Self::listen).
    pub(super) async fn query_on(
        &self,
        connection: &Connection,
        query: Query,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PostgresCallError> {
        connection.query(&self.queries, query, parameters, self.patience).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Closes all connections. A call in progress finishes.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.permits.close();
        self.shared.store(None);
        self.idle.lock().clear();
    }
}

/// A connection reserved for one caller until it is dropped.
pub(super) struct PooledConnection<'a> {
    connection: Arc<Connection>,
    /// Whether a call has not finished. Then the connection cannot be reused.
    in_use: AtomicBool,
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl PooledConnection<'_> {
    pub(super) async fn query(
        &self,
        query: Query,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PostgresCallError> {
        self.in_use.store(true, Ordering::Relaxed);
        let answer = self.pool.query_on(&self.connection, query, parameters).await;
        self.in_use.store(false, Ordering::Relaxed);
        answer
    }

    /// Runs SQL without a timeout; see [`Connection::execute`].
    pub(super) async fn execute(&self, sql: &str) -> Result<Option<String>, PostgresCallError> {
        self.in_use.store(true, Ordering::Relaxed);
        let done = self.connection.execute(sql).await;
        self.in_use.store(done.is_err(), Ordering::Relaxed);
        done
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock();
        let is_free = !self.in_use.load(Ordering::Relaxed) && self.connection.is_usable();
        if is_free && !self.pool.is_closed() {
            idle.push_back((Instant::now(), self.connection.clone()));
        }
        while idle.len() > IDLE.0 && idle.front().is_some_and(|(since, _)| since.elapsed() > IDLE.1) {
            idle.pop_front();
        }
    }
}
