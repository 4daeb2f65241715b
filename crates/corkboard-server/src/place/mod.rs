//! Where entries and notes are: in an agent's memory itself, in a scope of it, or in a conversation. The routes of the three
//! say the same things.

mod batch;
mod body;
mod read;

use corkboard::{AgentMemory, Conversation, EntryChange, NoteId, Scope, ScopeId, Separator, WorkingMemory, Written};

use crate::caller::Caller;
use crate::condition::SpaceConditions;
use crate::error::HttpError;
use crate::extract::Conditions;
use crate::response::RevResponse;

pub(crate) use batch::{Batch, BatchBody};
pub(crate) use body::{AddedBody, AppendBody, ChangedBody, ClearedBody, EntryBody, NoteBody, RemovedBody};
pub(crate) use read::{EntriesBody, EntriesQuery, FoundBody, NotesBody, NotesQuery, Reach};

/// Puts the conditions of a request on a write.
macro_rules! under {
    (version $conditions:ident, $write:expr) => {{
        let write = $write;
        let write = if let Some(version) = $conditions.if_version { write.if_version(version) } else { write };
        under!($conditions, write)
    }};
    ($conditions:ident, $write:expr) => {{
        let write = $write;
        let write = if let Some(rev) = $conditions.if_rev { write.if_rev(rev) } else { write };
        if let Some(key) = $conditions.idempotency_key { write.idempotency_key(key) } else { write }
    }};
}

pub(crate) use under;

/// Where entries and notes are.
pub(crate) enum Place {
    Memory(AgentMemory, WorkingMemory),
    Scope(AgentMemory, Scope),
    Conversation(Conversation),
}

impl Place {
    /// An agent's memory itself.
    pub(crate) fn memory(caller: &Caller, agent: &str) -> Result<Self, HttpError> {
        let memory = caller.agent(agent)?;
        let working = memory.working();
        Ok(Self::Memory(memory, working))
    }

    /// A scope that is kept in the store.
    pub(crate) async fn scope(caller: &Caller, agent: &str, id: ScopeId) -> Result<Self, HttpError> {
        let memory = caller.agent(agent)?;
        let scope = memory.working().scope(id).await?.ok_or_else(|| no_scope(id))?;
        Ok(Self::Scope(memory, scope))
    }

    /// A conversation, which need not have begun.
    pub(crate) fn conversation(caller: &Caller, agent: &str, id: &str) -> Result<Self, HttpError> {
        Ok(Self::Conversation(caller.agent(agent)?.conversation(id)?))
    }

    /// Stores an entry.
    pub(crate) async fn put(
        &self,
        key: &str,
        EntryBody { value, metadata }: EntryBody,
        conditions: Conditions,
    ) -> Result<RevResponse<Written>, HttpError> {
        let set = match self {
            Self::Memory(_, memory) => memory.set(key, &value),
            Self::Scope(_, scope) => scope.set(key, &value),
            Self::Conversation(conversation) => conversation.set(key, &value),
        };
        let written = under!(version conditions, set.metadata(metadata).type_name("json")).await?;
        Ok(of_written(written))
    }

    /// Adds text at the end of a text.
    pub(crate) async fn append(
        &self,
        key: &str,
        AppendBody { text, separator }: AppendBody,
        conditions: Conditions,
    ) -> Result<RevResponse<Written>, HttpError> {
        let append = match self {
            Self::Memory(_, memory) => memory.append(key, &text),
            Self::Scope(_, scope) => scope.append(key, &text),
            Self::Conversation(conversation) => conversation.append(key, &text),
        };
        let append = match separator {
            Separator::None => append,
            Separator::Line => append.on_new_line(),
        };
        Ok(of_written(under!(version conditions, append).await?))
    }

    /// Removes an entry.
    pub(crate) async fn remove(
        &self,
        key: &str,
        conditions: Conditions,
    ) -> Result<RevResponse<RemovedBody>, HttpError> {
        let remove = match self {
            Self::Memory(_, memory) => memory.remove(key),
            Self::Scope(_, scope) => scope.remove(key),
            Self::Conversation(conversation) => conversation.remove(key),
        };
        let (rev, removed) = under!(version conditions, remove).with_rev().await?;
        Ok(RevResponse::new(RemovedBody { removed }, rev))
    }

    /// Changes several entries in one revision: all of it, or nothing.
    pub(crate) async fn change(
        &self,
        changes: Vec<EntryChange>,
        conditions: SpaceConditions,
    ) -> Result<RevResponse<ChangedBody>, HttpError> {
        let batch = match self {
            Self::Memory(_, memory) => memory.batch(),
            Self::Scope(_, scope) => scope.batch(),
            Self::Conversation(conversation) => conversation.batch(),
        };
        let count = changes.len() as u64;
        let batch = changes.into_iter().fold(batch, |batch, change| batch.change(change));
        let version = under!(conditions, batch).await?;
        Ok(RevResponse::new(ChangedBody { version, changes: count }, version))
    }

    /// Adds a note.
    pub(crate) async fn add_note(
        &self,
        NoteBody { text, trust }: NoteBody,
        conditions: SpaceConditions,
    ) -> Result<RevResponse<AddedBody>, HttpError> {
        let add = match self {
            Self::Memory(_, memory) => memory.add_note(&text),
            Self::Scope(_, scope) => scope.add_note(&text),
            Self::Conversation(conversation) => conversation.add_note(&text),
        };
        let add = if let Some(trust) = trust { add.trust(trust) } else { add };
        let (rev, id) = under!(conditions, add).with_rev().await?;
        Ok(RevResponse::new(AddedBody { id }, rev).created())
    }

    /// Removes a note.
    pub(crate) async fn remove_note(
        &self,
        id: NoteId,
        conditions: SpaceConditions,
    ) -> Result<RevResponse<RemovedBody>, HttpError> {
        let remove = match self {
            Self::Memory(_, memory) => memory.remove_note(id),
            Self::Scope(_, scope) => scope.remove_note(id),
            Self::Conversation(conversation) => conversation.remove_note(id),
        };
        let (rev, removed) = under!(conditions, remove).with_rev().await?;
        Ok(RevResponse::new(RemovedBody { removed }, rev))
    }

    /// Removes all of this place's own entries and notes.
    pub(crate) async fn clear(&self, conditions: SpaceConditions) -> Result<RevResponse<ClearedBody>, HttpError> {
        let clear = match self {
            Self::Memory(_, memory) => memory.clear(),
            Self::Scope(_, scope) => scope.clear(),
            Self::Conversation(conversation) => conversation.clear(),
        };
        let (rev, entries) = under!(conditions, clear).with_rev().await?;
        Ok(RevResponse::new(ClearedBody { entries }, rev))
    }
}

/// 201 for a key that was not there before.
pub(crate) fn of_written(written: Written) -> RevResponse<Written> {
    let answer = RevResponse::new(written, written.version).version(written.version);
    if written.is_update { answer } else { answer.created() }
}

pub(crate) fn no_scope(id: ScopeId) -> HttpError {
    HttpError::not_found(format!("there is no scope {id}"))
}

pub(crate) fn no_entry(key: &str) -> HttpError {
    HttpError::not_found(format!("there is no entry {key:?}"))
}
