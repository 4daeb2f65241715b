//! Typed events for subscribers, about changes that this process made to a memory.

use std::sync::Arc;

use corkboard_core::agent::{AgentEvent, AgentReply, AgentState};
use corkboard_core::{AgentId, Commit, Key, ScopeId, ScopeName};
use jiff::Timestamp;

/// A change to an agent's memory. `scope_name` and `scope_id` are absent for the root scope.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MemoryEvent {
    /// A value was stored.
    Set {
        /// The agent whose memory changed.
        agent_id: AgentId,
        /// The key of the entry.
        key: Key,
        /// Name of the type that the value was written from.
        type_name: Arc<str>,
        /// When the change was committed.
        at: Timestamp,
        /// Name of the entry's scope.
        scope_name: Option<ScopeName>,
        /// ID of the entry's scope.
        scope_id: Option<ScopeId>,
        /// Whether the key existed before.
        is_update: bool,
    },
    /// A value was removed or expired.
    Removed {
        /// The agent whose memory changed.
        agent_id: AgentId,
        /// The key of the entry.
        key: Key,
        /// When the change was committed.
        at: Timestamp,
        /// Name of the entry's scope.
        scope_name: Option<ScopeName>,
        /// ID of the entry's scope.
        scope_id: Option<ScopeId>,
        /// Whether the entry expired.
        expired: bool,
    },
    /// A scope was created.
    ScopeCreated {
        /// The agent whose memory changed.
        agent_id: AgentId,
        /// Name of the new scope.
        scope_name: ScopeName,
        /// ID of the new scope.
        scope_id: ScopeId,
        /// The scope that it falls back to, unless that is the root.
        parent_scope_id: Option<ScopeId>,
        /// When the change was committed.
        at: Timestamp,
    },
    /// A scope was disposed.
    ScopeDisposed {
        /// The agent whose memory changed.
        agent_id: AgentId,
        /// Name of the disposed scope.
        scope_name: ScopeName,
        /// ID of the disposed scope.
        scope_id: ScopeId,
        /// Number of entries removed with the scope.
        entries_cleared: u64,
        /// When the change was committed.
        at: Timestamp,
    },
    /// A scope's entries and notes were removed.
    Cleared {
        /// The agent whose memory changed.
        agent_id: AgentId,
        /// ID of the cleared scope.
        scope_id: Option<ScopeId>,
        /// Number of entries removed.
        entries_cleared: u64,
        /// When the change was committed.
        at: Timestamp,
    },
    /// A memory was restored from a snapshot.
    Restored {
        /// The agent whose memory changed.
        agent_id: AgentId,
        /// Number of entries after the restore.
        entries: u64,
        /// When the change was committed.
        at: Timestamp,
    },
}

impl MemoryEvent {
    /// The subscriber event for `event`, one of the commit's events; `None` for notes, notebooks and merges. `states`
    /// are the states after and before the commit, or after and before the batch of commits that contains it.
    pub(crate) fn of(
        agent_id: &AgentId,
        event: &AgentEvent,
        commit: &Commit<AgentEvent, AgentReply>,
        states: [&AgentState; 2],
    ) -> Option<Self> {
        let (agent_id, at) = (agent_id.clone(), commit.at);
        let scope_of = |id: &ScopeId| {
            if id.is_root() {
                return (None, None);
            }
            // One commit may create and dispose a scope.
            let gone = || commit.events.iter().find_map(|event| disposed_name(event, *id));
            let known = states.iter().find_map(|state| state.scope(*id));
            (known.map(|scope| &scope.name).or_else(gone).cloned(), Some(*id))
        };
        Some(match event {
            AgentEvent::EntrySet { scope, key, is_update, entry } => {
                let (scope_name, scope_id) = scope_of(scope);
                let (key, type_name, is_update) = (key.clone(), entry.type_name.clone(), *is_update);
                Self::Set { agent_id, key, type_name, at, scope_name, scope_id, is_update }
            }
            AgentEvent::EntryAppended { scope, key, .. } => {
                let (scope_name, scope_id) = scope_of(scope);
                let entry = states.iter().find_map(|state| state.scope(*scope)?.entries.get(key));
                let type_name = entry.map_or_else(|| Arc::from("text"), |entry| entry.type_name.clone());
                Self::Set { agent_id, key: key.clone(), type_name, at, scope_name, scope_id, is_update: true }
            }
            AgentEvent::EntryRemoved { scope, key } | AgentEvent::EntryExpired { scope, key } => {
                let (scope_name, scope_id) = scope_of(scope);
                let expired = matches!(event, AgentEvent::EntryExpired { .. });
                Self::Removed { agent_id, key: key.clone(), at, scope_name, scope_id, expired }
            }
            AgentEvent::Cleared { scope, entries } => {
                Self::Cleared { agent_id, scope_id: scope_of(scope).1, entries_cleared: *entries, at }
            }
            AgentEvent::ScopeCreated { id, name, parent } => Self::ScopeCreated {
                agent_id,
                scope_name: name.clone(),
                scope_id: *id,
                parent_scope_id: (!parent.is_root()).then_some(*parent),
                at,
            },
            AgentEvent::ScopeDisposed { scope, name, entries } => Self::ScopeDisposed {
                agent_id,
                scope_name: name.clone(),
                scope_id: *scope,
                entries_cleared: *entries,
                at,
            },
            AgentEvent::Restored { image } => {
                let entries = image.scopes.iter().map(|scope| scope.entries.len() as u64).sum();
                Self::Restored { agent_id, entries, at }
            }
            AgentEvent::NoteAdded { .. }
            | AgentEvent::NoteRemoved { .. }
            | AgentEvent::ScopeMerged { .. }
            | AgentEvent::NotebookUpdated { .. }
            | AgentEvent::NotebookRestored { .. }
            | AgentEvent::NotebookCleared { .. }
            | AgentEvent::NotebookItemRemoved { .. }
            | AgentEvent::ConversationRenewed { .. } => {
                return None;
            }
        })
    }
}

fn disposed_name(event: &AgentEvent, id: ScopeId) -> Option<&ScopeName> {
    match event {
        AgentEvent::ScopeDisposed { scope, name, .. } if *scope == id => Some(name),
        _ => None,
    }
}
