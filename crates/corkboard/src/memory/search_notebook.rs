//! What of an agent's notebooks can be found: the progress, and the learnings and snippets that are shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use corkboard_core::agent::AgentState;
use corkboard_core::notebook::{Notebook, NotebookItemId};
use corkboard_core::{EntryMetadata, NotebookName};
use jiff::Timestamp;

use super::search::MemoryDocument;
use crate::search::{Change, Document};

/// A part of a notebook, as it is found. Of the progress nobody is the author.
pub(super) struct Part<'a> {
    pub(super) text: Cow<'a, str>,
    label: &'a str,
    pub(super) author: Arc<str>,
    pub(super) written: Timestamp,
}

/// Notebooks that both states share are not looked at.
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
            let same = gone.remove(&item).is_some_and(|old| old.text == part.text && old.written == part.written);
            if !same {
                let document = Document {
                    body: part.text,
                    key: part.label,
                    tags: &[],
                    author: &part.author,
                    written: part.written,
                    importance: EntryMetadata::IMPORTANCE,
                };
                each(MemoryDocument::Notebook(name.clone(), item), Change::Put(document));
            }
        }
        gone.into_keys().for_each(|item| each(MemoryDocument::Notebook(name.clone(), item), Change::Removed));
    }
}

/// One part, if it is shown.
pub(super) fn part(notebook: &Notebook, item: Option<NotebookItemId>) -> Option<Part<'_>> {
    parts(notebook).remove(&item)
}

fn parts(notebook: &Notebook) -> BTreeMap<Option<NotebookItemId>, Part<'_>> {
    let mut parts = BTreeMap::new();
    if !notebook.progress.is_empty() {
        let bullets: Vec<&str> = notebook.progress.bullets().map(|bullet| &**bullet).collect();
        let (text, author, written) = (bullets.join("\n").into(), Arc::from(""), notebook.updated_at);
        parts.insert(None, Part { text, label: "", author, written });
    }
    for learning in &notebook.learnings {
        let (text, author) = ((*learning.text).into(), learning.added_by.clone());
        parts.insert(Some(learning.id.into()), Part { text, label: "", author, written: learning.added_at });
    }
    for snippet in &notebook.snippets {
        let (text, author) = ((*snippet.text).into(), snippet.added_by.clone());
        let part = Part { text, label: &snippet.label, author, written: snippet.added_at };
        parts.insert(Some(snippet.id.into()), part);
    }
    parts
}
