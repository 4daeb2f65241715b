//! Log messages and metrics for what this process does to memory cores.

use corkboard_core::knowledge::{CoreEvent, CoreReply, CoreState};
use corkboard_core::{Commit, SpaceId};
use metrics::counter;

use crate::engine::Observer;

pub(crate) struct CoreObserver;

impl Observer<CoreState> for CoreObserver {
    fn loaded(&self, space: &SpaceId) {
        tracing::debug!(core = space.name(), "Memory core {} loaded", space.name());
    }

    fn committed(
        &self,
        space: &SpaceId,
        commits: &[&Commit<CoreEvent, CoreReply>],
        _before: &CoreState,
        _after: &CoreState,
    ) {
        counter!("cores.commits_total").increment(commits.len() as u64);
        for commit in commits {
            // The texts stay out: logs travel further than cores.
            let (core, by, events) = (space.name(), &commit.actor.principal, commit.events.len());
            tracing::debug!(core, by, events, "Memory core {core} changed");
        }
    }
}
