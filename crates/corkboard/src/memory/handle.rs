//! The handle behind [`WorkingMemory`](super::WorkingMemory), [`Scope`](super::Scope) and
//! [`Conversation`](super::Conversation): reads and writes the entries and notes of one scope.

use std::sync::Arc;
use std::time::Instant;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, Separator};
use corkboard_core::{
    Content, Entry, EntryMetadata, Key, Limits, Note, NoteId, Refusal, Request, ScopeId, ScopeName, ScopeState,
};
use jiff::Timestamp;
use metrics::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::agent::AgentRuntime;
use super::batch::Batch;
use super::conversation::ConversationSpace;
use super::lookup::{FoundEntry, Reach};
use super::scope::Durability;
use super::view::AgentView;
use super::write::{AddNote, AppendText, Remove, Set, Write, unexpected};
use crate::access::AuthenticatedActor;
use crate::engine::{Answer, RequestSource};
use crate::{Conditions, Error, Result};

/// The entries and notes of one scope of an agent's memory. [`WorkingMemory`](super::WorkingMemory) (the root scope),
/// [`Scope`](super::Scope) and [`Conversation`](super::Conversation) dereference to it.
///
/// Writes change only this scope. `get`, `get_entry`, `find`, `get_or_set` and `contains` fall back to the parent, and
/// so on to the root. The root and conversations have no parent. All other reads see only this scope.
#[derive(Clone)]
pub struct MemoryHandle {
    pub(super) agent: Arc<AgentRuntime>,
    pub(super) actor: AuthenticatedActor,
    pub(super) location: Location,
}

#[derive(Clone)]
pub(super) enum Location {
    Root,
    Durable { id: ScopeId, name: ScopeName },
    Ephemeral(Arc<EphemeralScope>),
    Conversation(ConversationSpace),
}

/// An ephemeral scope, disposed when its last handle is dropped. Its parent lives at least as long.
pub(super) struct EphemeralScope {
    pub(super) id: ScopeId,
    pub(super) name: ScopeName,
    pub(super) agent: Arc<AgentRuntime>,
    pub(super) parent: Location,
}

impl EphemeralScope {
    /// The nearest durable ancestor, where lookups continue.
    fn durable_ancestor(&self) -> ScopeId {
        match &self.parent {
            Location::Root => ScopeId::ROOT,
            Location::Durable { id, .. } => *id,
            Location::Ephemeral(parent) => parent.durable_ancestor(),
            Location::Conversation(_) => ScopeId::ROOT,
        }
    }
}

impl Drop for EphemeralScope {
    fn drop(&mut self) {
        self.agent.dispose_ephemeral(self.id);
    }
}

impl MemoryHandle {
    /// The ID of the scope; nil for the root. A conversation's scope is in the conversation's own space.
    pub fn scope_id(&self) -> ScopeId {
        match &self.location {
            Location::Root => ScopeId::ROOT,
            Location::Durable { id, .. } => *id,
            Location::Ephemeral(scope) => scope.id,
            Location::Conversation(space) => space.scope,
        }
    }

    /// The name of the scope; the root is named `root`.
    pub fn scope_name(&self) -> ScopeName {
        match &self.location {
            Location::Root => ScopeName::root(),
            Location::Durable { name, .. } => name.clone(),
            Location::Ephemeral(scope) => scope.name.clone(),
            Location::Conversation(space) => (&space.id).into(),
        }
    }

    /// A consistent view of the scope's space at its current revision. A conversation is a separate space, and its
    /// revisions count only its own changes. A conversation that never started has no scope and is at revision 0.
    pub async fn view(&self) -> Result<AgentView> {
        let AgentRuntime { engine, slot, ephemeral, .. } = &*self.agent;
        let (current, now, durability) = match &self.location {
            Location::Conversation(space) => {
                let (current, now) = self.agent.conversation_now(space).await?;
                return Ok(AgentView::new(current, now, Durability::Durable, engine.options.clone()));
            }
            Location::Ephemeral(_) if self.is_orphan() => return Err(self.disposed()),
            Location::Ephemeral(_) => {
                let now = ephemeral.now(engine.time(), &*engine.options.clock);
                (ephemeral.shared(), now, Durability::Ephemeral)
            }
            Location::Root | Location::Durable { .. } => {
                let current = engine.current(slot).await?;
                let now = engine.now(slot, &current);
                (current, now, Durability::Durable)
            }
        };
        current.state.scope(self.scope_id()).ok_or_else(|| self.disposed())?;
        Ok(AgentView::new(current, now, durability, engine.options.clone()))
    }

    /// The number of entries in the scope.
    pub async fn len(&self) -> Result<usize> {
        let id = self.scope_id();
        self.read_scope(|state, _, now| state.live_len(id, now)).await
    }

    /// Whether the scope has no entries.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.len().await? == 0)
    }

    /// The keys of the scope, sorted.
    pub async fn keys(&self) -> Result<Vec<Key>> {
        self.read_scope(|_, scope, now| scope.live_entries(now).map(|(key, _)| key.clone()).collect()).await
    }

    /// The entries of the scope, sorted by key.
    pub async fn entries(&self) -> Result<Vec<(Key, Arc<Entry>)>> {
        let pair = |(key, entry): (&Key, &Arc<Entry>)| (key.clone(), entry.clone());
        self.read_scope(|_, scope, now| scope.live_entries(now).map(pair).collect()).await
    }

    /// The notes of the scope, in the order in which they were added.
    pub async fn notes(&self) -> Result<Vec<Note>> {
        self.read_scope(|_, scope, _| scope.notes.values().cloned().collect()).await
    }

    /// The value under a key.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.value(key, Reach::Fallback).await
    }

    /// The value under a key in this scope, without falling back.
    pub async fn get_local<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.value(key, Reach::Local).await
    }

    /// The entry under a key: the value with its version and metadata.
    pub async fn get_entry(&self, key: &str) -> Result<Option<Arc<Entry>>> {
        self.look_up(key, Reach::Fallback, |entry, _, _| entry.clone()).await
    }

    /// The entry under a key, with the scope it was found in and the revision at which it was read.
    pub async fn find(&self, key: &str) -> Result<Option<FoundEntry>> {
        self.found(key, Reach::Fallback).await
    }

    /// Whether an entry exists under the key.
    pub async fn contains(&self, key: &str) -> Result<bool> {
        Ok(self.look_up(key, Reach::Fallback, |_, _, _| ()).await?.is_some())
    }

    /// Whether an entry exists under the key in this scope, without falling back.
    pub async fn contains_local(&self, key: &str) -> Result<bool> {
        Ok(self.look_up(key, Reach::Local, |_, _, _| ()).await?.is_some())
    }

    /// Stores a value, replacing the current one. Optionally add metadata or conditions, then await it:
    ///
    /// ```
    /// # use corkboard::{Corkboard, EntryMetadata};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// # let memory = Corkboard::open("memory:").await?.agent("a")?.working();
    /// let written = memory.set("plan", &["draft", "review"]).await?;
    /// let metadata = EntryMetadata { importance: Some(0.9), ..Default::default() };
    /// memory.set("plan", &["review"]).metadata(metadata).if_version(written.version).await?;
    /// # Ok(()) }
    /// ```
    pub fn set<'a, T: Serialize + ?Sized>(&'a self, key: &'a str, value: &T) -> Set<'a> {
        let value = content_of(key, value);
        let type_name = std::any::type_name::<T>();
        let (metadata, conditions) = (EntryMetadata::default(), Conditions::default());
        Set { handle: self, key, value, type_name, metadata, conditions }
    }

    /// Returns the value under a key. If there is none, runs the factory and stores its value in this scope.
    ///
    /// Within a process, one caller runs its factory and the others wait. If that factory fails or is cancelled, the
    /// next caller runs its own. Between processes, the first to store wins, and all callers return its value.
    pub async fn get_or_set<T, E, F, Fut>(&self, key: &str, factory: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get(key).await? {
            return Ok(value);
        }
        let _turn = self.agent.factories.turn(self.scope_id(), key).await;
        if let Some(value) = self.get(key).await? {
            return Ok(value);
        }
        let made = factory().await.map_err(|error| Error::Factory { key: key.into(), source: error.into() })?;
        match self.set(key, &made).if_version(0).await {
            Ok(_) => Ok(made),
            // Another process stored first: return its value.
            Err(Error::Refused(Refusal::Conflict { key, current: Some(current), .. })) => parse(&key, &current),
            Err(error) => Err(error),
        }
    }

    /// Changes the scope's own value with a function of the current value. No other change is applied in between; if
    /// another writer commits first, the function runs again. Returns the new value. The entry keeps its metadata.
    pub async fn update<T, F>(&self, key: &str, mut change: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnMut(Option<T>) -> T + Send + 'static,
    {
        let _timed = self.time_set();
        let key = Key::new(key, self.limits())?;
        let scope = self.scope_id();
        let latest = Arc::new(Mutex::new(None));
        let result = latest.clone();
        let make = move |state: &AgentState, now: Timestamp| {
            let found = state.scope(scope).ok_or(Refusal::ScopeGone { scope })?.get(key.as_str(), now);
            let old = found.map(|entry| parse(&key, entry)).transpose()?;
            let new = change(old);
            let value = content_of(key.as_str(), &new)?;
            *latest.lock() = Some(new);
            Ok(Request::new(AgentCommand::Set {
                scope,
                key: key.clone(),
                value,
                type_name: std::any::type_name::<T>().into(),
                metadata: Box::new(found.map_or_else(EntryMetadata::default, |entry| kept_metadata(entry))),
                if_version: Some(found.map_or(0, |entry| entry.version)),
            }))
        };
        self.ask(RequestSource::Computed(Box::new(make))).await?;
        let value = result.lock().take();
        value.ok_or_else(|| unexpected(AgentReply::Done))
    }

    /// Appends text to a text entry, or creates the entry. Appends never conflict.
    pub fn append<'a>(&'a self, key: &'a str, text: &'a str) -> AppendText<'a> {
        AppendText { handle: self, key, text, separator: Separator::None, conditions: Conditions::default() }
    }

    /// Removes an entry of this scope. Returns whether it existed. Reads then fall back to the parent's value, if any.
    pub fn remove<'a>(&'a self, key: &'a str) -> Remove<'a> {
        Remove { handle: self, key, conditions: Conditions::default() }
    }

    /// Changes several entries in one revision: all are applied, or none.
    pub fn batch(&self) -> Batch<'_> {
        Batch { handle: self, changes: Ok(Vec::new()), conditions: Conditions::default() }
    }

    /// Removes the entries and notes of this scope. Returns how many entries were removed.
    pub fn clear(&self) -> Write<'_, u64> {
        Write::new(move |conditions| async move {
            let answer = self.submit(AgentCommand::Clear { scope: self.scope_id() }, conditions).await?;
            match answer.reply {
                AgentReply::Cleared { entries } => Ok((answer.rev, entries)),
                other => Err(unexpected(other)),
            }
        })
    }

    /// Adds a note. Returns its number.
    pub fn add_note<'a>(&'a self, text: &'a str) -> AddNote<'a> {
        AddNote { handle: self, text, trust: None, conditions: Conditions::default() }
    }

    /// Removes a note of this scope. Returns whether it existed.
    pub fn remove_note(&self, id: NoteId) -> Write<'_, bool> {
        Write::new(move |conditions| async move {
            let answer = self.submit(AgentCommand::RemoveNote { scope: self.scope_id(), id }, conditions).await?;
            Ok((answer.rev, answer.reply == AgentReply::Removed { existed: true }))
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.agent.engine.options.limits
    }

    pub(super) fn disposed(&self) -> Error {
        Error::ScopeDisposed { id: self.scope_id(), name: self.scope_name().to_string() }
    }

    async fn value<T: DeserializeOwned>(&self, key: &str, reach: Reach) -> Result<Option<T>> {
        self.look_up(key, reach, |entry, _, _| entry.value.parse::<T>())
            .await?
            .transpose()
            .map_err(|error| wrong_type::<T>(key, &error))
    }

    pub(super) async fn submit(&self, command: AgentCommand, conditions: Conditions) -> Result<Answer<AgentReply>> {
        self.ask(RequestSource::Request(conditions.request(command, self.limits())?)).await
    }

    /// Submits a request to the space that contains this scope.
    pub(super) async fn ask(&self, asked: RequestSource<AgentState>) -> Result<Answer<AgentReply>> {
        let answer = match &self.location {
            Location::Root | Location::Durable { .. } => self.agent.ask(&self.actor, asked).await,
            Location::Ephemeral(_) if self.is_orphan() => Err(self.disposed()),
            Location::Ephemeral(_) => self.agent.ask_ephemeral(&self.actor, asked),
            Location::Conversation(space) => self.agent.ask_conversation(&self.actor, space, asked).await,
        };
        answer.map_err(|error| self.own_disposal(error))
    }

    /// Whether the durable scope above this ephemeral one was disposed, as far as this process knows.
    pub(super) fn is_orphan(&self) -> bool {
        let Location::Ephemeral(scope) = &self.location else { return false };
        let ancestor = scope.durable_ancestor();
        !ancestor.is_root() && self.agent.slot.peek().is_some_and(|state| state.state.scope(ancestor).is_none())
    }

    /// Turns "no such scope" about this scope into "scope disposed": the handle proves that it once existed.
    fn own_disposal(&self, error: Error) -> Error {
        match error {
            Error::Refused(Refusal::ScopeGone { scope }) if scope == self.scope_id() => self.disposed(),
            other => other,
        }
    }

    /// Calls `read` with the current scope.
    pub(crate) async fn read_scope<R>(&self, read: impl FnOnce(&AgentState, &ScopeState, Timestamp) -> R) -> Result<R> {
        let engine = &self.agent.engine;
        let id = self.scope_id();
        match &self.location {
            Location::Ephemeral(_) => {
                let now = self.agent.ephemeral.now(engine.time(), &*engine.options.clock);
                return self.in_ephemeral(id, |state, scope| read(state, scope, now));
            }
            Location::Conversation(space) => return self.agent.view_conversation(space, read).await,
            Location::Root | Location::Durable { .. } => {}
        }
        let current = engine.current(&self.agent.slot).await?;
        let scope = current.state.scope(id).ok_or_else(|| self.disposed())?;
        Ok(read(&current.state, scope, engine.now(&self.agent.slot, &current)))
    }

    /// Calls `read` with the current state of an ephemeral scope.
    pub(super) fn in_ephemeral<R>(
        &self,
        id: ScopeId,
        read: impl for<'a> FnOnce(&'a AgentState, &'a ScopeState) -> R,
    ) -> Result<R> {
        if self.is_orphan() {
            return Err(self.disposed());
        }
        let found = self.agent.ephemeral.with(|state| state.scope(id).map(|scope| read(state, scope)));
        found.ok_or_else(|| self.disposed())
    }

    pub(super) fn time_set(&self) -> Timed<'_> {
        Timed { histogram: &self.agent.meters.set_latency, started: Instant::now() }
    }
}

/// Records the elapsed time in a histogram when it is dropped.
pub(super) struct Timed<'a> {
    histogram: &'a Histogram,
    started: Instant,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.histogram.record(self.started.elapsed().as_secs_f64() * 1000.0);
    }
}

pub(super) fn content_of<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<Content> {
    Content::of(value).map_err(|error| {
        tracing::error!("Failed to serialize value for key {key}: {error}");
        Error::Serialize { key: key.into(), message: error.to_string() }
    })
}

pub(super) fn parse<T: DeserializeOwned>(key: &Key, entry: &Entry) -> Result<T> {
    entry.value.parse().map_err(|error| wrong_type::<T>(key.as_str(), &error))
}

fn wrong_type<T>(key: &str, error: &serde_json::Error) -> Error {
    Error::Deserialize { key: key.into(), expected: std::any::type_name::<T>(), message: error.to_string() }
}

/// The metadata that an entry keeps when its value changes.
pub(crate) fn kept_metadata(entry: &Entry) -> EntryMetadata {
    EntryMetadata {
        importance: Some(entry.importance),
        tags: Some(entry.tags.iter().map(|tag| tag.to_string()).collect()),
        kind: Some(entry.kind),
        expires_at: entry.expires_at,
        custom: entry.custom.as_deref().cloned(),
        session: entry.session.as_deref().map(str::to_owned),
        trust: entry.trust_of_changed(),
        ..EntryMetadata::default()
    }
}
