//! States leave memory, least recently used first, when all together take more than the budget.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use corkboard_core::{Revisioned, Space, Usage};
use parking_lot::Mutex;

use super::{Engine, Slot};

/// About what an entry takes besides its own bytes.
const PER_ENTRY: u64 = 400;
/// About what a loaded space takes before it holds anything.
const PER_SPACE: u64 = 2048;

pub(super) fn weight(usage: Usage) -> i64 {
    i64::try_from(PER_SPACE + usage.bytes + usage.entries * PER_ENTRY).unwrap_or(i64::MAX)
}

/// What the engines of one Corkboard may hold in memory together.
pub(crate) struct Budget {
    bytes: u64,
    /// About how many bytes the loaded states and their indexes take.
    pub(super) resident_bytes: Arc<AtomicI64>,
    /// Counts uses, to know what was least recently used.
    pub(super) uses: AtomicU64,
    engines: Mutex<Vec<Weak<dyn Evicts>>>,
}

pub(super) trait Evicts: Send + Sync {
    /// The loaded spaces: when each was last used, and how to evict it.
    fn evictable(self: Arc<Self>) -> Vec<(u64, Evict)>;

    /// Drops what no handle refers to and no state fills.
    fn forget_unused(&self);
}

type Evict = Box<dyn FnOnce() + Send>;

impl Budget {
    pub(crate) fn new(bytes: u64) -> Arc<Self> {
        let (resident_bytes, uses, engines) = (Arc::default(), AtomicU64::new(0), Mutex::default());
        Arc::new(Self { bytes, resident_bytes, uses, engines })
    }

    pub(super) fn join<S: Space>(&self, engine: &Arc<Engine<S>>) {
        let engine: Weak<Engine<S>> = Arc::downgrade(engine);
        self.engines.lock().push(engine);
    }

    pub(crate) fn resident_bytes(&self) -> u64 {
        u64::try_from(self.resident_bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Evicts until a tenth is free, if more than the budget is used.
    fn keep(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        if self.resident_bytes() <= self.bytes {
            return;
        }
        let engines: Vec<_> = self.engines.lock().iter().filter_map(Weak::upgrade).collect();
        let mut by_use: Vec<_> = engines.iter().flat_map(|engine| engine.clone().evictable()).collect();
        by_use.sort_by_key(|(used_at, _)| *used_at);
        for (_, evict) in by_use {
            if self.resident_bytes() <= self.bytes / 10 * 9 {
                break;
            }
            evict();
        }
        engines.iter().for_each(|engine| engine.forget_unused());
    }
}

impl<S: Space> Engine<S> {
    pub(crate) fn loaded_spaces(&self) -> usize {
        self.slots.lock().values().filter(|slot| slot.state.load().is_some()).count()
    }

    /// The states in memory, current or not.
    pub(crate) fn loaded_states(&self) -> Vec<Arc<Revisioned<S>>> {
        self.slots.lock().values().filter_map(|slot| slot.peek()).collect()
    }

    /// Sees to it that all engines together stay within the budget.
    pub(super) fn keep_budget(&self) {
        self.budget.keep();
    }

    fn evict(&self, slot: &Slot<S>) {
        let queue = slot.queue.lock();
        if queue.led || !queue.waiting.is_empty() || !slot.unflushed.lock().is_empty() {
            return;
        }
        let _one_at_a_time = slot.publishing.lock();
        slot.index.discard();
        if let Some(state) = slot.state.swap(None) {
            let usage = state.state.usage();
            self.budget.resident_bytes.fetch_sub(weight(usage), Ordering::Relaxed);
            self.observer.resident(Some(&state.state), None);
            tracing::debug!(space = %slot.id, "space evicted");
        }
    }
}

impl<S: Space> Evicts for Engine<S> {
    fn evictable(self: Arc<Self>) -> Vec<(u64, Evict)> {
        let slots = self.slots.lock();
        let loaded = slots.values().filter(|slot| slot.state.load().is_some() || slot.index.is_there());
        let evictable = loaded.map(|slot| {
            let (engine, evicted) = (self.clone(), slot.clone());
            let evict: Evict = Box::new(move || engine.evict(&evicted));
            (slot.used_at.load(Ordering::Relaxed), evict)
        });
        evictable.collect()
    }

    fn forget_unused(&self) {
        self.slots.lock().retain(|_, slot| slot.is_in_use());
    }
}
