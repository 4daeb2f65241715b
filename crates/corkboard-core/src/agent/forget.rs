//! Forgetting for good: what a log says of a value is taken out of it, so that its revisions stay and the value does not.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::forget_notebook as notebooks;
use super::{AgentEvent, AgentImage, AgentState};
use crate::notebook::NotebookItemId;
use crate::{Content, EntryData, EntryId, Key, Note, NoteId, NotebookName, ScopeId};

/// What is to be forgotten, in all scopes of an agent: merging copies values from scope to scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Forget {
    /// The values that a key has or ever had. An entry that was renamed is forgotten under all the keys it had.
    Entry {
        key: Key,
        /// The entries that were ever under it: learned from the log.
        ids: BTreeSet<EntryId>,
        /// Which entry is meant by what the log appends to a key.
        #[serde(skip)]
        trail: Trail,
    },
    /// A note, and every other that says the same.
    Note {
        id: NoteId,
        /// What it said, and what others with its number said: learned from the log.
        texts: BTreeSet<String>,
    },
    /// A notebook, or one item of it. An item is forgotten with its reasons; a bullet of the progress that repeats its words
    /// is not, so where the progress may, it is the notebook that has to be forgotten.
    Notebook {
        notebook: NotebookName,
        /// The item; none for all that the notebook has or ever had, its progress included.
        item: Option<NotebookItemId>,
    },
}

/// Where entries are, at one event of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    ids: BTreeMap<(ScopeId, Key), EntryId>,
    /// What the event before removed: a renaming begins like that.
    removed: Option<(ScopeId, Key)>,
    /// The keys that what is forgotten had. They decide where a log begins with text for an entry that it does not show.
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

    /// From here on the log's events come from its beginning.
    pub(super) fn begin(&mut self) {
        if let Self::Entry { trail, .. } = self {
            trail.ids.clear();
            trail.removed = None;
        }
    }

    fn is_entry(&self, key: &Key, id: EntryId) -> bool {
        matches!(self, Self::Entry { key: forgotten, ids, .. } if key == forgotten || ids.contains(&id))
    }

    /// Whether text that is appended under the key belongs to it.
    fn is_appended(&self, scope: ScopeId, key: &Key) -> bool {
        let Self::Entry { key: forgotten, ids, trail } = self else { return false };
        let known = trail.ids.get(&(scope, key.clone()));
        key == forgotten || known.map_or_else(|| trail.keys.contains(key), |id| ids.contains(id))
    }

    /// Learns from an event, before something is taken out of it.
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

    /// Takes it out of an event. Returns whether there was something to take.
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

/// What stands in the place of what was forgotten.
pub(super) const REDACTED: &str = "[forgotten]";

/// Text stays text, so that what the log appends to it still fits.
fn redact_entry(entry: &mut EntryData) -> bool {
    let empty = if entry.value.as_text().is_some() { Content::of("") } else { Ok(Content::null()) };
    let value = empty.unwrap_or_else(|_| Content::null());
    // No `..entry.clone()`: it would keep whatever a new field holds.
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
