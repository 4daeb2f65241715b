//! Searching an agent's memory: the documents that are indexed, and the hits.

use std::sync::Arc;

use corkboard_core::agent::AgentState;
use corkboard_core::knowledge::Trust;
use corkboard_core::notebook::NotebookItemId;
use corkboard_core::{Entry, Key, Note, NoteId, NotebookName, Refusal, Revisioned, ScopeId, ScopeName, ScopeState};
use imbl::ordmap::DiffItem;
use jiff::Timestamp;
use serde::Serialize;

use super::search_notebook;
use crate::search::{Change, Document, Index, Query, Search, Searchable, snippet, text_of};

/// A search hit: an entry, a note or a part of a notebook.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// What was found.
    #[serde(flatten)]
    pub item: FoundItem,
    /// The scope that contains it, unless that is the root.
    pub scope: Option<FoundScope>,
    /// How well it matches the query. Scores of different searches are not comparable.
    pub score: f32,
    /// The best matching part, on one line.
    pub snippet: String,
    /// Author of the text.
    pub author: Arc<str>,
    /// When it was written.
    pub at: Timestamp,
    /// How far the text may be trusted.
    pub trust: Trust,
}

impl SearchHit {
    /// The key, if the hit is an entry.
    pub fn key(&self) -> Option<&str> {
        match &self.item {
            FoundItem::Entry { key, .. } => Some(key.as_str()),
            FoundItem::Note { .. } | FoundItem::Notebook { .. } => None,
        }
    }

    /// The note's number, if the hit is a note.
    pub fn note(&self) -> Option<NoteId> {
        match self.item {
            FoundItem::Entry { .. } | FoundItem::Notebook { .. } => None,
            FoundItem::Note { note } => Some(note),
        }
    }
}

/// The item that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum FoundItem {
    /// An entry.
    #[cfg_attr(feature = "openapi", schema(title = "entry"))]
    Entry {
        /// The entry's key.
        key: Key,
        /// Revision that last changed it.
        version: u64,
        /// Importance from 0 to 1.
        importance: f32,
        /// The entry's tags.
        tags: Vec<Arc<str>>,
    },
    /// A note.
    #[cfg_attr(feature = "openapi", schema(title = "note"))]
    Note {
        /// The note's number.
        note: NoteId,
    },
    /// A part of a notebook.
    #[cfg_attr(feature = "openapi", schema(title = "notebook_item"))]
    Notebook {
        /// The notebook's name.
        notebook: NotebookName,
        /// ID of the learning or snippet; null for the progress.
        item: Option<NotebookItemId>,
    },
}

/// The scope of a search hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundScope {
    /// The scope's ID.
    pub id: ScopeId,
    /// The scope's name.
    pub name: ScopeName,
}

/// Identifies a document of an agent's memory in the search index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemoryDocument {
    Entry(ScopeId, Key),
    Note(ScopeId, NoteId),
    /// An item of a notebook; `None` for its progress.
    Notebook(NotebookName, Option<NotebookItemId>),
}

impl Searchable for AgentState {
    type DocumentId = MemoryDocument;

    fn changes(before: Option<&Self>, after: &Self, mut each: impl FnMut(MemoryDocument, Change<'_>)) {
        let empty = ScopeState::new(ScopeName::root(), ScopeId::ROOT, Timestamp::UNIX_EPOCH);
        for (id, scope) in after.all_scopes() {
            let old = before.and_then(|before| before.scope(id)).unwrap_or(&empty);
            scope_changes(id, old, scope, &mut each);
        }
        let scopes_before = before.into_iter().flat_map(Self::scopes);
        for (id, scope) in scopes_before.filter(|(id, _)| after.scope(*id).is_none()) {
            scope_changes(id, scope, &empty, &mut each);
        }
        search_notebook::changes(before, after, &mut each);
    }
}

/// Reports the documents that differ between two states of a scope. Shared parts of the states are skipped.
fn scope_changes(
    scope: ScopeId,
    before: &ScopeState,
    after: &ScopeState,
    each: &mut impl FnMut(MemoryDocument, Change<'_>),
) {
    for change in before.entries.diff(&after.entries) {
        match change {
            DiffItem::Add(key, entry) | DiffItem::Update { new: (key, entry), .. } => {
                each(MemoryDocument::Entry(scope, key.clone()), Change::Put(entry_document(key, entry)));
            }
            DiffItem::Remove(key, _) => each(MemoryDocument::Entry(scope, key.clone()), Change::Removed),
        }
    }
    for change in before.notes.diff(&after.notes) {
        match change {
            DiffItem::Add(id, note) | DiffItem::Update { new: (id, note), .. } => {
                each(MemoryDocument::Note(scope, *id), Change::Put(note_document(note)));
            }
            DiffItem::Remove(id, _) => each(MemoryDocument::Note(scope, *id), Change::Removed),
        }
    }
}

fn entry_document<'a>(key: &'a Key, entry: &'a Entry) -> Document<'a> {
    Document {
        body: text_of(&entry.value),
        key: key.as_str(),
        tags: &entry.tags,
        author: &entry.author,
        written: entry.timestamp,
        importance: entry.importance,
    }
}

fn note_document(note: &Note) -> Document<'_> {
    Document::plain(&*note.text, &note.author, note.timestamp)
}

/// The best hits that have not expired.
pub(super) fn hits(
    current: &Revisioned<AgentState>,
    index: &Index<MemoryDocument>,
    query: &Query,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<SearchHit>, Refusal> {
    let state = &current.state;
    let is_live = |document: &MemoryDocument| match document {
        MemoryDocument::Entry(scope, key) => {
            state.scope(*scope).is_some_and(|scope| scope.get(key.as_str(), now).is_some())
        }
        MemoryDocument::Note(..) | MemoryDocument::Notebook(..) => true,
    };
    let ranked = index.search(query, limit, is_live);
    Ok(ranked.into_iter().filter_map(|(document, score)| hit(state, document, score, query)).collect())
}

fn hit(state: &AgentState, document: MemoryDocument, score: f32, query: &Query) -> Option<SearchHit> {
    let id = match &document {
        MemoryDocument::Entry(id, _) | MemoryDocument::Note(id, _) => id,
        MemoryDocument::Notebook(name, item) => {
            let part = search_notebook::part(state.notebook(name.as_str())?, *item)?;
            let snippet = snippet(&part.body, query, Search::SNIPPET);
            let item = FoundItem::Notebook { notebook: name.clone(), item: *item };
            let (author, at) = (part.author.into(), part.written);
            return Some(SearchHit { item, scope: None, score, snippet, author, at, trust: Trust::Agent });
        }
    };
    let found = state.scope(*id)?;
    let scope = (!id.is_root()).then(|| FoundScope { id: *id, name: found.name.clone() });
    let (item, text, author, at, trust) = match document {
        MemoryDocument::Entry(_, key) => {
            let entry = found.entries.get(&key)?;
            let (version, importance, tags) = (entry.version, entry.importance, entry.tags.clone());
            let item = FoundItem::Entry { key, version, importance, tags };
            (item, text_of(&entry.value), &entry.author, entry.timestamp, entry.trust())
        }
        MemoryDocument::Note(_, id) => {
            let note = found.notes.get(&id)?;
            (FoundItem::Note { note: id }, (*note.text).into(), &note.author, note.timestamp, note.trust())
        }
        MemoryDocument::Notebook(..) => return None,
    };
    let snippet = snippet(&text, query, Search::SNIPPET);
    Some(SearchHit { item, scope, score, snippet, author: author.clone(), at, trust })
}
