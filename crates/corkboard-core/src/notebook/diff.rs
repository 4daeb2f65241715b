//! The changes between two revisions of a notebook.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

use super::{Archived, Learning, Notebook, NotebookItem, NotebookItemId, Snippet};
use crate::count;

/// The changes from one revision to another. Printed with one line per change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NotebookDiff {
    /// The changes: progress first, then learnings, then snippets.
    pub changes: Vec<NotebookChange>,
}

/// A change of one section or item of a notebook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NotebookChange {
    /// A new bullet.
    Begun { list: &'static str, text: Arc<str> },
    /// A bullet that is no longer in any list.
    Dropped { list: &'static str, text: Arc<str> },
    /// A bullet that moved from one list to another.
    Moved { from: &'static str, to: &'static str, text: Arc<str> },
    /// A new learning or snippet.
    Added {
        id: NotebookItemId,
        /// The insight, or the snippet's label and size.
        text: String,
        /// Why it is worth keeping.
        reason: Arc<str>,
    },
    /// A learning or snippet that was archived.
    Archived {
        id: NotebookItemId,
        /// The insight, or the snippet's label and size.
        text: String,
        reason: Arc<str>,
    },
    /// An archived learning or snippet that is active again.
    Returned {
        id: NotebookItemId,
        /// The insight, or the snippet's label and size.
        text: String,
    },
    /// A learning or snippet that was cleared, or forgotten for good.
    Removed { id: NotebookItemId },
}

impl Notebook {
    pub fn since(&self, before: &Self) -> NotebookDiff {
        let mut changes = progress(before, self);
        changes.extend(items(
            (&before.learnings, &before.archived_learnings),
            (&self.learnings, &self.archived_learnings),
            |learning: &Learning| ((*learning.text).into(), learning.reason.clone()),
        ));
        changes.extend(items(
            (&before.snippets, &before.archived_snippets),
            (&self.snippets, &self.archived_snippets),
            |snippet: &Snippet| (size_of(snippet), snippet.reason.clone()),
        ));
        NotebookDiff { changes }
    }
}

impl NotebookDiff {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// All changes on one line, for a log.
    pub fn to_line(&self) -> String {
        if self.is_empty() {
            return "no change".into();
        }
        let changes: Vec<String> = self.changes.iter().map(|change| format!("{change}")).collect();
        changes.join("; ")
    }
}

impl fmt::Display for NotebookDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "no change");
        }
        self.changes.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}

impl fmt::Display for NotebookChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun { list, text } => write!(f, "{list}: + {text}"),
            Self::Dropped { list, text } => write!(f, "{list}: - {text}"),
            Self::Moved { from, to, text } => write!(f, "{from} -> {to}: {text}"),
            Self::Added { id, text, reason } => write!(f, "{id} added: {text} (because {reason})"),
            Self::Archived { id, text, reason } => write!(f, "{id} archived: {text} (because {reason})"),
            Self::Returned { id, text } => write!(f, "{id} restored: {text}"),
            Self::Removed { id } => write!(f, "{id} removed"),
        }
    }
}

fn size_of(snippet: &Snippet) -> String {
    let lines = count(snippet.text.split('\n').count() as u64, "line", "lines");
    format!("{}, {lines}, {}", snippet.label, count(snippet.text.len() as u64, "byte", "bytes"))
}

fn progress(before: &Notebook, after: &Notebook) -> Vec<NotebookChange> {
    use alloc::collections::BTreeMap;
    // The list of each bullet. Duplicates in a list count once.
    let lists = |notebook: &Notebook| -> BTreeMap<Arc<str>, &'static str> {
        let lists = notebook.progress.lists().into_iter();
        lists.flat_map(|(list, bullets)| bullets.iter().map(move |bullet| (bullet.clone(), list))).collect()
    };
    let (was, is) = (lists(before), lists(after));
    let mut changes = Vec::new();
    for ((list, bullets), (_, old)) in after.progress.lists().into_iter().zip(before.progress.lists()) {
        for bullet in bullets.iter().filter(|bullet| is.get(*bullet) == Some(&list)) {
            let text = bullet.clone();
            match was.get(bullet) {
                None => changes.push(NotebookChange::Begun { list, text }),
                Some(from) if *from != list => changes.push(NotebookChange::Moved { from, to: list, text }),
                Some(_) => {}
            }
        }
        let dropped = old.iter().filter(|bullet| was.get(*bullet) == Some(&list) && !is.contains_key(*bullet));
        changes.extend(dropped.map(|bullet| NotebookChange::Dropped { list, text: bullet.clone() }));
    }
    let mut seen = alloc::collections::BTreeSet::new();
    changes.retain(|change| match change {
        NotebookChange::Begun { text, .. }
        | NotebookChange::Dropped { text, .. }
        | NotebookChange::Moved { text, .. } => seen.insert(text.clone()),
        _ => true,
    });
    changes
}

/// The shown and the archived items of a notebook.
type Items<'a, T> = (&'a [Arc<T>], &'a [Archived<T>]);

fn items<T: NotebookItem>(
    (old_shown, old_archived): Items<'_, T>,
    (shown, archived): Items<'_, T>,
    describe: impl Fn(&T) -> (String, Arc<str>),
) -> Vec<NotebookChange>
where
    NotebookItemId: From<T::Id>,
{
    let is_shown = |items: &[Arc<T>], id: T::Id| items.binary_search_by_key(&id, |item| item.id()).is_ok();
    let is_archived = |items: &[Archived<T>], id: T::Id| items.binary_search_by_key(&id, |old| old.item.id()).is_ok();
    let mut changes = Vec::new();
    for item in shown {
        let (id, (text, reason)) = (item.id(), describe(item));
        if is_archived(old_archived, id) {
            changes.push(NotebookChange::Returned { id: id.into(), text });
        } else if !is_shown(old_shown, id) {
            changes.push(NotebookChange::Added { id: id.into(), text, reason });
        }
    }
    for old in archived.iter().filter(|old| !is_archived(old_archived, old.item.id())) {
        let (text, _) = describe(&old.item);
        changes.push(NotebookChange::Archived { id: old.item.id().into(), text, reason: old.archived_because.clone() });
    }
    let before = old_shown.iter().map(|item| item.id()).chain(old_archived.iter().map(|old| old.item.id()));
    let gone = before.filter(|id| !is_shown(shown, *id) && !is_archived(archived, *id));
    changes.extend(gone.map(|id| NotebookChange::Removed { id: id.into() }));
    changes
}
