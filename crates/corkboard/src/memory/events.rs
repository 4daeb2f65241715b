//! What this process did to a memory: seed 004's events, typed.

use std::sync::Arc;

use corkboard_core::agent::{AgentEvent, AgentReply, AgentState};
use corkboard_core::{AgentId, Commit, Key, ScopeId, ScopeName};
use jiff::Timestamp;

/// Something that happened to an agent's memory. `scope_name` and `scope_id` are absent for the root scope.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MemoryEvent {
    /// A value was stored.
    Set {
        /// Whose memory.
        agent_id: AgentId,
        /// Under which key.
        key: Key,
        /// The type it was written from.
        type_name: Arc<str>,
        /// When.
        timestamp: Timestamp,
        /// In which scope, by name.
        scope_name: Option<ScopeName>,
        /// In which scope.
        scope_id: Option<ScopeId>,
        /// Whether the key existed before.
        is_update: bool,
    },
    /// A value was removed, or its time was over.
    Removed {
        /// Whose memory.
        agent_id: AgentId,
        /// Under which key.
        key: Key,
        /// When.
        timestamp: Timestamp,
        /// In which scope, by name.
        scope_name: Option<ScopeName>,
        /// In which scope.
        scope_id: Option<ScopeId>,
        /// Whether it expired.
        expired: bool,
    },
    /// A scope was created.
    ScopeCreated {
        /// Whose memory.
        agent_id: AgentId,
        /// What it is called.
        scope_name: ScopeName,
        /// Its id.
        scope_id: ScopeId,
        /// The scope it falls back to, unless that is the root.
        parent_scope_id: Option<ScopeId>,
        /// When.
        timestamp: Timestamp,
    },
    /// A scope was disposed.
    ScopeDisposed {
        /// Whose memory.
        agent_id: AgentId,
        /// What it was called.
        scope_name: ScopeName,
        /// Its id.
        scope_id: ScopeId,
        /// How many entries went with it.
        entries_cleared: u64,
        /// When.
        timestamp: Timestamp,
    },
    /// A scope's entries and notes were removed.
    Cleared {
        /// Whose memory.
        agent_id: AgentId,
        /// In which scope.
        scope_id: Option<ScopeId>,
        /// How many entries went.
        entries_cleared: u64,
        /// When.
        timestamp: Timestamp,
    },
    /// A memory was restored from a snapshot.
    Restored {
        /// Whose memory.
        agent_id: AgentId,
        /// How many entries it has now.
        entries: u64,
        /// When.
        timestamp: Timestamp,
    },
}

impl MemoryEvent {
    /// The event that a subscriber hears, if any: notes have none. `event` is one of the commit's; the states
    /// are those after and before it, or after and before the batch it was part of.
    pub(crate) fn of(
        agent_id: &AgentId,
        event: &AgentEvent,
        commit: &Commit<AgentEvent, AgentReply>,
        states: [&AgentState; 2],
    ) -> Option<Self> {
        let (agent_id, timestamp) = (agent_id.clone(), commit.at);
        let scope_of = |id: &ScopeId| {
            if id.is_root() {
                return (None, None);
            }
            // A scope may have come and gone in the same commit.
            let gone = || commit.events.iter().find_map(|event| disposed_name(event, *id));
            let known = states.iter().find_map(|state| state.scope(*id));
            (known.map(|scope| &scope.name).or_else(gone).cloned(), Some(*id))
        };
        Some(match event {
            AgentEvent::EntrySet { scope, key, updated, entry } => {
                let (scope_name, scope_id) = scope_of(scope);
                let (key, type_name, is_update) = (key.clone(), entry.type_name.clone(), *updated);
                Self::Set { agent_id, key, type_name, timestamp, scope_name, scope_id, is_update }
            }
            AgentEvent::EntryAppended { scope, key, .. } => {
                let (scope_name, scope_id) = scope_of(scope);
                let entry = states.iter().find_map(|state| state.scope(*scope)?.entries.get(key));
                let type_name = entry.map_or_else(|| Arc::from("text"), |entry| entry.type_name.clone());
                Self::Set { agent_id, key: key.clone(), type_name, timestamp, scope_name, scope_id, is_update: true }
            }
            AgentEvent::EntryRemoved { scope, key } | AgentEvent::EntryExpired { scope, key } => {
                let (scope_name, scope_id) = scope_of(scope);
                let expired = matches!(event, AgentEvent::EntryExpired { .. });
                Self::Removed { agent_id, key: key.clone(), timestamp, scope_name, scope_id, expired }
            }
            AgentEvent::Cleared { scope, entries } => {
                Self::Cleared { agent_id, scope_id: scope_of(scope).1, entries_cleared: *entries, timestamp }
            }
            AgentEvent::ScopeCreated { id, name, parent } => Self::ScopeCreated {
                agent_id,
                scope_name: name.clone(),
                scope_id: *id,
                parent_scope_id: (!parent.is_root()).then_some(*parent),
                timestamp,
            },
            AgentEvent::ScopeDisposed { scope, name, entries } => Self::ScopeDisposed {
                agent_id,
                scope_name: name.clone(),
                scope_id: *scope,
                entries_cleared: *entries,
                timestamp,
            },
            AgentEvent::Restored { image } => {
                let entries = image.scopes.iter().map(|scope| scope.entries.len() as u64).sum();
                Self::Restored { agent_id, entries, timestamp }
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
