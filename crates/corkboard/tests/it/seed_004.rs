//! 004, section by section: its acceptance criteria (§9), scenarios (§10), validation (§8.2) and limits (§8.3).

mod criteria;
mod limits;
mod scenarios;
mod validation;

use corkboard::{AgentMemory, Key, Limits, MemoryEvent, MemorySnapshot, Scope};
use serde_json::json;

use crate::common::start;

fn key(text: &str) -> Key {
    Key::new(text, &Limits::default()).unwrap()
}

fn disposed(agent: &AgentMemory, scope: &Scope, entries_cleared: u64) -> MemoryEvent {
    MemoryEvent::ScopeDisposed {
        agent_id: agent.agent_id().clone(),
        scope_name: scope.name(),
        scope_id: scope.id(),
        entries_cleared,
        at: start(),
    }
}

/// The snapshot with a string of its JSON replaced, as a person with an editor could do.
fn replaced(snapshot: &MemorySnapshot, from: &str, to: &str) -> MemorySnapshot {
    let json = serde_json::to_string(snapshot).unwrap();
    let (from, to) = (json!(from).to_string(), json!(to).to_string());
    assert!(json.contains(&from), "{json}");
    serde_json::from_str(&json.replace(&from, &to)).unwrap()
}
