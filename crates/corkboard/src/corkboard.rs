//! The entry point: an open store with its agents, boards and cores.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use corkboard_core::agent::{AgentCommand, AgentState};
use corkboard_core::board::{BoardCommand, BoardState, Lifetime};
use corkboard_core::knowledge::{CoreAction, CoreCommand, CoreEntryId, CoreState};
use corkboard_core::tokens::{TokensCommand, TokensState};
use corkboard_core::{Actor, AgentId, BoardId, CoreId, Request, Space, SpaceId, SpaceKind, Usage};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::access::{AllowedSpaces, AuthenticatedActor, TokenLookups};
use crate::board::Board;
use crate::embed::Indexer;
use crate::engine::{Budget, Deletion, Engine, Observer, RemoteEngine, RequestSource, Slot};
use crate::knowledge::Core;
use crate::log::{self, ErasedLog};
use crate::memory::{AgentListener, AgentMemory, AgentRuntime, MemoryEvent, Meters, end_if_idle};
use crate::options::{Consistency, Conversations, Options, Retention, SavePolicy, SnapshotPolicy};
use crate::store::{self, ListedSpace, MemoryStore, MonitoredStore, Store, StoreInfo};
use crate::{Delete, Error, Result};

/// How many events a subscriber may fall behind before it misses some.
const EVENT_BUFFER: usize = 1024;
/// Number of due spaces fetched at a time.
const DUE_PAGE: usize = 256;

/// An open Corkboard. Clones share it.
#[derive(Clone)]
pub struct Corkboard {
    inner: Arc<Engines>,
    actor: AuthenticatedActor,
    allowed_spaces: AllowedSpaces,
}

struct Engines {
    options: Arc<Options>,
    store: Arc<MonitoredStore>,
    agents: Arc<Engine<AgentState>>,
    boards: Arc<Engine<BoardState>>,
    cores: Arc<Engine<CoreState>>,
    tokens: Arc<Engine<TokensState>>,
    token_lookups: Arc<TokenLookups>,
    budget: Arc<Budget>,
    runtimes: Mutex<HashMap<AgentId, Weak<AgentRuntime>>>,
    conversations: Arc<Engine<AgentState>>,
    events: broadcast::Sender<MemoryEvent>,
    /// Meters of agents' memories, shared by all: looking them up takes longer than a read.
    meters: Arc<Meters>,
    background: Mutex<Vec<JoinHandle<()>>>,
}

/// An agent that has, or once had, a memory.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentSummary {
    /// The agent's ID.
    pub id: AgentId,
    /// Current revision of its memory.
    pub rev: u64,
    /// Counts of its content.
    pub summary: serde_json::Value,
}

/// A board in a store's list.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardSummary {
    /// The board's ID.
    pub id: BoardId,
    /// Current revision of the board.
    pub rev: u64,
    /// Name, goal, status, time of the last change, and counts.
    #[cfg_attr(feature = "openapi", schema(value_type = BoardFacts))]
    pub summary: serde_json::Value,
    /// Time since which nothing has happened, for an active board that is idle for longer than [`Options::idle_after`].
    pub idle_since: Option<Timestamp>,
}

/// Status of a board in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListedStatus {
    /// Work is in progress.
    Active,
    /// Active, but unchanged for longer than [`Options::idle_after`].
    Idle,
    /// The board was completed, with outcome success, partial or failed.
    Completed,
    /// The board was cancelled.
    Cancelled,
    /// The board is archived and read-only.
    Archived,
}

impl ListedStatus {
    /// Whether a board has this status.
    pub fn is_of(self, board: &BoardSummary) -> bool {
        let status = match self {
            Self::Idle => return board.idle_since.is_some(),
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Archived => "archived",
        };
        board.summary.get("status").is_some_and(|found| found == status)
    }
}

/// The summary of a board. All fields are missing for a board that was never created.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "it is only described")]
struct BoardFacts {
    /// The name, shortened if it is long.
    name: Option<String>,
    /// The goal, shortened if it is long.
    goal: Option<String>,
    /// Whether the board is active, completed, cancelled, archived or purged.
    status: Option<corkboard_core::board::BoardStatus>,
    /// Time of the last change.
    updated_at: Option<Timestamp>,
    /// End of the retention time, once archived.
    retain_until: Option<Timestamp>,
    /// Progress of the board's learnings; missing if they were not extracted.
    learnings: Option<corkboard_core::board::Learnings>,
    /// Number of undecided learnings.
    undecided: Option<u64>,
    /// Whether a promotion to a memory core is in progress.
    promotion_open: Option<bool>,
    /// How the board ended.
    outcome: Option<corkboard_core::board::BoardOutcome>,
    /// Whether the board is paused.
    paused: Option<bool>,
    /// When the board was created.
    created_at: Option<Timestamp>,
    /// Number of tasks.
    tasks: Option<u64>,
    /// Number of tasks by status.
    by_status: Option<std::collections::BTreeMap<String, u64>>,
    /// Number of tasks that can be claimed.
    ready: Option<u64>,
    /// Size in bytes.
    bytes: Option<u64>,
}

impl Corkboard {
    /// Opens a store by its URL: `memory:`, `file:PATH`, `sqlite:PATH`, `redis://…` or `postgres://…`.
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(url, Options::default()).await
    }

    /// Opens a store by its URL, with options.
    pub async fn open_with(url: &str, options: Options) -> Result<Self> {
        let store = store::open(url, &options).await?;
        Ok(Self::with_store(store, options))
    }

    /// Creates a Corkboard on an open store. Must be called in a tokio runtime, which runs its background tasks.
    pub fn with_store(store: Arc<dyn Store>, options: Options) -> Self {
        Self::with(store, None, options)
    }

    /// Creates a Corkboard whose commands are decided by a server.
    #[cfg(feature = "client")]
    pub(crate) fn with_remote_store(store: Arc<dyn Store>, remote: Arc<dyn RemoteEngine>, options: Options) -> Self {
        Self::with(store, Some(remote), options)
    }

    fn with(store: Arc<dyn Store>, remote: Option<Arc<dyn RemoteEngine>>, options: Options) -> Self {
        let options = Arc::new(options);
        let monitored = Arc::new(MonitoredStore::new(store));
        let store: Arc<dyn Store> = monitored.clone();
        let events = broadcast::channel(EVENT_BUFFER).0;
        let observer = AgentListener::new(events.clone()).into();
        let budget = Budget::new(options.memory_budget);
        let indexer = Indexer::new(&options, remote.is_some());
        let agents = Engine::new(store.clone(), options.clone(), observer, &budget, remote.clone(), &indexer);
        let boards =
            Engine::new(store.clone(), options.clone(), Observer::of_boards(), &budget, remote.clone(), &indexer);
        let cores = Engine::new(store.clone(), options.clone(), Observer::new(), &budget, remote.clone(), &indexer);
        indexer.add(SpaceKind::Agent, &agents);
        indexer.add(SpaceKind::Board, &boards);
        indexer.add(SpaceKind::Core, &cores);
        let conversations = match (&remote, options.conversations) {
            (None, Conversations::Process) => {
                // Nobody reads these logs, so only the state is kept.
                let snapshots = SnapshotPolicy { events: 256, bytes: 1024 * 1024 };
                let (save, retention) = (SavePolicy::OnChange, Some(Retention::Revisions(0)));
                let options = Arc::new(Options { snapshots, save, retention, ..(*options).clone() });
                let observer = AgentListener::new(events.clone()).into();
                Engine::new(Arc::new(MemoryStore::new()), options, observer, &budget, None, &indexer)
            }
            (Some(_), _) | (None, Conversations::Shared) => agents.clone(),
        };
        // Every external request checks its token. A revocation may take this long to be seen everywhere.
        let cached = Options { consistency: Consistency::Cached(Consistency::CACHED_AGE), ..(*options).clone() };
        let tokens = Engine::new(store, Arc::new(cached), Observer::new(), &budget, remote, &indexer);
        let inner = Engines {
            options: options.clone(),
            store: monitored,
            agents,
            boards,
            cores,
            tokens,
            token_lookups: Arc::default(),
            budget,
            runtimes: Mutex::default(),
            conversations,
            meters: Arc::new(Meters::new()),
            events,
            background: Mutex::default(),
        };
        let corkboard = Self {
            inner: Arc::new(inner),
            actor: options.actor.clone().into(),
            allowed_spaces: AllowedSpaces::default(),
        };
        let ticker = repeat(&corkboard, options.tick_interval, |corkboard| async move {
            if let Err(error) = corkboard.tick().await {
                tracing::warn!(%error, "cannot expire items yet");
            }
        });
        let mut background = vec![ticker];
        if indexer.embedder().is_some() {
            background.push(tokio::spawn(indexer.run()));
        }
        if let SavePolicy::Interval(interval) = options.save {
            background.push(repeat(&corkboard, interval, |corkboard| async move {
                // The engine logs errors, and the next run retries.
                let _ = corkboard.inner.agents.flush().await;
                let _ = corkboard.inner.boards.flush().await;
                let _ = corkboard.inner.cores.flush().await;
                let _ = corkboard.inner.tokens.flush().await;
            }));
        }
        *corkboard.inner.background.lock() = background;
        corkboard
    }

    /// The same Corkboard, acting as another actor: the author of all changes made through it and its handles.
    pub fn acting_as(&self, actor: Actor) -> Self {
        self.with_authenticated_actor(self.actor.by_same_token(actor))
    }

    /// The actor of its handles.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    pub(crate) fn authenticated_actor(&self) -> &AuthenticatedActor {
        &self.actor
    }

    pub(crate) fn with_authenticated_actor(&self, actor: AuthenticatedActor) -> Self {
        Self { actor, ..self.clone() }
    }

    pub(crate) fn allowed_spaces(&self) -> &AllowedSpaces {
        &self.allowed_spaces
    }

    pub(crate) fn with_allowed_spaces(&self, allowed_spaces: AllowedSpaces) -> Self {
        Self { allowed_spaces, ..self.clone() }
    }

    /// An agent's memory. Nothing is read until it is used.
    pub fn agent(&self, agent_id: &str) -> Result<AgentMemory> {
        Ok(AgentMemory::new(self.runtime(agent_id)?, self.actor.clone(), self.allowed_spaces.clone()))
    }

    /// A board, which need not exist. Nothing is read until it is used.
    pub fn board(&self, board_id: &str) -> Result<Board> {
        let id = BoardId::new(board_id, &self.inner.options.limits)?;
        self.allowed_spaces.check(&self.actor, SpaceKind::Board, id.as_str())?;
        Ok(self.board_of(id))
    }

    pub(crate) fn board_of(&self, id: BoardId) -> Board {
        let Engines { boards, cores, .. } = &*self.inner;
        Board::new(
            id,
            self.actor.clone(),
            boards.clone(),
            cores.clone(),
            self.inner.clone(),
            self.allowed_spaces.clone(),
        )
    }

    /// The boards in this store after the given ID, sorted by ID.
    pub async fn boards(&self, after: Option<&BoardId>, limit: usize) -> Result<Vec<BoardSummary>> {
        let after = after.map(SpaceId::board);
        let (listed, now) = (self.list(SpaceKind::Board, after.as_ref(), limit).await?, self.time());
        let boards = listed.into_iter().filter_map(|listed| {
            let mut summary: serde_json::Value = serde_json::from_slice(&listed.summary).unwrap_or_default();
            if let Some(facts) = summary.as_object_mut().filter(|facts| facts.contains_key("name")) {
                // The stored summary leaves these out if they say nothing.
                facts.entry("outcome").or_insert(serde_json::Value::Null);
                facts.entry("paused").or_insert(false.into());
            }
            let lifetime = serde_json::from_slice::<Lifetime>(&listed.summary).ok();
            let idle_since = lifetime.and_then(|lifetime| self.idle_since(&lifetime, now));
            Some(BoardSummary { id: listed.space.as_board()?, rev: listed.head.rev, summary, idle_since })
        });
        Ok(boards.collect())
    }

    pub(crate) fn core_of(&self, id: CoreId) -> Core {
        Core::new(id, self.actor.clone(), self.inner.cores.clone(), self.inner.clone())
    }

    pub(crate) fn agents_engine(&self) -> &Arc<Engine<AgentState>> {
        &self.inner.agents
    }

    /// The engine of conversations; that of agents if they are shared.
    pub(crate) fn conversations_engine(&self) -> &Arc<Engine<AgentState>> {
        &self.inner.conversations
    }

    pub(crate) fn boards_engine(&self) -> &Arc<Engine<BoardState>> {
        &self.inner.boards
    }

    pub(crate) fn cores_engine(&self) -> &Arc<Engine<CoreState>> {
        &self.inner.cores
    }

    /// Refuses a handle that can open only some spaces.
    pub(crate) fn check_unlimited(&self) -> Result<()> {
        self.check_open()?;
        if !self.allowed_spaces.is_limited() {
            return Ok(());
        }
        let principal = self.actor.via.as_ref().unwrap_or(&self.actor.principal).clone();
        Err(Error::NotGranted { principal, kind: "store", name: "all spaces".into() })
    }

    pub(crate) fn tokens_engine(&self) -> (Arc<Engine<TokensState>>, Arc<TokenLookups>, Arc<dyn Any + Send + Sync>) {
        (self.inner.tokens.clone(), self.inner.token_lookups.clone(), self.inner.clone())
    }

    pub(crate) fn logged(&self, id: &SpaceId, kind: SpaceKind) -> (Box<dyn ErasedLog>, Arc<dyn Any + Send + Sync>) {
        let Engines { agents, boards, cores, tokens, conversations, .. } = &*self.inner;
        (log::logged((agents, conversations), boards, cores, tokens, id, kind), self.inner.clone())
    }

    /// The spaces of a kind after the given ID, sorted by ID.
    pub(crate) async fn list(
        &self,
        kind: SpaceKind,
        after: Option<&SpaceId>,
        limit: usize,
    ) -> Result<Vec<ListedSpace>> {
        self.check_open()?;
        let store: &dyn Store = match kind {
            SpaceKind::Conversation => &*self.inner.conversations.store,
            SpaceKind::Agent | SpaceKind::Board | SpaceKind::Core | SpaceKind::Tokens => &*self.inner.store,
        };
        Ok(store.list(kind, after, limit).await?)
    }

    fn runtime(&self, agent_id: &str) -> Result<Arc<AgentRuntime>> {
        let id = AgentId::new(agent_id, &self.inner.options.limits)?;
        self.allowed_spaces.check(&self.actor, SpaceKind::Agent, id.as_str())?;
        let mut runtimes = self.inner.runtimes.lock();
        let known = runtimes.get(&id);
        if let Some(runtime) = known.and_then(Weak::upgrade) {
            return Ok(runtime);
        }
        if known.is_none() && runtimes.len().is_power_of_two() {
            runtimes.retain(|_, runtime| runtime.strong_count() > 0);
        }
        let Engines { agents, boards, cores, conversations, events, meters, .. } = &*self.inner;
        let engines = (agents.clone(), boards.clone(), cores.clone());
        let told = (events.clone(), meters.clone());
        let runtime = AgentRuntime::new(id.clone(), engines, conversations.clone(), told, self.inner.clone());
        let runtime = Arc::new(runtime);
        runtimes.insert(id, Arc::downgrade(&runtime));
        Ok(runtime)
    }

    /// The agents in this store after the given ID, sorted by ID.
    pub async fn agents(&self, after: Option<&AgentId>, limit: usize) -> Result<Vec<AgentSummary>> {
        let after = after.map(SpaceId::agent);
        let listed = self.list(SpaceKind::Agent, after.as_ref(), limit).await?;
        let agents = listed.into_iter().filter_map(|listed| {
            let summary = serde_json::from_slice(&listed.summary).unwrap_or_default();
            Some(AgentSummary { id: listed.space.as_agent()?, rev: listed.head.rev, summary })
        });
        Ok(agents.collect())
    }

    /// Deletes an agent's working and long-term memory with their logs, in every tier. Returns whether there was any.
    /// The two are separate spaces: if an error leaves one of them, deleting again removes it. Only the agent itself,
    /// people and admins may delete long-term memory; for others, deleting an agent that has some is refused.
    pub fn delete_agent(&self, agent_id: &str) -> Delete {
        self.delete_agent_if(agent_id, None)
    }

    /// Like [`Corkboard::delete_agent`], but only if the agent's working memory is at this revision.
    pub fn delete_agent_at(&self, agent_id: &str, rev: u64) -> Delete {
        self.delete_agent_if(agent_id, Some(rev))
    }

    fn delete_agent_if(&self, agent_id: &str, if_rev: Option<u64>) -> Delete {
        let (corkboard, agent_id) = (self.clone(), agent_id.to_owned());
        Delete::new(async move |deletion| corkboard.run_delete_agent(&agent_id, if_rev, deletion).await)
    }

    async fn run_delete_agent(&self, agent_id: &str, if_rev: Option<u64>, deletion: Deletion) -> Result<bool> {
        self.actor.check_writes()?;
        let runtime = self.runtime(agent_id)?;
        let id = runtime.id().clone();
        if let Some(remote) = self.inner.agents.remote() {
            // The server deletes all of it, in every tier.
            let deleted = remote.delete_agent(id, Actor::clone(&self.actor), if_rev, deletion).await?;
            runtime.dispose_ephemeral_scopes();
            return Ok(deleted);
        }
        let long_term = self.core_of(CoreId::of_agent(&id));
        // Refuse before deleting anything, unless there is no long-term memory to protect.
        let may = long_term.check_may(CoreAction::Delete);
        if may.is_err() && long_term.current().await?.0.state.last() != CoreEntryId::default() {
            return may.map(|()| false);
        }
        if if_rev.is_none() {
            runtime.dispose_ephemeral_scopes();
        }
        let agents = &self.inner.agents;
        let slot = agents.slot(&SpaceId::agent(&id));
        let working = match if_rev {
            Some(rev) => agents.delete_at_rev(&slot, rev).await?,
            None => agents.delete(&slot).await?,
        };
        // With a condition, only after it was checked.
        let beside = runtime.dispose_beside_log().await? > 0;
        let long_term = may.is_ok() && long_term.delete().await?;
        if deletion == Deletion::Hard {
            // Even if nothing was deleted now: it may have been deleted earlier, without scrubbing.
            self.inner.store.scrub().await?;
        }
        Ok(working || long_term || beside)
    }

    /// Events of the changes that this process makes to memories. To see changes by other processes, watch an agent.
    pub fn subscribe(&self) -> broadcast::Receiver<MemoryEvent> {
        self.inner.events.subscribe()
    }

    /// Notifications of changed spaces, including changes by other processes and servers on the same store. See
    /// [`Store::all_changes`](crate::store::Store::all_changes) for the guarantees. Like lists, this is not limited to
    /// granted spaces.
    pub fn changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        self.inner.store.all_changes()
    }

    /// The agents that this process has open.
    pub(crate) fn open_agents(&self) -> Vec<Arc<AgentRuntime>> {
        self.inner.runtimes.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// Expires items that are due. Returns how many spaces were due. This also runs automatically every
    /// [`Options::tick_interval`].
    pub async fn tick(&self) -> Result<usize> {
        self.check_open()?;
        self.open_agents().iter().for_each(|runtime| runtime.expire_ephemeral());
        let agents = self.tick_kind(&self.inner.agents, AgentCommand::Tick).await?;
        let boards = self.tick_kind(&self.inner.boards, BoardCommand::Tick).await?;
        self.finish_learnings(boards.iter().filter_map(SpaceId::as_board)).await;
        let cores = self.tick_kind(&self.inner.cores, CoreCommand::Tick).await?;
        let tokens = self.tick_kind(&self.inner.tokens, TokensCommand::Tick).await?;
        // Shared conversations expire even if this process keeps its own in memory.
        let mut conversations = self.tick_conversations(&self.inner.agents).await?;
        if !Arc::ptr_eq(&self.inner.agents, &self.inner.conversations) {
            conversations.extend(self.tick_conversations(&self.inner.conversations).await?);
        }
        Ok(agents.len() + boards.len() + cores.len() + tokens.len() + conversations.len())
    }

    /// Expires items in the due spaces of a kind. Returns those spaces.
    async fn tick_kind<S: Space>(&self, engine: &Arc<Engine<S>>, tick: S::Command) -> Result<HashSet<SpaceId>> {
        let mut seen = HashSet::new();
        loop {
            let due = self.newly_due(engine, S::KIND, &mut seen).await?;
            if due.is_empty() {
                return Ok(seen);
            }
            for slot in due {
                self.tick_space(engine, &slot, &tick).await;
            }
        }
    }

    /// Ends conversations that were idle too long, and expires entries of the others. Returns the due spaces.
    async fn tick_conversations(&self, conversations: &Arc<Engine<AgentState>>) -> Result<HashSet<SpaceId>> {
        let events = &self.inner.events;
        let mut seen = HashSet::new();
        loop {
            let due = self.newly_due(conversations, SpaceKind::Conversation, &mut seen).await?;
            if due.is_empty() {
                return Ok(seen);
            }
            for slot in due {
                match end_if_idle(conversations, &slot, events).await {
                    Ok(true) => tracing::debug!(space = %slot.id, "conversation expired"),
                    Ok(false) => self.tick_space(conversations, &slot, &AgentCommand::Tick).await,
                    Err(error) => {
                        tracing::warn!(space = %slot.id, %error, "cannot end an idle conversation yet");
                    }
                }
            }
        }
    }

    /// Due spaces of a kind that were not seen before; empty if there are no more.
    async fn newly_due<S: Space>(
        &self,
        engine: &Arc<Engine<S>>,
        kind: SpaceKind,
        seen: &mut HashSet<SpaceId>,
    ) -> Result<Vec<Arc<Slot<S>>>> {
        if engine.check_usable().is_err() {
            return Ok(Vec::new());
        }
        // Spaces that stay due because of an error must not hide the rest.
        let due = engine.store.due(kind, engine.time(), DUE_PAGE + seen.len()).await?;
        let due = due.into_iter().filter(|space| seen.insert(space.clone()));
        let due: Vec<_> = due.map(|space| engine.slot(&space)).collect();
        if !due.is_empty() {
            return Ok(due);
        }
        // The store compares with the clock. Spaces ahead of the clock use their own time.
        let is_due = |slot: &Arc<Slot<S>>| {
            let next_due = slot.peek().and_then(|state| state.state.next_due());
            next_due.is_some_and(|due| due <= engine.now_in(slot))
        };
        let of_kind = |slot: &Arc<Slot<S>>| slot.id.kind() == Some(kind);
        let ahead = engine.slots_ahead().into_iter().filter(of_kind).filter(is_due);
        Ok(ahead.filter(|slot| seen.insert(slot.id.clone())).collect())
    }

    async fn tick_space<S: Space>(&self, engine: &Arc<Engine<S>>, slot: &Arc<Slot<S>>, tick: &S::Command) {
        let tick = RequestSource::Request(Request::new(tick.clone()));
        if let Err(error) = engine.ask(slot, Actor::system(), Usage::default(), tick).await {
            tracing::warn!(space = %slot.id, %error, "cannot expire items in this space yet");
        }
    }

    /// The loaded spaces whose last event is more than a minute ahead of the clock, with the difference, largest first.
    /// A process with a wrong clock wrote there. Time still passes in these spaces.
    pub fn spaces_ahead(&self) -> Vec<(SpaceId, Duration)> {
        const TOLERATED: Duration = Duration::from_secs(60);
        let Engines { agents, boards, cores, tokens, .. } = &*self.inner;
        let all = agents.leads().chain(boards.leads()).chain(cores.leads()).chain(tokens.leads());
        let mut ahead: Vec<_> = all.filter(|(_, lead)| *lead > TOLERATED).collect();
        ahead.sort_by(|(one, by), (other, other_by)| other_by.cmp(by).then_with(|| one.cmp(other)));
        ahead
    }

    pub(crate) async fn boards_due_within(&self, time: SignedDuration) -> Result<Vec<BoardId>> {
        self.check_open()?;
        let until = self.inner.boards.time().saturating_add(time).unwrap_or(Timestamp::MAX);
        let mut limit = DUE_PAGE;
        loop {
            let due = self.inner.store.due(SpaceKind::Board, until, limit).await?;
            if due.len() < limit {
                return Ok(due.iter().filter_map(SpaceId::as_board).collect());
            }
            limit *= 2;
        }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The embedding model that searches use, if one is configured and the tier includes it.
    pub fn embedding_model(&self) -> Option<&str> {
        self.inner.agents.indexer.embedder().map(|embedder| embedder.model())
    }

    /// Information about the store.
    pub fn store_info(&self) -> StoreInfo {
        self.inner.store.info()
    }

    /// Checks the store for damage. Returns what was found; an empty list means no damage.
    pub async fn check(&self) -> Result<Vec<String>> {
        self.check_open()?;
        Ok(self.inner.store.check().await?)
    }

    /// Succeeds if the last write to the store did. Otherwise tries a small write, at most once a second, to notice
    /// when a full disk has space again.
    pub async fn check_writes(&self) -> Result<()> {
        self.check_open()?;
        Ok(self.inner.store.check_writes().await?)
    }

    /// Removes all traces of deleted data from the store's files, tables and keys. This can take long, but does not
    /// block readers and writers. See [`Store::scrub`] for PostgreSQL.
    pub async fn scrub(&self) -> Result<()> {
        self.check_open()?;
        Ok(self.inner.store.scrub().await?)
    }

    /// The current time in the store, which decides about boards.
    pub fn time(&self) -> Timestamp {
        self.inner.boards.time()
    }

    fn check_open(&self) -> Result<()> {
        if self.inner.agents.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }

    /// The number of expired but unreleased task leases on loaded boards.
    pub fn expired_leases(&self) -> usize {
        let now = self.inner.boards.time();
        let of_board = |board: &BoardState| {
            let claims = board.held().filter_map(|id| board.task(id)?.claim.as_ref());
            claims.take_while(|claim| claim.deadline <= now).count()
        };
        self.inner.boards.loaded_states().iter().map(|board| of_board(&board.state)).sum()
    }

    /// The number of loaded memories, boards and cores, and their approximate size in bytes.
    pub fn resident(&self) -> (usize, u64) {
        let Engines { agents, boards, cores, budget, .. } = &*self.inner;
        let loaded = agents.loaded_spaces() + boards.loaded_spaces() + cores.loaded_spaces();
        (loaded, budget.resident_bytes())
    }

    /// Finishes waiting commands, writes unsaved changes, and closes the store. Later calls return [`Error::Closed`].
    pub async fn close(&self) -> Result<()> {
        let background = std::mem::take(&mut *self.inner.background.lock());
        background.iter().for_each(JoinHandle::abort);
        let Engines { agents, boards, cores, tokens, conversations, .. } = &*self.inner;
        let (agents, boards) = (agents.close().await, boards.close().await);
        let (cores, tokens) = (cores.close().await, tokens.close().await);
        let flushed = agents.and(boards).and(cores).and(tokens).and(conversations.close().await);
        if flushed.as_ref().is_err_and(Error::is_retryable) {
            // The store stays open, so that closing can be retried.
            return flushed;
        }
        let closed = self.inner.store.close().await;
        flushed?;
        Ok(closed?)
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        self.background.lock().iter().for_each(JoinHandle::abort);
    }
}

/// Runs a task periodically while the Corkboard is in use.
fn repeat<F>(
    corkboard: &Corkboard,
    interval: std::time::Duration,
    work: impl Fn(Corkboard) -> F + Send + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send,
{
    let weak = Arc::downgrade(&corkboard.inner);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(interval).await;
            match weak.upgrade() {
                Some(inner) => {
                    let (actor, allowed_spaces) = (inner.options.actor.clone().into(), AllowedSpaces::default());
                    work(Corkboard { inner, actor, allowed_spaces }).await;
                }
                None => return,
            }
        }
    })
}

impl std::fmt::Debug for Corkboard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Corkboard").field("store", &self.store_info()).finish_non_exhaustive()
    }
}

/// Refuses a space that needs a higher tier: an agent's long-term memory.
pub(crate) fn check_space_tier(options: &Options, space: &SpaceId) -> Result<()> {
    match space.as_core().and_then(|core| core.agent()) {
        Some(_) => check_tier(options, "long-term memory", crate::Tier::WriterPro),
        None => Ok(()),
    }
}

/// Refuses a feature that needs a higher tier.
pub(crate) fn check_tier(options: &Options, feature: &'static str, needed: crate::Tier) -> Result<()> {
    if options.tier >= needed {
        return Ok(());
    }
    Err(Error::LicenseRestriction { feature, needed, tier: options.tier })
}
