//! Reads of entries and notes, page by page.

use std::ops::Bound;
use std::sync::Arc;

use corkboard::{Entry, EntryDocument, FoundEntry, Key, MemoryHandle, MemoryKind, Note, NoteId};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::condition::Seen;
use crate::cursor::{Cursor, PageQuery, Sort, SortField, page, share, time};
use crate::error::HttpError;
use crate::response::{ItemsBody, RevResponse, RevResult};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EntriesQuery {
    /// Only entries whose key starts with this prefix.
    prefix: Option<String>,
    /// Only entries with this tag.
    tag: Option<String>,
    /// Only entries of this kind.
    #[param(inline)]
    kind: Option<MemoryKind>,
    /// Only entries written at or after this time (`metadata.at`).
    updated_since: Option<Timestamp>,
    /// Sort order [default: by key].
    #[param(inline)]
    sort: Option<EntryOrder>,
}

type EntryOrder = Sort<EntrySort>;

#[derive(Clone, Copy)]
pub(super) enum EntrySort {
    At,
    Importance,
}

impl SortField for EntrySort {
    const ALL: &'static [(&'static str, Self)] = &[("at", Self::At), ("importance", Self::Importance)];
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NotesQuery {
    /// Where to continue: `next` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// Maximum number of notes [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only notes made at or after this time.
    updated_since: Option<Timestamp>,
    /// Sort order [default: by ID].
    #[param(inline)]
    sort: Option<NoteOrder>,
}

type NoteOrder = Sort<NoteSort>;

#[derive(Clone, Copy)]
pub(super) enum NoteSort {
    At,
}

impl SortField for NoteSort {
    const ALL: &'static [(&'static str, Self)] = &[("at", Self::At)];
}

pub(super) async fn entry(memory: &MemoryHandle, key: &str, seen: &Seen) -> RevResult<EntryDocument> {
    let FoundEntry { key, entry, rev, .. } = memory.find(key).await?.ok_or_else(|| no_entry(key))?;
    Ok(RevResponse::new(EntryDocument::new(&key, &entry), rev).version(entry.version).unless(seen))
}

pub(super) async fn entries(
    memory: &MemoryHandle,
    query: EntriesQuery,
    page: PageQuery,
) -> RevResult<ItemsBody<EntryDocument>> {
    let EntriesQuery { prefix, tag, kind, updated_since, sort } = query;
    let prefix = prefix.unwrap_or_default();
    let is_asked_for = |(_, entry): &(&Key, &Arc<Entry>)| {
        tag.as_deref().is_none_or(|tag| entry.tags.iter().any(|known| **known == *tag))
            && kind.is_none_or(|kind| entry.kind == kind)
            && updated_since.is_none_or(|since| entry.at >= since)
    };
    let begins = |(key, _): &(&Key, &Arc<Entry>)| key.as_str().starts_with(&prefix);
    let view = memory.view().await?;
    let after = match &sort {
        Some(_) => None,
        None => page.position::<String>("key")?.map(|(_, key)| key),
    };
    let start = match &after {
        Some(after) if **after >= *prefix => Bound::Excluded(after.as_str()),
        _ => Bound::Included(prefix.as_str()),
    };
    let found = view.entries_from(memory.scope_id(), start).take_while(begins).filter(is_asked_for);
    let page = match &sort {
        Some(sort) => page.sorted(sort, found, |(key, entry), field| match field {
            EntrySort::At => (time(entry.at), key.to_string()),
            EntrySort::Importance => (share(entry.importance), key.to_string()),
        })?,
        None => page.indexed("key", |_| found, |(key, _)| (0, key.to_string()))?,
    };
    let page = ItemsBody::from(page).map(|(key, entry)| EntryDocument::new(key, entry));
    Ok(RevResponse::new(page, view.rev()))
}

pub(super) async fn notes(memory: &MemoryHandle, query: NotesQuery) -> RevResult<ItemsBody<Note>> {
    let NotesQuery { cursor, limit, updated_since, sort } = query;
    let view = memory.view().await?;
    let notes = |after| {
        let notes = view.notes_after(memory.scope_id(), NoteId(after)).cloned();
        notes.filter(|note| updated_since.is_none_or(|since| note.at >= since))
    };
    let page = match &sort {
        Some(sort) => PageQuery { cursor, limit }.sorted(sort, notes(0), |note, field| match field {
            NoteSort::At => (time(note.at), note.id.0),
        })?,
        None => {
            let after = cursor.map(|cursor| cursor.number()).transpose()?.unwrap_or(0);
            page(notes(after), limit, |note: &Note| Cursor::after(&note.id.to_string()))
        }
    };
    Ok(RevResponse::new(page.into(), view.rev()))
}

pub(super) fn no_entry(key: &str) -> HttpError {
    HttpError::not_found(format!("entry {key:?} not found"))
}
