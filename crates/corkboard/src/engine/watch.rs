//! Watching a space: every revision, in order, none twice, none missing.

use std::collections::VecDeque;
use std::sync::Arc;

use corkboard_core::{Commit, CommitId, Space};
use tokio::sync::watch;

use super::{Engine, PAGE, Slot};
use crate::store::Cursor;
use crate::{Error, Result};

/// What a watcher is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched<E, R> {
    /// A revision, whole.
    Revision {
        /// Its number: the place to resume from.
        rev: u64,
        /// Its id.
        commit_id: CommitId,
        /// When, by whom, and what happened.
        commit: Commit<E, R>,
    },
    /// Nothing new: the watcher has seen everything up to here.
    Bookmark {
        /// The place to resume from.
        rev: u64,
    },
}

/// A reader of a space's log: what was, then what comes. It holds a cursor and at most a page
/// ([`Page::BYTES`](crate::store::Page::BYTES)), so it may be as slow as it likes with history; once it is live, falling too far behind ends it with [`Error::Lagged`].
pub struct Watch<S: Space> {
    engine: Arc<Engine<S>>,
    slot: Arc<Slot<S>>,
    cursor: Cursor,
    changes: watch::Receiver<u64>,
    page: VecDeque<Watched<S::Event, S::Reply>>,
    live: bool,
}

impl<S: Space> Engine<S> {
    /// Watches from the last revision that the caller has seen; 0 stands for the beginning.
    pub(crate) async fn watch(self: &Arc<Self>, slot: Arc<Slot<S>>, from_rev: u64) -> Result<Watch<S>> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let changes = self.store.changes(&slot.id);
        let cursor = Cursor { rev: from_rev, commit: None };
        let mut watch = Watch { engine: self.clone(), slot, cursor, changes, page: VecDeque::new(), live: false };
        // An impossible cursor is refused now, not at the first revision.
        watch.read_page().await?;
        Ok(watch)
    }
}

impl<S: Space> Watch<S> {
    /// The next revision, or a bookmark if there is none for a while. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Watched<S::Event, S::Reply>> {
        loop {
            if let Some(watched) = self.page.pop_front() {
                if let Watched::Revision { rev, commit_id, .. } = &watched {
                    self.cursor = Cursor { rev: *rev, commit: Some(*commit_id) };
                }
                return Ok(watched);
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
            self.read_page().await?;
            if !self.page.is_empty() {
                continue;
            }
            self.live = true;
            tokio::select! {
                _ = self.changes.changed() => {}
                () = closing => return Err(Error::Closed),
                () = tokio::time::sleep(engine.options.bookmark_interval) => {
                    return Ok(Watched::Bookmark { rev: self.cursor.rev });
                }
            }
        }
    }

    /// The last revision that was returned.
    pub fn rev(&self) -> u64 {
        self.cursor.rev
    }

    async fn read_page(&mut self) -> Result<()> {
        let page = match self.engine.store.read_after(&self.slot.id, self.cursor, PAGE).await {
            Err(error) if error.is_retryable() => {
                tracing::debug!(space = %self.slot.id, %error, "the store is away or busy; the watcher waits");
                return Ok(());
            }
            other => other?,
        };
        for record in page.records {
            let commit = self.engine.decode(&self.slot.id, &record)?;
            self.page.push_back(Watched::Revision { rev: record.rev, commit_id: record.commit, commit });
        }
        Ok(())
    }
}
