//! What is read of a place, page by page.

use std::ops::Bound;
use std::sync::Arc;

use corkboard::{
    AgentMemory, AgentView, Entry, EntryDocument, Error, FoundEntry, Key, MemoryKind, Note, Refusal, ScopeId,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Place, no_entry, no_scope};
use crate::condition::Seen;
use crate::cursor::{Cursor, page};
use crate::error::HttpError;
use crate::response::RevResponse;

/// Which entries are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EntriesQuery {
    /// Only those whose keys begin so.
    prefix: Option<String>,
    /// Only those with this tag.
    tag: Option<String>,
    /// Only those of this kind.
    #[param(inline)]
    kind: Option<MemoryKind>,
    /// Where to go on: `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// How many at most; 100 if it is not said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Which notes are listed.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NotesQuery {
    /// Where to go on: `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// How many at most; 100 if it is not said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// A page of entries.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntriesBody {
    /// By key.
    entries: Vec<EntryDocument>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// A page of notes.
#[derive(Serialize, ToSchema)]
pub(crate) struct NotesBody {
    /// In the order in which they were added.
    notes: Vec<Note>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// An entry, and where it was found.
#[derive(Serialize, ToSchema)]
pub(crate) struct FoundBody {
    #[serde(flatten)]
    entry: EntryDocument,
    /// The scope that it is in: the one that was asked, or one above it. Nil is the agent's memory itself.
    scope: ScopeId,
}

/// How far a read of a scope goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The scope's own entries.
    Own,
    /// Then its parent's, and so on to the agent's memory itself.
    Fallback,
}

impl Place {
    /// The entry under a key of this place itself.
    pub(crate) async fn entry(&self, key: &str, seen: &Seen) -> Result<RevResponse<EntryDocument>, HttpError> {
        let found = match self {
            Self::Memory(_, memory) => memory.find(key).await?,
            Self::Scope(memory, scope) => memory.working().find_in(scope.id(), key).await?,
            Self::Conversation(conversation) => {
                // Before what is read, so that a condition on it never passes over a write.
                let view = conversation.view().await?;
                let (key, scope, rev) = (Key::new(key, view.limits())?, conversation.scope_id(), view.rev());
                conversation.get_entry(key.as_str()).await?.map(|entry| FoundEntry { key, entry, scope, rev })
            }
        };
        let FoundEntry { key, entry, rev, .. } = found.ok_or_else(|| no_entry(key))?;
        Ok(RevResponse::new(EntryDocument::new(&key, &entry), rev).version(entry.version).unless(seen))
    }

    /// The entry under a key of a scope, or else of those above it.
    pub(crate) async fn found(
        (memory, scope): (&AgentMemory, ScopeId),
        key: &str,
        reach: Reach,
        seen: &Seen,
    ) -> Result<RevResponse<FoundBody>, HttpError> {
        let working = memory.working();
        let found = match reach {
            Reach::Own => working.find_in(scope, key).await,
            Reach::Fallback => working.find_from(scope, key).await,
        };
        let found = match found {
            Err(Error::Refused(Refusal::ScopeGone { .. })) => return Err(no_scope(scope)),
            found => found?,
        };
        let FoundEntry { key, entry, scope, rev } = found.ok_or_else(|| no_entry(key))?;
        let body = FoundBody { entry: EntryDocument::new(&key, &entry), scope };
        Ok(RevResponse::new(body, rev).version(entry.version).unless(seen))
    }

    /// A page of this place's own entries.
    pub(crate) async fn entries(&self, query: EntriesQuery) -> Result<RevResponse<EntriesBody>, HttpError> {
        let EntriesQuery { prefix, tag, kind, cursor, limit } = query;
        let after = cursor.map(|cursor| cursor.name()).transpose()?;
        let prefix = prefix.unwrap_or_default();
        let start = match &after {
            Some(after) if **after >= *prefix => Bound::Excluded(after.as_str()),
            _ => Bound::Included(prefix.as_str()),
        };
        let is_asked_for = |(_, entry): &(&Key, &Arc<Entry>)| {
            tag.as_deref().is_none_or(|tag| entry.tags.iter().any(|known| **known == *tag))
                && kind.is_none_or(|kind| entry.kind == kind)
        };
        let begins = |(key, _): &(&Key, &Arc<Entry>)| key.as_str().starts_with(&prefix);
        let (view, scope) = self.view().await?;
        let found = view.entries_from(scope, start).take_while(begins).filter(is_asked_for);
        let (found, next) = page(found, limit, |(key, _)| key.to_string());
        let entries = found.into_iter().map(|(key, entry)| EntryDocument::new(key, entry)).collect();
        Ok(RevResponse::new(EntriesBody { entries, next }, view.rev()))
    }

    /// A page of this place's own notes.
    pub(crate) async fn notes(&self, query: NotesQuery) -> Result<RevResponse<NotesBody>, HttpError> {
        let after = query.cursor.map(|cursor| cursor.number()).transpose()?.unwrap_or(0);
        let (view, scope) = self.view().await?;
        let notes = view.notes_in(scope).filter(|note| note.id.0 > after).cloned();
        let (notes, next) = page(notes, query.limit, |note: &Note| note.id.to_string());
        Ok(RevResponse::new(NotesBody { notes, next }, view.rev()))
    }

    /// What is remembered there now, and the scope in it.
    async fn view(&self) -> Result<(AgentView, ScopeId), HttpError> {
        let (memory, scope) = match self {
            Self::Memory(memory, _) => (memory, ScopeId::ROOT),
            Self::Scope(memory, scope) => (memory, scope.id()),
            // One that has not begun is empty.
            Self::Conversation(conversation) => return Ok((conversation.view().await?, conversation.scope_id())),
        };
        let view = memory.view().await?;
        view.state().scope(scope).ok_or_else(|| no_scope(scope))?;
        Ok((view, scope))
    }
}
