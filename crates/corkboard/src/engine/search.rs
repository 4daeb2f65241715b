//! A space's search index: made at the first search, brought into step at every other, dropped when the state is.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use corkboard_core::{Revisioned, Usage};
use parking_lot::Mutex;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::{Engine, Slot, joined};
use crate::Result;
use crate::search::{Change, Index, Searchable};

/// States with more text than this are indexed outside of the async workers.
const LONG_TO_INDEX: u64 = 64 * 1024;
/// Indexes larger than this are searched outside of the async workers.
const LONG_TO_SEARCH: u64 = 8 * 1024 * 1024;
/// Changes that came with more revisions than this are indexed outside of the async workers.
const MANY_REVISIONS: u64 = 64;

/// Where a slot keeps the index over its state. What documents a space has is not the slot's business.
#[derive(Default)]
pub(super) struct IndexPlace(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl IndexPlace {
    pub(super) fn is_there(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Drops the index. A search that is under way finishes on it.
    pub(super) fn discard(&self) {
        let discarded = self.0.lock().take();
        // It may be large: nobody shall wait for the lock meanwhile.
        drop(discarded);
    }

    /// Drops the index if most of what it was made of has gone: it would keep all of that in memory.
    pub(super) fn outlived(&self, before: Usage, after: Usage) {
        if after.bytes < before.bytes / 2 {
            self.discard();
        }
    }

    fn get_or_insert<S: Searchable>(&self, make: impl FnOnce() -> SpaceIndex<S>) -> Arc<RwLock<SpaceIndex<S>>> {
        let mut place = self.0.lock();
        if let Some(there) = place.clone().and_then(|there| there.downcast().ok()) {
            return there;
        }
        let made = Arc::new(RwLock::new(make()));
        *place = Some(made.clone());
        made
    }
}

/// An index, and the state that it is an index of.
pub(crate) struct SpaceIndex<S: Searchable> {
    /// None: nothing is indexed yet.
    of: Option<Arc<Revisioned<S>>>,
    index: Index<S::DocumentId>,
    counted: Counted,
}

impl<S: Searchable> SpaceIndex<S> {
    fn is_of(&self, state: &Revisioned<S>) -> bool {
        self.of.as_ref().is_some_and(|of| of.head == state.head)
    }

    /// Whether bringing it into step may take a while.
    fn is_far_from(&self, state: &Revisioned<S>) -> bool {
        let revisions = self.of.as_ref().map_or(u64::MAX, |of| of.head.rev.abs_diff(state.head.rev));
        revisions > MANY_REVISIONS && state.state.usage().bytes > LONG_TO_INDEX
    }

    /// Brings it into step with a state, older or newer.
    fn follow(&mut self, state: Arc<Revisioned<S>>) {
        // Until it is done it is an index of nothing: should this be cut short, it is made anew.
        let before = self.of.take();
        if before.is_none() {
            self.index = Index::default();
        }
        S::changes(before.as_deref().map(|before| &before.state), &state.state, |id, change| match change {
            Change::Put(document) => self.index.put(id, &document),
            Change::Removed => self.index.remove(&id),
        });
        self.counted.set(self.index.bytes());
        self.of = Some(state);
    }
}

/// Bytes that count against the memory budget for as long as they are used.
struct Counted {
    total: Arc<AtomicI64>,
    bytes: i64,
}

impl Counted {
    fn set(&mut self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.total.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl<S: Searchable> Engine<S> {
    /// Hands the current state and an index that is in step with it to `search`. Neither readers nor writers wait for it.
    pub(crate) async fn search<R: Send + 'static>(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        search: impl FnOnce(&Revisioned<S>, &Index<S::DocumentId>) -> R + Send + 'static,
    ) -> Result<R> {
        let state = self.current(slot).await?;
        let index = self.index_of(slot, &state).await?;
        let is_long = index.index.bytes().max(state.state.usage().bytes) > LONG_TO_SEARCH;
        let run = move || Ok(search(&state, &index.index));
        if is_long { joined(self.runtime.spawn_blocking(run)).await } else { run() }
    }

    async fn index_of(
        self: &Arc<Self>,
        slot: &Slot<S>,
        state: &Arc<Revisioned<S>>,
    ) -> Result<OwnedRwLockReadGuard<SpaceIndex<S>>> {
        let shared = slot.index.get_or_insert(|| SpaceIndex {
            of: None,
            index: Index::default(),
            counted: Counted { total: self.resident_bytes.clone(), bytes: 0 },
        });
        let index = shared.clone().read_owned().await;
        if index.is_of(state) {
            return Ok(index);
        }
        drop(index);
        let mut index: OwnedRwLockWriteGuard<SpaceIndex<S>> = shared.write_owned().await;
        if !index.is_of(state) {
            let state = state.clone();
            if index.is_far_from(&state) {
                // A caller who stops waiting leaves it to be finished for the next.
                let follow = move || {
                    index.follow(state);
                    Ok(index)
                };
                index = joined(self.runtime.spawn_blocking(follow)).await?;
            } else {
                index.follow(state);
            }
            self.keep_budget();
        }
        Ok(index.downgrade())
    }
}
