//! Forgetting a notebook, or one item of it: ids are never given twice, so an id is enough to find all that was said of it.

use alloc::sync::Arc;
use alloc::vec;

use super::forget::REDACTED;
use super::{AgentEvent, AgentState, Forget};
use crate::notebook::{
    Archived, Learning, Notebook, NotebookContent, NotebookItemId, NotebookUpdate, Progress, Snippet,
};
use crate::{NotebookName, Space};

impl Forget {
    /// Whether it is about that notebook, and about which item of it.
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
    let is_meant = |id: NotebookItemId| item.is_none_or(|item| item == id);
    let mut changed = item.is_none() && update.progress.as_mut().is_some_and(redact_progress);
    for (id, learning) in &mut update.learnings {
        changed |= is_meant((*id).into()) && redact([&mut learning.text, &mut learning.reason]);
    }
    for (id, snippet) in &mut update.snippets {
        changed |= is_meant((*id).into()) && redact([&mut snippet.label, &mut snippet.text, &mut snippet.reason]);
    }
    for old in &mut update.archived_learnings {
        changed |= is_meant(old.id.into()) && redact([&mut old.reason]);
    }
    for old in &mut update.archived_snippets {
        changed |= is_meant(old.id.into()) && redact([&mut old.reason]);
    }
    changed
}

pub(super) fn redact_content(forget: &Forget, name: &NotebookName, content: &mut NotebookContent) -> bool {
    let Some(item) = forget.in_notebook(name) else { return false };
    let mut changed = item.is_none() && redact_progress(&mut content.progress);
    for learning in &mut content.learnings {
        changed |= redact_learning(item, learning);
    }
    for snippet in &mut content.snippets {
        changed |= redact_snippet(item, snippet);
    }
    changed
}

pub(super) fn redact_notebook(forget: &Forget, name: &NotebookName, notebook: &mut Notebook) -> bool {
    let Some(item) = forget.in_notebook(name) else { return false };
    let mut changed = item.is_none() && redact_progress(&mut notebook.progress);
    for learning in &mut notebook.learnings {
        changed |= redact_learning(item, learning);
    }
    for snippet in &mut notebook.snippets {
        changed |= redact_snippet(item, snippet);
    }
    for Archived { item: learning, archived_because, .. } in &mut notebook.archived_learnings {
        let is_meant = item.is_none_or(|item| item == learning.id.into());
        changed |= redact_learning(item, learning);
        changed |= is_meant && redact([archived_because]);
    }
    for Archived { item: snippet, archived_because, .. } in &mut notebook.archived_snippets {
        let is_meant = item.is_none_or(|item| item == snippet.id.into());
        changed |= redact_snippet(item, snippet);
        changed |= is_meant && redact([archived_because]);
    }
    changed
}

fn redact_learning(item: Option<NotebookItemId>, learning: &mut Arc<Learning>) -> bool {
    item.is_none_or(|item| item == learning.id.into()) && {
        let learning = Arc::make_mut(learning);
        redact([&mut learning.text, &mut learning.reason])
    }
}

fn redact_snippet(item: Option<NotebookItemId>, snippet: &mut Arc<Snippet>) -> bool {
    item.is_none_or(|item| item == snippet.id.into()) && {
        let snippet = Arc::make_mut(snippet);
        redact([&mut snippet.label, &mut snippet.text, &mut snippet.reason])
    }
}

/// As little of the progress stays as makes one.
fn redact_progress(progress: &mut Progress) -> bool {
    let kept = Progress { in_progress: vec![REDACTED.into()], ..Progress::default() };
    let changed = !progress.is_empty() && *progress != kept;
    if changed {
        *progress = kept;
    }
    changed
}

fn redact<const N: usize>(texts: [&mut Arc<str>; N]) -> bool {
    let mut changed = false;
    for text in texts.into_iter().filter(|text| ***text != *REDACTED) {
        *text = REDACTED.into();
        changed = true;
    }
    changed
}
