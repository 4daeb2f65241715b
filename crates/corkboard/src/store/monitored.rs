//! A wrapper for all stores: tracks whether the last write succeeded, and runs one scrub at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};
use uuid::Uuid;

use super::{
    Append, Appended, Appending, Cursor, Import, ListedSpace, Loaded, Page, Record, Rewrite, Snapshot, Store,
    StoreError, StoreFuture, StoreInfo, Trim,
};
use crate::options::Retention;

/// Minimum interval between test writes to a failing store.
const PROBE: Duration = Duration::from_secs(1);
/// The space used for test writes. Its kind is never listed.
const PROBED: &str = "store/probe";

/// A store that tracks the result of the last write, and merges concurrent scrubs.
pub(crate) struct MonitoredStore {
    inner: Arc<dyn Store>,
    writes: Arc<Writes>,
    /// When a failing store was last tested.
    probed: tokio::sync::Mutex<Option<Instant>>,
    scrubs: Scrubs,
}

impl MonitoredStore {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, writes: Arc::default(), probed: Default::default(), scrubs: Scrubs::default() }
    }

    /// Fails if the last write failed. In that case, first tries a small test write, at most once per [`PROBE`].
    pub(crate) async fn check_writes(&self) -> Result<(), StoreError> {
        if self.writes.failure().is_none() {
            return Ok(());
        }
        // Callers that arrive during a test write get the previous result.
        if let Ok(mut probed) = self.probed.try_lock()
            && probed.is_none_or(|probed| probed.elapsed() >= PROBE)
        {
            let tried = self.probe().await;
            *probed = Some(Instant::now());
            self.writes.note(&tried);
        }
        self.writes.failure().map_or(Ok(()), Err)
    }

    /// A durable write that changes nothing visible: deletes an already deleted space again.
    async fn probe(&self) -> Result<Appended, StoreError> {
        let space = SpaceId::from_stored(PROBED);
        let head = self.inner.head(&space).await?;
        self.inner.delete(&space, head, CommitId(Uuid::new_v4())).await
    }
}

/// Result of the last write.
#[derive(Default)]
struct Writes {
    failure: Mutex<Option<StoreError>>,
}

impl Writes {
    fn failure(&self) -> Option<StoreError> {
        self.failure.lock().clone()
    }

    fn note(&self, written: &Result<Appended, StoreError>) {
        match written {
            Ok(Appended::Committed) => self.set(None),
            // A conflict does not show whether the store can write.
            Ok(Appended::Conflict { .. }) => {}
            Err(
                error @ (StoreError::Busy { .. }
                | StoreError::Unavailable(_)
                | StoreError::NoSpace(_)
                | StoreError::NoServer { .. }
                | StoreError::OutcomeUnknown(_)
                | StoreError::Failed(_)),
            ) => {
                counter!("corkboard.store.write_failures_total").increment(1);
                self.set(Some(error));
            }
            // The error concerns one space or the caller, not the store.
            Err(_) => {}
        }
    }

    fn set(&self, new: Option<&StoreError>) {
        let mut failure = self.failure.lock();
        match (failure.is_some(), new) {
            (false, None) => return,
            (false, Some(error)) => tracing::warn!(%error, "the store is not writable"),
            (true, Some(_)) => {}
            (true, None) => tracing::info!("the store is writable again"),
        }
        gauge!("corkboard.store.writable").set(if new.is_none() { 1.0 } else { 0.0 });
        *failure = new.cloned();
    }
}

/// Runs one scrub at a time. All callers that arrive during a scrub share the next one.
#[derive(Default)]
struct Scrubs {
    begun: AtomicU64,
    /// The number of the last successful scrub.
    done: tokio::sync::Mutex<u64>,
}

impl Scrubs {
    async fn run(&self, scrub: impl Future<Output = Result<(), StoreError>>) -> Result<(), StoreError> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut done = self.done.lock().await;
        if *done > before {
            // That scrub started after this call.
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        scrub.await?;
        *done = number;
        Ok(())
    }
}

struct MonitoredAppending {
    inner: Box<dyn Appending>,
    writes: Arc<Writes>,
}

impl Appending for MonitoredAppending {
    fn add(&mut self, records: Vec<Record>) {
        self.inner.add(records);
    }

    fn finish(self: Box<Self>, last: Append) -> StoreFuture<'static, Appended> {
        let Self { inner, writes } = *self;
        let finished = inner.finish(last);
        Box::pin(async move {
            let written = finished.await;
            writes.note(&written);
            written
        })
    }
}

impl Store for MonitoredStore {
    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        self.noted(self.inner.append(append))
    }

    fn begin_append(&self, space: &SpaceId, expected: Head) -> Option<Box<dyn Appending>> {
        let inner = self.inner.begin_append(space, expected)?;
        Some(Box::new(MonitoredAppending { inner, writes: self.writes.clone() }))
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        self.inner.head(space)
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        self.inner.load(space)
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        self.inner.read_after(space, cursor, limit)
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        self.inner.write_snapshot(space, snapshot)
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        self.inner.trim(space, trim)
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        self.inner.list(kind, after, limit)
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        self.inner.due(kind, now, limit)
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        self.noted(self.inner.delete(space, expected, tombstone))
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        self.noted(self.inner.import(import))
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        self.noted(self.inner.rewrite(rewrite))
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.scrubs.run(self.inner.scrub()))
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        self.inner.changes(space)
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        self.inner.all_changes()
    }

    fn now(&self) -> Option<Timestamp> {
        self.inner.now()
    }

    fn default_retention(&self) -> Retention {
        self.inner.default_retention()
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        self.inner.check()
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.inner.close()
    }
}

impl MonitoredStore {
    fn noted<'a>(&'a self, writing: StoreFuture<'a, Appended>) -> StoreFuture<'a, Appended> {
        Box::pin(async move {
            let written = writing.await;
            self.writes.note(&written);
            written
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// The first scrub starts before the other calls, so one more run serves them all.
    #[tokio::test]
    async fn concurrent_scrubs_share_one_run() {
        let (scrubs, begun) = (Arc::new(Scrubs::default()), Arc::new(AtomicU64::new(0)));
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let scrub = || {
            let (scrubs, begun, gate) = (scrubs.clone(), begun.clone(), gate.clone());
            tokio::spawn(async move {
                let work = async {
                    begun.fetch_add(1, Ordering::SeqCst);
                    drop(gate.acquire().await);
                    Ok(())
                };
                scrubs.run(work).await
            })
        };
        let first = scrub();
        while begun.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (0..10).map(|_| scrub()).collect();
        // All tasks share one thread, so all of them have called `run` before the gate opens.
        tokio::task::yield_now().await;
        gate.add_permits(1);
        first.await.unwrap().unwrap();
        for other in others {
            other.await.unwrap().unwrap();
        }
        assert_eq!(begun.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_failed_scrub_is_not_shared() {
        let scrubs = Scrubs::default();
        let failed = Err(StoreError::Unavailable("no".into()));
        let (first, second) =
            tokio::join!(scrubs.run(std::future::ready(failed.clone())), scrubs.run(async { Ok(()) }));
        assert_eq!((first, second), (failed, Ok(())));
    }
}
