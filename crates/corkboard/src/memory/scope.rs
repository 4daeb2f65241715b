//! A scope: memory of its own that falls back to its parent's.

use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, ParentLocation};
use corkboard_core::{Entry, Key, Note, NoteId, Refusal, ScopeId, ScopeName};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::batch::Batch;
use super::place::{EphemeralScope, FoundEntry, Location, Place, Reach};
use super::write::{AddNote, Append, Conditions, Remove, Set, Write, unexpected};
use crate::engine::Answer;
use crate::engine::joined;
use crate::{Error, Result};

/// How long a scope lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// In this process, until its last handle is dropped.
    Ephemeral,
    /// In the store, until it is disposed.
    Durable,
}

/// A scope in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScopeInfo {
    /// Its id.
    pub id: ScopeId,
    /// What it is called.
    pub name: ScopeName,
    /// The scope it falls back to; nil is the root.
    pub parent: ScopeId,
    /// How long it lives.
    pub durability: Durability,
    /// How many entries it has of its own.
    pub entries: usize,
    /// How many notes it has.
    pub notes: usize,
    /// When it was created.
    pub created_at: Timestamp,
}

impl ScopeInfo {
    pub(super) fn all(state: &AgentState, durability: Durability, now: Timestamp) -> impl Iterator<Item = Self> {
        state.scopes().map(move |(id, scope)| Self {
            id,
            name: scope.name.clone(),
            parent: scope.parent,
            durability,
            entries: state.live_len(id, now),
            notes: scope.notes.len(),
            created_at: scope.created_at,
        })
    }
}

/// A scope of an agent's memory. Reads fall back to the parent, writes stay here. Clones are handles to the same scope.
///
/// All methods may be called concurrently. Once it is disposed, every call but `name`, `id`, `is_disposed` and `dispose`
/// answers [`Error::ScopeDisposed`].
#[derive(Clone)]
pub struct Scope {
    place: Place,
}

impl Scope {
    pub(super) fn create<'a>(parent: &'a Place, name: &'a str, durability: Durability) -> Write<'a, Self> {
        Write::new(move |conditions| Self::create_if(parent, name, durability, conditions))
    }

    async fn create_if(
        parent: &Place,
        name: &str,
        durability: Durability,
        conditions: Conditions,
    ) -> Result<(u64, Self)> {
        let name = ScopeName::new(name, parent.limits())?;
        let parent_id = parent.scope_id();
        // The parent must be there, and the durable state loaded, so that its use counts against the limits.
        parent.view(|_, _, _| ()).await?;
        if let Location::Ephemeral(_) = &parent.location {
            parent.agent.engine.current(&parent.agent.slot).await?;
        }
        let kept_with_parent = match (&parent.location, durability) {
            (Location::Ephemeral(_), Durability::Durable) => {
                return Err(Error::DurableUnderEphemeral { parent: parent.scope_name().to_string() });
            }
            (Location::Ephemeral(_), Durability::Ephemeral) | (_, Durability::Durable) => ParentLocation::Here,
            (_, Durability::Ephemeral) => ParentLocation::Elsewhere,
        };
        let command =
            AgentCommand::CreateScope { name: name.clone(), parent: parent_id, parent_kept: kept_with_parent };
        let request = conditions.request(parent, command)?;
        let answer = match durability {
            Durability::Durable => parent.ask(request).await?,
            Durability::Ephemeral => parent.agent.ask_ephemeral(&parent.actor, request)?,
        };
        let AgentReply::ScopeCreated { id } = answer.reply else { return Err(unexpected(answer.reply)) };
        let location = match durability {
            Durability::Durable => Location::Durable { id, name },
            Durability::Ephemeral => {
                let agent = parent.agent.clone();
                Location::Ephemeral(Arc::new(EphemeralScope { id, name, agent, parent: parent.location.clone() }))
            }
        };
        Ok((answer.rev, Self { place: Place { location, ..parent.clone() } }))
    }

    pub(super) async fn open(root: &Place, id: ScopeId) -> Result<Option<Self>> {
        let current = root.agent.engine.current(&root.agent.slot).await?;
        let scope = (!id.is_root()).then(|| current.state.scope(id)).flatten();
        Ok(scope.map(|scope| {
            let location = Location::Durable { id, name: scope.name.clone() };
            Self { place: Place { location, ..root.clone() } }
        }))
    }

    /// Looks a key up in a scope, which may be the root. Refused if there is no such scope.
    pub(super) async fn look_up(root: &Place, id: ScopeId, key: &str, reach: Reach) -> Result<Option<FoundEntry>> {
        if id.is_root() {
            return root.found(key, reach).await;
        }
        // The lookup itself reads what is current: what is in memory is enough to know the scope's name.
        let known = root.agent.slot.peek().and_then(|current| Some(current.state.scope(id)?.name.clone()));
        let scope = match known {
            Some(name) => Some(Self { place: Place { location: Location::Durable { id, name }, ..root.clone() } }),
            None => Self::open(root, id).await?,
        };
        let gone = || Error::from(Refusal::ScopeGone { scope: id });
        match scope.ok_or_else(gone)?.place.found(key, reach).await {
            Err(Error::ScopeDisposed { .. }) => Err(gone()),
            found => found,
        }
    }

    /// What it is called.
    pub fn name(&self) -> ScopeName {
        self.place.scope_name()
    }

    /// Its id.
    pub fn id(&self) -> ScopeId {
        self.place.scope_id()
    }

    /// How long it lives.
    pub fn durability(&self) -> Durability {
        match self.place.location {
            Location::Ephemeral(_) | Location::Conversation(_) => Durability::Ephemeral,
            Location::Root | Location::Durable { .. } => Durability::Durable,
        }
    }

    /// Whether it was disposed, as far as this process knows.
    pub fn is_disposed(&self) -> bool {
        self.place.is_orphan() || self.place.agent.is_disposed(self.id(), self.durability())
    }

    /// How many entries it has of its own.
    pub async fn local_len(&self) -> Result<usize> {
        self.place.len().await
    }

    /// Stores a value in this scope; the parent's, if there is one under the key, is hidden.
    pub fn set<'a, T: Serialize + ?Sized>(&'a self, key: &'a str, value: &T) -> Set<'a> {
        self.place.set(key, value)
    }

    /// The value under a key: here, else in the parent, and so on to the root.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.place.get(key, Reach::Fallback).await
    }

    /// The entry under a key: here, else in the parent, and so on to the root.
    pub async fn get_entry(&self, key: &str) -> Result<Option<Arc<Entry>>> {
        self.place.entry(key, Reach::Fallback).await
    }

    /// The value under a key in this scope alone.
    pub async fn get_local<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.place.get(key, Reach::Local).await
    }

    /// The value under a key as [`Scope::get`] finds it, or else the one that the factory makes, stored here. As
    /// [`WorkingMemory::get_or_set`](crate::WorkingMemory::get_or_set).
    pub async fn get_or_set<T, E, F, Fut>(&self, key: &str, factory: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.place.get_or_set(key, factory).await
    }

    /// Changes this scope's own value by a function of it. As [`WorkingMemory::update`](crate::WorkingMemory::update).
    pub async fn update<T, F>(&self, key: &str, change: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnMut(Option<T>) -> T + Send + 'static,
    {
        self.place.update(key, change).await
    }

    /// Adds text at the end of this scope's own text, or starts one.
    pub fn append<'a>(&'a self, key: &'a str, text: &'a str) -> Append<'a> {
        self.place.append(key, text)
    }

    /// Whether there is an entry here, in the parent, and so on to the root.
    pub async fn contains(&self, key: &str) -> Result<bool> {
        self.place.contains(key, Reach::Fallback).await
    }

    /// Whether there is an entry in this scope.
    pub async fn contains_local(&self, key: &str) -> Result<bool> {
        self.place.contains(key, Reach::Local).await
    }

    /// Removes an entry of this scope; answers whether there was one. The parent's value shows again.
    pub fn remove<'a>(&'a self, key: &'a str) -> Remove<'a> {
        self.place.remove(key)
    }

    #[cfg(test)]
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Changes several of this scope's own entries in one revision: all of it, or nothing.
    pub fn batch(&self) -> Batch<'_> {
        self.place.batch()
    }

    /// This scope's own entries, by key.
    pub async fn local_entries(&self) -> Result<Vec<(Key, Arc<Entry>)>> {
        self.place.entries().await
    }

    /// Removes this scope's own entries and notes. Returns how many entries there were.
    pub fn clear(&self) -> Write<'_, u64> {
        self.place.clear()
    }

    /// Adds a note to this scope; answers its number.
    pub fn add_note<'a>(&'a self, text: &'a str) -> AddNote<'a> {
        self.place.add_note(text)
    }

    /// This scope's own notes, in the order they were added.
    pub async fn notes(&self) -> Result<Vec<Note>> {
        self.place.notes().await
    }

    /// Removes a note of this scope; answers whether there was one.
    pub fn remove_note(&self, id: NoteId) -> Write<'_, bool> {
        self.place.remove_note(id)
    }

    /// Creates an ephemeral scope that falls back to this one.
    pub fn create_child_scope<'a>(&'a self, name: &'a str) -> Write<'a, Self> {
        Self::create(&self.place, name, Durability::Ephemeral)
    }

    /// Creates a durable scope that falls back to this one, which must be durable too.
    pub fn create_durable_child_scope<'a>(&'a self, name: &'a str) -> Write<'a, Self> {
        Self::create(&self.place, name, Durability::Durable)
    }

    /// Copies this scope's entries to its parent and appends to the parent's notes those that it does not have yet. With
    /// `overwrite`, the parent's values under the same keys are replaced; without, they stay. Returns how many entries
    /// the parent took.
    pub fn merge_to_parent(&self, overwrite: bool) -> Write<'_, u64> {
        Write::new(move |conditions| self.merge_if(overwrite, conditions))
    }

    async fn merge_if(&self, overwrite: bool, conditions: Conditions) -> Result<(u64, u64)> {
        let merge = AgentCommand::MergeScope { scope: self.id(), overwrite };
        let Location::Ephemeral(_) = &self.place.location else {
            return merged(self.place.ask(conditions.request(&self.place, merge)?).await?);
        };
        let (parent, parent_is_ephemeral) = self
            .place
            .view(|state, scope, _| (scope.parent, !scope.parent.is_root() && state.scope(scope.parent).is_some()))
            .await?;
        if parent_is_ephemeral {
            return merged(self.place.ask(conditions.request(&self.place, merge)?).await?);
        }
        // Two spaces: once the parent has them, the notes are marked. A task of its own sees to both, whoever waits.
        let place = self.place.clone();
        joined(tokio::spawn(async move { merge_to_durable(&place, parent, overwrite, conditions).await })).await
    }

    /// Disposes this scope and all below it: its entries and notes are gone. Returns how many entries it had of its own.
    /// A second call changes nothing and answers 0.
    pub fn dispose(&self) -> Write<'_, u64> {
        Write::new(move |conditions| self.dispose_if(conditions))
    }

    async fn dispose_if(&self, conditions: Conditions) -> Result<(u64, u64)> {
        let (id, Place { agent, actor, .. }) = (self.id(), &self.place);
        let dispose = conditions.request(&self.place, AgentCommand::DisposeScope { scope: id })?;
        let answer = match self.durability() {
            // Whatever became of its parent.
            Durability::Ephemeral => agent.ask_ephemeral(actor, dispose),
            Durability::Durable => self.place.ask(dispose).await,
        };
        let disposed = match answer {
            Ok(Answer { reply: AgentReply::Cleared { entries }, rev, .. }) => Some((rev, entries)),
            Ok(answer) => return Err(unexpected(answer.reply)),
            Err(Error::ScopeDisposed { .. } | Error::Refused(Refusal::ScopeGone { .. })) => None,
            Err(error) => return Err(error),
        };
        if self.durability() == Durability::Durable {
            agent.dispose_orphans().await?;
        }
        match disposed {
            Some(disposed) => Ok(disposed),
            None => {
                tracing::warn!("Working memory scope {id} already disposed, operation ignored");
                Ok((agent.engine.current(&agent.slot).await?.head.rev, 0))
            }
        }
    }
}

async fn merge_to_durable(
    place: &Place,
    parent: ScopeId,
    overwrite: bool,
    conditions: Conditions,
) -> Result<(u64, u64)> {
    let scope = place.scope_id();
    let one_at_a_time = place.agent.merging.lock().await;
    let (entries, notes) = place
        .view(|_, scope, now| {
            let entries = scope.live_entries(now).map(|(key, entry)| (key.clone(), entry.data.clone()));
            let notes = scope.notes.values().filter(|note| note.id > scope.notes_merged);
            (entries.collect(), notes.cloned().collect::<Vec<Note>>())
        })
        .await?;
    let last = notes.last().map(|note| note.id);
    let target = Place { location: Location::Root, ..place.clone() };
    let absorb = AgentCommand::Absorb { scope: parent, entries, notes, overwrite };
    let count = match target.ask(conditions.request(&target, absorb)?).await {
        Ok(answer) => merged(answer)?,
        // The parent went, and this scope with it.
        Err(Error::Refused(Refusal::ScopeGone { .. })) => {
            place.agent.dispose_ephemeral(scope);
            return Err(place.disposed());
        }
        Err(error) => return Err(error),
    };
    if let Some(notes) = last {
        place.command(AgentCommand::MarkMerged { scope, notes }).await?;
    }
    drop(one_at_a_time);
    Ok(count)
}

fn merged(answer: Answer<AgentReply>) -> Result<(u64, u64)> {
    match answer.reply {
        AgentReply::Merged { entries } => Ok((answer.rev, entries)),
        other => Err(unexpected(other)),
    }
}
