//! A server as a store of logs: reads go directly to it, writes only as commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::{broadcast, watch};

use super::http::{HttpClient, Resend, path_of};
use crate::store::{
    Append, Appended, ChangeNotifier, Cursor, Import, ListedSpace, Loaded, Ownership, Page, Record, Rewrite, Snapshot,
    Store, StoreError, StoreFuture, StoreInfo, Trim,
};
use crate::{Error, HeadDocument, PageDocument, Problem, RecordDocument, SpaceDocument, StateDocument, TrimmedLog};

/// How long a server may hold a long-polling request.
const WAIT: Duration = Duration::from_secs(20);
/// Number of spaces per page of a list.
const PAGE: usize = 1000;
/// Polling interval for all spaces while someone watches them all.
const LOOK: Duration = Duration::from_secs(1);
/// Pause after a failed long-polling request.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct ServerStore {
    inner: Arc<ServerStoreShared>,
}

struct ServerStoreShared {
    http: Arc<HttpClient>,
    notifier: ChangeNotifier,
    /// How far the server's clock is ahead of the local one, and when that was measured.
    ahead: Mutex<Option<(SignedDuration, Instant)>>,
    is_closed: AtomicBool,
    listened: Mutex<std::collections::HashSet<SpaceId>>,
    /// Whether a task polls all spaces.
    looks_at_all: AtomicBool,
}

impl ServerStore {
    pub(super) fn new(http: Arc<HttpClient>) -> Self {
        let (notifier, ahead, is_closed, listened, looks_at_all) = Default::default();
        Self { inner: Arc::new(ServerStoreShared { http, notifier, ahead, is_closed, listened, looks_at_all }) }
    }
}

impl ServerStoreShared {
    async fn head(&self, space: &SpaceId, after: Option<u64>) -> Result<Head, StoreError> {
        let asked = Instant::now();
        let query = after.map(|rev| [("from_rev", rev.to_string()), ("wait_s", WAIT.as_secs().to_string())]);
        let query = query.as_ref().map_or(&[][..], |query| &query[..]);
        let answer: HeadDocument = self.http.get(&path_of(space, "/head"), query).await.map_err(of_reading)?;
        if after.is_none() {
            // Assume that the server read its clock in the middle of the round trip.
            let then = Timestamp::now().checked_sub(asked.elapsed() / 2).unwrap_or(Timestamp::UNIX_EPOCH);
            *self.ahead.lock() = Some((answer.now.duration_since(then), asked));
        }
        Ok(answer.head)
    }

    /// Long-polls for changes of a space while it has subscribers.
    async fn listen(self: Arc<Self>, space: SpaceId) {
        let mut known = 0;
        while !self.is_closed.load(Ordering::Relaxed) {
            if !self.notifier.subscribed_spaces().contains(&space) {
                // A subscriber that arrives after this finds no listener and starts a new one.
                let mut listened = self.listened.lock();
                if !self.notifier.subscribed_spaces().contains(&space) {
                    listened.remove(&space);
                    return;
                }
            }
            match self.head(&space, Some(known)).await {
                Ok(head) => {
                    known = head.rev;
                    self.notifier.notify(&space, head.rev);
                }
                Err(error) => {
                    tracing::debug!(%space, %error, "could not ask the server for changes of a space");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

impl ServerStore {
    /// Polls all spaces that the token opens while there are global subscribers.
    async fn look_at_all(self) {
        let inner = &self.inner;
        loop {
            if inner.is_closed.load(Ordering::Relaxed) {
                return;
            }
            if !inner.notifier.has_global_subscribers() {
                inner.looks_at_all.store(false, Ordering::SeqCst);
                // Somebody may have subscribed in between.
                if !inner.notifier.has_global_subscribers() || inner.looks_at_all.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
            for kind in [SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core] {
                let mut after: Option<SpaceId> = None;
                loop {
                    match self.list(kind, after.as_ref(), PAGE).await {
                        Ok(listed) => {
                            listed.iter().for_each(|listed| inner.notifier.notify(&listed.space, listed.head.rev));
                            match listed.last() {
                                Some(last) => after = Some(last.space.clone()),
                                None => break,
                            }
                        }
                        Err(error) => {
                            tracing::debug!(%error, "could not ask the server for its spaces");
                            break;
                        }
                    }
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Converts the error of a read to a store error.
fn of_reading(error: Error) -> StoreError {
    match error {
        Error::Store(StoreError::OutcomeUnknown(what)) => StoreError::Unavailable(what),
        Error::Store(error) => error,
        other => StoreError::Answered(Box::new(Problem::from(&other))),
    }
}

/// The answer to writes, which clients must send as commands.
fn not_here<'a, T: Send + 'a>() -> StoreFuture<'a, T> {
    let error = StoreError::Unavailable("clients cannot write the logs of a server".into());
    Box::pin(std::future::ready(Err(error)))
}

impl Store for ServerStore {
    fn info(&self) -> StoreInfo {
        let location = self.inner.http.location();
        StoreInfo { kind: "server", location, ownership: Ownership::Shared, details: Vec::new(), warnings: Vec::new() }
    }

    fn append(&self, _append: Append) -> StoreFuture<'_, Appended> {
        not_here()
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        Box::pin(self.inner.head(space, None))
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        Box::pin(async move {
            let path = path_of(space, "/state");
            let StateDocument { head, born, state } = self.inner.http.get(&path, &[]).await.map_err(of_reading)?;
            let snapshot = state.map(|state| Snapshot { head, body: state.get().as_bytes().to_vec() });
            Ok(Loaded { head, born, snapshot })
        })
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        Box::pin(async move {
            let mut query = vec![("from_rev", cursor.rev.to_string()), ("limit", limit.to_string())];
            query.extend(cursor.commit.map(|commit| ("commit", commit.to_string())));
            let page: PageDocument = self.inner.http.get(&path_of(space, "/log"), &query).await.map_err(of_reading)?;
            let records = page.items.into_iter().map(|record| {
                let RecordDocument { rev, commit, at, body } = record;
                Record { rev, commit, at, body: body.get().as_bytes().to_vec() }
            });
            Ok(Page { records: records.collect(), head: page.head })
        })
    }

    fn write_snapshot<'a>(&'a self, _space: &'a SpaceId, _snapshot: Snapshot) -> StoreFuture<'a, ()> {
        not_here()
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let Trim { up_to, older_than } = trim;
            let body = serde_json::json!({ "up_to": up_to, "older_than": older_than }).to_string().into_bytes();
            let trimmed: TrimmedLog =
                self.inner.http.post(&path_of(space, "/trim"), None, body, Resend::Yes).await.map_err(of_reading)?;
            Ok(trimmed.oldest)
        })
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        Box::pin(async move {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(after.map(|space| ("cursor", space.name().to_owned())));
            let path = format!("/v1/spaces/{}", kind.as_str());
            #[derive(Deserialize)]
            struct Listed {
                items: Vec<SpaceDocument>,
            }
            let listed: Listed = self.inner.http.get(&path, &query).await.map_err(of_reading)?;
            let spaces = listed.items.into_iter().map(|listed| ListedSpace {
                space: SpaceId::of(kind, &listed.name),
                head: listed.head,
                next_due: listed.next_due,
                summary: listed.summary.map(|summary| summary.get().as_bytes().to_vec()).unwrap_or_default(),
            });
            Ok(spaces.collect())
        })
    }

    fn due(&self, _kind: SpaceKind, _now: Timestamp, _limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        // The server itself handles expiry.
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, _tombstone: CommitId) -> StoreFuture<'a, Appended> {
        Box::pin(async move {
            let query = [("at", expected.rev.to_string()), ("commit", expected.commit.to_string())];
            #[derive(Deserialize)]
            struct Deleted {
                deleted: bool,
            }
            let Deleted { deleted } = match self.inner.http.delete(&path_of(space, ""), &query).await {
                Err(Error::Store(error)) => return Err(error),
                other => other.map_err(of_reading)?,
            };
            match deleted {
                true => Ok(Appended::Committed),
                false => Ok(Appended::Conflict { head: self.inner.head(space, None).await? }),
            }
        })
    }

    fn import(&self, _import: Import) -> StoreFuture<'_, Appended> {
        not_here()
    }

    fn rewrite(&self, _rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        not_here()
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            let scrubbed: Result<serde_json::Value, _> =
                self.inner.http.post("/v1/store/scrub", None, b"{}".to_vec(), Resend::Yes).await;
            scrubbed.map(|_| ()).map_err(of_reading)
        })
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        let listener = self.inner.notifier.subscribe(space);
        if self.inner.listened.lock().insert(space.clone()) {
            tokio::spawn(self.inner.clone().listen(space.clone()));
        }
        listener
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        let listener = self.inner.notifier.subscribe_all();
        if !self.inner.looks_at_all.swap(true, Ordering::SeqCst) {
            tokio::spawn(Self { inner: self.inner.clone() }.look_at_all());
        }
        listener
    }

    fn now(&self) -> Option<Timestamp> {
        let (ahead, _) = (*self.inner.ahead.lock())?;
        Timestamp::now().checked_add(ahead).ok()
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async {
            #[derive(Deserialize)]
            struct Checked {
                problems: Vec<String>,
            }
            let checked: Checked = self.inner.http.get("/v1/store/check", &[]).await.map_err(of_reading)?;
            Ok(checked.problems)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.inner.is_closed.store(true, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(())))
    }
}
