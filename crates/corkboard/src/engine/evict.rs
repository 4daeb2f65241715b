//! Evicts the least recently used states when all states together exceed the memory budget.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use corkboard_core::{Revisioned, Space, Usage};
use parking_lot::Mutex;

use super::{Engine, Slot};

/// Approximate memory overhead of an entry, besides its content.
const PER_ENTRY: u64 = 400;
/// Approximate memory overhead of a loaded space.
const PER_SPACE: u64 = 2048;

pub(super) fn weight(usage: Usage) -> i64 {
    i64::try_from(PER_SPACE + usage.bytes + usage.entries * PER_ENTRY).unwrap_or(i64::MAX)
}

/// Memory budget that the engines of one Corkboard share.
pub(crate) struct Budget {
    bytes: u64,
    /// Approximate size of the loaded states and their indexes.
    pub(super) resident_bytes: Arc<AtomicI64>,
    /// Use counter that determines which space was least recently used.
    pub(super) uses: AtomicU64,
    engines: Mutex<Vec<Weak<dyn Evictable>>>,
}

pub(super) trait Evictable: Send + Sync {
    /// Returns when each loaded space was last used, and a function that evicts it.
    fn evictable(self: Arc<Self>) -> Vec<(u64, Eviction)>;

    /// Drops the slots that are not in use.
    fn forget_unused(&self);
}

type Eviction = Box<dyn FnOnce() + Send>;

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

    /// If the budget is exceeded, evicts until a tenth of it is free.
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

    /// The states in memory; they may be outdated.
    pub(crate) fn loaded_states(&self) -> Vec<Arc<Revisioned<S>>> {
        self.slots.lock().values().filter_map(|slot| slot.peek()).collect()
    }

    /// Evicts spaces if all engines together exceed the budget.
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

impl<S: Space> Evictable for Engine<S> {
    fn evictable(self: Arc<Self>) -> Vec<(u64, Eviction)> {
        let slots = self.slots.lock();
        let loaded = slots.values().filter(|slot| slot.state.load().is_some() || slot.index.is_there());
        let evictable = loaded.map(|slot| {
            let (engine, evicted) = (self.clone(), slot.clone());
            let evict: Eviction = Box::new(move || engine.evict(&evicted));
            (slot.used_at.load(Ordering::Relaxed), evict)
        });
        evictable.collect()
    }

    fn forget_unused(&self) {
        self.slots.lock().retain(|_, slot| slot.is_in_use());
    }
}
