//! Reads the content of a window from an agent's memory.

use corkboard_core::agent::AgentState;
use corkboard_core::{Entry, ScopeId};
use jiff::Timestamp;

use super::compose::{Hit, HitItem, Material};
use super::item::Body;
use super::list::{EntryLine, NoteLine};
use super::notebook::{self, NotebookLines};
use crate::context::Knowledge;
use crate::knowledge::{Core, if_readable};
use crate::memory::{EntriesAndNotes, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, shown_entries};
use crate::search::{FoundItem, SearchHit};
use crate::{AgentMemory, Result};

/// Maximum number of a query's hits. Lower hits match too badly to show.
const HITS: usize = 20;
/// Maximum number of entries of long-term memory, query or not.
const KNOWN: usize = 12;

/// The content of an agent's root scope. The handoff and the scratchpad have separate sections, so the entries omit
/// them.
pub(super) fn remembered(state: &AgentState, now: Timestamp) -> Material<'_> {
    let Some(root) = state.scope(ScopeId::ROOT) else { return Material::default() };
    let entry = |key| root.get(key, now).map(|entry| body(entry));
    let others =
        shown_entries(state, now).filter(|(key, _)| !matches!(key.as_str(), SESSION_HANDOFF_KEY | SCRATCHPAD_KEY));
    Material {
        handoff: entry(SESSION_HANDOFF_KEY),
        scratchpad: entry(SCRATCHPAD_KEY),
        entries: others.map(|(key, entry)| EntryLine::new(key.as_str(), body(entry), entry.importance)).collect(),
        notebooks: NotebookLines::of(state.notebooks()),
        notes: root.notes.values().map(|note| NoteLine::new(note.id.0, &note.text, note.trust())).collect(),
        ..Material::default()
    }
}

fn body(entry: &Entry) -> Body<'_> {
    Body::kept(&entry.value, entry.trust())
}

pub(super) fn add_scratchpad<'a>(material: &mut Material<'a>, pad: &'a EntriesAndNotes) {
    let entries = pad.entries.iter().map(|(key, entry)| EntryLine::new(key.as_str(), body(entry), 0.0));
    material.conversation_entries = entries.collect();
    let notes = (1..).zip(&pad.notes).map(|(number, note)| NoteLine::new(number, &note.text, note.trust()));
    material.conversation_notes = notes.collect();
}

/// The most important entries of an agent's long-term memory and of what is known about the user.
pub(super) async fn knowledge(memory: &AgentMemory) -> Result<Knowledge> {
    let mut knowledge = Knowledge::default();
    for core in cores(memory)? {
        let mut known = Knowledge { order: vec![core.id().as_str().to_owned()], ..Knowledge::default() };
        match if_readable(&core, core.most_important(KNOWN).await) {
            Ok(Some(entries)) => known.add(entries),
            Ok(None) => known.unreadable.push(core.id().as_str().to_owned()),
            Err(error) if error.is_not_granted() => continue,
            Err(error) => return Err(error),
        }
        knowledge.extend(known);
    }
    Ok(knowledge)
}

/// Long-term memory, if the tier has it, and the core about the user, if the caller may read it.
fn cores(memory: &AgentMemory) -> Result<Vec<Core>> {
    let long_term = memory.long_term_if_any()?.map(|long_term| Core::clone(&long_term));
    let user = match memory.user_core() {
        Err(error) if error.is_not_granted() => None,
        user => Some(user?),
    };
    Ok(long_term.into_iter().chain(user).collect())
}

/// Matches of a query, the best first. Hits of working memory, long-term memory and the core about the user alternate,
/// because their scores cannot be compared.
pub(super) async fn hits(memory: &AgentMemory, query: &str) -> Result<Vec<Hit>> {
    let mut found = vec![working_hits(memory, query).await?.into_iter()];
    for core in cores(memory)? {
        match if_readable(&core, core.search(query).limit(HITS).await) {
            Ok(hits) => {
                let hits = hits.unwrap_or_default().into_iter().filter_map(|found| hit(found, core.id().as_str()));
                found.push(hits.collect::<Vec<_>>().into_iter());
            }
            Err(error) if error.is_not_granted() => {}
            Err(error) => return Err(error),
        }
    }
    let mut hits = Vec::new();
    for _ in 0..HITS {
        hits.extend(found.iter_mut().filter_map(Iterator::next));
    }
    Ok(hits)
}

async fn working_hits(memory: &AgentMemory, query: &str) -> Result<Vec<Hit>> {
    let hits = memory.search(query).limit(HITS).await?;
    Ok(hits.into_iter().filter_map(|found| hit(found, "")).collect())
}

/// A hit of a memory, or of a core with this name.
fn hit(found: SearchHit, core: &str) -> Option<Hit> {
    let what = match found.item {
        FoundItem::Entry { key, .. } => HitItem::Entry(key.as_str().into()),
        FoundItem::Note { note } => HitItem::Note(note.0),
        FoundItem::Notebook { notebook, item } => HitItem::Notebook(notebook::name_of(item, &notebook)),
        FoundItem::CoreEntry { id, .. } => HitItem::Core(core.to_owned(), id),
        FoundItem::BoardItem { .. } => return None,
    };
    let scope = found.scope.map(|scope| scope.name.to_string());
    Some(Hit { what, scope, snippet: found.snippet, trust: found.trust })
}
