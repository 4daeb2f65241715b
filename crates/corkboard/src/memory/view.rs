//! An agent's memory at one revision: several reads that agree with one another.

use std::sync::Arc;

use corkboard_core::agent::AgentState;
use corkboard_core::{Entry, Key, Limits, Note, Revisioned, ScopeId};
use jiff::Timestamp;

use super::AgentMemory;
use crate::{Options, Result};

/// What an agent remembers durably, as it was at one moment.
#[derive(Clone)]
pub struct AgentView {
    current: Arc<Revisioned<AgentState>>,
    now: Timestamp,
    options: Arc<Options>,
}

impl AgentMemory {
    /// The memory as it is now. Ephemeral scopes and conversations belong to the process and are not part of it.
    pub async fn view(&self) -> Result<AgentView> {
        let (current, now) = self.current().await?;
        Ok(AgentView { current, now, options: self.shared_options() })
    }
}

impl AgentView {
    /// The revision.
    pub fn rev(&self) -> u64 {
        self.current.head.rev
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The entry under a key of the root scope.
    pub fn entry(&self, key: &Key) -> Option<&Arc<Entry>> {
        self.entry_in(ScopeId::ROOT, key)
    }

    /// The entry under a key of a scope itself.
    pub fn entry_in(&self, scope: ScopeId, key: &Key) -> Option<&Arc<Entry>> {
        let entry = self.current.state.scope(scope)?.entries.get(key)?;
        (!entry.is_expired(self.now)).then_some(entry)
    }

    /// The entries of a scope itself, by key.
    pub fn entries_in(&self, scope: ScopeId) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        let scope = self.current.state.scope(scope);
        let entries = scope.into_iter().flat_map(|scope| scope.entries.iter());
        entries.filter(|(_, entry)| !entry.is_expired(self.now))
    }

    /// The notes of a scope, in the order in which they were added.
    pub fn notes_in(&self, scope: ScopeId) -> impl Iterator<Item = &Note> {
        self.current.state.scope(scope).into_iter().flat_map(|scope| scope.notes.values())
    }

    /// Everything that is remembered.
    pub fn state(&self) -> &AgentState {
        &self.current.state
    }

    /// The time in it: what has expired by then is not shown.
    pub fn at(&self) -> Timestamp {
        self.now
    }
}
