//! The searchable parts of an agent's notebooks: the progress, and the active learnings and snippets.

use std::collections::BTreeMap;
use std::sync::Arc;

use corkboard_core::NotebookName;
use corkboard_core::agent::AgentState;
use corkboard_core::notebook::{Notebook, NotebookItemId};

use super::search::MemoryDocument;
use crate::search::{Change, Document};

/// Reports the notebook parts that differ between two states. Notebooks that both states share are skipped.
pub(super) fn changes(
    before: Option<&AgentState>,
    after: &AgentState,
    each: &mut impl FnMut(MemoryDocument, Change<'_>),
) {
    let names = before.into_iter().flat_map(AgentState::notebooks).chain(after.notebooks()).map(|(name, _)| name);
    let mut names: Vec<&NotebookName> = names.collect();
    names.sort();
    names.dedup();
    let empty = Arc::new(Notebook::default());
    for name in names {
        let old = before.and_then(|before| before.notebook(name.as_str())).unwrap_or(&empty);
        let new = after.notebook(name.as_str()).unwrap_or(&empty);
        if Arc::ptr_eq(old, new) {
            continue;
        }
        let (mut gone, there) = (parts(old), parts(new));
        for (item, part) in there {
            let same = gone.remove(&item).is_some_and(|old| old.body == part.body && old.written == part.written);
            if !same {
                each(MemoryDocument::Notebook(name.clone(), item), Change::Put(part));
            }
        }
        gone.into_keys().for_each(|item| each(MemoryDocument::Notebook(name.clone(), item), Change::Removed));
    }
}

/// One part, if it is not archived.
pub(super) fn part(notebook: &Notebook, item: Option<NotebookItemId>) -> Option<Document<'_>> {
    parts(notebook).remove(&item)
}

fn parts(notebook: &Notebook) -> BTreeMap<Option<NotebookItemId>, Document<'_>> {
    let mut parts = BTreeMap::new();
    if !notebook.progress.is_empty() {
        let bullets: Vec<&str> = notebook.progress.bullets().map(|bullet| &**bullet).collect();
        // Progress has no author.
        parts.insert(None, Document::plain("notebook", bullets.join("\n"), "", notebook.updated_at));
    }
    for learning in &notebook.learnings {
        let document = Document::plain("notebook", &*learning.text, &learning.added_by, learning.added_at);
        parts.insert(Some(learning.id.into()), document);
    }
    for snippet in &notebook.snippets {
        let document = Document::plain("notebook", &*snippet.text, &snippet.added_by, snippet.added_at);
        parts.insert(Some(snippet.id.into()), Document { key: &snippet.label, ..document });
    }
    parts
}
