//! A space's search index: built at the first search, updated before each later one, dropped with the state.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use corkboard_core::{Revisioned, Usage};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};

use super::vectors::VectorLog;
use super::{Engine, Slot, joined};
use crate::search::{Change, Index, Searchable};
use crate::{Result, Tier};

/// States with more text than this are indexed on blocking threads, and searched there if it takes much effort. Handing
/// over to another thread takes longer than a small search.
const LARGE: u64 = 128 * 1024;
/// A search with no more effort than this takes less than about 100 µs.
const SMALL_EFFORT: usize = 2000;
/// Maximum number of revisions by which an index is updated in place, not on a blocking thread.
const FEW_REVISIONS: u64 = 8;
/// Maximum change of the state's size for an update in place.
const FEW_BYTES: u64 = 16 * 1024;

/// Holds the index of a slot's state. Type-erased, so a slot need not know the space's document type.
#[derive(Default)]
pub(super) struct IndexPlace(Mutex<Option<Arc<dyn Any + Send + Sync>>>);

impl IndexPlace {
    pub(super) fn is_there(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Drops the index. A running search finishes with it.
    pub(super) fn discard(&self) {
        let discarded = self.0.lock().take();
        // Dropping a large index takes time, so do it after releasing the lock.
        drop(discarded);
    }

    /// Drops the index if most of the indexed text is gone, because the index would keep it in memory.
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

/// An index, and the state it was built from.
pub(crate) struct SpaceIndex<S: Searchable> {
    /// `None`: nothing is indexed yet.
    pub(super) of: Option<Arc<Revisioned<S>>>,
    pub(super) index: Index<S::DocumentId>,
    pub(super) vectors: VectorLog,
    counted: Counted,
}

impl<S: Searchable> SpaceIndex<S> {
    /// Whether the stored vectors were read.
    fn has_vectors(&self) -> bool {
        self.of.is_some() && self.vectors.is_read()
    }

    fn is_of(&self, state: &Revisioned<S>) -> bool {
        self.of.as_ref().is_some_and(|of| of.head == state.head)
    }

    /// Whether little must be done to follow a state.
    fn is_near(&self, state: &Revisioned<S>) -> bool {
        self.of.as_ref().is_some_and(|of| {
            let (before, after) = (of.state.usage().bytes, state.state.usage().bytes);
            of.head.rev.abs_diff(state.head.rev) <= FEW_REVISIONS && before.abs_diff(after) <= FEW_BYTES
        })
    }

    /// Updates the index to a state, older or newer.
    fn follow(&mut self, state: Arc<Revisioned<S>>) {
        // `of` stays empty until the update is complete: if it panics, the next search rebuilds the index.
        let before = self.of.take();
        if before.is_none() {
            self.index = self.index.emptied();
            self.vectors = VectorLog::new();
        }
        S::changes(before.as_deref().map(|before| &before.state), &state.state, |id, change| match change {
            Change::Put(document) => self.index.put(id, &document),
            Change::Removed => self.index.remove(&id),
        });
        self.index.settle();
        self.count_bytes();
        self.of = Some(state);
    }

    pub(super) fn count_bytes(&mut self) {
        self.counted.set(self.index.bytes());
    }
}

/// Bytes that count against the memory budget until this value is dropped.
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
    /// Runs `search` on the current state and an up-to-date index. Neither readers nor writers wait for it. `effort`
    /// estimates the work from an index that may be older.
    pub(crate) async fn search<R: Send + 'static>(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        effort: impl FnOnce(&Index<S::DocumentId>) -> usize,
        search: impl FnOnce(&Revisioned<S>, &Index<S::DocumentId>, Timestamp) -> R + Send + 'static,
    ) -> Result<R> {
        let state = self.current(slot).await?;
        let (size, now) = (state.state.usage().bytes, self.now(slot, &state));
        let shared = self.index_of(slot);
        let index = shared.clone().read_owned().await;
        let is_small = size <= LARGE || effort(&index.index) <= SMALL_EFFORT;
        if index.is_of(&state) {
            return self.work(is_small, move || search(&state, &index.index, now)).await;
        }
        drop(index);
        let mut index = shared.write_owned().await;
        let is_small = size <= LARGE || (is_small && index.is_near(&state));
        if self.indexer.embedder().is_some() && !index.has_vectors() {
            index = self.update_index(index, state.clone()).await?;
            // The words alone can be searched.
            if let Err(error) = self.read_vectors(slot, &mut index).await {
                tracing::warn!(space = %slot.id, %error, "cannot read the vectors");
            }
        }
        let follow_and_search = move || {
            if !index.is_of(&state) {
                index.follow(state.clone());
            }
            let index = index.downgrade();
            search(&state, &index.index, now)
        };
        let found = self.work(is_small, follow_and_search).await;
        self.keep_budget();
        found
    }

    pub(super) fn index_of(&self, slot: &Slot<S>) -> Arc<RwLock<SpaceIndex<S>>> {
        let index = || Index::new(self.options.tier > Tier::Core);
        slot.index.get_or_insert(|| SpaceIndex {
            of: None,
            index: if self.indexer.embedder().is_some() { index().with_vectors() } else { index() },
            vectors: VectorLog::new(),
            counted: Counted { total: self.budget.resident_bytes.clone(), bytes: 0 },
        })
    }

    /// Updates an index to a state.
    pub(super) async fn update_index(
        &self,
        mut index: OwnedRwLockWriteGuard<SpaceIndex<S>>,
        state: Arc<Revisioned<S>>,
    ) -> Result<OwnedRwLockWriteGuard<SpaceIndex<S>>> {
        let is_small = state.state.usage().bytes <= LARGE;
        let follow = move || {
            if !index.is_of(&state) {
                index.follow(state);
            }
            index
        };
        self.work(is_small, follow).await
    }

    /// Runs large work on a blocking thread. If the caller stops waiting, the work still completes.
    async fn work<R: Send + 'static>(&self, is_small: bool, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
        if is_small { Ok(work()) } else { joined(self.runtime.spawn_blocking(move || Ok(work()))).await }
    }
}
