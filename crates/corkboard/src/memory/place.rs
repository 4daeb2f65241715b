//! Where in an agent's memory a handle stands, and what can be done there. `WorkingMemory` and `Scope` are both places.

use std::sync::Arc;
use std::time::Instant;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, Separator};
use corkboard_core::knowledge::Trust;
use corkboard_core::{
    Content, Entry, EntryMetadata, Key, Limits, Note, NoteId, Refusal, Request, Revisioned, ScopeId, ScopeName,
    ScopeState,
};
use jiff::Timestamp;
use metrics::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::agent::AgentRuntime;
use super::conversation::Talk;
use super::write::{AddNote, Append, Conditions, Remove, Set, Write, Written, unexpected, written};
use crate::access::Acting;
use crate::engine::{Answer, RequestSource};
use crate::{Error, Result};

/// One scope of one agent, and in whose name it is used.
#[derive(Clone)]
pub(crate) struct Place {
    pub(super) agent: Arc<AgentRuntime>,
    pub(super) actor: Acting,
    pub(super) location: Location,
}

#[derive(Clone)]
pub(super) enum Location {
    Root,
    Durable { id: ScopeId, name: ScopeName },
    Ephemeral(Arc<EphemeralScope>),
    Conversation(Talk),
}

/// An ephemeral scope for as long as someone holds it. Its parent lives at least as long.
pub(super) struct EphemeralScope {
    pub(super) id: ScopeId,
    pub(super) name: ScopeName,
    pub(super) agent: Arc<AgentRuntime>,
    pub(super) parent: Location,
}

impl EphemeralScope {
    /// The durable scope that reads end up in.
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

/// An entry, and where it was found.
#[derive(Debug, Clone)]
pub struct FoundEntry {
    /// Its key.
    pub key: Key,
    /// The entry.
    pub entry: Arc<Entry>,
    /// The scope that it is in.
    pub scope: ScopeId,
    /// The revision of the memory that was read. In an ephemeral scope, the version of the entry.
    pub rev: u64,
}

/// How far a read goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// This scope.
    Local,
    /// This scope, then its parent, and so on to the root.
    Fallback,
}

impl Place {
    pub(crate) fn limits(&self) -> &Limits {
        &self.agent.engine.options.limits
    }

    pub(super) fn scope_id(&self) -> ScopeId {
        match &self.location {
            Location::Root => ScopeId::ROOT,
            Location::Durable { id, .. } => *id,
            Location::Ephemeral(scope) => scope.id,
            Location::Conversation(talk) => talk.scope,
        }
    }

    pub(super) fn scope_name(&self) -> ScopeName {
        match &self.location {
            Location::Root => ScopeName::root(),
            Location::Durable { name, .. } => name.clone(),
            Location::Ephemeral(scope) => scope.name.clone(),
            Location::Conversation(talk) => (&talk.id).into(),
        }
    }

    pub(super) fn disposed(&self) -> Error {
        Error::ScopeDisposed { id: self.scope_id(), name: self.scope_name().to_string() }
    }

    // Writing.

    pub(super) fn set<'a, T: Serialize + ?Sized>(&'a self, key: &'a str, value: &T) -> Set<'a> {
        let value = content_of(key, value);
        let type_name = std::any::type_name::<T>();
        let (metadata, conditions) = (EntryMetadata::default(), Conditions::default());
        Set { place: self, key, value, type_name, metadata, conditions }
    }

    pub(super) fn append<'a>(&'a self, key: &'a str, text: &'a str) -> Append<'a> {
        Append { place: self, key, text, separator: Separator::None, conditions: Conditions::default() }
    }

    pub(super) fn remove<'a>(&'a self, key: &'a str) -> Remove<'a> {
        Remove { place: self, key, conditions: Conditions::default() }
    }

    pub(super) fn command(&self, command: AgentCommand) -> impl Future<Output = Result<Answer<AgentReply>>> + Send {
        self.ask(Request::new(command))
    }

    pub(super) fn ask(
        &self,
        request: Request<AgentCommand>,
    ) -> impl Future<Output = Result<Answer<AgentReply>>> + Send {
        self.ask_for(RequestSource::Request(request))
    }

    pub(super) async fn ask_for(&self, mut asked: RequestSource<AgentState>) -> Result<Answer<AgentReply>> {
        let answer = match &self.location {
            Location::Root | Location::Durable { .. } => self.agent.ask(&self.actor, asked).await,
            Location::Ephemeral(_) if self.is_orphan() => Err(self.disposed()),
            Location::Ephemeral(_) => self.agent.ask_ephemeral_for(&self.actor, &mut asked),
            Location::Conversation(talk) => self.agent.ask_conversation(&self.actor, talk, asked).await,
        };
        answer.map_err(|error| self.own_disposal(error))
    }

    /// Whether the durable scope above this ephemeral one was disposed, as far as this process knows.
    pub(super) fn is_orphan(&self) -> bool {
        let Location::Ephemeral(scope) = &self.location else { return false };
        let ancestor = scope.durable_ancestor();
        !ancestor.is_root() && self.agent.slot.peek().is_some_and(|state| state.state.scope(ancestor).is_none())
    }

    /// A scope that is gone is, to its own handle, a disposed one.
    fn own_disposal(&self, error: Error) -> Error {
        match error {
            Error::Refused(Refusal::ScopeGone { scope }) if scope == self.scope_id() => self.disposed(),
            other => other,
        }
    }

    pub(super) async fn update<T, F>(&self, key: &str, mut change: F) -> Result<T>
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
        self.ask_for(RequestSource::Computed(Box::new(make))).await?;
        let value = result.lock().take();
        value.ok_or_else(|| unexpected(AgentReply::Done))
    }

    /// Stores a text, alone or as another line of what is there; what is known about the entry stays. What came from outside
    /// is still there after another line, and gone after a text that stands alone: that came from outside if it is said.
    pub(super) async fn write_text(&self, key: &str, text: String, how: TextWrite) -> Result<Written> {
        let _timed = self.time_set();
        let (key, scope) = (Key::new(key, self.limits())?, self.scope_id());
        let make = move |state: &AgentState, now: Timestamp| {
            let found = state.scope(scope).ok_or(Refusal::ScopeGone { scope })?.get(key.as_str(), now);
            let mut metadata = found.map_or_else(EntryMetadata::default, |entry| kept_metadata(entry));
            if how.is_outside {
                metadata.trust = Some(Trust::Outside);
            } else if !how.appends {
                metadata.trust = None;
            }
            let before = match found.filter(|_| how.appends) {
                Some(entry) => Some(parse::<String>(&key, entry)?).filter(|text| !text.is_empty()),
                None => None,
            };
            let value = match before {
                Some(before) => content_of(key.as_str(), &[before.as_str(), &text].join("\n"))?,
                None => content_of(key.as_str(), &text)?,
            };
            let command = AgentCommand::Set {
                scope,
                key: key.clone(),
                value,
                type_name: "text".into(),
                metadata: Box::new(metadata),
                if_version: how.if_version,
            };
            Ok(Request { command, if_rev: how.if_rev, idempotency: None })
        };
        let answer = self.ask_for(RequestSource::Computed(Box::new(make))).await?;
        written(answer.reply, answer.rev)
    }

    pub(super) async fn get_or_set<T, E, F, Fut>(&self, key: &str, factory: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get(key, Reach::Fallback).await? {
            return Ok(value);
        }
        let _turn = self.agent.factories.turn(self.scope_id(), key).await;
        if let Some(value) = self.get(key, Reach::Fallback).await? {
            return Ok(value);
        }
        let made = factory().await.map_err(|error| Error::Factory { key: key.into(), source: error.into() })?;
        match self.set(key, &made).if_version(0).await {
            Ok(_) => Ok(made),
            // Another process was first: its value is the value.
            Err(Error::Refused(Refusal::Conflict { key, current: Some(current), .. })) => parse(&key, &current),
            Err(error) => Err(error),
        }
    }

    pub(super) fn clear(&self) -> Write<'_, u64> {
        Write::new(move |conditions: Conditions| async move {
            let clear = conditions.request(self, AgentCommand::Clear { scope: self.scope_id() })?;
            let answer = self.ask(clear).await?;
            match answer.reply {
                AgentReply::Cleared { entries } => Ok((answer.rev, entries)),
                other => Err(unexpected(other)),
            }
        })
    }

    pub(super) fn add_note<'a>(&'a self, text: &'a str) -> AddNote<'a> {
        AddNote { place: self, text, trust: None, conditions: Conditions::default() }
    }

    pub(super) fn remove_note(&self, id: NoteId) -> Write<'_, bool> {
        Write::new(move |conditions: Conditions| async move {
            let remove = conditions.request(self, AgentCommand::RemoveNote { scope: self.scope_id(), id })?;
            let answer = self.ask(remove).await?;
            Ok((answer.rev, answer.reply == AgentReply::Removed { existed: true }))
        })
    }

    // Reading.

    pub(super) async fn get<T: DeserializeOwned>(&self, key: &str, reach: Reach) -> Result<Option<T>> {
        self.find(key, reach, |entry, _, _| entry.value.parse::<T>())
            .await?
            .transpose()
            .map_err(|error| wrong_type::<T>(key, &error))
    }

    pub(super) async fn entry(&self, key: &str, reach: Reach) -> Result<Option<Arc<Entry>>> {
        self.find(key, reach, |entry, _, _| entry.clone()).await
    }

    pub(super) async fn found(&self, key: &str, reach: Reach) -> Result<Option<FoundEntry>> {
        let found = self.find(key, reach, |entry, scope, rev| (entry.clone(), scope, rev)).await?;
        let Some((entry, scope, rev)) = found else { return Ok(None) };
        Ok(Some(FoundEntry { key: Key::new(key, self.limits())?, entry, scope, rev }))
    }

    pub(super) async fn contains(&self, key: &str, reach: Reach) -> Result<bool> {
        Ok(self.find(key, reach, |_, _, _| ()).await?.is_some())
    }

    /// Looks a key up and hands the entry to `read`, with its scope and the revision read. Every read of one entry comes here,
    /// so that each is measured, logged and counted once.
    async fn find<R>(
        &self,
        key: &str,
        reach: Reach,
        read: impl FnOnce(&Arc<Entry>, ScopeId, u64) -> R,
    ) -> Result<Option<R>> {
        Key::check(key, self.limits())?;
        let started = Instant::now();
        let (engine, time) = (&self.agent.engine, self.agent.engine.time());
        let clock = &*engine.options.clock;
        let mut read = Some(read);
        let mut found = |entry: &Arc<Entry>, scope: ScopeId, rev: u64| {
            entry.access.record(time);
            read.take().map(|read| read(entry, scope, rev))
        };
        let result = match &self.location {
            Location::Ephemeral(scope) => {
                let now = self.agent.ephemeral.now(time, clock);
                match self.find_ephemeral(scope.id, key, reach, now, &mut found)? {
                    Step::Ended(result) => result,
                    Step::GoOn(durable) => self.find_durable(durable, key, reach, &mut found).await?,
                }
            }
            Location::Conversation(talk) => {
                let read = |_: &AgentState, scope: &ScopeState, now| {
                    scope.get(key, now).and_then(|entry| found(entry, self.scope_id(), entry.version))
                };
                self.agent.view_conversation(talk, read).await?
            }
            Location::Root | Location::Durable { .. } => {
                self.find_durable(self.scope_id(), key, reach, &mut found).await?
            }
        };
        self.agent.meters.get_latency.record(started.elapsed().as_secs_f64() * 1000.0);
        if !matches!(self.location, Location::Root) && tracing::enabled!(tracing::Level::DEBUG) {
            let (scope_name, scope_id, was_found) = (self.scope_name(), self.scope_id(), result.is_some());
            tracing::debug!("Working memory scope {scope_name} ({scope_id}) lookup for key {key}: {was_found}");
        }
        Ok(result)
    }

    fn find_ephemeral<R>(
        &self,
        from: ScopeId,
        key: &str,
        reach: Reach,
        now: Timestamp,
        found: &mut impl FnMut(&Arc<Entry>, ScopeId, u64) -> Option<R>,
    ) -> Result<Step<R>> {
        self.in_ephemeral(from, |state, mut scope| {
            let mut id = from;
            loop {
                if let Some(entry) = scope.get(key, now) {
                    return Step::Ended(found(entry, id, entry.version));
                }
                if reach == Reach::Local {
                    return Step::Ended(None);
                }
                self.agent.meters.fallbacks.increment(1);
                id = scope.parent;
                match state.scope(id) {
                    Some(parent) if !id.is_root() => scope = parent,
                    _ => return Step::GoOn(id),
                }
            }
        })
    }

    /// Hands an ephemeral scope, as it is now, to `read`.
    fn in_ephemeral<R>(
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

    async fn find_durable<R>(
        &self,
        from: ScopeId,
        key: &str,
        reach: Reach,
        found: &mut impl FnMut(&Arc<Entry>, ScopeId, u64) -> Option<R>,
    ) -> Result<Option<R>> {
        let mut look = |current: &Revisioned<AgentState>| {
            let now = self.agent.engine.now(&self.agent.slot, current);
            let mut id = from;
            loop {
                let scope = current.state.scope(id).ok_or_else(|| self.disposed())?;
                if let Some(entry) = scope.get(key, now) {
                    return Ok(found(entry, id, current.head.rev));
                }
                if reach == Reach::Local || id.is_root() {
                    return Ok(None);
                }
                self.agent.meters.fallbacks.increment(1);
                id = scope.parent;
            }
        };
        if let Some(guard) = self.agent.engine.current_in_memory(&self.agent.slot)
            && let Some(current) = guard.as_ref()
        {
            return look(current);
        }
        let current = self.agent.engine.current(&self.agent.slot).await?;
        look(&current)
    }

    /// Hands this scope, as it is now, to `read`.
    pub(crate) async fn view<R>(&self, read: impl FnOnce(&AgentState, &ScopeState, Timestamp) -> R) -> Result<R> {
        let engine = &self.agent.engine;
        let (time, clock) = (engine.time(), &*engine.options.clock);
        let id = self.scope_id();
        match &self.location {
            Location::Ephemeral(_) => {
                let now = self.agent.ephemeral.now(time, clock);
                return self.in_ephemeral(id, |state, scope| read(state, scope, now));
            }
            Location::Conversation(talk) => return self.agent.view_conversation(talk, read).await,
            Location::Root | Location::Durable { .. } => {}
        }
        let current = self.agent.engine.current(&self.agent.slot).await?;
        let scope = current.state.scope(id).ok_or_else(|| self.disposed())?;
        Ok(read(&current.state, scope, engine.now(&self.agent.slot, &current)))
    }

    pub(super) async fn len(&self) -> Result<usize> {
        let id = self.scope_id();
        self.view(|state, _, now| state.live_len(id, now)).await
    }

    pub(super) async fn keys(&self) -> Result<Vec<Key>> {
        self.view(|_, scope, now| scope.live_entries(now).map(|(key, _)| key.clone()).collect()).await
    }

    pub(super) async fn entries(&self) -> Result<Vec<(Key, Arc<Entry>)>> {
        let pair = |(key, entry): (&Key, &Arc<Entry>)| (key.clone(), entry.clone());
        self.view(|_, scope, now| scope.live_entries(now).map(pair).collect()).await
    }

    pub(super) async fn notes(&self) -> Result<Vec<Note>> {
        self.view(|_, scope, _| scope.notes.values().cloned().collect()).await
    }

    pub(super) fn time_set(&self) -> Timed<'_> {
        Timed { histogram: &self.agent.meters.set_latency, started: Instant::now() }
    }
}

/// Where a lookup in the ephemeral scopes ended.
enum Step<R> {
    Ended(Option<R>),
    /// At this durable scope it goes on.
    GoOn(ScopeId),
}

/// Records how long something took when it is dropped.
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

fn parse<T: DeserializeOwned>(key: &Key, entry: &Entry) -> Result<T> {
    entry.value.parse().map_err(|error| wrong_type::<T>(key.as_str(), &error))
}

fn wrong_type<T>(key: &str, error: &serde_json::Error) -> Error {
    Error::Deserialize { key: key.into(), expected: std::any::type_name::<T>(), message: error.to_string() }
}

/// How a text is written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextWrite {
    /// Whether it becomes another line of what is there.
    pub(crate) appends: bool,
    /// Whether it came from outside.
    pub(crate) is_outside: bool,
    /// The version that the entry must be at; 0 for none.
    pub(crate) if_version: Option<u64>,
    /// The revision that the memory must be at.
    pub(crate) if_rev: Option<u64>,
}

/// An update changes the value; what is known about it stays.
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
