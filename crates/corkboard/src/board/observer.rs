//! Log messages and metrics for what this process does to boards.

use corkboard_core::board::{BoardEvent, BoardReply, BoardState};
use corkboard_core::{Commit, SpaceId};
use metrics::counter;

use crate::engine::Observer;

pub(crate) struct BoardObserver;

impl Observer<BoardState> for BoardObserver {
    fn loaded(&self, space: &SpaceId) {
        tracing::debug!(board = space.name(), "Board {} loaded", space.name());
    }

    fn committed(
        &self,
        space: &SpaceId,
        commits: &[&Commit<BoardEvent, BoardReply>],
        _before: &BoardState,
        _after: &BoardState,
    ) {
        counter!("boards.commits_total").increment(commits.len() as u64);
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        for commit in commits {
            for event in &commit.events {
                // The texts stay out: logs travel further than boards.
                tracing::debug!(board = space.name(), by = commit.actor.principal, "{}", name_of(event));
            }
        }
    }
}

/// The event's name, and the task it is about.
fn name_of(event: &BoardEvent) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let Some((name, body)) = value.as_object().and_then(|object| object.iter().next()) else {
        return value.as_str().unwrap_or_default().to_owned();
    };
    match body.get("task").or_else(|| body.get("id")).and_then(|id| id.as_str()) {
        Some(id) => format!("{name} {id}"),
        None => name.clone(),
    }
}
