//! Searching a memory core: its entries are the documents, and a hit tells where it came from.

use std::sync::Arc;

use corkboard_core::knowledge::{CoreEntry, CoreEntryId, CoreState, Trust};
use corkboard_core::{MemoryKind, Refusal, Revisioned};
use imbl::ordmap::DiffItem;
use jiff::Timestamp;
use serde::Serialize;

use super::{Core, ForgottenEntries};
use crate::search::{Change, Document, Index, Query, Search, Searchable, snippet};

impl Core {
    /// Looks for entries by their words, the best first; what is forgotten is not found. What was written is found by the
    /// next search, whoever wrote it. Await it.
    pub fn search<'a>(&'a self, query: &'a str) -> Search<'a, CoreHit> {
        Search::new(&self.engine, &self.slot, query, hits)
    }
}

/// An entry of a memory core that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreHit {
    /// Which.
    pub id: CoreEntryId,
    /// The revision that last changed it.
    pub version: u64,
    /// What kind of memory it is.
    pub kind: MemoryKind,
    /// From 0 to 1.
    pub importance: f32,
    /// How it is marked.
    pub tags: Vec<Arc<str>>,
    /// How far it may be trusted.
    pub trust: Trust,
    /// How well it fits the query. Scores of different searches do not compare.
    pub score: f32,
    /// The part of it that fits best, on one line.
    pub snippet: String,
    /// Who said it first.
    pub author: Arc<str>,
    /// When it was added or last changed.
    pub at: Timestamp,
}

impl Searchable for CoreState {
    type DocumentId = CoreEntryId;

    /// Parts that both states share are not looked at.
    fn changes(before: Option<&Self>, after: &Self, mut each: impl FnMut(CoreEntryId, Change<'_>)) {
        let empty = Self::default();
        for change in before.unwrap_or(&empty).entries().diff(after.entries()) {
            match change {
                DiffItem::Add(id, entry) | DiffItem::Update { new: (id, entry), .. } => match &entry.forgotten {
                    None => each(*id, Change::Put(document(entry))),
                    Some(_) => each(*id, Change::Removed),
                },
                DiffItem::Remove(id, _) => each(*id, Change::Removed),
            }
        }
    }
}

fn document(entry: &CoreEntry) -> Document<'_> {
    Document {
        body: (*entry.content).into(),
        key: "",
        tags: &entry.tags,
        author: entry.author(),
        written: entry.updated_at,
        importance: entry.importance,
    }
}

/// The best hits, of what has not expired.
fn hits(
    current: &Revisioned<CoreState>,
    index: &Index<CoreEntryId>,
    query: &Query,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<CoreHit>, Refusal> {
    let entries = current.state.entries();
    let is_shown = |id: &CoreEntryId| entries.get(id).is_some_and(|entry| ForgottenEntries::LeaveOut.shows(entry, now));
    let ranked = index.search(query, limit, is_shown);
    let found = ranked.into_iter().filter_map(|(id, score)| Some((entries.get(&id)?, score)));
    Ok(found.map(|(entry, score)| hit(entry, score, query)).collect())
}

fn hit(entry: &CoreEntry, score: f32, query: &Query) -> CoreHit {
    CoreHit {
        id: entry.id,
        version: entry.version,
        kind: entry.kind,
        importance: entry.importance,
        tags: entry.tags.clone(),
        trust: entry.trust(),
        score,
        snippet: snippet(&entry.content, query, Search::SNIPPET),
        author: entry.author().into(),
        at: entry.updated_at,
    }
}
