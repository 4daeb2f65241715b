//! Logs and metrics of the spaces that this process uses.

use corkboard_core::agent::AgentState;
use corkboard_core::board::BoardState;
use corkboard_core::{Commit, Space, SpaceId, SpaceKind};
use metrics::{Gauge, counter, gauge};
use serde::Serialize;

use crate::memory::{AgentListener, count_resident};

/// Logs and counts what this process does to the spaces of one engine. It never logs content, because logs are often
/// sent elsewhere.
pub(crate) struct Observer<S: Space> {
    /// Writes the log messages that the specification fixes, and notifies subscribers. Only agents' memories have one.
    listener: Option<Box<dyn Listener<S>>>,
    count_resident: Option<CountResident<S>>,
    /// Number of commands that wait to be committed.
    queued: Gauge,
}

/// Updates gauges when a loaded state is replaced. `None`: not loaded.
type CountResident<S> = Box<dyn Fn(Option<&S>, Option<&S>) + Send + Sync>;

/// A command that waits to be committed, counted until it is answered.
pub(super) struct QueuedCommand(Gauge);

impl Drop for QueuedCommand {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Receives what happens to the spaces of one engine.
pub(crate) trait Listener<S: Space>: Send + Sync + 'static {
    fn loaded(&self, space: &SpaceId);
    /// This process committed revisions that led from `before` to `after`. Other processes' revisions may lie between
    /// them.
    fn committed(&self, space: &SpaceId, commits: &[&Commit<S::Event, S::Reply>], before: &S, after: &S);
    fn has_subscribers(&self) -> bool;
}

impl<S: Space> Observer<S> {
    pub(crate) fn new() -> Self {
        Self { listener: None, count_resident: None, queued: gauge!("corkboard.queued_commands") }
    }

    pub(super) fn queued(&self) -> QueuedCommand {
        self.queued.increment(1.0);
        QueuedCommand(self.queued.clone())
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

    /// Whether a log or a subscriber would receive a commit. If so, this process must read back what a server commits
    /// for it.
    pub(super) fn is_heard(&self) -> bool {
        tracing::enabled!(tracing::Level::DEBUG) || self.listener.as_ref().is_some_and(|it| it.has_subscribers())
    }

    pub(super) fn resident(&self, before: Option<&S>, after: Option<&S>) {
        if let Some(count) = &self.count_resident {
            count(before, after);
        }
    }
}

impl Observer<BoardState> {
    /// Counts the ready tasks of the boards that this process has loaded.
    pub(crate) fn of_boards() -> Self {
        let ready = gauge!("corkboard.ready_tasks");
        let count = |board: Option<&BoardState>| board.map_or(0, |board| board.ready().len());
        let count_resident: CountResident<BoardState> =
            Box::new(move |before, after| match (count(before), count(after)) {
                (before, after) if before == after => {}
                (before, after) => ready.increment(after as f64 - before as f64),
            });
        Self { count_resident: Some(count_resident), ..Self::new() }
    }
}

impl From<AgentListener> for Observer<AgentState> {
    fn from(listener: AgentListener) -> Self {
        let usage = |state: Option<&AgentState>| state.map(Space::usage).unwrap_or_default();
        let count: CountResident<AgentState> =
            Box::new(move |before, after| count_resident(usage(before), usage(after)));
        Self { listener: Some(Box::new(listener)), count_resident: Some(count), ..Self::new() }
    }
}

/// The event's name and the ID of its subject.
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
