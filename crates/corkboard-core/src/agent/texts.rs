//! The free texts of an agent's memory, and the items that they belong to.

use core::fmt;

use super::forget::each_text_of as each_entry_text;
use super::forget_notebook as notebooks;
use super::{AgentEvent, AgentImage};
use crate::forget::{FORGOTTEN, VisitText};
use crate::notebook::NotebookItemId;
use crate::{EntryData, Key, Note, NoteId, NotebookName};

/// An item of an agent's memory, in words.
enum AgentItem<'a> {
    Entry(&'a Key),
    Note(NoteId),
    /// An item of a notebook; none: its progress.
    Notebook(&'a NotebookName, Option<NotebookItemId>),
}

impl fmt::Display for AgentItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(key) => write!(f, "entry {key}"),
            Self::Note(id) => write!(f, "note {id}"),
            Self::Notebook(name, Some(id)) => write!(f, "notebook {name} {id}"),
            Self::Notebook(name, None) => write!(f, "notebook {name} progress"),
        }
    }
}

pub(super) fn each_text_of(event: &AgentEvent, visit: &mut VisitText<'_>) {
    match event {
        AgentEvent::EntrySet { key, entry, .. } => visit_entry(key, entry, visit),
        AgentEvent::EntryAppended { key, text, .. } => visit(&AgentItem::Entry(key), text),
        AgentEvent::NoteAdded { note, .. } => visit_note(note, visit),
        AgentEvent::NotebookUpdated { notebook, update } => {
            notebooks::redact_update(&mut update.clone(), &mut in_notebook(notebook, visit));
        }
        AgentEvent::NotebookRestored { notebook, content } => {
            notebooks::redact_content(&mut content.clone(), &mut in_notebook(notebook, visit));
        }
        AgentEvent::Restored { image } => each_text(image, visit),
        AgentEvent::EntryRemoved { .. }
        | AgentEvent::EntryExpired { .. }
        | AgentEvent::Cleared { .. }
        | AgentEvent::NoteRemoved { .. }
        | AgentEvent::ScopeCreated { .. }
        | AgentEvent::ScopeMerged { .. }
        | AgentEvent::ScopeDisposed { .. }
        | AgentEvent::NotebookCleared { .. }
        | AgentEvent::NotebookItemRemoved { .. }
        | AgentEvent::ConversationRenewed { .. } => {}
    }
}

pub(super) fn each_text(image: &AgentImage, visit: &mut VisitText<'_>) {
    for scope in &image.scopes {
        scope.entries.iter().for_each(|entry| visit_entry(&entry.key, &entry.entry, visit));
        scope.notes.iter().for_each(|note| visit_note(note, visit));
    }
    for (name, notebook) in &image.notebooks {
        notebooks::redact_notebook(&mut notebook.clone(), &mut in_notebook(name, visit));
    }
}

fn visit_entry(key: &Key, entry: &EntryData, visit: &mut VisitText<'_>) {
    each_entry_text(entry, &mut |text| visit(&AgentItem::Entry(key), text));
}

fn visit_note(note: &Note, visit: &mut VisitText<'_>) {
    if *note.text != *FORGOTTEN {
        visit(&AgentItem::Note(note.id), &note.text);
    }
}

/// Calls `visit` with each text of a notebook and replaces none.
fn in_notebook<'a>(
    name: &'a NotebookName,
    visit: &'a mut VisitText<'_>,
) -> impl FnMut(Option<NotebookItemId>, &str) -> bool + 'a {
    |item, text| {
        visit(&AgentItem::Notebook(name, item), text);
        false
    }
}
