//! An agent's notebooks: decisions and storage.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::OrdMap;

use super::decide::{DecideResult, check_totals};
use super::{AgentEvent, AgentImage, AgentReply, AgentState};
use crate::id::check_visible;
use crate::notebook::{Block, Notebook, NotebookContent, UnknownIds};
use crate::space::{CommandEffects, Stamp};
use crate::{Context, LimitName, LimitWarning, Limits, NotebookName, Refusal};

impl AgentState {
    /// The notebook with that name, if it was ever written.
    pub fn notebook(&self, name: &str) -> Option<&Arc<Notebook>> {
        self.notebooks.get(name)
    }

    /// The notebooks that are not empty, by name.
    pub fn notebooks(&self) -> impl Iterator<Item = (&NotebookName, &Arc<Notebook>)> {
        self.notebooks.iter().filter(|(_, notebook)| !notebook.is_empty())
    }

    pub(super) fn notebook_or_new(&self, name: &NotebookName) -> Notebook {
        self.notebooks.get(name).map_or_else(Notebook::default, |notebook| Notebook::clone(notebook))
    }

    pub(super) fn put_notebook(&mut self, name: NotebookName, notebook: Notebook) {
        let name_bytes = name.as_str().len() as u64;
        self.bytes += notebook.bytes() + name_bytes;
        if let Some(old) = self.notebooks.insert(name, Arc::new(notebook)) {
            self.bytes -= old.bytes() + name_bytes;
        }
    }

    /// Keeps the last IDs of the notebooks from before a restore, so that no ID is assigned twice.
    pub(super) fn keep_ids_of(&mut self, before: OrdMap<NotebookName, Arc<Notebook>>, stamp: Stamp<'_>) {
        for (name, old) in before {
            let mut notebook = match self.notebooks.get(&name) {
                Some(restored) => Notebook::clone(restored),
                None => {
                    let mut emptied = Notebook::default();
                    emptied.clear(stamp);
                    emptied
                }
            };
            notebook.last_learning = notebook.last_learning.max(old.last_learning);
            notebook.last_snippet = notebook.last_snippet.max(old.last_snippet);
            self.put_notebook(name, notebook);
        }
    }
}

pub(super) fn update(
    state: &AgentState,
    context: &Context<'_>,
    name: &NotebookName,
    block: &Block,
    unknown_ids: UnknownIds,
    if_version: Option<u64>,
) -> DecideResult {
    let before = state.notebook_or_new(name);
    check_version(name, &before, if_version)?;
    check_new_name(state, name)?;
    Limits::check(LimitName::CommandBytes, block.bytes(), context.limits.command_bytes)?;
    let (update, skipped) = before.decide(name, block, unknown_ids, context.limits)?;
    let mut after = before.clone();
    let stamp = context.stamp();
    // The update was decided on this notebook, so it fits. If it did not, the commit would fail.
    let _ = after.apply(&update, stamp);
    let reply = AgentReply::NotebookUpdated {
        last_learning: after.last_learning,
        last_snippet: after.last_snippet,
        skipped: skipped.len() as u64,
    };
    let event = AgentEvent::NotebookUpdated { notebook: name.clone(), update: Box::new(update.clone()) };
    if update.is_empty() {
        return Ok(CommandEffects::new(alloc::vec::Vec::new(), reply));
    }
    decided(state, context, name, (&before, &after), event, reply)
}

pub(super) fn restore(
    state: &AgentState,
    context: &Context<'_>,
    name: &NotebookName,
    content: &NotebookContent,
    if_version: Option<u64>,
) -> DecideResult {
    let before = state.notebook_or_new(name);
    check_version(name, &before, if_version)?;
    check_new_name(state, name)?;
    content.check(context.limits)?;
    let mut after = before.clone();
    let stamp = context.stamp();
    after.restore(content, stamp);
    if let Some(reason) = after.contradiction() {
        return Err(Refusal::NotebookContradicts { notebook: name.clone(), reason });
    }
    let archived = |notebook: &Notebook| notebook.archived_learnings.len() + notebook.archived_snippets.len();
    if archived(&after) > archived(&before) {
        let allowed = context.limits.archived_per_notebook;
        Limits::check(LimitName::ArchivedPerNotebook, archived(&after) as u64, allowed)?;
    }
    if before.content(0) == (NotebookContent { rev: 0, ..content.clone() }) {
        return Ok(CommandEffects::new(alloc::vec::Vec::new(), AgentReply::Done));
    }
    let event = AgentEvent::NotebookRestored { notebook: name.clone(), content: Box::new(content.clone()) };
    decided(state, context, name, (&before, &after), event, AgentReply::Done)
}

pub(super) fn clear(state: &AgentState, name: &NotebookName) -> CommandEffects<AgentEvent, AgentReply> {
    let found = state.notebooks.get(name).filter(|notebook| !notebook.is_empty());
    let items = found.map_or(0, |notebook| {
        let shown = notebook.learnings.len() + notebook.snippets.len();
        shown + notebook.archived_learnings.len() + notebook.archived_snippets.len()
    });
    let event = found.map(|_| AgentEvent::NotebookCleared { notebook: name.clone() });
    CommandEffects::new(event.into_iter().collect(), AgentReply::Cleared { entries: items as u64 })
}

fn check_new_name(state: &AgentState, name: &NotebookName) -> Result<(), Refusal> {
    if state.notebooks.contains_key(name) { Ok(()) } else { check_visible("notebook name", name.as_str()) }
}

/// Checks the notebooks of a snapshot by the same rules as new ones, because a snapshot comes from outside.
pub(super) fn check_image(image: &AgentImage, limits: &Limits) -> Result<(), Refusal> {
    for (name, notebook) in &image.notebooks {
        NotebookName::check(name.as_str(), limits)?;
        notebook.check(limits)?;
        if let Some(reason) = notebook.contradiction() {
            return Err(Refusal::NotebookContradicts { notebook: name.clone(), reason });
        }
    }
    Ok(())
}

/// Checks the number of notebooks, including cleared ones of which only the IDs are kept.
pub(super) fn check_count(
    before: &AgentState,
    after: &AgentState,
    limits: &Limits,
) -> Result<Vec<LimitWarning>, Refusal> {
    let (before, after) = (before.notebooks.len() as u64, after.notebooks.len() as u64);
    Limits::check_growth([(LimitName::NotebooksPerAgent, before, after, limits.notebooks_per_agent)])
}

fn decided(
    state: &AgentState,
    context: &Context<'_>,
    name: &NotebookName,
    (before, after): (&Notebook, &Notebook),
    event: AgentEvent,
    reply: AgentReply,
) -> DecideResult {
    let is_new = !state.notebooks.contains_key(name);
    let notebooks = state.notebooks.len() as u64;
    let (after_all, allowed) = (notebooks + u64::from(is_new), context.limits.notebooks_per_agent);
    let nearly_full = Limits::check_growth([(LimitName::NotebooksPerAgent, notebooks, after_all, allowed)])?;
    let name_bytes = if is_new { name.as_str().len() as u64 } else { 0 };
    let bytes = state.bytes - before.bytes() + after.bytes() + name_bytes;
    let entries = context.outside.entries + state.entries;
    let mut warnings = check_totals(state, context, entries, state.notes, bytes)?;
    warnings.extend(nearly_full);
    Ok(CommandEffects { events: alloc::vec![event], reply, warnings })
}

fn check_version(name: &NotebookName, found: &Notebook, if_version: Option<u64>) -> Result<(), Refusal> {
    match if_version {
        Some(expected) if expected != found.version => {
            Err(Refusal::NotebookConflict { notebook: name.clone(), expected, current: found.version })
        }
        _ => Ok(()),
    }
}
