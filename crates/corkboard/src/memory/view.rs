//! An agent's memory at one revision: several reads that agree with one another.

use std::ops::Bound;
use std::sync::Arc;

use corkboard_core::agent::{Activity, AgentState, DayActivity};
use corkboard_core::notebook::Notebook;
use corkboard_core::{Entry, Key, Limits, Note, NotebookName, Revisioned, ScopeId};
use jiff::Timestamp;
use jiff::civil::Date;

use super::{AgentMemory, Durability, NotebookInfo, ScopeInfo};
use crate::{Options, Result};

/// What an agent remembers durably, as it was at one moment.
#[derive(Clone)]
pub struct AgentView {
    current: Arc<Revisioned<AgentState>>,
    now: Timestamp,
    durability: Durability,
    options: Arc<Options>,
}

impl AgentMemory {
    /// The memory as it is now. Ephemeral scopes and conversations are not part of it.
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

    /// The entries of a scope itself whose keys stand there or after that, by key.
    pub fn entries_from(&self, scope: ScopeId, start: Bound<&str>) -> impl Iterator<Item = (&Key, &Arc<Entry>)> {
        let scope = self.current.state.scope(scope);
        let entries = scope.into_iter().flat_map(move |scope| scope.entries.range::<_, str>((start, Bound::Unbounded)));
        entries.filter(|(_, entry)| !entry.is_expired(self.now))
    }

    /// The notes of a scope, in the order in which they were added.
    pub fn notes_in(&self, scope: ScopeId) -> impl Iterator<Item = &Note> {
        self.current.state.scope(scope).into_iter().flat_map(|scope| scope.notes.values())
    }

    /// The scopes besides the root, in the order of their ids.
    pub fn scopes(&self) -> impl Iterator<Item = ScopeInfo> {
        ScopeInfo::all(&self.current.state, self.durability, self.now)
    }

    /// A scope besides the root, if it is there.
    pub fn scope(&self, id: ScopeId) -> Option<ScopeInfo> {
        self.scopes().find(|scope| scope.id == id)
    }

    /// The notebooks that hold something, by name.
    pub fn notebooks(&self) -> impl Iterator<Item = NotebookInfo> {
        self.current.state.notebooks().map(NotebookInfo::from)
    }

    /// A notebook; one that was never written is empty.
    pub fn notebook(&self, name: &NotebookName) -> Arc<Notebook> {
        self.current.state.notebook(name.as_str()).cloned().unwrap_or_default()
    }

    /// What was done on a day, by UTC: a line per write.
    pub fn activity(&self, date: Date) -> DayActivity {
        self.current.state.activity().unwrap_or(&Activity::default()).on(date)
    }

    /// The days on which something was written, oldest first, and how often.
    pub fn active_days(&self) -> Vec<(Date, u64)> {
        self.current.state.activity().map(|activity| activity.days().collect()).unwrap_or_default()
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
