//! What is logged and counted of the spaces that this process uses.

use corkboard_core::agent::AgentState;
use corkboard_core::{Commit, Space, SpaceId, SpaceKind, Usage};
use metrics::counter;
use serde::Serialize;

use crate::memory::AgentListener;

/// Logs and counts what this process does to the spaces of one engine. Texts stay out: logs travel further than memories.
pub(crate) struct Observer<S: Space> {
    /// Logs what the specification words, and notifies subscribers. Only agents' memories have one.
    listener: Option<Box<dyn Listener<S>>>,
}

/// Receives what happens to the spaces of one engine.
pub(crate) trait Listener<S: Space>: Send + Sync + 'static {
    fn loaded(&self, space: &SpaceId);
    /// This process committed revisions that led from one state to the other. Others' revisions may lie between them.
    fn committed(&self, space: &SpaceId, commits: &[&Commit<S::Event, S::Reply>], before: &S, after: &S);
    fn has_subscribers(&self) -> bool;
    /// The use of memory changed by the difference of the two.
    fn resident(&self, before: Usage, after: Usage);
}

impl<S: Space> Observer<S> {
    pub(crate) fn new() -> Self {
        Self { listener: None }
    }

    pub(super) fn loaded(&self, space: &SpaceId) {
        match &self.listener {
            Some(listener) => listener.loaded(space),
            None => tracing::debug!(kind = S::KIND.as_str(), space = space.name(), "Space loaded"),
        }
    }

    pub(super) fn committed(&self, space: &SpaceId, commits: &[&Commit<S::Event, S::Reply>], before: &S, after: &S) {
        counter!("corkboard.commits_total", "kind" => S::KIND.as_str()).increment(commits.len() as u64);
        if let Some(listener) = &self.listener {
            return listener.committed(space, commits, before, after);
        }
        for commit in commits {
            let (kind, space, by) = (S::KIND.as_str(), space.name(), &commit.actor.principal);
            match S::KIND {
                SpaceKind::Tokens => tracing::info!(by, "Tokens changed"),
                _ if !tracing::enabled!(tracing::Level::DEBUG) => return,
                _ => commit.events.iter().for_each(|event| tracing::debug!(kind, space, by, "{}", summary(event))),
            }
        }
    }

    /// Whether a commit would reach a log or a subscriber. If so, what a server commits for this process has to be read.
    pub(super) fn is_heard(&self) -> bool {
        tracing::enabled!(tracing::Level::DEBUG) || self.listener.as_ref().is_some_and(|it| it.has_subscribers())
    }

    pub(super) fn resident(&self, before: Usage, after: Usage) {
        if let Some(listener) = &self.listener {
            listener.resident(before, after);
        }
    }
}

impl From<AgentListener> for Observer<AgentState> {
    fn from(listener: AgentListener) -> Self {
        Self { listener: Some(Box::new(listener)) }
    }
}

/// The event's name and the ID of what it is about.
fn summary(event: &impl Serialize) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let Some((name, body)) = value.as_object().and_then(|object| object.iter().next()) else {
        return value.as_str().unwrap_or_default().to_owned();
    };
    match body.get("task").or_else(|| body.get("id")).and_then(|id| id.as_str()) {
        Some(id) => format!("{name} {id}"),
        None => name.clone(),
    }
}
