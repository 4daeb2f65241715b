//! A space's search index: made at the first search, brought into step at every other, dropped when the state is.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use corkboard_core::{Revisioned, Usage};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::RwLock;

use super::{Engine, Slot, joined};
use crate::Result;
use crate::search::{Change, Index, Searchable};

/// States with more text than this are indexed and searched outside of the async workers.
const LARGE: u64 = 128 * 1024;

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
        self.index.settle();
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
        search: impl FnOnce(&Revisioned<S>, &Index<S::DocumentId>, Timestamp) -> R + Send + 'static,
    ) -> Result<R> {
        let state = self.current(slot).await?;
        let (size, now) = (state.state.usage().bytes, self.now(slot, &state));
        let shared = slot.index.get_or_insert(|| SpaceIndex {
            of: None,
            index: Index::default(),
            counted: Counted { total: self.budget.resident_bytes.clone(), bytes: 0 },
        });
        let index = shared.clone().read_owned().await;
        if index.is_of(&state) {
            return self.work(size, move || search(&state, &index.index, now)).await;
        }
        drop(index);
        let mut index = shared.write_owned().await;
        let follow_and_search = move || {
            if !index.is_of(&state) {
                index.follow(state.clone());
            }
            let index = index.downgrade();
            search(&state, &index.index, now)
        };
        let found = self.work(size, follow_and_search).await;
        self.keep_budget();
        found
    }

    /// Does what may take a while where it holds nobody up. Who stops waiting leaves it to be finished for the next.
    async fn work<R: Send + 'static>(&self, size: u64, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
        if size > LARGE { joined(self.runtime.spawn_blocking(move || Ok(work()))).await } else { Ok(work()) }
    }
}
