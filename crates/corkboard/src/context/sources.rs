//! What goes into a window, from where it is kept.

use corkboard_core::ScopeId;
use corkboard_core::agent::AgentState;
use jiff::Timestamp;

use super::compose::{Found, Hit, Material};
use super::item::Body;
use super::list::{EntryLine, NoteLine};
use super::notebook::{self, NotebookLines};
use crate::memory::{FoundItem, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY};
use crate::{AgentMemory, Result, scratchpad};

/// How many of a query's hits are looked at. What is further down fits too badly to be told unasked.
const HITS: usize = 20;

/// What an agent's root scope has to show. No section repeats the two entries that have sections of their own.
pub(super) fn remembered(state: &AgentState, now: Timestamp) -> Material<'_> {
    let Some(root) = state.scope(ScopeId::ROOT) else { return Material::default() };
    let entry = |key| root.get(key, now).map(|entry| Body::Value(&entry.value));
    let others =
        root.live_entries(now).filter(|(key, _)| !matches!(key.as_str(), SESSION_HANDOFF_KEY | SCRATCHPAD_KEY));
    Material {
        handoff: entry(SESSION_HANDOFF_KEY),
        scratchpad: entry(SCRATCHPAD_KEY),
        entries: others
            .map(|(key, entry)| EntryLine::new(key.as_str(), Body::Value(&entry.value), entry.importance))
            .collect(),
        notebooks: NotebookLines::of(state.notebooks()),
        notes: root.notes.values().map(|note| NoteLine::new(note.id.0, &note.text)).collect(),
        ..Material::default()
    }
}

/// Adds a conversation's scratchpad.
pub(super) fn add_scratchpad<'a>(material: &mut Material<'a>, pad: &'a scratchpad::WorkingMemory) {
    let entry = |key| Some(EntryLine::new(key, Body::Text(pad.get(key)?), 0.0));
    material.conversation_entries = pad.list_keys().into_iter().filter_map(entry).collect();
    let numbered = (1..).zip(pad.get_notes());
    material.conversation_notes = numbered.map(|(number, text)| NoteLine::new(number, text)).collect();
}

/// What a query finds, the best first.
pub(super) async fn hits(memory: &AgentMemory, query: &str) -> Result<Vec<Hit>> {
    let hits = memory.search(query).limit(HITS).await?;
    let hit = |hit: crate::SearchHit| Hit {
        what: match hit.item {
            FoundItem::Entry { key, .. } => Found::Entry(key.as_str().into()),
            FoundItem::Note { note } => Found::Note(note.0),
            FoundItem::Notebook { notebook, item } => Found::Notebook(notebook::name_of(item, &notebook)),
        },
        scope: hit.scope.map(|scope| scope.name.to_string()),
        snippet: hit.snippet,
    };
    Ok(hits.into_iter().map(hit).collect())
}
