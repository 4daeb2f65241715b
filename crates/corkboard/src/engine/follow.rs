//! Follow a space's log: each record exactly once, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::Space;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Engine, PAGE, Slot};
use crate::backoff::Backoff;
use crate::store::{Cursor, Record};
use crate::{Error, Result};

/// Delay between attempts to read a log.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1));

/// An item that a log follower receives.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// A revision, as the store keeps it.
    Record(Record),
    /// No new records; the follower has received everything up to `rev`.
    Bookmark {
        /// The revision to resume from.
        rev: u64,
    },
}

/// Reads a space's log: first the existing records, then new ones. Holds a cursor and at most one page.
pub(crate) struct Follow<S: Space> {
    engine: Arc<Engine<S>>,
    slot: Arc<Slot<S>>,
    cursor: Cursor,
    changes: watch::Receiver<u64>,
    page: VecDeque<Record>,
    live: bool,
    backoff: Backoff,
    told_at: Instant,
}

impl<S: Space> Engine<S> {
    /// Follows the log after `from_rev`, the last revision that the caller has seen. 0 means from the beginning, `None`
    /// means only new revisions.
    pub(crate) async fn follow(self: &Arc<Self>, slot: Arc<Slot<S>>, from_rev: Option<u64>) -> Result<Follow<S>> {
        self.check_usable()?;
        let changes = self.store.changes(&slot.id);
        let cursor = match from_rev {
            Some(rev) => Cursor { rev, commit: None },
            None => self.store.head(&slot.id).await?.into(),
        };
        let (engine, page, told_at) = (self.clone(), VecDeque::new(), Instant::now());
        let mut follow = Follow { engine, slot, cursor, changes, page, live: false, backoff: BACKOFF, told_at };
        // Refuse an invalid cursor now, not when the first revision arrives.
        follow.read_page().await?;
        Ok(follow)
    }
}

impl<S: Space> Follow<S> {
    /// Returns the next record, or a bookmark if none arrives for `bookmark_interval`. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Followed> {
        loop {
            if let Some(record) = self.page.pop_front() {
                self.cursor = Cursor { rev: record.rev, commit: Some(record.commit) };
                self.told_at = Instant::now();
                return Ok(Followed::Record(record));
            }
            let engine = self.engine.clone();
            let closing = engine.closing.notified();
            if engine.is_closed() {
                return Err(Error::Closed);
            }
            let newest = *self.changes.borrow_and_update();
            if self.live && newest.saturating_sub(self.cursor.rev) > self.engine.options.max_watch_lag {
                return Err(Error::Lagged { resume_from: self.cursor.rev });
            }
            if self.read_page().await? == ReadAttempt::Away {
                // This attempt consumed the wake-up, but its revision may already be in the store. Until a read
                // succeeds, send no bookmark.
                tokio::select! {
                    () = self.backoff.sleep() => continue,
                    () = closing => return Err(Error::Closed),
                }
            }
            if !self.page.is_empty() {
                continue;
            }
            self.live = true;
            tokio::select! {
                _ = self.changes.changed() => {}
                () = closing => return Err(Error::Closed),
                () = tokio::time::sleep_until(self.told_at + engine.options.bookmark_interval) => {
                    self.told_at = Instant::now();
                    return Ok(Followed::Bookmark { rev: self.cursor.rev });
                }
            }
        }
    }

    pub(crate) fn rev(&self) -> u64 {
        self.cursor.rev
    }

    pub(super) fn engine(&self) -> &Engine<S> {
        &self.engine
    }

    pub(super) fn slot(&self) -> &Slot<S> {
        &self.slot
    }

    async fn read_page(&mut self) -> Result<ReadAttempt> {
        let page = match self.engine.store.read_after(&self.slot.id, self.cursor, PAGE).await {
            Err(error) if error.is_retryable() => {
                tracing::debug!(space = %self.slot.id, %error, "store unavailable or busy; the watcher retries");
                return Ok(ReadAttempt::Away);
            }
            other => other?,
        };
        self.page = page.records.into();
        self.backoff.reset();
        Ok(ReadAttempt::Page)
    }
}

/// Result of an attempt to read the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadAttempt {
    /// The read succeeded; the page may be empty.
    Page,
    /// The store is unavailable or busy.
    Away,
}

pub(crate) trait LogFollower: Send {
    fn next(&mut self) -> BoxFuture<'_, Result<Followed>>;
    fn rev(&self) -> u64;
}

impl<S: Space> LogFollower for Follow<S> {
    fn next(&mut self) -> BoxFuture<'_, Result<Followed>> {
        Box::pin(Follow::next(self))
    }

    fn rev(&self) -> u64 {
        Follow::rev(self)
    }
}
