//! Search in a memory core: each entry is a document, and each hit has its origin.

use corkboard_core::Refusal;
use corkboard_core::knowledge::{CoreEntry, CoreEntryId, CoreState};
use imbl::ordmap::DiffItem;

use super::{Core, ForgottenEntries};
use crate::search::{Change, Document, FoundItem, Search, SearchHit, Searchable, SearchedState};

impl Core {
    /// Searches entries by their words, the best first. Forgotten and expired entries are left out. The search sees
    /// every earlier write, from any process. Await it.
    pub fn search<'a>(&'a self, query: &'a str) -> Search<'a> {
        Search::new(&self.engine, &self.slot, query, hits)
    }
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
        tags: &entry.tags,
        importance: entry.importance,
        ..Document::plain(entry.kind.as_str(), &*entry.content, entry.author(), entry.updated_at)
    }
}

/// The best hits among entries that are neither forgotten nor expired.
fn hits(searched: &SearchedState<'_, CoreState>) -> Result<Vec<SearchHit>, Refusal> {
    let entries = searched.state.state.entries();
    let admit = |id: &CoreEntryId| {
        let entry = entries.get(id).filter(|entry| ForgottenEntries::LeaveOut.shows(entry, searched.now));
        entry.is_some_and(|entry| searched.query.admits(|| Some(document(entry))))
    };
    Ok(searched.hits(admit, |found| {
        let entry = entries.get(&found.id)?;
        let item = FoundItem::CoreEntry {
            id: entry.id,
            version: entry.version,
            kind: entry.kind,
            importance: entry.importance,
            tags: entry.tags.clone(),
        };
        Some(SearchHit::new(item, &document(entry), entry.trust(), &found, searched.query))
    }))
}
