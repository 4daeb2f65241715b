//! An agent's memory as plain data, for snapshots and the event `Restored`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Activity, AgentState, IdleExpiry};
use crate::knowledge::CoreImage;
use crate::notebook::Notebook;
use crate::{
    Access, AgentId, Entry, EntryData, FormatError, Key, Note, NoteId, NotebookName, Refusal, ScopeId, ScopeName,
    ScopeState,
};

/// All scopes of an agent with their content, the root scope first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentImage {
    /// The scopes, parents before their children.
    pub scopes: Vec<ScopeImage>,
    /// The last assigned note number.
    pub last_note: NoteId,
    /// The activity by day. A restored memory keeps its own activity.
    #[serde(default)]
    pub activity: Option<Activity>,
    /// The notebooks, by name.
    #[serde(default)]
    pub notebooks: BTreeMap<NotebookName, Notebook>,
    /// When the scope of a conversation expires, in the space of a conversation.
    #[serde(default)]
    pub idle: Option<IdleExpiry>,
}

/// One scope's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScopeImage {
    /// The scope ID. The root scope has the nil ID.
    pub id: ScopeId,
    pub name: ScopeName,
    /// The scope that reads fall back to.
    pub parent: ScopeId,
    pub created_at: Timestamp,
    /// The entries, by key.
    pub entries: Vec<EntryImage>,
    /// The notes, in order.
    pub notes: Vec<Note>,
    /// The last note that was merged into the parent.
    #[serde(default)]
    pub notes_merged: NoteId,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryImage {
    pub key: Key,
    /// The revision that last changed it.
    pub version: u64,
    /// The entry as stored in the log.
    pub entry: EntryData,
}

impl AgentImage {
    /// Note numbers stay below this, so that there is always a next number.
    const NOTE_NUMBERS: NoteId = NoteId(u64::MAX / 2);

    /// Why the image is invalid, if it is: duplicates, no root scope, or impossible note numbers. Restoring such an
    /// image would not lead to the content it shows.
    pub fn contradiction(&self) -> Option<String> {
        let (mut scopes, mut notes) = (BTreeSet::new(), BTreeSet::new());
        if self.last_note > Self::NOTE_NUMBERS {
            return Some(format!("the note number {} is out of range", self.last_note));
        }
        for scope in &self.scopes {
            if !scopes.insert(scope.id) {
                return Some(format!("scope {} is listed twice", scope.id));
            }
            let mut keys = BTreeSet::new();
            if let Some(twice) = scope.entries.iter().find(|entry| !keys.insert(&entry.key)) {
                return Some(format!("key {:?} is listed twice in scope {}", twice.key, scope.id));
            }
            if let Some(twice) = scope.notes.iter().find(|note| !notes.insert(note.id)) {
                return Some(format!("note {} is listed twice", twice.id));
            }
            let highest = scope.notes.iter().map(|note| note.id).max().max(Some(scope.notes_merged));
            if highest > Some(self.last_note) {
                return Some(format!("scope {} has a note number above {}", scope.id, self.last_note));
            }
        }
        let wrong = |(name, notebook): (&NotebookName, &Notebook)| Some((name.clone(), notebook.contradiction()?));
        if let Some((name, reason)) = self.notebooks.iter().find_map(wrong) {
            return Some(format!("notebook {name:?}: {reason}"));
        }
        (!scopes.contains(&ScopeId::ROOT)).then(|| "the root scope is missing".into())
    }
}

impl From<AgentState> for AgentImage {
    fn from(state: AgentState) -> Self {
        let parents_first = state.parents_first();
        let scopes = parents_first.into_iter().filter_map(|id| Some((id, state.scope(id)?)));
        let scopes = scopes.map(|(id, scope)| ScopeImage::of(id, scope)).collect();
        let activity = state.activity_to_store();
        // The other fields are derived from these.
        let AgentState {
            root: _,
            scopes: _,
            expiries: _,
            last_note,
            entries: _,
            notes: _,
            bytes: _,
            activity: _,
            notebooks,
            idle,
        } = state;
        let notebooks = notebooks.into_iter().map(|(name, found)| (name, Arc::unwrap_or_clone(found))).collect();
        Self { scopes, last_note, activity, notebooks, idle }
    }
}

impl ScopeImage {
    fn of(id: ScopeId, scope: &ScopeState) -> Self {
        let ScopeState { name, parent, created_at, entries, notes, notes_merged } = scope;
        let entries = entries.iter().map(|(key, entry)| {
            // Read counts are not stored.
            let Entry { data, version, access: _ } = &**entry;
            EntryImage { key: key.clone(), version: *version, entry: data.clone() }
        });
        Self {
            id,
            name: name.clone(),
            parent: *parent,
            created_at: *created_at,
            entries: entries.collect(),
            notes: notes.values().cloned().collect(),
            notes_merged: *notes_merged,
        }
    }
}

impl From<AgentImage> for AgentState {
    fn from(image: AgentImage) -> Self {
        let AgentImage { scopes, last_note, activity, notebooks, idle } = image;
        let activity = Some(activity.unwrap_or_default());
        let mut state = Self { last_note, activity, idle, ..Self::default() };
        for (name, notebook) in notebooks {
            state.put_notebook(name, notebook);
        }
        for ScopeImage { id, name, parent, created_at, entries, notes, notes_merged } in scopes {
            // The root is there already, and so is a scope that is listed twice: that is one scope with both contents.
            if state.scope(id).is_none() {
                state.scopes.insert(id, ScopeState::new(name.clone(), parent, created_at));
            }
            if let Some(scope) = state.scope_mut(id) {
                scope.name = name;
                scope.created_at = created_at;
                scope.notes_merged = notes_merged;
            }
            for EntryImage { key, version, entry } in entries {
                state.put(id, key, Entry { data: entry, version, access: Access::default() });
            }
            for note in notes {
                state.put_note(id, note);
            }
        }
        state
    }
}

/// An agent's whole memory at one revision, to be stored elsewhere and restored later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemorySnapshot {
    /// The format version.
    pub format: u32,
    /// The agent whose memory it is. It can only be restored to this agent.
    pub agent: String,
    pub taken_at: Timestamp,
    /// The revision of the memory.
    pub rev: u64,
    pub memory: AgentImage,
    /// Long-term memory. None if the snapshot was taken by a version or tier without long-term memory.
    #[serde(default)]
    pub long_term: Option<CoreImage>,
}

impl MemorySnapshot {
    /// A snapshot of this state without expired entries that are not removed yet.
    pub fn of(agent: &AgentId, state: &AgentState, rev: u64, taken_at: Timestamp) -> Self {
        let mut memory = AgentImage { activity: None, ..AgentImage::from(state.clone()) };
        let lives = |entry: &EntryImage| entry.entry.expires_at.is_none_or(|at| at > taken_at);
        memory.scopes.iter_mut().for_each(|scope| scope.entries.retain(lives));
        Self { format: crate::FORMAT_VERSION, agent: agent.as_str().into(), taken_at, rev, memory, long_term: None }
    }

    /// Reads a snapshot file that this version or an earlier one wrote.
    pub fn from_json(json: &[u8]) -> Result<Self, FormatError> {
        crate::record::decode(json, |snapshot: &Self| snapshot.format)
    }

    /// The memory, if it belongs to that agent.
    pub fn memory_of(self, agent: &AgentId) -> Result<AgentImage, Refusal> {
        if self.agent == agent.as_str() {
            Ok(self.memory)
        } else {
            Err(Refusal::AgentMismatch { expected: agent.as_str().into(), found: self.agent })
        }
    }

    /// The number of entries in all scopes of working memory.
    pub fn entry_count(&self) -> usize {
        self.memory.scopes.iter().map(|scope| scope.entries.len()).sum()
    }
}

impl AgentState {
    /// Adds or replaces an entry and updates the counts. A replacement keeps the read count. The scope must exist.
    pub(super) fn put(&mut self, scope: ScopeId, key: Key, mut entry: Entry) {
        let new_bytes = entry.bytes();
        let expires_at = entry.expires_at;
        let Some(state) = self.scope_mut(scope) else { return };
        let old = match state.entries.get_mut(&key) {
            Some(place) => {
                entry.access = place.access.clone();
                Some(core::mem::replace(place, Arc::new(entry)))
            }
            None => state.entries.insert(key.clone(), Arc::new(entry)),
        };
        self.bytes += new_bytes;
        match old {
            Some(old) => {
                self.bytes -= old.bytes();
                self.forget_expiry(scope, &key, &old);
            }
            None => {
                self.bytes += key.as_str().len() as u64;
                self.entries += 1;
            }
        }
        if let Some(at) = expires_at {
            self.expiries.insert((at, scope, key));
        }
    }

    pub(super) fn put_note(&mut self, scope: ScopeId, note: Note) {
        self.last_note = self.last_note.max(note.id);
        self.notes += 1;
        self.bytes += note.text.len() as u64;
        if let Some(old) = self.scope_mut(scope).and_then(|state| state.notes.insert(note.id, note)) {
            self.notes -= 1;
            self.bytes -= old.text.len() as u64;
        }
    }

    pub(super) fn scope_mut(&mut self, id: ScopeId) -> Option<&mut ScopeState> {
        if id.is_root() { Some(&mut self.root) } else { self.scopes.get_mut(&id) }
    }

    /// Removes the expiry of an entry, unless its successor expires at the same time.
    pub(super) fn forget_expiry(&mut self, scope: ScopeId, key: &Key, old: &Entry) {
        let Some(at) = old.expires_at else { return };
        let successor = self.scope(scope).and_then(|state| state.entries.get(key));
        if successor.and_then(|entry| entry.expires_at) != Some(at) {
            self.expiries.remove(&(at, scope, key.clone()));
        }
    }
}
