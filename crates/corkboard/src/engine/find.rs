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

/// The items of a state that contain a text.
pub(crate) fn in_state<S: Space>(state: &S, text: &str) -> Vec<Occurrence> {
    let mut found = Occurrences { text, items: HashSet::new(), found: Vec::new() };
    state.each_text(&mut |item, value| found.look(item, value, TextPlace::Current));
    found.found
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
    /// Finds a text in a space. `forget` describes it: what remains after redaction is part of a name. Without `forget`,
    /// the space has only names.
    pub(crate) async fn find_text(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        text: &str,
        mut forget: Option<S::Forget>,
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
        if let Some(forget) = &mut forget {
            S::begin_redaction(forget);
        }
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
                    let (found, mut last) = (occurrences.found.len(), None);
                    S::each_text_of(event, &mut |item, value| {
                        occurrences.look(item, value, TextPlace::History);
                        last = Some((item.to_string(), value.contains(text)));
                    });
                    let is_redacted = forget.as_mut().is_some_and(|forget| S::redact(event, forget));
                    // Appends can put a text together that no single event contains.
                    if let (true, Some((item, false)), true) = (is_redacted, last, found == occurrences.found.len()) {
                        occurrences.add(item, text.to_owned(), TextPlace::History);
                    }
                }
                let left = serde_json::to_value(&commit.events).unwrap_or_default();
                if is_in_a_name(&left, &mut |name| name.contains(text)) {
                    names.insert(record.rev);
                }
            }
            if cursor.rev >= page.head.rev {
                break;
            }
        }
        let current = self.current(slot).await?;
        let mut present = Occurrences { text, items: HashSet::new(), found: Vec::new() };
        let mut texts = HashSet::new();
        current.state.each_text(&mut |item, value| {
            present.look(item, value, TextPlace::Current);
            if value.contains(text) {
                texts.insert(value.to_owned());
            }
        });
        occurrences.found.into_iter().for_each(|old| present.add(old.item, old.snippet, old.place));
        if let (Some(first), count) = (names.first(), names.len()) {
            let later = if count == 1 { "" } else { " and later revisions" };
            present.add(format!("a name in revision {first}{later}"), text.to_owned(), TextPlace::Name);
        } else {
            // A trimmed log lacks names that the state has, such as the keys in an agent's record of activity.
            let state = current.encode().map_err(|error| Error::format(&slot.id, error))?;
            let state: Value = serde_json::from_slice(&state).unwrap_or_default();
            if is_in_a_name(&state, &mut |name| name.contains(text) && !texts.contains(name)) {
                present.add("a name in the current state".into(), text.to_owned(), TextPlace::Name);
            }
        }
        Ok(present.found)
    }
}

/// Whether a string other than a time is wanted. Names of fields do not count.
fn is_in_a_name(left: &Value, is_wanted: &mut dyn FnMut(&str) -> bool) -> bool {
    match left {
        Value::String(name) => is_wanted(name) && name.parse::<Timestamp>().is_err(),
        Value::Array(values) => values.iter().any(|value| is_in_a_name(value, is_wanted)),
        Value::Object(fields) => fields.values().any(|value| is_in_a_name(value, is_wanted)),
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
            assert_eq!(is_in_a_name(&left, &mut |name| name.contains(text)), expected, "{text}");
        }
    }
}
