//! Search in a memory core: each entry is a document, and each hit has its origin.

use std::sync::Arc;

use corkboard_core::knowledge::{CoreEntry, CoreEntryId, CoreState, Trust};
use corkboard_core::{MemoryKind, Refusal, Revisioned};
use imbl::ordmap::DiffItem;
use jiff::Timestamp;
use serde::Serialize;

use super::{Core, ForgottenEntries};
use crate::search::{Change, Document, Index, Query, Search, Searchable, snippet};

impl Core {
    /// Searches entries by their words, the best first. Forgotten and expired entries are left out. The search sees
    /// every earlier write, from any process. Await it.
    pub fn search<'a>(&'a self, query: &'a str) -> Search<'a, CoreHit> {
        Search::new(&self.engine, &self.slot, query, hits)
    }
}

/// A search hit in a memory core.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreHit {
    /// The entry's ID.
    pub id: CoreEntryId,
    /// The revision that last changed the entry.
    pub version: u64,
    /// The entry's kind.
    pub kind: MemoryKind,
    /// The entry's importance, from 0 to 1.
    pub importance: f32,
    /// The entry's tags.
    pub tags: Vec<Arc<str>>,
    /// How far the entry can be trusted.
    pub trust: Trust,
    /// Relevance to the query. Scores of different searches are not comparable.
    pub score: f32,
    /// The best matching part, on one line.
    pub snippet: String,
    /// The entry's first author.
    pub author: Arc<str>,
    /// When the entry was added or last changed.
    pub at: Timestamp,
}

impl Searchable for CoreState {
    type DocumentId = CoreEntryId;

    /// Skips the parts that both states share.
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

/// The best hits among entries that are neither forgotten nor expired.
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
