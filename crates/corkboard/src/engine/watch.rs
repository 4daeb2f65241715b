//! Watch a space: each revision exactly once, in order.

use std::sync::Arc;

use corkboard_core::{Commit, CommitId, Space};

use super::follow::{Follow, Followed};
use super::{Engine, Slot};
use crate::Result;

/// An item that a watcher receives.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched<E, R> {
    /// A complete revision.
    Revision {
        /// Its number, from which a watcher can resume.
        rev: u64,
        /// Unique among all revisions of all spaces.
        commit_id: CommitId,
        /// When it was made, by whom, and what changed.
        commit: Commit<E, R>,
    },
    /// No new revisions; the watcher has seen everything up to `rev`.
    Bookmark {
        /// The revision to resume from.
        rev: u64,
    },
}

/// Reads a space's log: first the existing revisions, then new ones. It holds a cursor and at most one page
/// ([`Page::BYTES`](crate::store::Page::BYTES)). While reading history it may be arbitrarily slow. Once live, falling
/// too far behind ends it with [`Error::Lagged`](crate::Error::Lagged).
pub struct Watch<S: Space> {
    follow: Follow<S>,
}

impl<S: Space> Engine<S> {
    /// Watches the revisions after `from_rev`, the last one that the caller has seen. 0 means from the beginning.
    pub(crate) async fn watch(self: &Arc<Self>, slot: Arc<Slot<S>>, from_rev: u64) -> Result<Watch<S>> {
        Ok(Watch { follow: self.follow(slot, Some(from_rev)).await? })
    }
}

impl<S: Space> Watch<S> {
    /// Returns the next revision, or a bookmark if there is none for a while. Cancel-safe.
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
