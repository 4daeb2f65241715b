//! A scope: separate entries and notes whose reads fall back to a parent scope.

use std::ops::Deref;
use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, ParentLocation};
use corkboard_core::{Note, Refusal, ScopeId, ScopeName};
use jiff::Timestamp;
use serde::Serialize;

use super::handle::{EphemeralScope, Location, MemoryHandle};
use super::lookup::{FoundEntry, Reach};
use super::write::{Write, unexpected};
use crate::engine::{Answer, RequestSource, joined};
use crate::{Conditions, Error, Result};

/// How long a scope lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Exists in this process until its last handle is dropped.
    Ephemeral,
    /// Exists in the store until it is disposed.
    Durable,
}

/// A scope in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScopeInfo {
    /// The scope's ID.
    pub id: ScopeId,
    /// The scope's name.
    pub name: ScopeName,
    /// The scope it falls back to; nil is the root.
    pub parent: ScopeId,
    /// How long the scope lives.
    pub durability: Durability,
    /// Number of entries in this scope, without those of its parents.
    pub entries: usize,
    /// Number of notes.
    pub notes: usize,
    /// When the scope was created.
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

/// A scope of an agent's memory. Reads fall back to the parent; writes change only this scope. Clones are handles to
/// the same scope.
///
/// All methods may be called concurrently. After the scope is disposed, all methods except `name`, `id`, `durability`,
/// `is_disposed` and `dispose` fail with [`Error::ScopeDisposed`].
#[derive(Clone)]
pub struct Scope {
    handle: MemoryHandle,
}

impl Deref for Scope {
    type Target = MemoryHandle;

    fn deref(&self) -> &MemoryHandle {
        &self.handle
    }
}

impl Scope {
    pub(super) fn create<'a>(parent: &'a MemoryHandle, name: &'a str, durability: Durability) -> Write<'a, Self> {
        Write::new(move |conditions| Self::create_if(parent, name, durability, conditions))
    }

    async fn create_if(
        parent: &MemoryHandle,
        name: &str,
        durability: Durability,
        conditions: Conditions,
    ) -> Result<(u64, Self)> {
        let name = ScopeName::new(name, parent.limits())?;
        let parent_id = parent.scope_id();
        // Check that the parent exists and load the durable state, so that its usage counts against the limits.
        parent.read_scope(|_, _, _| ()).await?;
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
        let request = RequestSource::Request(conditions.request(command, parent.limits())?);
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
        Ok((answer.rev, Self { handle: MemoryHandle { location, ..parent.clone() } }))
    }

    pub(super) async fn open(root: &MemoryHandle, id: ScopeId) -> Result<Option<Self>> {
        let current = root.agent.engine.current(&root.agent.slot).await?;
        let scope = (!id.is_root()).then(|| current.state.scope(id)).flatten();
        Ok(scope.map(|scope| {
            let location = Location::Durable { id, name: scope.name.clone() };
            Self { handle: MemoryHandle { location, ..root.clone() } }
        }))
    }

    /// Looks up a key in a scope, which may be the root. Refused if the scope does not exist.
    pub(super) async fn look_up(
        root: &MemoryHandle,
        id: ScopeId,
        key: &str,
        reach: Reach,
    ) -> Result<Option<FoundEntry>> {
        if id.is_root() {
            return root.found(key, reach).await;
        }
        // The lookup reads the current state itself, so the state in memory is enough to find the scope's name.
        let known = root.agent.slot.peek().and_then(|current| Some(current.state.scope(id)?.name.clone()));
        let scope = match known {
            Some(name) => {
                Some(Self { handle: MemoryHandle { location: Location::Durable { id, name }, ..root.clone() } })
            }
            None => Self::open(root, id).await?,
        };
        let gone = || Error::from(Refusal::ScopeGone { scope: id });
        match scope.ok_or_else(gone)?.found(key, reach).await {
            Err(Error::ScopeDisposed { .. }) => Err(gone()),
            found => found,
        }
    }

    /// The scope's name.
    pub fn name(&self) -> ScopeName {
        self.scope_name()
    }

    /// The scope's ID.
    pub fn id(&self) -> ScopeId {
        self.scope_id()
    }

    /// How long it lives.
    pub fn durability(&self) -> Durability {
        match self.location {
            Location::Ephemeral(_) | Location::Conversation(_) => Durability::Ephemeral,
            Location::Root | Location::Durable { .. } => Durability::Durable,
        }
    }

    /// Whether the scope was disposed, as far as this process knows.
    pub fn is_disposed(&self) -> bool {
        self.is_orphan() || self.agent.is_disposed(self.id(), self.durability())
    }

    /// Creates an ephemeral scope that falls back to this one.
    pub fn create_child_scope<'a>(&'a self, name: &'a str) -> Write<'a, Self> {
        Self::create(&self.handle, name, Durability::Ephemeral)
    }

    /// Creates a durable scope that falls back to this one. This scope must be durable too.
    pub fn create_durable_child_scope<'a>(&'a self, name: &'a str) -> Write<'a, Self> {
        Self::create(&self.handle, name, Durability::Durable)
    }

    /// Copies this scope's entries to its parent, and appends the notes that the parent does not have yet. With
    /// `overwrite`, replaces the parent's values under the same keys; otherwise keeps them. Returns how many entries
    /// were copied.
    pub fn merge_to_parent(&self, overwrite: bool) -> Write<'_, u64> {
        Write::new(move |conditions| self.merge_if(overwrite, conditions))
    }

    async fn merge_if(&self, overwrite: bool, conditions: Conditions) -> Result<(u64, u64)> {
        let merge = AgentCommand::MergeScope { scope: self.id(), overwrite };
        let Location::Ephemeral(_) = &self.location else {
            return merged(self.submit(merge, conditions).await?);
        };
        let (parent, parent_is_ephemeral) = self
            .read_scope(|state, scope, _| {
                (scope.parent, !scope.parent.is_root() && state.scope(scope.parent).is_some())
            })
            .await?;
        if parent_is_ephemeral {
            return merged(self.submit(merge, conditions).await?);
        }
        // Two spaces are involved: the parent takes the notes, then this scope marks them as merged. A separate task
        // does both, even if the caller stops waiting.
        let handle = self.handle.clone();
        joined(tokio::spawn(async move { merge_to_durable(&handle, parent, overwrite, conditions).await })).await
    }

    /// Disposes this scope and all scopes below it, with their entries and notes. Returns how many entries this scope
    /// had. A repeated call changes nothing and returns 0.
    pub fn dispose(&self) -> Write<'_, u64> {
        Write::new(move |conditions| self.dispose_if(conditions))
    }

    async fn dispose_if(&self, conditions: Conditions) -> Result<(u64, u64)> {
        let (id, MemoryHandle { agent, actor, .. }) = (self.id(), &self.handle);
        let dispose = conditions.request(AgentCommand::DisposeScope { scope: id }, self.limits())?;
        let dispose = RequestSource::Request(dispose);
        let answer = match self.durability() {
            // Works even if the durable parent is gone.
            Durability::Ephemeral => agent.ask_ephemeral(actor, dispose),
            Durability::Durable => self.ask(dispose).await,
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
    handle: &MemoryHandle,
    parent: ScopeId,
    overwrite: bool,
    conditions: Conditions,
) -> Result<(u64, u64)> {
    let scope = handle.scope_id();
    let one_at_a_time = handle.agent.merging.lock().await;
    let (entries, notes) = handle
        .read_scope(|_, scope, now| {
            let entries = scope.live_entries(now).map(|(key, entry)| (key.clone(), entry.data.clone()));
            let notes = scope.notes.values().filter(|note| note.id > scope.notes_merged);
            (entries.collect(), notes.cloned().collect::<Vec<Note>>())
        })
        .await?;
    let last = notes.last().map(|note| note.id);
    let target = MemoryHandle { location: Location::Root, ..handle.clone() };
    let absorb = AgentCommand::Absorb { scope: parent, entries, notes, overwrite };
    let count = match target.submit(absorb, conditions).await {
        Ok(answer) => merged(answer)?,
        // The parent was disposed, so dispose this scope too.
        Err(Error::Refused(Refusal::ScopeGone { .. })) => {
            handle.agent.dispose_ephemeral(scope);
            return Err(handle.disposed());
        }
        Err(error) => return Err(error),
    };
    if let Some(notes) = last {
        handle.submit(AgentCommand::MarkMerged { scope, notes }, Conditions::default()).await?;
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
