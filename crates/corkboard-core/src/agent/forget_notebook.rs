//! Forgetting a notebook or one of its items. IDs are never reused, so an ID identifies all texts of an item.

use alloc::sync::Arc;
use alloc::vec;

use super::forget::REDACTED;
use super::{AgentEvent, AgentState, Forget};
use crate::notebook::{Archived, Notebook, NotebookContent, NotebookItem, NotebookItemId, NotebookUpdate, Progress};
use crate::{NotebookName, Space};

impl Forget {
    /// If this forgets the notebook or an item of it: the item, or None for the whole notebook.
    fn in_notebook(&self, name: &NotebookName) -> Option<Option<NotebookItemId>> {
        match self {
            Self::Notebook { notebook, item } if notebook == name => Some(*item),
            _ => None,
        }
    }
}

pub(super) fn removal(forget: &Forget, state: &AgentState) -> Option<<AgentState as Space>::Event> {
    let Forget::Notebook { notebook, item } = forget else { return None };
    let found = state.notebook(notebook.as_str())?;
    match item {
        None if found.is_empty() => None,
        None => Some(AgentEvent::NotebookCleared { notebook: notebook.clone() }),
        Some(id) if found.has(*id) => Some(AgentEvent::NotebookItemRemoved { notebook: notebook.clone(), id: *id }),
        Some(_) => None,
    }
}

pub(super) fn redact_update(forget: &Forget, name: &NotebookName, update: &mut NotebookUpdate) -> bool {
    let Some(item) = forget.in_notebook(name) else { return false };
    let mut changed = item.is_none() && update.progress.as_mut().is_some_and(redact_progress);
    for (id, learning) in &mut update.learnings {
        changed |= is_meant(item, *id) && redact([&mut learning.text, &mut learning.reason]);
    }
    for (id, snippet) in &mut update.snippets {
        changed |= is_meant(item, *id) && redact([&mut snippet.label, &mut snippet.text, &mut snippet.reason]);
    }
    for old in &mut update.archived_learnings {
        changed |= is_meant(item, old.id) && redact([&mut old.reason]);
    }
    for old in &mut update.archived_snippets {
        changed |= is_meant(item, old.id) && redact([&mut old.reason]);
    }
    changed
}

pub(super) fn redact_content(forget: &Forget, name: &NotebookName, content: &mut NotebookContent) -> bool {
    let Some(item) = forget.in_notebook(name) else { return false };
    let changed = item.is_none() && redact_progress(&mut content.progress);
    changed | redact_items(item, &mut content.learnings) | redact_items(item, &mut content.snippets)
}

pub(super) fn redact_notebook(forget: &Forget, name: &NotebookName, notebook: &mut Notebook) -> bool {
    let Some(item) = forget.in_notebook(name) else { return false };
    let changed = item.is_none() && redact_progress(&mut notebook.progress);
    let shown = redact_items(item, &mut notebook.learnings) | redact_items(item, &mut notebook.snippets);
    let archived = redact_archived(item, &mut notebook.archived_learnings);
    changed | shown | archived | redact_archived(item, &mut notebook.archived_snippets)
}

/// Whether this item is to be forgotten. Without `item`, all are.
fn is_meant(item: Option<NotebookItemId>, id: impl Into<NotebookItemId>) -> bool {
    item.is_none_or(|item| item == id.into())
}

fn redact_items<T: NotebookItem<Id: Into<NotebookItemId>> + Clone>(
    item: Option<NotebookItemId>,
    items: &mut [Arc<T>],
) -> bool {
    let meant = items.iter_mut().filter(|found| is_meant(item, found.id()));
    meant.fold(false, |changed, found| changed | redact(Arc::make_mut(found).texts()))
}

fn redact_archived<T: NotebookItem<Id: Into<NotebookItemId>> + Clone>(
    item: Option<NotebookItemId>,
    items: &mut [Archived<T>],
) -> bool {
    let meant = items.iter_mut().filter(|old| is_meant(item, old.item.id()));
    meant.fold(false, |changed, old| {
        changed | redact(Arc::make_mut(&mut old.item).texts()) | redact([&mut old.archived_because])
    })
}

/// Leaves the smallest valid progress: one redacted bullet.
fn redact_progress(progress: &mut Progress) -> bool {
    let kept = Progress { in_progress: vec![REDACTED.into()], ..Progress::default() };
    let changed = !progress.is_empty() && *progress != kept;
    if changed {
        *progress = kept;
    }
    changed
}

fn redact<'a>(texts: impl IntoIterator<Item = &'a mut Arc<str>>) -> bool {
    let mut changed = false;
    for text in texts.into_iter().filter(|text| ***text != *REDACTED) {
        *text = REDACTED.into();
        changed = true;
    }
    changed
}
