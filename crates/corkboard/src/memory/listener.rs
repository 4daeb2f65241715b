//! Log messages, metrics and events for all memory operations of this process.

use corkboard_core::agent::{AgentEvent, AgentReply, AgentState};
use corkboard_core::{AgentId, Commit, SpaceId, Usage};
use metrics::{Counter, Histogram, counter, gauge, histogram};
use tokio::sync::broadcast;

use super::MemoryEvent;
use crate::engine::Listener;

pub(crate) struct AgentListener {
    events: broadcast::Sender<MemoryEvent>,
}

impl AgentListener {
    pub(crate) fn new(events: broadcast::Sender<MemoryEvent>) -> Self {
        Self { events }
    }
}

impl Listener<AgentState> for AgentListener {
    fn loaded(&self, space: &SpaceId) {
        if space.as_agent().is_some() {
            tracing::info!(agent_id = space.name(), "Working memory initialized for agent {}", space.name());
        }
    }

    fn committed(
        &self,
        space: &SpaceId,
        commits: &[&Commit<AgentEvent, AgentReply>],
        before: &AgentState,
        after: &AgentState,
    ) {
        let agent = space.as_agent().or_else(|| space.as_conversation().map(|(agent, _)| agent));
        if let Some(agent) = agent {
            commits.iter().for_each(|commit| tell(&self.events, &agent, commit, [after, before]));
        }
    }

    fn has_subscribers(&self) -> bool {
        self.events.receiver_count() > 0
    }
}

/// Logs a commit and sends its events to subscribers.
pub(super) fn tell(
    events: &broadcast::Sender<MemoryEvent>,
    agent: &AgentId,
    commit: &Commit<AgentEvent, AgentReply>,
    states: [&AgentState; 2],
) {
    for event in &commit.events {
        log(agent, event);
        if events.receiver_count() > 0
            && let Some(event) = MemoryEvent::of(agent, event, commit, states)
        {
            // Sending fails if the last subscriber has just left.
            let _ = events.send(event);
        }
    }
}

fn log(agent_id: &AgentId, event: &AgentEvent) {
    let (operation, key) = match event {
        AgentEvent::EntrySet { key, is_update, .. } => (if *is_update { "updated" } else { "set" }, key),
        AgentEvent::EntryAppended { key, .. } => ("appended", key),
        AgentEvent::EntryRemoved { key, .. } => ("removed", key),
        AgentEvent::EntryExpired { key, .. } => ("expired", key),
        AgentEvent::ScopeCreated { id, name, .. } => {
            tracing::debug!(%agent_id, "Created working memory scope {name} ({id}) for agent {agent_id}");
            return;
        }
        AgentEvent::ScopeDisposed { scope, name, entries } => {
            tracing::debug!(%agent_id, "Disposed working memory scope {name} ({scope}), cleared {entries} entries");
            return;
        }
        AgentEvent::Cleared { scope, entries } if scope.is_root() => {
            tracing::info!(%agent_id, "Working memory cleared for agent {agent_id}, removed {entries} entries");
            return;
        }
        AgentEvent::Cleared { .. } => return changed(agent_id, "scope cleared"),
        AgentEvent::NoteAdded { .. } => return changed(agent_id, "note added"),
        AgentEvent::NoteRemoved { .. } => return changed(agent_id, "note removed"),
        AgentEvent::ScopeMerged { .. } => return changed(agent_id, "scope merged"),
        AgentEvent::Restored { .. } => return changed(agent_id, "restored"),
        AgentEvent::NotebookUpdated { .. } => return changed(agent_id, "notebook updated"),
        AgentEvent::NotebookRestored { .. } => return changed(agent_id, "notebook restored"),
        AgentEvent::NotebookCleared { .. } => return changed(agent_id, "notebook cleared"),
        AgentEvent::NotebookItemRemoved { .. } => return changed(agent_id, "notebook item removed"),
        AgentEvent::ConversationRenewed { .. } => return changed(agent_id, "conversation renewed"),
    };
    tracing::debug!(%agent_id, "Working memory {operation} for key {key} by agent {agent_id}");
}

/// Logs a change that has no specified message. The event's content is left out, because logs are shared more widely
/// than memories.
fn changed(agent_id: &AgentId, change: &'static str) {
    tracing::debug!(%agent_id, change, "Working memory changed for agent {agent_id}");
}

/// Updates the gauges of entries and scopes that this process holds in memory.
pub(crate) fn count_resident(before: Usage, after: Usage) {
    if before.entries != after.entries {
        gauge!("agents.memory.working.entries").increment(after.entries as f64 - before.entries as f64);
    }
    if before.scopes != after.scopes {
        gauge!("agents.memory.working.scopes").increment(after.scopes as f64 - before.scopes as f64);
    }
}

/// Metrics of single operations. The metrics recorder must be installed before the Corkboard is opened; otherwise they
/// are lost.
pub(crate) struct Meters {
    pub(super) get_latency: Histogram,
    pub(super) set_latency: Histogram,
    pub(super) fallbacks: Counter,
}

impl Meters {
    pub(crate) fn new() -> Self {
        Self {
            get_latency: histogram!("agents.memory.working.get_latency_ms"),
            set_latency: histogram!("agents.memory.working.set_latency_ms"),
            fallbacks: counter!("agents.memory.working.scope_fallback_total"),
        }
    }
}
