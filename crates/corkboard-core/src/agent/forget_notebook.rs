//! Forgetting a notebook, one of its items or a text in it. IDs are never reused, so an ID identifies all texts of an
//! item.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::forget::REDACTED;
use super::{AgentEvent, AgentState, Forget};
use crate::NotebookName;
use crate::notebook::{Archived, Notebook, NotebookContent, NotebookItem, NotebookItemId, NotebookUpdate, Progress};

/// Called with each text of a notebook and its item; none: the progress. Returns whether to replace the text.
pub(super) type VisitNotebookText<'a> = dyn FnMut(Option<NotebookItemId>, &str) -> bool + 'a;

impl Forget {
    /// Whether this text of a notebook is to be forgotten. Without `item`, it is a bullet of the progress.
    pub(super) fn is_in_notebook(&self, name: &NotebookName, item: Option<NotebookItemId>, text: &str) -> bool {
        match self {
            Self::Notebook { notebook, item: forgotten } => {
                notebook == name && (forgotten.is_none() || *forgotten == item)
            }
            Self::Text { text: forgotten, .. } => text.contains(forgotten.as_str()),
            Self::Entry { .. } | Self::Note { .. } => false,
        }
    }
}

pub(super) fn removals(forget: &Forget, state: &AgentState) -> Vec<AgentEvent> {
    match forget {
        Forget::Notebook { notebook, item } => {
            let Some(found) = state.notebook(notebook.as_str()) else { return Vec::new() };
            let removal = match item {
                None if found.is_empty() => None,
                None => Some(AgentEvent::NotebookCleared { notebook: notebook.clone() }),
                Some(id) if found.has(*id) => {
                    Some(AgentEvent::NotebookItemRemoved { notebook: notebook.clone(), id: *id })
                }
                Some(_) => None,
            };
            removal.into_iter().collect()
        }
        Forget::Text { text, .. } => {
            state.notebooks.iter().flat_map(|(name, found)| removals_of_text(text, name, found)).collect()
        }
        Forget::Entry { .. } | Forget::Note { .. } => Vec::new(),
    }
}

/// Removes the items and the bullets that contain a text.
fn removals_of_text(text: &str, name: &NotebookName, found: &Notebook) -> Vec<AgentEvent> {
    let (mut ids, mut in_progress): (Vec<NotebookItemId>, bool) = (Vec::new(), false);
    redact_notebook(&mut found.clone(), &mut |item, found| {
        match item {
            _ if !found.contains(text) => {}
            None => in_progress = true,
            Some(id) if ids.contains(&id) => {}
            Some(id) => ids.push(id),
        }
        false
    });
    let removed = ids.into_iter().map(|id| AgentEvent::NotebookItemRemoved { notebook: name.clone(), id });
    let mut removals: Vec<_> = removed.collect();
    if in_progress {
        let mut progress = found.progress.clone();
        for list in [&mut progress.completed, &mut progress.in_progress, &mut progress.remaining] {
            list.retain(|bullet| !bullet.contains(text));
        }
        let update = Box::new(NotebookUpdate { progress: Some(progress), ..NotebookUpdate::default() });
        removals.push(AgentEvent::NotebookUpdated { notebook: name.clone(), update });
    }
    removals
}

pub(super) fn redact_update(update: &mut NotebookUpdate, visit: &mut VisitNotebookText<'_>) -> bool {
    let mut changed = update.progress.as_mut().is_some_and(|progress| redact_progress(progress, visit));
    for (id, learning) in &mut update.learnings {
        changed |= redact(Some((*id).into()), [&mut learning.text, &mut learning.reason], visit);
    }
    for (id, snippet) in &mut update.snippets {
        changed |= redact(Some((*id).into()), [&mut snippet.label, &mut snippet.text, &mut snippet.reason], visit);
    }
    for old in &mut update.archived_learnings {
        changed |= redact(Some(old.id.into()), [&mut old.reason], visit);
    }
    for old in &mut update.archived_snippets {
        changed |= redact(Some(old.id.into()), [&mut old.reason], visit);
    }
    changed
}

pub(super) fn redact_content(content: &mut NotebookContent, visit: &mut VisitNotebookText<'_>) -> bool {
    let changed = redact_progress(&mut content.progress, visit);
    changed | redact_items(&mut content.learnings, visit) | redact_items(&mut content.snippets, visit)
}

pub(super) fn redact_notebook(notebook: &mut Notebook, visit: &mut VisitNotebookText<'_>) -> bool {
    let changed = redact_progress(&mut notebook.progress, visit);
    let shown = redact_items(&mut notebook.learnings, visit) | redact_items(&mut notebook.snippets, visit);
    let archived = redact_archived(&mut notebook.archived_learnings, visit);
    changed | shown | archived | redact_archived(&mut notebook.archived_snippets, visit)
}

fn redact_items<T: NotebookItem<Id: Into<NotebookItemId>> + Clone>(
    items: &mut [Arc<T>],
    visit: &mut VisitNotebookText<'_>,
) -> bool {
    items.iter_mut().fold(false, |changed, found| {
        let id = found.id().into();
        changed | redact(Some(id), Arc::make_mut(found).texts(), visit)
    })
}

fn redact_archived<T: NotebookItem<Id: Into<NotebookItemId>> + Clone>(
    items: &mut [Archived<T>],
    visit: &mut VisitNotebookText<'_>,
) -> bool {
    items.iter_mut().fold(false, |changed, old| {
        let id = old.item.id().into();
        let changed = changed | redact(Some(id), Arc::make_mut(&mut old.item).texts(), visit);
        changed | redact(Some(id), [&mut old.archived_because], visit)
    })
}

/// If no bullet remains, leaves the smallest valid progress: one redacted bullet.
fn redact_progress(progress: &mut Progress, visit: &mut VisitNotebookText<'_>) -> bool {
    let bullets = progress.completed.iter_mut().chain(&mut progress.in_progress).chain(&mut progress.remaining);
    let changed = redact(None, bullets, visit);
    if changed && progress.bullets().all(|bullet| **bullet == *REDACTED) {
        *progress = Progress { in_progress: vec![REDACTED.into()], ..Progress::default() };
    }
    changed
}

fn redact<'a>(
    item: Option<NotebookItemId>,
    texts: impl IntoIterator<Item = &'a mut Arc<str>>,
    visit: &mut VisitNotebookText<'_>,
) -> bool {
    texts.into_iter().fold(false, |changed, text| crate::forget::redact(text, |text| visit(item, text)) | changed)
}
