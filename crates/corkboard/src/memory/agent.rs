//! The memory of one agent: its handle, and the state that handles share in this process.

use std::any::Any;
use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, DayActivity, MemorySnapshot};
use corkboard_core::board::BoardState;
use corkboard_core::knowledge::CoreState;
use corkboard_core::{
    Actor, AgentId, BoardId, ConversationId, CoreId, Request, Revisioned, ScopeId, Space, SpaceId, SpaceKind, Usage,
};
use jiff::Timestamp;
use jiff::civil::Date;
use tokio::sync::broadcast;

use super::conversation::{Conversation, ConversationInfo};
use super::ephemeral::{Circumstances, Ephemeral};
use super::events::MemoryEvent;
use super::factories::Factories;
use super::handle::{Location, MemoryHandle};
use super::listener::Meters;
use super::scope::{Durability, ScopeInfo};
use super::search;
use super::stats::MemoryStats;
use super::working::WorkingMemory;
use crate::access::{AllowedSpaces, AuthenticatedActor};
use crate::board::Board;
use crate::context::ContextRequest;
use crate::engine::{Answer, Engine, PendingAnswer, RequestSource, Slot, Watch};
use crate::knowledge::Core;
use crate::options::Options;
use crate::search::Search;
use crate::{Result, ids};

pub(crate) type Engines = (Arc<Engine<AgentState>>, Arc<Engine<BoardState>>, Arc<Engine<CoreState>>);

/// State shared by all handles of one agent in this process.
pub(crate) struct AgentRuntime {
    pub(super) id: AgentId,
    pub(super) engine: Arc<Engine<AgentState>>,
    pub(super) slot: Arc<Slot<AgentState>>,
    boards: Arc<Engine<BoardState>>,
    cores: Arc<Engine<CoreState>>,
    pub(super) ephemeral: Ephemeral,
    /// Engine that holds the agent's conversations: this process's memory or the shared store.
    pub(super) conversations: Arc<Engine<AgentState>>,
    pub(super) factories: Factories,
    pub(super) merging: tokio::sync::Mutex<()>,
    pub(super) events: broadcast::Sender<MemoryEvent>,
    pub(super) meters: Arc<Meters>,
    /// Keeps the background tasks (ticks, flushes) alive while handles exist.
    corkboard: Arc<dyn Any + Send + Sync>,
}

impl AgentRuntime {
    pub(crate) fn new(
        id: AgentId,
        (engine, boards, cores): Engines,
        conversations: Arc<Engine<AgentState>>,
        (events, meters): (broadcast::Sender<MemoryEvent>, Arc<Meters>),
        corkboard: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let slot = engine.slot(&SpaceId::agent(&id));
        let (ephemeral, factories) = (Ephemeral::default(), Factories::default());
        let merging = Default::default();
        Self {
            id,
            engine,
            slot,
            boards,
            cores,
            ephemeral,
            conversations,
            factories,
            merging,
            events,
            meters,
            corkboard,
        }
    }

    pub(crate) fn id(&self) -> &AgentId {
        &self.id
    }

    pub(super) fn ask(
        &self,
        actor: &AuthenticatedActor,
        asked: RequestSource<AgentState>,
    ) -> PendingAnswer<AgentReply> {
        self.engine.ask(&self.slot, actor.clone(), self.ephemeral.usage(), asked)
    }

    /// Submits a request to the ephemeral scopes.
    pub(super) fn ask_ephemeral(
        &self,
        actor: &AuthenticatedActor,
        mut asked: RequestSource<AgentState>,
    ) -> Result<Answer<AgentReply>> {
        self.engine.check_usable()?;
        actor.check_token_in_memory()?;
        let now = self.engine.time();
        let circumstances = Circumstances {
            agent: &self.id,
            actor,
            limits: &self.engine.options.limits,
            outside: self.slot.last_usage(),
            now,
            clock: &*self.engine.options.clock,
            first_id: ids::at(now),
            events: &self.events,
        };
        self.ephemeral.ask(&circumstances, &mut asked)
    }

    fn ask_ephemeral_as_system(&self, command: AgentCommand) -> Result<Answer<AgentReply>> {
        self.ask_ephemeral(&Actor::system().into(), RequestSource::Request(Request::new(command)))
    }

    pub(crate) fn expire_ephemeral(&self) {
        let _ = self.ask_ephemeral_as_system(AgentCommand::Tick);
    }

    /// Disposes an ephemeral scope and all scopes below it. Returns `None` if it was already disposed.
    pub(super) fn dispose_ephemeral(&self, scope: ScopeId) -> Option<u64> {
        match self.ask_ephemeral_as_system(AgentCommand::DisposeScope { scope }).ok()?.reply {
            AgentReply::Cleared { entries } => Some(entries),
            _ => None,
        }
    }

    /// Disposes the ephemeral scopes whose durable parent is gone.
    pub(super) async fn dispose_orphans(&self) -> Result<()> {
        let below_durable: Vec<(ScopeId, ScopeId)> = self.ephemeral.with(|state| {
            let scopes = state.scopes().map(|(id, scope)| (id, scope.parent));
            scopes.filter(|(_, parent)| state.scope(*parent).is_none()).collect()
        });
        // Read the durable state after the children: a parent missing now was disposed, rather than not created yet.
        let current = self.engine.current(&self.slot).await?;
        for (scope, parent) in below_durable {
            if current.state.scope(parent).is_none() {
                self.dispose_ephemeral(scope);
            }
        }
        Ok(())
    }

    /// Disposes all ephemeral scopes and ends all conversations. Returns how many entries were removed.
    pub(crate) async fn dispose_beside_log(&self) -> Result<u64> {
        Ok(self.dispose_ephemeral_scopes() + self.end_conversations().await?)
    }

    /// Disposes all ephemeral scopes. Returns how many entries were removed.
    pub(crate) fn dispose_ephemeral_scopes(&self) -> u64 {
        match self.ask_ephemeral_as_system(AgentCommand::ClearAll).map(|answer| answer.reply) {
            Ok(AgentReply::Cleared { entries }) => entries,
            _ => 0,
        }
    }

    pub(super) fn is_disposed(&self, scope: ScopeId, durability: Durability) -> bool {
        match durability {
            Durability::Ephemeral => self.ephemeral.with(|state| state.scope(scope).is_none()),
            Durability::Durable => self.slot.peek().is_some_and(|state| state.state.scope(scope).is_none()),
        }
    }

    pub(super) async fn active_scopes(&self) -> Result<Vec<ScopeInfo>> {
        self.dispose_orphans().await?;
        let current = self.engine.current(&self.slot).await?;
        let now = self.engine.now(&self.slot, &current);
        let mut scopes: Vec<_> = ScopeInfo::all(&current.state, Durability::Durable, now).collect();
        let now = self.ephemeral.now(self.engine.time(), &*self.engine.options.clock);
        self.ephemeral.with(|state| scopes.extend(ScopeInfo::all(state, Durability::Ephemeral, now)));
        Ok(scopes)
    }
}

/// Watches the log of an agent's memory.
pub type AgentWatch = Watch<AgentState>;

/// An agent's memory. A handle never reaches another agent's memory.
#[derive(Clone)]
pub struct AgentMemory {
    runtime: Arc<AgentRuntime>,
    actor: AuthenticatedActor,
    /// Other spaces that this handle may open.
    allowed_spaces: AllowedSpaces,
}

impl AgentMemory {
    pub(crate) fn new(runtime: Arc<AgentRuntime>, actor: AuthenticatedActor, allowed_spaces: AllowedSpaces) -> Self {
        Self { runtime, actor, allowed_spaces }
    }

    /// The agent that owns this memory.
    pub fn agent_id(&self) -> &AgentId {
        &self.runtime.id
    }

    /// A handle to the same memory that acts as `actor`, who is recorded as the author of changes.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// Working memory, which every license tier includes.
    pub fn working(&self) -> WorkingMemory {
        let handle = MemoryHandle { agent: self.runtime.clone(), actor: self.actor.clone(), location: Location::Root };
        WorkingMemory { handle }
    }

    /// A conversation's scratchpad. It is empty until the first write.
    pub fn conversation(&self, id: &str) -> Result<Conversation> {
        let id = ConversationId::new(id, &self.runtime.engine.options.limits)?;
        let space = self.runtime.conversation_space(id);
        Ok(Conversation {
            handle: MemoryHandle { location: Location::Conversation(space.clone()), ..self.working().handle },
            space,
        })
    }

    /// The conversations that have a scratchpad, in the order of their IDs.
    pub async fn conversations(&self) -> Result<Vec<ConversationInfo>> {
        self.runtime.list_conversations().await
    }

    /// The changes made to the memory on a day (UTC), one line per write.
    pub async fn activity(&self, date: Date) -> Result<DayActivity> {
        Ok(self.view().await?.activity(date))
    }

    /// The days on which the memory was written to, oldest first, with the number of writes.
    pub async fn active_days(&self) -> Result<Vec<(Date, u64)>> {
        Ok(self.view().await?.active_days())
    }

    /// The current state, and the current time on its clock.
    pub(crate) async fn current(&self) -> Result<(Arc<Revisioned<AgentState>>, Timestamp)> {
        let current = self.runtime.engine.current(&self.runtime.slot).await?;
        let now = self.runtime.engine.now(&self.runtime.slot, &current);
        Ok((current, now))
    }

    /// A memory core of the same store, acting as this handle's actor.
    pub(super) fn core_of(&self, id: CoreId) -> Core {
        let AgentRuntime { cores, corkboard, .. } = &*self.runtime;
        Core::new(id, self.actor.clone(), cores.clone(), corkboard.clone())
    }

    /// The core of facts about the user, which every agent's context window shows.
    pub(crate) fn user_core(&self) -> Result<Core> {
        let id = CoreId::new(CoreId::USER, &self.options().limits)?;
        self.allowed_spaces.check(&self.actor, SpaceKind::Core, CoreId::USER)?;
        Ok(self.core_of(id))
    }

    /// A board of the same store, acting as this handle's actor.
    pub(crate) fn board(&self, board_id: &str) -> Result<Board> {
        let AgentRuntime { engine, boards, cores, corkboard, .. } = &*self.runtime;
        let id = BoardId::new(board_id, &engine.options.limits)?;
        self.allowed_spaces.check(&self.actor, SpaceKind::Board, id.as_str())?;
        let allowed_spaces = self.allowed_spaces.clone();
        Ok(Board::new(id, self.actor.clone(), boards.clone(), cores.clone(), corkboard.clone(), allowed_spaces))
    }

    /// Usage of the ephemeral scopes, which are not in the log.
    pub(crate) fn ephemeral_usage(&self) -> Usage {
        self.runtime.ephemeral.usage()
    }

    /// The runtime and the actor, for handles to parts of the memory.
    pub(super) fn parts(&self) -> (Arc<AgentRuntime>, AuthenticatedActor) {
        (self.runtime.clone(), self.actor.clone())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.runtime.engine.options
    }

    pub(super) fn shared_options(&self) -> Arc<Options> {
        self.runtime.engine.options.clone()
    }

    /// The current revision of the memory.
    pub async fn rev(&self) -> Result<u64> {
        Ok(self.runtime.engine.current(&self.runtime.slot).await?.head.rev)
    }

    /// Returns a snapshot of everything durable: working memory and, if the tier includes it, long-term memory.
    ///
    /// The two are separate spaces, read one after the other. A change made in between may be in long-term memory but
    /// not in working memory. Ephemeral scopes belong to the process and are left out.
    pub async fn snapshot(&self) -> Result<MemorySnapshot> {
        let (current, now) = self.current().await?;
        let long_term = match self.long_term_if_any()? {
            Some(long_term) => Some(long_term.image().await?),
            None => None,
        };
        let snapshot = MemorySnapshot::of(&self.runtime.id, &current.state, current.head.rev, now);
        Ok(MemorySnapshot { long_term, ..snapshot })
    }

    /// Searches entries and notes by their words, in the root scope and all durable scopes. The best hits come first. A
    /// query that is blank or longer than [`Limits::query_bytes`](crate::Limits::query_bytes) is refused. Await the
    /// result:
    ///
    /// ```
    /// # use corkboard::Corkboard;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// # let agent = Corkboard::open("memory:").await?.agent("a")?;
    /// agent.working().set("deploy", "Deployments go out on Tuesdays, after the tests").await?;
    /// let hits = agent.search("When do we deploy?").limit(5).await?;
    /// assert_eq!(hits[0].key(), Some("deploy"));
    /// # Ok(()) }
    /// ```
    pub fn search<'a>(&'a self, query: &'a str) -> Search<'a> {
        Search::new(&self.runtime.engine, &self.runtime.slot, query, search::hits)
    }

    /// Returns statistics over the agent's whole memory.
    pub async fn stats(&self) -> Result<MemoryStats> {
        let window = self.context_window().compose(ContextRequest::new()).await?;
        let (current, now) = self.current().await?;
        let ephemeral = self.runtime.ephemeral.with(AgentState::clone);
        let states = [&current.state, &ephemeral];
        let scopes = || states.iter().flat_map(|state| state.all_scopes());
        let times = || scopes().flat_map(|(_, scope)| scope.live_entries(now)).map(|(_, entry)| entry.at);
        let long_term = match self.long_term_if_any()? {
            Some(long_term) => Some(long_term.stats().await?),
            None => None,
        };
        let kept = long_term.as_ref();
        let used = states.iter().map(|state| state.usage().bytes).sum::<u64>() + kept.map_or(0, |kept| kept.bytes);
        // Long-term memory is a separate space with its own limit of the same size.
        let spaces = 1 + u64::from(long_term.is_some());
        let limit = self.options().limits.state_bytes.saturating_mul(spaces);
        Ok(MemoryStats {
            total_entries_working: times().count() as u64,
            active_working_scopes: states.iter().map(|state| state.usage().scopes).sum(),
            total_entries_long_term: kept.map_or(0, |kept| kept.entries),
            total_entries_forgotten: kept.map_or(0, |kept| kept.forgotten),
            storage_bytes_used: used,
            storage_bytes_limit: limit,
            storage_percent_used: if limit > 0 { used as f32 / limit as f32 * 100.0 } else { 0.0 },
            oldest_entry: times().chain(kept.and_then(|kept| kept.oldest_entry)).min(),
            newest_entry: times().chain(kept.and_then(|kept| kept.newest_entry)).max(),
            context_tokens_used: window.tokens,
            context_tokens_max: window.budget,
            total_notebooks: current.state.notebooks().count() as u64,
            total_notes: states.iter().map(|state| state.note_count()).sum(),
            rev: current.head.rev,
        })
    }

    /// Watches the memory's log, including writes by other processes: first the revisions after `from_rev` (0 for all),
    /// then new ones as they are committed.
    pub async fn watch(&self, from_rev: u64) -> Result<AgentWatch> {
        self.runtime.engine.watch(self.runtime.slot.clone(), from_rev).await
    }
}
