//! The scratchpad of a conversation as a plain value, in the form that goes into a prompt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts by key, and notes. The same content always serializes to the same JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ScratchpadContents {
    /// Facts, by key.
    entries: BTreeMap<String, String>,
    /// Free-form observations, in the order they were made.
    notes: Vec<String>,
}

impl ScratchpadContents {
    /// Stores a fact, overwriting an existing one.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.entries.insert(key.into(), value.into());
    }

    /// The fact under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }

    /// Removes a fact. Returns whether it existed.
    pub fn delete(&mut self, key: &str) -> bool {
        self.entries.remove(key).is_some()
    }

    /// All keys, in order.
    pub fn list_keys(&self) -> Vec<&str> {
        self.entries.keys().map(String::as_str).collect()
    }

    /// Adds a note.
    pub fn add_note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// All notes, in the order they were added.
    pub fn get_notes(&self) -> &[String] {
        &self.notes
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether there are no facts and no notes.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.notes.is_empty()
    }
}
