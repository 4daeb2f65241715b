//! A consistent view of an agent's memory at one revision.

use std::ops::Bound;
use std::sync::Arc;

use corkboard_core::agent::{Activity, AgentState, DayActivity};
use corkboard_core::notebook::Notebook;
use corkboard_core::{Entry, Key, Limits, Note, NoteId, NotebookName, Revisioned, ScopeId};
use jiff::Timestamp;
use jiff::civil::Date;

use super::{AgentMemory, Durability, NotebookInfo, ScopeInfo};
use crate::{Options, Result};

/// An agent's durable memory at one moment. All reads of a view see the same revision.
#[derive(Clone)]
pub struct AgentView {
    current: Arc<Revisioned<AgentState>>,
    now: Timestamp,
    durability: Durability,
    options: Arc<Options>,
}

impl AgentMemory {
    /// A view of the current memory, without ephemeral scopes and conversations.
    pub async fn view(&self) -> Result<AgentView> {
        let (current, now) = self.current().await?;
        Ok(AgentView::new(current, now, Durability::Durable, self.shared_options()))
    }
}

impl AgentView {
    pub(super) fn new(
        current: Arc<Revisioned<AgentState>>,
        now: Timestamp,
        durability: Durability,
        options: Arc<Options>,
    ) -> Self {
        Self { current, now, durability, options }
    }

    /// The revision of this view.
    pub fn rev(&self) -> u64 {
        self.current.head.rev
    }

    /// The configured limits.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The entry under a key of the root scope.
    pub fn entry(&self, key: &Key) -> Option<&Arc<Entry>> {
        self.entry_in(ScopeId::ROOT, key)
    }

    /// The entry under a key of a scope, without falling back.
    pub fn entry_in(&self, scope: ScopeId, key: &Key) -> Option<&Arc<Entry>> {
        let entry = self.current.state.scope(scope)?.entries.get(key)?;
        (!entry.is_expired(self.now)).then_some(entry)
    }

    /// The entries of a scope, sorted by key, without those of its parents.
    pub fn entries_in(&self, scope: ScopeId) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        let scope = self.current.state.scope(scope);
        let entries = scope.into_iter().flat_map(|scope| scope.entries.iter());
        entries.filter(|(_, entry)| !entry.is_expired(self.now))
    }

    /// The entries of a scope from `start` on, sorted by key, without those of its parents.
    pub fn entries_from(&self, scope: ScopeId, start: Bound<&str>) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        let scope = self.current.state.scope(scope);
        let entries = scope.into_iter().flat_map(move |scope| scope.entries.range::<_, str>((start, Bound::Unbounded)));
        entries.filter(|(_, entry)| !entry.is_expired(self.now))
    }

    /// The notes of a scope, in the order in which they were added.
    pub fn notes_in(&self, scope: ScopeId) -> impl Iterator<Item = &Note> {
        self.current.state.scope(scope).into_iter().flat_map(|scope| scope.notes.values())
    }

    /// The notes of a scope after an ID, in the order in which they were added.
    pub fn notes_after(&self, scope: ScopeId, id: NoteId) -> impl Iterator<Item = &Note> {
        let range = (Bound::Excluded(id), Bound::Unbounded);
        let scope = self.current.state.scope(scope);
        scope.into_iter().flat_map(move |scope| scope.notes.range(range).map(|(_, note)| note))
    }

    /// The scopes other than the root, sorted by ID.
    pub fn scopes(&self) -> impl Iterator<Item = ScopeInfo> {
        ScopeInfo::all(&self.current.state, self.durability, self.now)
    }

    /// A scope other than the root, if it exists.
    pub fn scope(&self, id: ScopeId) -> Option<ScopeInfo> {
        self.scopes().find(|scope| scope.id == id)
    }

    /// The notebooks that are not empty, sorted by name.
    pub fn notebooks(&self) -> impl Iterator<Item = NotebookInfo> {
        self.current.state.notebooks().map(NotebookInfo::from)
    }

    /// A notebook. One that was never written is empty.
    pub fn notebook(&self, name: &NotebookName) -> Arc<Notebook> {
        self.current.state.notebook(name.as_str()).cloned().unwrap_or_default()
    }

    /// The changes made on a day (UTC), one line per write.
    pub fn activity(&self, date: Date) -> DayActivity {
        self.current.state.activity().unwrap_or(&Activity::default()).on(date)
    }

    /// The days on which the memory was written to, oldest first, with the number of writes.
    pub fn active_days(&self) -> Vec<(Date, u64)> {
        self.current.state.activity().map(|activity| activity.days().collect()).unwrap_or_default()
    }

    /// The agent's whole durable state.
    pub fn state(&self) -> &AgentState {
        &self.current.state
    }

    /// The time of this view. Entries that expired before it are hidden.
    pub fn at(&self) -> Timestamp {
        self.now
    }
}
