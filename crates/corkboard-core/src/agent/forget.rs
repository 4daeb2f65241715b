//! Forgetting for good: removes a value from the log but keeps the revisions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// All entries, notes and notebook items that contain a text, and all earlier values that contain it. An entry is
    /// forgotten with its earlier values, a notebook's progress loses the bullets with the text.
    Text {
        text: String,
        /// The entries that contain the text now. See [`Forget::collect`].
        #[serde(skip)]
        ids: BTreeSet<EntryId>,
        /// Which entry a later append in the log belongs to.
        #[serde(skip)]
        trail: Trail,
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
    values: Values,
}

/// The values that appends put together, so that a text is found that no single event contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Values {
    /// The number of the value that a key has, and its text so far. A value is numbered when it is set.
    now: BTreeMap<(ScopeId, Key), (u64, String)>,
    last: u64,
    /// The values with the text to forget: those found in this pass over the log, and in the one before.
    found: BTreeSet<u64>,
    found_before: BTreeSet<u64>,
}

impl Values {
    fn begin(&mut self) {
        *self = Self { found_before: core::mem::take(&mut self.found), ..Self::default() };
    }

    fn set(&mut self, scope: ScopeId, key: &Key, entry: &EntryData) {
        self.last += 1;
        let text = entry.value.as_text().unwrap_or_default().into_owned();
        self.now.insert((scope, key.clone()), (self.last, text));
    }

    fn append(&mut self, scope: ScopeId, key: &Key, appended: &str, wanted: &str) {
        if let Some((number, text)) = self.now.get_mut(&(scope, key.clone())) {
            text.push_str(appended);
            if text.contains(wanted) {
                self.found.insert(*number);
            }
        }
    }

    fn contains(&self, scope: ScopeId, key: &Key) -> bool {
        let value = self.now.get(&(scope, key.clone()));
        value.is_some_and(|(number, _)| self.found.contains(number) || self.found_before.contains(number))
    }
}

impl Trail {
    fn leave(&mut self, scope: ScopeId) {
        self.ids.retain(|(other, _), _| *other != scope);
        self.values.now.retain(|(other, _), _| *other != scope);
    }
}

impl Forget {
    pub fn entry(key: Key) -> Self {
        Self::Entry { key, ids: BTreeSet::new(), trail: Trail::default() }
    }

    pub fn note(id: NoteId) -> Self {
        Self::Note { id, texts: BTreeSet::new() }
    }

    /// Forgets everything that contains this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), ids: BTreeSet::new(), trail: Trail::default() }
    }

    /// Collects the entries that contain the text to forget, so that their earlier values are removed from the log, too.
    pub fn collect(&mut self, state: &AgentState) {
        let Self::Text { text, ids, trail } = self else { return };
        for (_, scope) in state.all_scopes() {
            for (key, entry) in scope.entries.iter().filter(|(_, entry)| has_text(entry, text)) {
                ids.insert(entry.id);
                trail.keys.insert(key.clone());
            }
        }
    }

    /// Forgets a notebook, or one item of it.
    pub fn notebook(notebook: NotebookName, item: Option<NotebookItemId>) -> Self {
        Self::Notebook { notebook, item }
    }

    /// Prepares for the events of a log from its start.
    pub(super) fn begin(&mut self) {
        if let Self::Entry { trail, .. } | Self::Text { trail, .. } = self {
            trail.ids.clear();
            trail.removed = None;
            trail.values.begin();
        }
    }

    fn is_entry(&self, key: &Key, entry: &EntryData) -> bool {
        match self {
            Self::Entry { key: forgotten, ids, .. } => key == forgotten || ids.contains(&entry.id),
            Self::Text { text, ids, .. } => ids.contains(&entry.id) || has_text(entry, text),
            Self::Note { .. } | Self::Notebook { .. } => false,
        }
    }

    /// Whether appends to the value that this key has in the log put the text to forget together.
    fn is_put_together(&self, scope: ScopeId, key: &Key) -> bool {
        matches!(self, Self::Text { trail, .. } if trail.values.contains(scope, key))
    }

    /// Whether text appended under this key belongs to a forgotten entry.
    fn is_appended(&self, scope: ScopeId, key: &Key, appended: &str) -> bool {
        let (is_meant, ids, trail) = match self {
            Self::Entry { key: forgotten, ids, trail } => (key == forgotten, ids, trail),
            Self::Text { text, ids, trail } => {
                (appended.contains(text.as_str()) || trail.values.contains(scope, key), ids, trail)
            }
            Self::Note { .. } | Self::Notebook { .. } => return false,
        };
        let known = trail.ids.get(&(scope, key.clone()));
        is_meant || known.map_or_else(|| trail.keys.contains(key), |id| ids.contains(id))
    }

    /// Collects keys and entries from an event before it is redacted.
    fn follow(&mut self, event: &AgentEvent) {
        let (forgotten, wanted, ids, trail) = match self {
            Self::Entry { key, ids, trail } => (Some(&*key), None, ids, trail),
            Self::Text { text, ids, trail } => (None, Some(text.as_str()), ids, trail),
            Self::Note { .. } | Self::Notebook { .. } => return,
        };
        let before = trail.removed.take();
        let mut seen = |trail: &mut Trail, scope: ScopeId, key: &Key, id: EntryId| {
            if Some(key) == forgotten {
                ids.insert(id);
            }
            if ids.contains(&id) {
                trail.keys.insert(key.clone());
            }
            trail.ids.insert((scope, key.clone()), id);
        };
        match event {
            AgentEvent::EntrySet { scope, key, entry, is_update } => {
                seen(trail, *scope, key, entry.id);
                if wanted.is_some() {
                    trail.values.set(*scope, key, entry);
                }
                if let Some((_, from)) = before.filter(|(other, _)| other == scope && !is_update)
                    && ids.contains(&entry.id)
                {
                    trail.keys.insert(from);
                }
            }
            AgentEvent::EntryRemoved { scope, key } => {
                let place = (*scope, key.clone());
                trail.ids.remove(&place);
                trail.values.now.remove(&place);
                trail.removed = Some(place);
            }
            AgentEvent::EntryExpired { scope, key } => {
                let place = (*scope, key.clone());
                trail.ids.remove(&place);
                trail.values.now.remove(&place);
            }
            AgentEvent::Cleared { scope, .. } | AgentEvent::ScopeDisposed { scope, .. } => trail.leave(*scope),
            AgentEvent::Restored { image } => {
                trail.ids.clear();
                trail.values.now.clear();
                for scope in &image.scopes {
                    for entry in &scope.entries {
                        seen(trail, scope.id, &entry.key, entry.entry.id);
                        if wanted.is_some() {
                            trail.values.set(scope.id, &entry.key, &entry.entry);
                        }
                    }
                }
            }
            AgentEvent::EntryAppended { scope, key, text } => {
                if let Some(wanted) = wanted {
                    trail.values.append(*scope, key, text, wanted);
                }
            }
            AgentEvent::NoteAdded { .. }
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
        match self {
            Self::Note { id, texts } => *id == note.id || texts.contains(&*note.text),
            Self::Text { text, .. } => note.text.contains(text.as_str()),
            Self::Entry { .. } | Self::Notebook { .. } => false,
        }
    }

    pub(super) fn removals(&self, state: &AgentState) -> Vec<AgentEvent> {
        let in_scope = |(scope, content): (_, &crate::ScopeState)| {
            let entries = content.entries.iter().filter(|(key, entry)| self.is_entry(key, entry));
            let entries =
                entries.map(|(key, _)| AgentEvent::EntryRemoved { scope, key: key.clone() }).collect::<Vec<_>>();
            let notes = content.notes.values().filter(|note| self.is_note(note));
            let notes = notes.map(|note| AgentEvent::NoteRemoved { scope, id: note.id }).collect::<Vec<_>>();
            entries.into_iter().chain(notes)
        };
        let in_notebooks = notebooks::removals(self, state);
        state.all_scopes().flat_map(in_scope).chain(in_notebooks).collect()
    }

    /// Removes the data to forget from an event. Returns whether it contained any.
    pub(super) fn redact(&mut self, event: &mut AgentEvent) -> bool {
        self.follow(event);
        match event {
            AgentEvent::EntrySet { scope, key, entry, .. } => {
                (self.is_entry(key, entry) || self.is_put_together(*scope, key)) && redact_entry(entry)
            }
            AgentEvent::EntryAppended { scope, key, text }
                if !text.is_empty() && self.is_appended(*scope, key, text) =>
            {
                text.clear();
                true
            }
            AgentEvent::NoteAdded { note, .. } => self.redact_note(note),
            AgentEvent::Restored { image } => self.redact_image(image),
            AgentEvent::NotebookUpdated { notebook, update } => {
                notebooks::redact_update(update, &mut |item, text| self.is_in_notebook(notebook, item, text))
            }
            AgentEvent::NotebookRestored { notebook, content } => {
                notebooks::redact_content(content, &mut |item, text| self.is_in_notebook(notebook, item, text))
            }
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
            changed |= notebooks::redact_notebook(notebook, &mut |item, text| self.is_in_notebook(name, item, text));
        }
        for scope in &mut image.scopes {
            for entry in &mut scope.entries {
                if self.is_entry(&entry.key, &entry.entry) || self.is_put_together(scope.id, &entry.key) {
                    changed |= redact_entry(&mut entry.entry);
                }
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
pub(super) const REDACTED: &str = crate::forget::FORGOTTEN;

/// Whether an entry contains a text: in its value, its tags or its additional data.
fn has_text(entry: &EntryData, text: &str) -> bool {
    let mut has_text = false;
    each_text_of(entry, &mut |found| has_text |= found.contains(text));
    has_text
}

/// Calls `each` with every text of an entry. A value that is not text is offered as JSON, and each text in it.
pub(super) fn each_text_of(entry: &EntryData, each: &mut dyn FnMut(&str)) {
    match entry.value.as_text() {
        Some(text) => each(&text),
        None => match entry.value.parse().unwrap_or_default() {
            Value::Null | Value::Bool(_) => {}
            value => {
                each(entry.value.as_json());
                each_text_in(&value, each);
            }
        },
    }
    entry.tags.iter().chain(&entry.session).for_each(|text| each(text));
    for (name, value) in entry.custom.iter().flat_map(|custom| custom.iter()) {
        each(name);
        each_text_in(value, each);
    }
}

fn each_text_in(value: &Value, each: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Number(number) => each(&number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| each_text_in(value, each)),
        Value::Object(values) => values.iter().for_each(|(name, value)| {
            each(name);
            each_text_in(value, each);
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

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
        at: entry.at,
        expires_at: entry.expires_at,
        author: entry.author.clone(),
        session: None,
        trust: entry.trust,
    };
    let changed = kept != *entry;
    *entry = kept;
    changed
}
