//! Forgetting for good: removes a value from the log but keeps the revisions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::forget_notebook as notebooks;
use super::{AgentEvent, AgentImage, AgentState};
use crate::notebook::NotebookItemId;
use crate::{Content, EntryData, EntryId, Key, Note, NoteId, NotebookName, ScopeId};

/// The data to forget. It is removed from all scopes of an agent, because merging copies values between scopes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Forget {
    /// All present and past values of a key. A renamed entry is forgotten under all its keys.
    Entry {
        key: Key,
        /// All entries that ever had this key, collected from the log.
        ids: BTreeSet<EntryId>,
        /// Which entry a later append in the log belongs to.
        #[serde(skip)]
        trail: Trail,
    },
    /// A note and all notes with the same text.
    Note {
        id: NoteId,
        /// The texts of all notes with this number, collected from the log.
        texts: BTreeSet<String>,
    },
    /// A notebook, or one item of it with its reasons. A progress bullet that repeats the text of an item is not
    /// forgotten with the item. If there may be one, forget the whole notebook.
    Notebook {
        notebook: NotebookName,
        /// The item. None forgets everything the notebook ever contained, including its progress.
        item: Option<NotebookItemId>,
    },
}

/// The positions of entries at one event of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    ids: BTreeMap<(ScopeId, Key), EntryId>,
    /// The entry that the previous event removed. A rename is a removal followed by a set.
    removed: Option<(ScopeId, Key)>,
    /// All keys of the forgotten entries. They decide about appended text if a trimmed log no longer shows the entry.
    keys: BTreeSet<Key>,
}

impl Trail {
    fn leave(&mut self, scope: ScopeId) {
        self.ids.retain(|(other, _), _| *other != scope);
    }
}

impl Forget {
    pub fn entry(key: Key) -> Self {
        Self::Entry { key, ids: BTreeSet::new(), trail: Trail::default() }
    }

    pub fn note(id: NoteId) -> Self {
        Self::Note { id, texts: BTreeSet::new() }
    }

    /// Forgets a notebook, or one item of it.
    pub fn notebook(notebook: NotebookName, item: Option<NotebookItemId>) -> Self {
        Self::Notebook { notebook, item }
    }

    /// Prepares for the events of a log from its start.
    pub(super) fn begin(&mut self) {
        if let Self::Entry { trail, .. } = self {
            trail.ids.clear();
            trail.removed = None;
        }
    }

    fn is_entry(&self, key: &Key, id: EntryId) -> bool {
        matches!(self, Self::Entry { key: forgotten, ids, .. } if key == forgotten || ids.contains(&id))
    }

    /// Whether text appended under this key belongs to a forgotten entry.
    fn is_appended(&self, scope: ScopeId, key: &Key) -> bool {
        let Self::Entry { key: forgotten, ids, trail } = self else { return false };
        let known = trail.ids.get(&(scope, key.clone()));
        key == forgotten || known.map_or_else(|| trail.keys.contains(key), |id| ids.contains(id))
    }

    /// Collects keys and entries from an event before it is redacted.
    fn follow(&mut self, event: &AgentEvent) {
        let Self::Entry { key: forgotten, ids, trail } = self else { return };
        let before = trail.removed.take();
        let mut seen = |trail: &mut Trail, scope: ScopeId, key: &Key, id: EntryId| {
            if key == forgotten {
                ids.insert(id);
            }
            if ids.contains(&id) {
                trail.keys.insert(key.clone());
            }
            trail.ids.insert((scope, key.clone()), id);
        };
        match event {
            AgentEvent::EntrySet { scope, key, entry, updated } => {
                seen(trail, *scope, key, entry.id);
                if let Some((_, from)) = before.filter(|(other, _)| other == scope && !updated)
                    && ids.contains(&entry.id)
                {
                    trail.keys.insert(from);
                }
            }
            AgentEvent::EntryRemoved { scope, key } => {
                let place = (*scope, key.clone());
                trail.ids.remove(&place);
                trail.removed = Some(place);
            }
            AgentEvent::EntryExpired { scope, key } => drop(trail.ids.remove(&(*scope, key.clone()))),
            AgentEvent::Cleared { scope, .. } | AgentEvent::ScopeDisposed { scope, .. } => trail.leave(*scope),
            AgentEvent::Restored { image } => {
                trail.ids.clear();
                for scope in &image.scopes {
                    scope.entries.iter().for_each(|entry| seen(trail, scope.id, &entry.key, entry.entry.id));
                }
            }
            AgentEvent::EntryAppended { .. }
            | AgentEvent::NoteAdded { .. }
            | AgentEvent::NoteRemoved { .. }
            | AgentEvent::ScopeCreated { .. }
            | AgentEvent::ScopeMerged { .. }
            | AgentEvent::NotebookUpdated { .. }
            | AgentEvent::NotebookRestored { .. }
            | AgentEvent::NotebookCleared { .. }
            | AgentEvent::NotebookItemRemoved { .. }
            | AgentEvent::ConversationRenewed { .. } => {}
        }
    }

    pub(super) fn is_note(&self, note: &Note) -> bool {
        matches!(self, Self::Note { id, texts } if *id == note.id || texts.contains(&*note.text))
    }

    pub(super) fn removals(&self, state: &AgentState) -> Vec<AgentEvent> {
        let in_scope = |(scope, content): (_, &crate::ScopeState)| {
            let entries = content.entries.iter().filter(|(key, entry)| self.is_entry(key, entry.id));
            let entries =
                entries.map(|(key, _)| AgentEvent::EntryRemoved { scope, key: key.clone() }).collect::<Vec<_>>();
            let notes = content.notes.values().filter(|note| self.is_note(note));
            let notes = notes.map(|note| AgentEvent::NoteRemoved { scope, id: note.id }).collect::<Vec<_>>();
            entries.into_iter().chain(notes)
        };
        let in_notebooks = notebooks::removal(self, state);
        state.all_scopes().flat_map(in_scope).chain(in_notebooks).collect()
    }

    /// Removes the data to forget from an event. Returns whether it contained any.
    pub(super) fn redact(&mut self, event: &mut AgentEvent) -> bool {
        self.follow(event);
        match event {
            AgentEvent::EntrySet { key, entry, .. } => self.is_entry(key, entry.id) && redact_entry(entry),
            AgentEvent::EntryAppended { scope, key, text } if !text.is_empty() && self.is_appended(*scope, key) => {
                text.clear();
                true
            }
            AgentEvent::NoteAdded { note, .. } => self.redact_note(note),
            AgentEvent::Restored { image } => self.redact_image(image),
            AgentEvent::NotebookUpdated { notebook, update } => notebooks::redact_update(self, notebook, update),
            AgentEvent::NotebookRestored { notebook, content } => notebooks::redact_content(self, notebook, content),
            AgentEvent::NotebookCleared { .. } | AgentEvent::NotebookItemRemoved { .. } => false,
            AgentEvent::EntryAppended { .. }
            | AgentEvent::EntryRemoved { .. }
            | AgentEvent::EntryExpired { .. }
            | AgentEvent::Cleared { .. }
            | AgentEvent::NoteRemoved { .. }
            | AgentEvent::ScopeCreated { .. }
            | AgentEvent::ScopeMerged { .. }
            | AgentEvent::ScopeDisposed { .. }
            | AgentEvent::ConversationRenewed { .. } => false,
        }
    }

    fn redact_image(&mut self, image: &mut AgentImage) -> bool {
        let mut changed = false;
        for (name, notebook) in &mut image.notebooks {
            changed |= notebooks::redact_notebook(self, name, notebook);
        }
        for scope in &mut image.scopes {
            for entry in scope.entries.iter_mut().filter(|entry| self.is_entry(&entry.key, entry.entry.id)) {
                changed |= redact_entry(&mut entry.entry);
            }
            for note in &mut scope.notes {
                changed |= self.redact_note(note);
            }
        }
        changed
    }

    fn redact_note(&mut self, note: &mut Note) -> bool {
        if &*note.text == REDACTED || !self.is_note(note) {
            return false;
        }
        if let Self::Note { texts, .. } = self {
            texts.insert((*note.text).into());
        }
        note.text = REDACTED.into();
        true
    }
}

/// The replacement for forgotten text.
pub(super) const REDACTED: &str = "[forgotten]";

/// Replaces the content of an entry. Text stays text, so that later appends in the log still fit.
fn redact_entry(entry: &mut EntryData) -> bool {
    let empty = if entry.value.as_text().is_some() { Content::of("") } else { Ok(Content::null()) };
    let value = empty.unwrap_or_else(|_| Content::null());
    // No `..entry.clone()`: it would keep the content of fields added later.
    let kept = EntryData {
        id: entry.id,
        value,
        type_name: Arc::from(REDACTED),
        kind: entry.kind,
        importance: entry.importance,
        tags: Vec::new(),
        custom: None,
        timestamp: entry.timestamp,
        expires_at: entry.expires_at,
        author: entry.author.clone(),
        session: None,
        trust: entry.trust,
    };
    let changed = kept != *entry;
    *entry = kept;
    changed
}
