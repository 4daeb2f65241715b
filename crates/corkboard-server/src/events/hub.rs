//! The events of all spaces, read once for all streams that follow them.
//!
//! The hub watches which spaces change, reads their new revisions, and buffers the newest in the order in which it read
//! them. A stream only holds its position in that order, so ten thousand streams cost little more than one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use corkboard::store::{Cursor, Record, StoreError};
use corkboard::{Corkboard, Error, RevisionDocument, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Semaphore, watch};

use super::ended;
use crate::Server;

/// The kinds of spaces whose events are sent.
pub(super) const KINDS: [SpaceKind; 3] = [SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core];
/// Revisions or spaces read at a time.
pub(super) const PAGE: usize = 512;
/// Maximum size of the buffer. The newest event is kept even if it is larger.
const HELD_BYTES: usize = 8 * 1024 * 1024;
/// How often the hub checks for followers and retries failed reads.
const TICK: Duration = Duration::from_secs(1);
/// How many streams may search for their resume position at a time.
const LOOKING: usize = 8;

/// The server's hub, while one runs.
pub(crate) type SharedHub = Arc<tokio::sync::Mutex<Option<Arc<Hub>>>>;

/// Buffer of the events of all spaces, newest last.
pub(crate) struct Hub {
    /// Random ID: positions of one hub are meaningless to any other.
    pub(super) instance: u64,
    buffer: Mutex<EventBuffer>,
    /// The position of the next event. Streams subscribe to it, and its receivers are counted as followers.
    next: watch::Sender<u64>,
    most: usize,
    /// When each space reached its newest revision, for streams that resume.
    pub(super) times: Mutex<HashMap<SpaceId, (u64, Timestamp)>>,
    /// Searching for a resume position reads much, so few streams may do it at once.
    pub(super) looking: Semaphore,
}

struct EventBuffer {
    /// The position of the oldest event.
    first: u64,
    events: VecDeque<Arc<HubEvent>>,
    bytes: usize,
}

pub(super) struct HubEvent {
    pub(super) space: SpaceId,
    pub(super) kind: SpaceKind,
    /// When the hub read it. Anything committed long before this time is earlier in the buffer.
    pub(super) at: Timestamp,
    pub(super) body: HubEventBody,
}

pub(super) enum HubEventBody {
    Revision { rev: u64, json: String },
    Compacted { oldest: u64 },
}

pub(super) enum HubLookup {
    Event(Arc<HubEvent>),
    NotYet,
    Gone,
}

impl Hub {
    /// Subscribes to the server's hub, and starts the hub if none runs.
    pub(super) async fn join(server: &Server) -> Result<(Arc<Self>, watch::Receiver<u64>), Error> {
        let mut place = server.hub().lock().await;
        let hub = match &*place {
            Some(hub) => hub.clone(),
            None => place.insert(Self::begin(server).await?).clone(),
        };
        let next = hub.next.subscribe();
        Ok((hub, next))
    }

    async fn begin(server: &Server) -> Result<Arc<Self>, Error> {
        let corkboard = server.corkboard().clone();
        // Subscribe first, so that changes during the listing are not missed.
        let moved = corkboard.changes();
        let mut known = HashMap::new();
        let listed = for_each_space(&corkboard, |space, rev| {
            known.insert(space, rev);
        });
        listed.await?;
        let hub = Arc::new(Self {
            instance: uuid::Uuid::new_v4().as_u64_pair().0,
            buffer: Mutex::new(EventBuffer { first: 1, events: VecDeque::new(), bytes: 0 }),
            next: watch::Sender::new(1),
            most: server.settings().events_held.max(1),
            times: Mutex::default(),
            looking: Semaphore::new(LOOKING),
        });
        let (place, linger) = (server.hub().clone(), server.settings().events_linger);
        let task = HubTask { hub: hub.clone(), place, corkboard, known, again: HashSet::new(), linger };
        tokio::spawn(task.run(moved, server.ending()));
        Ok(hub)
    }

    /// The position of the next event.
    pub(super) fn next(&self) -> u64 {
        *self.next.borrow()
    }

    /// Whether all events from a position on are buffered.
    pub(super) fn holds(&self, place: u64) -> bool {
        let buffer = self.buffer.lock();
        (buffer.first..=buffer.first + buffer.events.len() as u64).contains(&place)
    }

    pub(super) fn at(&self, place: u64) -> HubLookup {
        let buffer = self.buffer.lock();
        let Some(index) = place.checked_sub(buffer.first) else { return HubLookup::Gone };
        match usize::try_from(index).ok().and_then(|index| buffer.events.get(index)) {
            Some(event) => HubLookup::Event(event.clone()),
            None => HubLookup::NotYet,
        }
    }

    fn tell(&self, event: HubEvent) {
        let size = |event: &HubEvent| match &event.body {
            HubEventBody::Revision { json, .. } => json.len(),
            HubEventBody::Compacted { .. } => 0,
        };
        let mut buffer = self.buffer.lock();
        buffer.bytes += size(&event);
        buffer.events.push_back(Arc::new(event));
        while buffer.events.len() > self.most || buffer.bytes > HELD_BYTES && buffer.events.len() > 1 {
            let Some(oldest) = buffer.events.pop_front() else { break };
            buffer.bytes -= size(&oldest);
            buffer.first += 1;
        }
        let next = buffer.first + buffer.events.len() as u64;
        drop(buffer);
        self.next.send_replace(next);
    }
}

/// Calls `each` with every space whose events are sent, and its revision.
async fn for_each_space(corkboard: &Corkboard, mut each: impl FnMut(SpaceId, u64)) -> Result<(), Error> {
    for kind in KINDS {
        let mut after: Option<String> = None;
        loop {
            let listed = corkboard.logs(kind, after.as_deref(), PAGE).await?;
            let is_last = listed.len() < PAGE;
            after = listed.last().map(|last| last.space.name().to_owned());
            listed.into_iter().for_each(|listed| each(listed.space, listed.head.rev));
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

struct HubTask {
    hub: Arc<Hub>,
    place: SharedHub,
    corkboard: Corkboard,
    /// The last revision read of each space.
    known: HashMap<SpaceId, u64>,
    /// Spaces whose read failed, to be retried.
    again: HashSet<SpaceId>,
    /// How long the hub runs without followers, so that a client that lost its connection finds the events it missed.
    linger: Duration,
}

impl HubTask {
    async fn run(mut self, mut moved: broadcast::Receiver<(SpaceId, u64)>, mut ending: watch::Receiver<bool>) {
        let mut tick = tokio::time::interval(TICK.min(self.linger.max(Duration::from_millis(10))));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut deserted_since: Option<Instant> = None;
        let mut has_lagged = false;
        loop {
            tokio::select! {
                () = ended(&mut ending) => break,
                told = moved.recv() => match told {
                    Ok((space, rev)) => self.hear(space, rev).await,
                    Err(RecvError::Lagged(_)) => has_lagged = !self.look().await,
                    Err(RecvError::Closed) => break,
                },
                _ = tick.tick() => {
                    for space in std::mem::take(&mut self.again) {
                        self.read(space).await;
                    }
                    if has_lagged {
                        has_lagged = !self.look().await;
                    }
                    if self.hub.next.receiver_count() > 0 {
                        deserted_since = None;
                    } else if deserted_since.get_or_insert_with(Instant::now).elapsed() >= self.linger {
                        let mut place = self.place.lock().await;
                        // `join` holds the same lock.
                        if self.hub.next.receiver_count() == 0 {
                            *place = None;
                            return;
                        }
                    }
                }
            }
        }
        *self.place.lock().await = None;
    }

    async fn hear(&mut self, space: SpaceId, rev: u64) {
        if self.known.get(&space).is_none_or(|known| rev > *known) {
            self.read(space).await;
        }
    }

    /// Reads all spaces that are behind. Returns whether the listing succeeded.
    async fn look(&mut self) -> bool {
        let mut behind = Vec::new();
        let known = &self.known;
        let listed = for_each_space(&self.corkboard, |space, rev| {
            if known.get(&space).is_none_or(|known| rev > *known) {
                behind.push(space);
            }
        });
        let is_done =
            listed.await.inspect_err(|error| tracing::warn!(%error, "cannot list the spaces; events are late")).is_ok();
        for space in behind {
            self.read(space).await;
        }
        is_done
    }

    /// Reads the new revisions of a space into the buffer.
    async fn read(&mut self, space: SpaceId) {
        let Some(kind) = space.kind().filter(|kind| KINDS.contains(kind)) else { return };
        match self.read_on(&space, kind).await {
            Ok(()) => {}
            Err(error) if error.is_retryable() => {
                tracing::debug!(%space, %error, "cannot read a space; its events are late");
                self.again.insert(space);
            }
            Err(error) => tracing::error!(%space, %error, "cannot read the events of a space"),
        }
    }

    async fn read_on(&mut self, space: &SpaceId, kind: SpaceKind) -> Result<(), Error> {
        let log = self.corkboard.log(kind, space.name())?;
        loop {
            let known = self.known.get(space).copied();
            match log.after(Cursor { rev: known.unwrap_or_default(), commit: None }, PAGE).await {
                Ok(page) => {
                    let is_last = page.records.last().is_none_or(|last| last.rev >= page.head.rev);
                    page.records.into_iter().for_each(|record| self.tell(space, kind, record));
                    if is_last {
                        return Ok(());
                    }
                }
                Err(Error::Store(StoreError::Compacted { oldest })) => {
                    // For a space that is new to the hub, its oldest revision is the beginning.
                    if known.is_some() {
                        let (space, at) = (space.clone(), self.corkboard.time());
                        self.hub.tell(HubEvent { space, kind, at, body: HubEventBody::Compacted { oldest } });
                    }
                    self.known.insert(space.clone(), oldest.saturating_sub(1));
                }
                // The store lost acknowledged revisions.
                Err(Error::Store(StoreError::Future { head, .. })) => {
                    self.known.insert(space.clone(), head);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn tell(&mut self, space: &SpaceId, kind: SpaceKind, record: Record) {
        let (rev, decided_at) = (record.rev, record.at);
        self.known.insert(space.clone(), rev);
        let json = RevisionDocument::new(space, &record).map(|revision| serde_json::to_string(&revision));
        match json {
            Ok(Ok(json)) => {
                let body = HubEventBody::Revision { rev, json };
                self.hub.tell(HubEvent { space: space.clone(), kind, at: self.corkboard.time(), body });
            }
            Ok(Err(error)) => tracing::error!(%space, rev, %error, "cannot encode a revision"),
            Err(error) => tracing::error!(%space, rev, %error, "cannot encode a revision"),
        }
        if let Some(time) = self.hub.times.lock().get_mut(space) {
            *time = (rev, decided_at);
        }
    }
}
