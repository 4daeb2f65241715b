//! Searching an agent's memory: the documents that are indexed, and the hits.

use corkboard_core::agent::AgentState;
use corkboard_core::knowledge::Trust;
use corkboard_core::notebook::NotebookItemId;
use corkboard_core::{Entry, Key, Note, NoteId, NotebookName, Refusal, ScopeId, ScopeName, ScopeState};
use imbl::ordmap::DiffItem;
use jiff::Timestamp;

use super::search_notebook;
use crate::search::{
    Change, Document, Found, FoundItem, FoundScope, Query, SearchHit, Searchable, SearchedState, text_of,
};

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
        kind: entry.kind.as_str(),
        author: &entry.author,
        written: entry.at,
        importance: entry.importance,
        session: entry.session.as_deref(),
        version: entry.version,
    }
}

fn note_document(note: &Note) -> Document<'_> {
    Document::plain("note", &*note.text, &note.author, note.at)
}

/// The best hits that have not expired.
pub(super) fn hits(searched: &SearchedState<'_, AgentState>) -> Result<Vec<SearchHit>, Refusal> {
    let state = &searched.state.state;
    let is_live = |document: &MemoryDocument| match document {
        MemoryDocument::Entry(scope, key) => {
            state.scope(*scope).is_some_and(|scope| scope.get(key.as_str(), searched.now).is_some())
        }
        MemoryDocument::Note(..) | MemoryDocument::Notebook(..) => true,
    };
    let admit = |id: &MemoryDocument| is_live(id) && searched.query.admits(|| document(state, id));
    Ok(searched.hits(admit, |found| hit(state, &found, searched.query)))
}

fn document<'a>(state: &'a AgentState, id: &'a MemoryDocument) -> Option<Document<'a>> {
    match id {
        MemoryDocument::Entry(scope, key) => {
            let entry = state.scope(*scope)?.entries.get(key)?;
            Some(entry_document(key, entry))
        }
        MemoryDocument::Note(scope, id) => Some(note_document(state.scope(*scope)?.notes.get(id)?)),
        MemoryDocument::Notebook(name, item) => search_notebook::part(state.notebook(name.as_str())?, *item),
    }
}

fn hit(state: &AgentState, found: &Found<MemoryDocument>, query: &Query) -> Option<SearchHit> {
    let document = document(state, &found.id)?;
    let (item, scope, trust) = match &found.id {
        MemoryDocument::Entry(scope, key) => {
            let entry = state.scope(*scope)?.entries.get(key)?;
            let (version, importance, tags) = (entry.version, entry.importance, entry.tags.clone());
            (FoundItem::Entry { key: key.clone(), version, importance, tags }, *scope, entry.trust())
        }
        MemoryDocument::Note(scope, id) => {
            (FoundItem::Note { note: *id }, *scope, state.scope(*scope)?.notes.get(id)?.trust())
        }
        MemoryDocument::Notebook(name, item) => {
            (FoundItem::Notebook { notebook: name.clone(), item: *item }, ScopeId::ROOT, Trust::Agent)
        }
    };
    let scope = match scope.is_root() {
        true => None,
        false => Some(FoundScope { id: scope, name: state.scope(scope)?.name.clone() }),
    };
    Some(SearchHit { scope, ..SearchHit::new(item, &document, trust, found, query) })
}
