//! What happens in all spaces, read once for everybody who follows them all.
//!
//! The hub hears which spaces move, reads what they did since, and holds the newest of it in the order in which it was read.
//! Whoever follows has a place in that order and holds nothing else, so that ten thousand who follow cost little more than one.

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

/// The kinds of spaces whose events are told.
pub(super) const KINDS: [SpaceKind; 3] = [SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core];
/// Revisions, or spaces, read at a time.
pub(super) const PAGE: usize = 512;
/// What is held at most, except that the newest is held in any case.
const HELD_BYTES: usize = 8 * 1024 * 1024;
/// How often it is looked whether anybody follows, and tried again what failed.
const TICK: Duration = Duration::from_secs(1);
/// So many look for where to resume at a time.
const LOOKING: usize = 8;

/// Where a server keeps its hub, while it has one.
pub(crate) type SharedHub = Arc<tokio::sync::Mutex<Option<Arc<Hub>>>>;

/// What happened in all spaces, newest last.
pub(crate) struct Hub {
    /// Tells this hub's places from those of any other, here or elsewhere.
    pub(super) instance: u64,
    buffer: Mutex<EventBuffer>,
    /// The place of what comes next. Whoever follows listens to it, and is counted by it.
    next: watch::Sender<u64>,
    most: usize,
    /// When spaces reached a revision, for those who resume.
    pub(super) times: Mutex<HashMap<SpaceId, (u64, Timestamp)>>,
    /// Looking for where to resume reads much; not everybody does it at once.
    pub(super) looking: Semaphore,
}

struct EventBuffer {
    /// The place of the oldest.
    first: u64,
    events: VecDeque<Arc<HubEvent>>,
    bytes: usize,
}

pub(super) struct HubEvent {
    pub(super) space: SpaceId,
    pub(super) kind: SpaceKind,
    /// When it was read: all that was committed long before is before it.
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
    /// The server's hub, and word of what comes. It is begun if there is none.
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
        // First: what moves while the spaces are listed is heard of.
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

    /// The place of what comes next.
    pub(super) fn next(&self) -> u64 {
        *self.next.borrow()
    }

    /// Whether everything from a place on is held.
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

/// Every space whose events are told, and where it is.
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
    /// What was told of each space.
    known: HashMap<SpaceId, u64>,
    /// What could not be read.
    again: HashSet<SpaceId>,
    /// How long it goes on when nobody follows: whoever was cut off finds what they missed.
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
                        // Whoever joins does so while they hold the place.
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

    /// Looks at everything. Returns whether that was possible.
    async fn look(&mut self) -> bool {
        let mut behind = Vec::new();
        let known = &self.known;
        let listed = for_each_space(&self.corkboard, |space, rev| {
            if known.get(&space).is_none_or(|known| rev > *known) {
                behind.push(space);
            }
        });
        let is_done = listed.await.inspect_err(|error| tracing::warn!(%error, "events are late")).is_ok();
        for space in behind {
            self.read(space).await;
        }
        is_done
    }

    /// Tells what a space did since it was last told of.
    async fn read(&mut self, space: SpaceId) {
        let Some(kind) = space.kind().filter(|kind| KINDS.contains(kind)) else { return };
        match self.read_on(&space, kind).await {
            Ok(()) => {}
            Err(error) if error.is_retryable() => {
                tracing::debug!(%space, %error, "events are late");
                self.again.insert(space);
            }
            Err(error) => tracing::error!(%space, %error, "events cannot be told"),
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
                    // To those who never heard of the space, its oldest revision is where it begins.
                    if known.is_some() {
                        let (space, at) = (space.clone(), self.corkboard.time());
                        self.hub.tell(HubEvent { space, kind, at, body: HubEventBody::Compacted { oldest } });
                    }
                    self.known.insert(space.clone(), oldest.saturating_sub(1));
                }
                // The store lost what it had acknowledged.
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
            Ok(Err(error)) => tracing::error!(%space, rev, %error, "a revision cannot be told"),
            Err(error) => tracing::error!(%space, rev, %error, "a revision cannot be told"),
        }
        if let Some(time) = self.hub.times.lock().get_mut(space) {
            *time = (rev, decided_at);
        }
    }
}
