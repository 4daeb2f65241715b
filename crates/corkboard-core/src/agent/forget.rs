//! Forgetting for good: what a log says of a value is taken out of it, so that its revisions stay and the value does not.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use super::{AgentEvent, AgentImage, AgentState};
use crate::{Content, EntryData, Key, Note, NoteId};

/// What is to be forgotten, in all scopes of an agent: merging copies values from scope to scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forget {
    /// The values that a key has or ever had.
    Entry {
        /// Which key.
        key: Key,
    },
    /// A note, and every other that says the same.
    Note {
        /// Its number.
        id: NoteId,
        /// What it said, and what others with its number said: learned from the log.
        texts: BTreeSet<String>,
    },
}

impl Forget {
    /// Forgets a key's values.
    pub fn entry(key: Key) -> Self {
        Self::Entry { key }
    }

    /// Forgets a note.
    pub fn note(id: NoteId) -> Self {
        Self::Note { id, texts: BTreeSet::new() }
    }

    fn is_key(&self, other: &Key) -> bool {
        matches!(self, Self::Entry { key } if key == other)
    }

    pub(super) fn is_note(&self, note: &Note) -> bool {
        matches!(self, Self::Note { id, texts } if *id == note.id || texts.contains(&*note.text))
    }

    /// The events that remove it from a state.
    pub(super) fn removals(&self, state: &AgentState) -> Vec<AgentEvent> {
        let in_scope = |(scope, content): (_, &crate::ScopeState)| {
            let entries = content.entries.keys().filter(|key| self.is_key(key)).cloned();
            let entries = entries.map(|key| AgentEvent::EntryRemoved { scope, key }).collect::<Vec<_>>();
            let notes = content.notes.values().filter(|note| self.is_note(note));
            let notes = notes.map(|note| AgentEvent::NoteRemoved { scope, id: note.id }).collect::<Vec<_>>();
            entries.into_iter().chain(notes)
        };
        state.all_scopes().flat_map(in_scope).collect()
    }

    /// Takes it out of an event. Returns whether there was something to take.
    pub(super) fn redact(&mut self, event: &mut AgentEvent) -> bool {
        match event {
            AgentEvent::EntrySet { key, entry, .. } => self.is_key(key) && redact_entry(entry),
            AgentEvent::EntryAppended { key, text, .. } if self.is_key(key) && !text.is_empty() => {
                text.clear();
                true
            }
            AgentEvent::NoteAdded { note, .. } => self.redact_note(note),
            AgentEvent::Restored { image } => self.redact_image(image),
            AgentEvent::EntryAppended { .. }
            | AgentEvent::EntryRemoved { .. }
            | AgentEvent::EntryExpired { .. }
            | AgentEvent::Cleared { .. }
            | AgentEvent::NoteRemoved { .. }
            | AgentEvent::ScopeCreated { .. }
            | AgentEvent::ScopeMerged { .. }
            | AgentEvent::ScopeDisposed { .. } => false,
        }
    }

    fn redact_image(&mut self, image: &mut AgentImage) -> bool {
        let mut changed = false;
        for scope in &mut image.scopes {
            for entry in scope.entries.iter_mut().filter(|entry| self.is_key(&entry.key)) {
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
const REDACTED: &str = "[forgotten]";

/// Text stays text, so that what the log appends to it still fits.
fn redact_entry(entry: &mut EntryData) -> bool {
    let empty = if entry.value.as_text().is_some() { Content::of("") } else { Ok(Content::null()) };
    let value = empty.unwrap_or_else(|_| Content::null());
    let kept = EntryData {
        value,
        type_name: Arc::from(REDACTED),
        tags: Vec::new(),
        custom: None,
        session: None,
        ..entry.clone()
    };
    let changed = kept != *entry;
    *entry = kept;
    changed
}
