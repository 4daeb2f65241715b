//! The connections of one process: some that each serve one call at a time, and one that all who ask for heads share.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio_postgres::Row;

use super::clock::ServerClock;
use super::error::Failure;
use super::link::{Link, Parameter};
use super::queries::{Queries, Query};
use super::settings::{Listen, Prepare, Server, Settings};
use crate::store::StoreError;

/// After a failed attempt to connect, the next one comes after so long at first and at last, give or take a half.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// A server that was there is waited for so long; then calls fail at once until it is back.
const OUTAGE: Duration = Duration::from_secs(2);
/// So many idle connections are kept for the next caller, and more for a while.
const IDLE: (usize, Duration) = (2, Duration::from_secs(30));
/// How long one attempt to connect may take at most.
const CONNECT: Duration = Duration::from_secs(10);

/// The way to the server.
pub(super) struct Connections {
    settings: Settings,
    queries: Queries,
    clock: ServerClock,
    /// How long anything may take.
    patience: Duration,
    permits: Semaphore,
    /// Since when, the last used at the end.
    idle: Mutex<VecDeque<(Instant, Arc<Link>)>>,
    shared: ArcSwapOption<Link>,
    connecting_shared: tokio::sync::Mutex<()>,
    trouble: Mutex<Option<Trouble>>,
    was_reached: AtomicBool,
    /// Whether names of statements turned out to be mixed up by a proxy.
    names_clash: AtomicBool,
    is_closed: AtomicBool,
}

/// The server could not be reached.
struct Trouble {
    error: StoreError,
    since: Instant,
    /// Nobody tries again before.
    until: Instant,
    pause: Duration,
}

impl Trouble {
    /// After an attempt that began at `tried`. How long it took is part of the trouble: a server may be mute, too.
    fn after(before: Option<Self>, tried: Instant, error: StoreError) -> Self {
        // What was long ago was another one.
        let before = before.filter(|before| tried < before.until + OUTAGE);
        let pause = before.as_ref().map_or(BACKOFF.0, |before| (before.pause * 2).min(BACKOFF.1));
        let since = before.map_or(tried, |before| before.since);
        Self { error, since, until: Instant::now() + jitter(pause), pause }
    }

    fn is_lasting(&self) -> bool {
        self.since.elapsed() >= OUTAGE
    }
}

/// What may be done again if its connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
}

impl Connections {
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
            trouble: Mutex::default(),
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

    /// Runs a statement on a connection of its own.
    pub(super) async fn query(
        &self,
        query: Query,
        parameters: &[Parameter<'_>],
        effect: Effect,
    ) -> Result<Vec<Row>, Failure> {
        let mut again = true;
        loop {
            let lease = self.take().await.map_err(Failure::NotSent)?;
            let answer = lease.query(query, parameters).await;
            match &answer {
                Err(failure) if again && self.may_repeat(failure, effect) => again = false,
                _ => return answer,
            }
        }
    }

    /// Runs a statement that reads on the connection that all share.
    pub(super) async fn query_shared(&self, query: Query, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        let mut again = true;
        loop {
            let link = self.shared().await.map_err(Failure::NotSent)?;
            let answer = link.query(&self.queries, query, parameters, self.patience).await;
            match &answer {
                Err(failure) if again && self.may_repeat(failure, Effect::Reads) => again = false,
                _ => return answer,
            }
        }
    }

    fn may_repeat(&self, failure: &Failure, effect: Effect) -> bool {
        if failure.is_stale_statement() {
            if !self.names_clash.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "prepared statements do not last here, as behind a proxy; from now on they are not used"
                );
            }
            return true;
        }
        // An idle connection may have been cut long ago; a fresh one tells.
        match failure {
            Failure::NotSent(_) => true,
            Failure::Lost(_) => effect == Effect::Reads,
            Failure::Refused { .. } => effect == Effect::Reads && failure.is_collision(),
            Failure::Cancelled { .. } => false,
        }
    }

    /// Asks for the server's time once more. If that fails, what is known of it holds.
    pub(super) async fn set_clock(&self) {
        if let Ok(lease) = self.take().await {
            let _ = lease.link().set_clock(&self.queries, &self.clock, self.patience).await;
        }
    }

    /// A connection for one call at a time.
    pub(super) async fn take(&self) -> Result<Lease<'_>, StoreError> {
        let started = Instant::now();
        let permit = tokio::time::timeout(self.patience, self.permits.acquire()).await;
        let permit =
            permit.map_err(|_| StoreError::Busy { waited: started.elapsed() })?.map_err(|_| StoreError::Closed)?;
        let link = match self.pop_idle() {
            Some(link) => link,
            None => Arc::new(self.connect().await?),
        };
        Ok(Lease { link, in_use: AtomicBool::new(false), connections: self, _permit: permit })
    }

    fn pop_idle(&self) -> Option<Arc<Link>> {
        let mut idle = self.idle.lock();
        idle.retain(|(_, link)| self.may_serve(link));
        idle.pop_back().map(|(_, link)| link)
    }

    fn may_serve(&self, link: &Link) -> bool {
        link.is_usable() && !(link.prepares() && self.names_clash.load(Ordering::Relaxed))
    }

    async fn shared(&self) -> Result<Arc<Link>, StoreError> {
        let usable = || self.shared.load_full().filter(|link| self.may_serve(link));
        if let Some(link) = usable() {
            return Ok(link);
        }
        // Connecting may take as long as it is given; those who wait wait no longer.
        let _one_at_a_time = self.connecting_shared.lock().await;
        if let Some(link) = usable() {
            return Ok(link);
        }
        let link = match self.pop_idle() {
            Some(link) => link,
            None => Arc::new(self.connect().await?),
        };
        self.shared.store(Some(link.clone()));
        if self.is_closed() {
            self.shared.store(None);
        }
        Ok(link)
    }

    /// Connects. A server that is away for a moment, as when it is started again, is waited for; one that stays away is not,
    /// nor one that was never reached.
    async fn connect(&self) -> Result<Link, StoreError> {
        loop {
            if self.is_closed() {
                return Err(StoreError::Closed);
            }
            let pause = match &*self.trouble.lock() {
                Some(trouble) if Instant::now() < trouble.until => {
                    if trouble.is_lasting() {
                        return Err(trouble.error.clone());
                    }
                    Some(trouble.until - Instant::now())
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
            let mut trouble = self.trouble.lock();
            match connected {
                Ok(link) => {
                    *trouble = None;
                    self.was_reached.store(true, Ordering::Relaxed);
                    return Ok(link);
                }
                Err(error) => {
                    let may_pass = matches!(error, StoreError::Unavailable(_));
                    let next = Trouble::after(trouble.take(), tried, error.clone());
                    let is_lasting = next.is_lasting();
                    *trouble = Some(next);
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
    ) -> Result<Link, StoreError> {
        let patience = self.patience.min(CONNECT);
        Link::connect(server, prepare, &self.queries, &self.clock, patience, notified).await
    }

    /// A connection that listens to a channel. None if it is not to be listened, or cannot be: there is a proxy in between.
    pub(super) async fn listen(&self, notified: mpsc::UnboundedSender<String>) -> Result<Option<Link>, StoreError> {
        let server = match &self.settings.listen {
            Listen::Off => return Ok(None),
            Listen::At(server) => server,
            Listen::Auto | Listen::On => &self.settings.server,
        };
        let link = self.connect_to(server, Prepare::Off, Some(notified)).await?;
        if matches!(self.settings.listen, Listen::Auto) && !link.is_direct() {
            return Ok(None);
        }
        let listen = format!("LISTEN \"{}\"", self.settings.schema.channel());
        let late = |_| StoreError::Unavailable("no answer to LISTEN".into());
        tokio::time::timeout(self.patience, link.execute(&listen)).await.map_err(late)?.map_err(Failure::reading)?;
        Ok(Some(link))
    }

    /// Runs a statement on a connection that was got by [`listen`](Self::listen).
    pub(super) async fn query_on(
        &self,
        link: &Link,
        query: Query,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        link.query(&self.queries, query, parameters, self.patience).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Lets go of all connections. Whoever uses one still, finishes.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.permits.close();
        self.shared.store(None);
        self.idle.lock().clear();
    }
}

/// Give or take a half, so that many do not come back at once.
pub(super) fn jitter(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + fastrand::f64())
}

/// A connection that is someone's own for a while.
pub(super) struct Lease<'a> {
    link: Arc<Link>,
    /// Whether a call has not come back: then the connection is nobody's any more.
    in_use: AtomicBool,
    connections: &'a Connections,
    _permit: SemaphorePermit<'a>,
}

impl Lease<'_> {
    pub(super) async fn query(&self, query: Query, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        self.in_use.store(true, Ordering::Relaxed);
        let answer = self.connections.query_on(&self.link, query, parameters).await;
        self.in_use.store(false, Ordering::Relaxed);
        answer
    }

    /// Statements that belong to no plan of ours, however long they take: see [`Link::execute`].
    pub(super) async fn execute(&self, sql: &str) -> Result<Option<String>, Failure> {
        self.in_use.store(true, Ordering::Relaxed);
        let done = self.link.execute(sql).await;
        self.in_use.store(done.is_err(), Ordering::Relaxed);
        done
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut idle = self.connections.idle.lock();
        let is_free = !self.in_use.load(Ordering::Relaxed) && self.link.is_usable();
        if is_free && !self.connections.is_closed() {
            idle.push_back((Instant::now(), self.link.clone()));
        }
        while idle.len() > IDLE.0 && idle.front().is_some_and(|(since, _)| since.elapsed() > IDLE.1) {
            idle.pop_front();
        }
    }
}
