//! An agent's ephemeral scopes: a second agent state that lives in this process and is never stored.

use std::borrow::Cow;

use arc_swap::ArcSwapOption;
use corkboard_core::agent::{AgentReply, AgentState};
use corkboard_core::{Actor, AgentId, CommitId, Context, Limits, RequestOutcome, Revisioned, Usage};
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::broadcast;
use uuid::Uuid;

use super::{MemoryEvent, listener};
use crate::Result;
use crate::clock::{Clock, SpaceClock};
use crate::engine::{Answer, RequestSource};
use crate::replay::{replayed, replayed_key};

pub(super) type State = Revisioned<AgentState>;

/// Copy-on-read state. Writers change `working` in place. The first reader after a write publishes a copy for all
/// readers; the copy shares its data and costs nothing until the next write.
pub(super) struct Ephemeral {
    working: Mutex<State>,
    published: ArcSwapOption<State>,
    clock: SpaceClock,
}

impl Default for Ephemeral {
    fn default() -> Self {
        let state = State { state: AgentState::without_activity(), ..State::default() };
        Self { working: Mutex::new(state), published: ArcSwapOption::empty(), clock: SpaceClock::default() }
    }
}

/// The actor, limits and clock of one write.
#[derive(Clone, Copy)]
pub(super) struct Circumstances<'a> {
    pub(super) agent: &'a AgentId,
    pub(super) actor: &'a Actor,
    pub(super) limits: &'a Limits,
    pub(super) outside: Usage,
    /// Time shown by the process's clock.
    pub(super) now: Timestamp,
    pub(super) clock: &'a dyn Clock,
    /// First of the IDs that the command may assign.
    pub(super) first_id: Uuid,
    pub(super) events: &'a broadcast::Sender<MemoryEvent>,
}

impl Ephemeral {
    /// Calls `read` with the current state, without holding a lock.
    pub(super) fn with<R>(&self, read: impl FnOnce(&AgentState) -> R) -> R {
        let published = self.published.load();
        if let Some(state) = published.as_ref() {
            return read(&state.state);
        }
        read(&self.publish().state)
    }

    /// The current state, with its revision.
    pub(super) fn shared(&self) -> Arc<State> {
        self.published.load_full().unwrap_or_else(|| self.publish())
    }

    /// The time of the space when the clock shows `time`.
    pub(super) fn now(&self, time: Timestamp, clock: &dyn Clock) -> Timestamp {
        self.clock.now(time, self.shared().last_at, clock)
    }

    fn publish(&self) -> Arc<State> {
        // Publish under the lock: otherwise this copy could overwrite a writer's reset of `published`.
        let working = self.working.lock();
        let state = Arc::new(working.clone());
        self.published.store(Some(state.clone()));
        state
    }

    pub(super) fn usage(&self) -> Usage {
        use corkboard_core::Space;
        self.working.lock().state.usage()
    }

    pub(super) fn ask(
        &self,
        circumstances: &Circumstances<'_>,
        asked: &mut RequestSource<AgentState>,
    ) -> Result<Answer<AgentReply>> {
        use corkboard_core::Space;
        let Circumstances { agent, actor, limits, outside, now: time, clock, first_id, events } = circumstances;
        let (mut working, request) = match asked {
            RequestSource::Request(request) => (self.working.lock(), Cow::Borrowed(&*request)),
            // The caller's closure runs outside the lock, and runs again if another writer came first.
            RequestSource::Computed(_) => loop {
                let seen = self.working.lock().clone();
                let request = asked.request(&seen.state, self.clock.now(*time, seen.last_at, *clock))?.into_owned();
                let working = self.working.lock();
                if working.head.rev == seen.head.rev {
                    break (working, Cow::Owned(request));
                }
            },
        };
        let now = self.clock.now(*time, working.last_at, *clock);
        let mut context = Context::new(now, actor, limits, *first_id);
        context.outside = *outside;
        let (commit, reply) = match working.decide(&request, &context)? {
            RequestOutcome::Unchanged { reply, rev } => {
                if let Some(key) = replayed_key(&working, &request, &context) {
                    replayed(&key);
                }
                return Ok(Answer::unlogged(reply, rev));
            }
            RequestOutcome::Commit { commit, reply, .. } => (commit, reply),
        };
        if self.published.load().is_some() {
            self.published.store(None);
        }
        let before = working.state.usage();
        let names = events.receiver_count().gt(&0).then(|| working.state.clone());
        // The commit was decided on this very state under the lock, so it applies.
        let _ = working.apply(&commit, CommitId::NONE, limits);
        listener::count_resident(before, working.state.usage());
        listener::tell(events, agent, &commit, [&working.state, names.as_ref().unwrap_or(&working.state)]);
        Ok(Answer::unlogged(reply, working.head.rev))
    }
}
