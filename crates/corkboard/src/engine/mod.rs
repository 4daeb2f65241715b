//! The engine: keeps spaces in memory and up to date with their logs in a store.
//!
//! A loaded space is an immutable value that readers share. Commands wait in the space's queue. While there are any,
//! one leader decides them in order and appends them together. An idle space has no task and no channel.

mod ask;
mod commit;
mod decide;
mod evict;
mod find;
mod flush;
mod follow;
mod forget;
mod history;
mod lead;
mod observer;
mod remote;
mod search;
mod slot;
mod vectors;
mod wait;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corkboard_core::{Commit, CommitId, Head, Refusal, Revisioned, Space, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::MutexGuard;

use crate::embed::Indexer;
use crate::options::{Consistency, Options, Retention};
use crate::store::{Appended, Cursor, Ownership, Record, Snapshot, Store, StoreError, Trim};
use crate::{Error, Result, ids};

pub(crate) use ask::{Answer, PendingAnswer, RequestSource};
pub(crate) use commit::again;
pub(crate) use evict::Budget;
pub use find::TextPlace;
pub(crate) use find::{Occurrence, in_state};
pub use follow::Followed;
pub(crate) use follow::LogFollower;
pub(crate) use history::HistoryStep;
pub(crate) use observer::{Listener, Observer};
pub(crate) use remote::{Deletion, RemoteEngine, RemoteSearch};
pub(crate) use slot::Slot;
pub use watch::{Watch, Watched};

const PAGE: usize = 512;

/// All spaces of one kind on one store.
pub(crate) struct Engine<S: Space> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: Arc<Options>,
    observer: Observer<S>,
    remote: Option<Arc<dyn RemoteEngine>>,
    pub(crate) indexer: Arc<Indexer>,
    runtime: tokio::runtime::Handle,
    ownership: Ownership,
    slots: Mutex<HashMap<SpaceId, Arc<Slot<S>>>>,
    /// Memory budget shared with the other engines of the same Corkboard.
    budget: Arc<Budget>,
    began: Instant,
    closed: AtomicBool,
    /// Notified when the engine closes, to end watchers.
    closing: tokio::sync::Notify,
}

impl<S: Space> Engine<S> {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: Arc<Options>,
        observer: Observer<S>,
        budget: &Arc<Budget>,
        remote: Option<Arc<dyn RemoteEngine>>,
        indexer: &Arc<Indexer>,
    ) -> Arc<Self> {
        let ownership = store.info().ownership;
        let engine = Arc::new(Self {
            store,
            options,
            observer,
            remote,
            indexer: indexer.clone(),
            runtime: tokio::runtime::Handle::current(),
            ownership,
            slots: Mutex::default(),
            budget: budget.clone(),
            began: Instant::now(),
            closed: AtomicBool::new(false),
            closing: tokio::sync::Notify::new(),
        });
        budget.join(&engine);
        engine
    }

    /// Returns the slot of a space, without loading the space.
    pub(crate) fn slot(&self, space: &SpaceId) -> Arc<Slot<S>> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(space) {
            return slot.clone();
        }
        if slots.len().is_power_of_two() {
            slots.retain(|_, slot| slot.is_in_use());
        }
        let slot = Arc::new(Slot::new(space.clone()));
        slots.insert(space.clone(), slot.clone());
        slot
    }

    /// Returns the space's current state. If other processes can write to the store, checks the log's head first.
    pub(crate) async fn current(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Result<Arc<Revisioned<S>>> {
        if let Some(held) = slot.state.load_full()
            && self.check_usable().is_ok()
            && self.is_good_enough(slot)
        {
            self.touch(slot);
            return Ok(held);
        }
        self.as_stored(slot).await
    }

    /// Like [`Self::current`], but always asks a shared store, even if a cached state would be recent enough.
    pub(crate) async fn as_stored(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Result<Arc<Revisioned<S>>> {
        self.check_usable()?;
        self.touch(slot);
        if let Some(held) = slot.state.load_full() {
            if self.is_sole() {
                return Ok(held);
            }
            let asked_at = self.clock();
            let head = self.store.head(&slot.id).await?;
            if head == held.head {
                slot.current_at.fetch_max(asked_at, Ordering::Relaxed);
                return Ok(held);
            }
            // The newer head may be from this process's own append, whose answer is still on its way or just arrived.
            // Its state is known.
            let in_flight = slot.in_flight.lock().clone();
            let published = slot.state.load_full();
            if let Some(landed) = in_flight.into_iter().chain(published).find(|state| state.head == head) {
                self.publish(slot, &landed, Publish::IfNewer);
                return Ok(landed);
            }
        }
        // Runs in a task: a caller that starts loading and is then not polled must not block others.
        let (engine, slot) = (self.clone(), slot.clone());
        joined(self.runtime.spawn(async move {
            let one_at_a_time = engine.lock_beside_leader(&slot, &slot.loading).await;
            engine.refresh(&slot, one_at_a_time).await
        }))
        .await
    }

    /// Returns the state in memory if it can be read without asking the store.
    pub(crate) fn current_in_memory(&self, slot: &Slot<S>) -> Option<arc_swap::Guard<Option<Arc<Revisioned<S>>>>> {
        if self.check_usable().is_err() || !self.is_good_enough(slot) {
            return None;
        }
        let guard = slot.state.load();
        if guard.is_some() {
            self.touch(slot);
            return Some(guard);
        }
        None
    }

    /// Whether the state in memory is current, or recent enough for the configured consistency.
    fn is_good_enough(&self, slot: &Slot<S>) -> bool {
        if self.is_sole() {
            return true;
        }
        let Consistency::Cached(age) = self.options.consistency else { return false };
        let current_at = slot.current_at.load(Ordering::Relaxed);
        current_at > 0 && self.clock().saturating_sub(current_at) <= age.as_millis() as u64
    }

    pub(crate) fn is_sole(&self) -> bool {
        self.ownership == Ownership::Sole
    }

    /// Milliseconds since the engine started; never 0.
    fn clock(&self) -> u64 {
        self.began.elapsed().as_millis() as u64 + 1
    }

    /// Loads the state, or applies the revisions that it lacks.
    async fn refresh(&self, slot: &Slot<S>, _one_at_a_time: MutexGuard<'_, ()>) -> Result<Arc<Revisioned<S>>> {
        match slot.state.load_full() {
            Some(held) if self.ownership == Ownership::Sole => Ok(held),
            Some(held) => Ok(self.catch_up(slot, &held, CommitCollection::Nothing).await?.state),
            None => {
                let state = self.load(slot).await?;
                self.observer.loaded(&slot.id);
                self.keep_budget();
                Ok(state)
            }
        }
    }

    /// Fails if the engine is closed, or if it holds agents' memories and those are disabled.
    pub(crate) fn check_usable(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        if S::KIND == SpaceKind::Agent && !self.options.features.working_memory {
            return Err(Error::FeatureDisabled { feature: "working memory", setting: "features.working_memory" });
        }
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Loads the newest snapshot and replays the log after it.
    async fn load(&self, slot: &Slot<S>) -> Result<Arc<Revisioned<S>>> {
        // Another process may delete or trim between the two reads. The second read then finds no continuation, and
        // both are repeated.
        for _ in 0..16 {
            let asked_at = self.clock();
            let loaded = self.store.load(&slot.id).await?;
            let (state, from_snapshot) = match &loaded.snapshot {
                Some(snapshot) => (Revisioned::decode(&snapshot.body).map_err(|e| Error::format(&slot.id, e))?, true),
                None => (Revisioned { head: loaded.born, ..Revisioned::default() }, false),
            };
            // The snapshot is already current (as a server sends it), or the space is empty: nothing to replay.
            let replayed = match state.head == loaded.head {
                true => Ok(Replayed { state: Arc::new(state), events: 0, bytes: 0, commits: Vec::new(), asked_at }),
                false => self.replay(slot, &state, CommitCollection::Nothing).await,
            };
            match replayed {
                Ok(replayed) => {
                    slot.log.reset(replayed.events, replayed.bytes);
                    tracing::debug!(space = %slot.id, rev = replayed.state.head.rev, from_snapshot, "space loaded");
                    self.publish(slot, &replayed.state, Publish::Replace);
                    // Starts the space's clock, in case its last event is ahead of the real time.
                    self.now(slot, &replayed.state);
                    slot.current_at.fetch_max(replayed.asked_at, Ordering::Relaxed);
                    return Ok(replayed.state);
                }
                Err(Error::Store(StoreError::Compacted { .. } | StoreError::Diverged | StoreError::Future { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Damaged {
            space: slot.id.to_string(),
            message: "there is a gap between its snapshot and its log".into(),
        })
    }

    /// Applies the revisions that the state in memory lacks.
    async fn catch_up(
        &self,
        slot: &Slot<S>,
        held: &Arc<Revisioned<S>>,
        collect: CommitCollection,
    ) -> Result<CaughtUp<S>> {
        match self.replay(slot, held, collect).await {
            Ok(replayed) => {
                slot.log.add(replayed.events, replayed.bytes);
                self.publish(slot, &replayed.state, Publish::IfNewer);
                // After publishing: a reader that sees this time must also see the new state.
                slot.current_at.fetch_max(replayed.asked_at, Ordering::Relaxed);
                Ok(CaughtUp { state: replayed.state, commits: Some(replayed.commits) })
            }
            // The space was deleted, trimmed past the held revision, or replaced: the held state is invalid.
            Err(Error::Store(StoreError::Compacted { .. } | StoreError::Diverged | StoreError::Future { .. })) => {
                Ok(CaughtUp { state: self.load(slot).await?, commits: None })
            }
            Err(error) => Err(error),
        }
    }

    async fn replay(&self, slot: &Slot<S>, from: &Revisioned<S>, collect: CommitCollection) -> Result<Replayed<S>> {
        let asked_at = self.clock();
        let mut state = from.clone();
        let (mut events, mut bytes, mut commits) = (0, 0, Vec::new());
        loop {
            let page = self.store.read_after(&slot.id, Cursor::from(state.head), PAGE).await?;
            if page.records.is_empty() && page.head.rev > state.head.rev {
                return Err(Error::Damaged { space: slot.id.to_string(), message: "its log has a gap".into() });
            }
            for record in page.records {
                let commit = self.decode(&slot.id, &record)?;
                state
                    .apply(&commit, record.commit, &self.options.limits)
                    .map_err(|error| Error::format(&slot.id, error))?;
                events += commit.events.len() as u64;
                bytes += record.body.len() as u64;
                if collect == CommitCollection::Commits {
                    commits.push((record.commit, record.rev, commit));
                }
            }
            if state.head.rev >= page.head.rev {
                return Ok(Replayed { state: Arc::new(state), events, bytes, commits, asked_at });
            }
        }
    }

    fn decode(&self, space: &SpaceId, record: &Record) -> Result<Commit<S::Event, S::Reply>> {
        Commit::decode(&record.body).map_err(|error| Error::format(space, error))
    }

    fn publish(&self, slot: &Slot<S>, state: &Arc<Revisioned<S>>, publish: Publish) {
        let _one_at_a_time = slot.publishing.lock();
        let before = slot.state.load();
        if let (Publish::IfNewer, Some(before)) = (publish, &*before)
            && before.head.rev >= state.head.rev
        {
            return;
        }
        let usage_before = before.as_ref().map(|before| before.state.usage());
        let usage = state.state.usage();
        slot.state.store(Some(state.clone()));
        slot.index.outlived(usage_before.unwrap_or_default(), usage);
        slot.usage.store(usage);
        self.observer.resident(before.as_ref().map(|before| &before.state), Some(&state.state));
        let weight = usage_before.map_or(0, evict::weight);
        self.budget.resident_bytes.fetch_add(evict::weight(usage) - weight, Ordering::Relaxed);
        slot.published.notify_waiters();
    }

    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime.spawn(work)
    }

    fn touch(&self, slot: &Slot<S>) {
        // Approximate on purpose: reads must not contend for a counter.
        slot.used_at.store(self.budget.uses.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The current time: from the store's clock if it has one, so that all processes that share the store agree.
    pub(crate) fn time(&self) -> Timestamp {
        let clock = &self.options.clock;
        let stores = if clock.yields_to_store() { self.store.now() } else { None };
        stores.unwrap_or_else(|| clock.now())
    }

    /// The current time in a space: never before its last event, and never standing still.
    pub(crate) fn now(&self, slot: &Slot<S>, state: &Revisioned<S>) -> Timestamp {
        slot.clock.now(self.time(), state.last_at, &*self.options.clock)
    }

    /// The current time in a space, judged by the state in memory.
    pub(crate) fn now_in(&self, slot: &Slot<S>) -> Timestamp {
        slot.state.load().as_ref().map_or_else(|| self.time(), |state| self.now(slot, state))
    }

    /// The spaces whose time is ahead of the clock, as far as this process knows.
    pub(crate) fn slots_ahead(&self) -> Vec<Arc<Slot<S>>> {
        self.slots.lock().values().filter(|slot| slot.clock.is_ahead()).cloned().collect()
    }

    /// The spaces whose time is ahead of the clock, and by how much, as far as this process knows.
    pub(crate) fn leads(&self) -> impl Iterator<Item = (SpaceId, Duration)> {
        let time = self.time();
        let lead = move |slot: Arc<Slot<S>>| Some((slot.id.clone(), slot.clock.lead(time, &*self.options.clock)?));
        self.slots_ahead().into_iter().filter_map(lead)
    }

    /// Deletes a space and everything in it. Returns whether there was something to delete.
    pub(crate) async fn delete(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Result<bool> {
        self.delete_if(slot, |_| true).await
    }

    /// Deletes a space if its head is `head`. Otherwise does nothing.
    pub(crate) async fn delete_at(self: &Arc<Self>, slot: &Arc<Slot<S>>, head: Head) -> Result<bool> {
        self.delete_if(slot, move |found| found == head).await
    }

    /// Deletes a space if it is at revision `rev`. Otherwise fails with a conflict.
    pub(crate) async fn delete_at_rev(self: &Arc<Self>, slot: &Arc<Slot<S>>, rev: u64) -> Result<bool> {
        if self.delete_if(slot, move |found| found.rev == rev).await? {
            return Ok(true);
        }
        match self.current(slot).await?.head.rev {
            current if current == rev => Ok(false),
            current => Err(Refusal::RevConflict { expected: rev, current }.into()),
        }
    }

    async fn delete_if(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        is_meant: impl Fn(Head) -> bool + Send + Sync + 'static,
    ) -> Result<bool> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let (engine, slot) = (self.clone(), slot.clone());
        // Runs in a task: a caller that stops waiting must not leave the space's queue without a leader.
        joined(self.spawn(async move {
            // Nothing that this process writes comes between loading and deleting.
            let alone = engine.lead_alone(&slot).await;
            let deleted = engine.try_delete(&slot, is_meant).await;
            alone.hand_over(&engine, &slot);
            deleted
        }))
        .await
    }

    async fn try_delete(&self, slot: &Slot<S>, is_meant: impl Fn(Head) -> bool) -> Result<bool> {
        self.flush_slot(slot, self.lock_beside_leader(slot, &slot.flushing).await).await?;
        // A load that started before the deletion must not publish its state afterwards.
        let _no_load = slot.loading.lock().await;
        loop {
            let loaded = self.store.load(&slot.id).await?;
            if loaded.head == loaded.born {
                // An earlier attempt may have failed before this.
                self.erase_vectors(&slot.id).await?;
                return Ok(false);
            }
            if !is_meant(loaded.head) {
                return Ok(false);
            }
            let tombstone = ids::commit();
            if self.store.delete(&slot.id, loaded.head, tombstone).await? == Appended::Committed {
                let head = Head { rev: loaded.head.rev + 1, commit: tombstone };
                let empty = Revisioned { head, ..Revisioned::default() };
                self.publish(slot, &Arc::new(empty), Publish::Replace);
                slot.log.reset(0, 0);
                self.erase_vectors(&slot.id).await?;
                return Ok(true);
            }
        }
    }

    /// Writes a snapshot if the log has grown enough since the last one, and trims the log according to the retention.
    pub(super) async fn snapshot_if_due(&self, slot: &Slot<S>) {
        // Commits that arrive during a snapshot can make the next one due.
        while slot.log.is_over(self.options.snapshots) && !slot.snapshotting.swap(true, Ordering::AcqRel) {
            let written = match slot.state.load_full() {
                Some(state) => self.snapshot(slot, state).await.map(|()| true),
                None => Ok(false),
            };
            slot.snapshotting.store(false, Ordering::Release);
            match written {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(space = %slot.id, %error, "failed to write a snapshot; the log is complete");
                    return;
                }
            }
        }
    }

    /// Writes a snapshot, then drops old revisions that it covers. Returns the oldest revision left.
    pub(crate) async fn trim(self: &Arc<Self>, slot: &Arc<Slot<S>>, trim: Trim) -> Result<u64> {
        // With a remote engine, the server writes the snapshot.
        if self.remote.is_none() {
            let state = self.current(slot).await?;
            self.snapshot(slot, state).await?;
        }
        Ok(self.store.trim(&slot.id, trim).await?)
    }

    async fn snapshot(&self, slot: &Slot<S>, state: Arc<Revisioned<S>>) -> Result<()> {
        // A snapshot must not be ahead of its log.
        self.flush_slot(slot, slot.flushing.lock().await).await?;
        let (events, bytes) = slot.log.so_far();
        let head = state.head;
        let last_at = state.last_at;
        let encoded = tokio::task::spawn_blocking(move || state.encode()).await;
        let body = encoded
            .map_err(|error| Error::Damaged { space: slot.id.to_string(), message: error.to_string() })?
            .map_err(|error| Error::format(&slot.id, error))?;
        self.store.write_snapshot(&slot.id, Snapshot { head, body }).await?;
        slot.log.subtract(events, bytes);
        let trim = match self.options.retention.unwrap_or_else(|| self.store.default_retention()) {
            Retention::Everything => return Ok(()),
            Retention::Revisions(kept) => Trim { up_to: head.rev.saturating_sub(kept), older_than: None },
            Retention::Age(age) => match last_at.checked_sub(age) {
                Ok(time) => Trim { up_to: head.rev, older_than: Some(time) },
                // The age exceeds the range of timestamps: nothing is that old.
                Err(_) => return Ok(()),
            },
        };
        self.store.trim(&slot.id, trim).await?;
        Ok(())
    }
}

/// Returns the result of a task. If the task ended without one, it panicked or the runtime is shutting down.
pub(crate) async fn joined<T>(task: tokio::task::JoinHandle<Result<T>>) -> Result<T> {
    task.await.unwrap_or_else(|error| Err(StoreError::OutcomeUnknown(format!("a task ended early: {error}")).into()))
}

/// When a published state replaces the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Publish {
    IfNewer,
    Replace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitCollection {
    Nothing,
    Commits,
}

struct Replayed<S: Space> {
    state: Arc<Revisioned<S>>,
    events: u64,
    bytes: u64,
    commits: Vec<LandedCommit<S>>,
    /// When the read of the log started, on the engine's clock.
    asked_at: u64,
}

type LandedCommit<S> = (CommitId, u64, Commit<<S as Space>::Event, <S as Space>::Reply>);

struct CaughtUp<S: Space> {
    state: Arc<Revisioned<S>>,
    /// The revisions read; `None` if the state had to be loaded completely.
    commits: Option<Vec<LandedCommit<S>>>,
}
