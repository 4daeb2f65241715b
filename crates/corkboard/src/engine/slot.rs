//! Everything this process holds of a space: its state if loaded, and the commands that wait in its queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use corkboard_core::{Revisioned, Space, SpaceId, Usage};
use parking_lot::Mutex;

use super::ask::Proposal;
use super::flush::Unflushed;
use super::lead::Inline;
use super::search::IndexPlace;
use crate::clock::SpaceClock;
use crate::options::SnapshotPolicy;

pub(crate) struct Slot<S: Space> {
    pub(crate) id: SpaceId,
    /// The state that readers see. `None`: not loaded, or evicted.
    pub(super) state: ArcSwapOption<Revisioned<S>>,
    /// The state that becomes current when the append in flight succeeds. Every append writes it twice and few readers
    /// need it, so a briefly held lock is cheaper than an `ArcSwap`, whose writes inspect all threads.
    pub(super) in_flight: Mutex<Option<Arc<Revisioned<S>>>>,
    /// Held while loading the state from the store, so that it is loaded only once.
    pub(super) loading: tokio::sync::Mutex<()>,
    /// Held while replacing the state, so that it only moves forward.
    pub(super) publishing: Mutex<()>,
    pub(super) queue: Mutex<Queue<S>>,
    pub(super) inline: Inline,
    /// Acknowledged revisions that are not yet in the store (`save_interval`).
    pub(super) unflushed: Mutex<Unflushed>,
    pub(super) flushing: tokio::sync::Mutex<()>,
    pub(super) snapshotting: AtomicBool,
    pub(super) used_at: AtomicU64,
    /// When the state was last known to be current, in milliseconds since the engine started. 0: never.
    pub(super) current_at: AtomicU64,
    pub(super) log: LogGrowth,
    pub(super) usage: LastUsage,
    pub(super) index: IndexPlace,
    pub(super) clock: SpaceClock,
    /// Notified when readers get a new state.
    pub(super) published: Arc<tokio::sync::Notify>,
}

/// Waiting commands, and whether the queue has a leader.
pub(super) struct Queue<S: Space> {
    pub(super) waiting: Vec<Box<Proposal<S>>>,
    pub(super) led: bool,
}

impl<S: Space> Slot<S> {
    pub(super) fn new(id: SpaceId) -> Self {
        Self {
            id,
            state: ArcSwapOption::empty(),
            in_flight: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            publishing: Mutex::default(),
            queue: Mutex::new(Queue { waiting: Vec::new(), led: false }),
            inline: Inline::default(),
            unflushed: Mutex::default(),
            flushing: tokio::sync::Mutex::default(),
            snapshotting: AtomicBool::new(false),
            used_at: AtomicU64::new(0),
            current_at: AtomicU64::new(0),
            log: LogGrowth::default(),
            usage: LastUsage::default(),
            index: IndexPlace::default(),
            clock: SpaceClock::default(),
            published: Arc::default(),
        }
    }

    /// Whether a handle refers to the slot, it holds a state or unflushed writes, or its clock is ahead of real time
    /// (dropping it could make the space's time run backwards).
    pub(super) fn is_in_use(self: &Arc<Self>) -> bool {
        let is_filled = self.state.load().is_some() || !self.unflushed.lock().is_empty();
        Arc::strong_count(self) > 1 || is_filled || self.clock.is_ahead()
    }

    /// The space's usage when it was last loaded; available even after eviction.
    pub(crate) fn last_usage(&self) -> Usage {
        self.usage.load()
    }

    /// The state in memory; it may be outdated.
    pub(crate) fn peek(&self) -> Option<Arc<Revisioned<S>>> {
        self.state.load_full()
    }
}

/// Size of the log since the last snapshot.
#[derive(Debug, Default)]
pub(super) struct LogGrowth {
    events: AtomicU64,
    bytes: AtomicU64,
}

impl LogGrowth {
    pub(super) fn reset(&self, events: u64, bytes: u64) {
        self.events.store(events, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn add(&self, events: u64, bytes: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, events: u64, bytes: u64) {
        // The space may have been reloaded in the meantime, which resets the counters to smaller values.
        let subtract = |from: &AtomicU64, amount: u64| {
            let _ = from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(now.saturating_sub(amount)));
        };
        subtract(&self.events, events);
        subtract(&self.bytes, bytes);
    }

    pub(super) fn so_far(&self) -> (u64, u64) {
        (self.events.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    pub(super) fn is_over(&self, policy: SnapshotPolicy) -> bool {
        let (events, bytes) = self.so_far();
        events >= policy.events || bytes >= policy.bytes
    }
}

#[derive(Debug, Default)]
pub(super) struct LastUsage {
    entries: AtomicU64,
    scopes: AtomicU64,
    bytes: AtomicU64,
}

impl LastUsage {
    pub(super) fn store(&self, usage: Usage) {
        self.entries.store(usage.entries, Ordering::Relaxed);
        self.scopes.store(usage.scopes, Ordering::Relaxed);
        self.bytes.store(usage.bytes, Ordering::Relaxed);
    }

    fn load(&self) -> Usage {
        Usage {
            entries: self.entries.load(Ordering::Relaxed),
            scopes: self.scopes.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}
