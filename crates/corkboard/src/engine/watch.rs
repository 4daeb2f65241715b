//! Watching a space: every revision, in order, none twice, none missing.

use std::sync::Arc;

use corkboard_core::{Commit, CommitId, Space};

use super::follow::{Follow, Followed};
use super::{Engine, Slot};
use crate::Result;

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
/// ([`Page::BYTES`](crate::store::Page::BYTES)), so it may be as slow as it likes with history; once it is live, falling too far behind ends it with [`Error::Lagged`](crate::Error::Lagged).
pub struct Watch<S: Space> {
    follow: Follow<S>,
}

impl<S: Space> Engine<S> {
    /// Watches from the last revision that the caller has seen; 0 stands for the beginning.
    pub(crate) async fn watch(self: &Arc<Self>, slot: Arc<Slot<S>>, from_rev: u64) -> Result<Watch<S>> {
        Ok(Watch { follow: self.follow(slot, Some(from_rev)).await? })
    }
}

impl<S: Space> Watch<S> {
    /// The next revision, or a bookmark if there is none for a while. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Watched<S::Event, S::Reply>> {
        match self.follow.next().await? {
            Followed::Bookmark { rev } => Ok(Watched::Bookmark { rev }),
            Followed::Record(record) => {
                let commit = self.follow.engine().decode(&self.follow.slot().id, &record)?;
                Ok(Watched::Revision { rev: record.rev, commit_id: record.commit, commit })
            }
        }
    }

    /// The last revision that was returned.
    pub fn rev(&self) -> u64 {
        self.follow.rev()
    }
}
