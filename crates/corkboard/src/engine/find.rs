//! Finding a text in a space: in its present state, and in what only its log contains.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use corkboard_core::{Revisioned, Space};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Engine, PAGE, Slot};
use crate::store::{Cursor, StoreError};
use crate::{Error, Result};

/// Where a text is in its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextPlace {
    /// In the present value.
    Current,
    /// Only in an earlier value, which the log still contains.
    History,
    /// In a name, such as a key, an agent's name or an artifact's path. Names cannot be forgotten: remove the item.
    Name,
}

/// An item of a space that contains a text.
pub(crate) struct Occurrence {
    pub(crate) item: String,
    pub(crate) snippet: String,
    pub(crate) place: TextPlace,
}

/// The occurrences so far, each item once.
struct Occurrences<'a> {
    text: &'a str,
    items: HashSet<String>,
    found: Vec<Occurrence>,
}

impl Occurrences<'_> {
    fn look(&mut self, item: &dyn Display, value: &str, place: TextPlace) {
        if let Some(at) = value.find(self.text) {
            self.add(item.to_string(), snippet(value, at, self.text.len()), place);
        }
    }

    fn add(&mut self, item: String, snippet: String, place: TextPlace) {
        if self.items.insert(item.clone()) {
            self.found.push(Occurrence { item, snippet, place });
        }
    }
}

impl<S: Space> Engine<S> {
    /// Finds a text in a space. `forget` describes it: what remains after redaction is part of a name.
    pub(crate) async fn find_text(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        text: &str,
        forget: &mut S::Forget,
    ) -> Result<Vec<Occurrence>> {
        self.flush_slot(slot, self.lock_beside_leader(slot, &slot.flushing).await).await?;
        let mut occurrences = Occurrences { text, items: HashSet::new(), found: Vec::new() };
        let loaded = self.store.load(&slot.id).await?;
        // A trimmed log no longer contains everything that the state has.
        if let Some(snapshot) = &loaded.snapshot {
            let state = Revisioned::<S>::decode(&snapshot.body).map_err(|error| Error::format(&slot.id, error))?;
            state.state.each_text(&mut |item, value| occurrences.look(item, value, TextPlace::History));
        }
        let mut names = BTreeSet::new();
        let mut cursor = Cursor { rev: loaded.born.rev, commit: None };
        S::begin_redaction(forget);
        loop {
            let page = match self.store.read_after(&slot.id, cursor, PAGE).await {
                Err(StoreError::Compacted { oldest }) => {
                    cursor = Cursor { rev: oldest - 1, commit: None };
                    continue;
                }
                page => page?,
            };
            for record in page.records {
                cursor = Cursor { rev: record.rev, commit: Some(record.commit) };
                let mut commit = self.decode(&slot.id, &record)?;
                for event in &mut commit.events {
                    S::each_text_of(event, &mut |item, value| occurrences.look(item, value, TextPlace::History));
                    S::redact(event, forget);
                }
                let left = serde_json::to_value(&commit.events).unwrap_or_default();
                if is_in_a_name(&left, text) {
                    names.insert(record.rev);
                }
            }
            if cursor.rev >= page.head.rev {
                break;
            }
        }
        // Appends can put a text together that no single revision contains.
        let current = self.current(slot).await?;
        let mut present = Occurrences { text, items: HashSet::new(), found: Vec::new() };
        current.state.each_text(&mut |item, value| present.look(item, value, TextPlace::Current));
        occurrences.found.into_iter().for_each(|old| present.add(old.item, old.snippet, old.place));
        if let (Some(first), count) = (names.first(), names.len()) {
            let item = if count == 1 { format!("revision {first}") } else { format!("revision {first} and others") };
            present.add(item, text.to_owned(), TextPlace::Name);
        }
        Ok(present.found)
    }
}

/// Whether a string other than a time contains the text. Names of fields do not count.
fn is_in_a_name(left: &Value, text: &str) -> bool {
    match left {
        Value::String(name) => name.contains(text) && name.parse::<Timestamp>().is_err(),
        Value::Array(values) => values.iter().any(|value| is_in_a_name(value, text)),
        Value::Object(fields) => fields.values().any(|value| is_in_a_name(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A few words around the text at this byte.
fn snippet(value: &str, at: usize, length: usize) -> String {
    const AROUND: usize = 30;
    let start = value.get(..at).unwrap_or_default().char_indices().rev().nth(AROUND - 1).map_or(0, |(start, _)| start);
    let after = at + length;
    let rest = value.get(after..).unwrap_or_default();
    let end = rest.char_indices().nth(AROUND).map_or(value.len(), |(end, _)| after + end);
    let shown = value.get(start..end).unwrap_or_default();
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < value.len() { "…" } else { "" });
    format!("{before}{}{behind}", shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_show_a_few_words_around_the_text() {
        let long = "ä".repeat(40);
        for (value, expected) in [
            ("hunter2".into(), "hunter2".into()),
            ("it is\n hunter2  now".into(), "it is hunter2 now".into()),
            (format!("{long}hunter2{long}"), format!("…{0}hunter2{0}…", "ä".repeat(30))),
        ] {
            let value: String = value;
            let at = value.find("hunter2").unwrap_or_default();
            assert_eq!(snippet(&value, at, "hunter2".len()), expected);
        }
    }

    #[test]
    fn names_of_fields_and_times_are_not_names() {
        let left =
            serde_json::json!([{"task_added": {"id": "T-1", "path": "src/hunter2.rs", "at": "2026-11-19T15:00:00Z"}}]);
        for (text, expected) in [("hunter2", true), ("task_added", false), ("2026-11", false), ("T-1", true)] {
            assert_eq!(is_in_a_name(&left, text), expected, "{text}");
        }
    }
}
