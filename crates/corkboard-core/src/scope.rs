//! Scopes: entries and notes with a parent. Reads fall back to the parent, writes stay local.

use alloc::sync::Arc;

use imbl::OrdMap;
use jiff::Timestamp;

use crate::{Entry, Key, Note, NoteId, ScopeId, ScopeName};

/// The content of one scope at one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeState {
    pub name: ScopeName,
    /// The scope that reads fall back to. The root scope is its own parent.
    pub parent: ScopeId,
    pub created_at: Timestamp,
    pub entries: OrdMap<Key, Arc<Entry>>,
    /// The notes, in the order they were added.
    pub notes: OrdMap<NoteId, Note>,
    /// The last note that was merged into the parent, so that no note is merged twice.
    pub notes_merged: NoteId,
}

impl ScopeState {
    pub fn new(name: ScopeName, parent: ScopeId, created_at: Timestamp) -> Self {
        Self { name, parent, created_at, entries: OrdMap::new(), notes: OrdMap::new(), notes_merged: NoteId::default() }
    }

    /// The entry under that key, unless it has expired.
    pub fn get(&self, key: &str, now: Timestamp) -> Option<&Arc<Entry>> {
        self.entries.get(key).filter(|entry| !entry.is_expired(now))
    }

    /// The entries that have not expired, by key.
    pub fn live_entries(&self, now: Timestamp) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        self.entries.iter().filter(move |(_, entry)| !entry.is_expired(now))
    }
}
