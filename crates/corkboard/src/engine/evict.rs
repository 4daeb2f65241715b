//! States leave memory, least recently used first, when all together take more than the budget.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corkboard_core::{Space, Usage};

use super::{Engine, Slot};

/// About what an entry takes besides its own bytes.
const PER_ENTRY: u64 = 400;
/// About what a loaded space takes before it holds anything.
const PER_SPACE: u64 = 2048;

/// About how many bytes a state takes.
pub(super) fn weight(usage: Usage) -> i64 {
    i64::try_from(PER_SPACE + usage.bytes + usage.entries * PER_ENTRY).unwrap_or(i64::MAX)
}

impl<S: Space> Engine<S> {
    /// About how many bytes the loaded states and their indexes take.
    pub(crate) fn resident_bytes(&self) -> u64 {
        u64::try_from(self.resident_bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// How many spaces are loaded.
    pub(crate) fn loaded_spaces(&self) -> usize {
        self.slots.lock().values().filter(|slot| slot.state.load().is_some()).count()
    }

    /// Evicts until a tenth of the budget is free, if more than the budget is used.
    pub(super) fn keep_budget(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        let budget = self.options.memory_budget;
        if self.resident_bytes() <= budget {
            return;
        }
        let mut slots = self.slots.lock();
        let mut by_use: Vec<Arc<Slot<S>>> =
            slots.values().filter(|slot| slot.state.load().is_some() || slot.index.is_there()).cloned().collect();
        by_use.sort_by_key(|slot| slot.used_at.load(Ordering::Relaxed));
        for slot in by_use {
            if self.resident_bytes() <= budget / 10 * 9 {
                break;
            }
            self.evict(&slot);
        }
        // What no handle refers to and no state fills need not be known.
        slots.retain(|_, slot| slot.is_in_use());
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
            self.resident_bytes.fetch_sub(weight(usage), Ordering::Relaxed);
            self.observer.resident(usage, Usage::default());
            tracing::debug!(space = %slot.id, "space evicted");
        }
    }
}
