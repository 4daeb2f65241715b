//! Applying events to an agent's memory.

use alloc::format;

use super::{AgentEvent, AgentState, IdleExpiry};
use crate::notebook::Notebook;
use crate::space::{Stamp, misfit};
use crate::{Access, Entry, EntryData, FormatError, Key, NoteId, NotebookName, ScopeId, ScopeState};

pub(super) fn apply(state: &mut AgentState, event: &AgentEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
    state.note_activity(event, stamp);
    match event {
        AgentEvent::EntrySet { scope, key, entry, .. } => {
            expect_scope(state, *scope)?;
            let entry = Entry { data: EntryData::clone(entry), version: stamp.rev, access: Access::default() };
            state.put(*scope, key.clone(), entry);
        }
        AgentEvent::EntryAppended { scope, key, text } => {
            let old = expect_scope(state, *scope)?.entries.get(key);
            let old = old.ok_or_else(|| misfit(format!("no entry {key:?} to append to")))?;
            let value = old.value.with_appended(text);
            let value = value.ok_or_else(|| misfit(format!("the value of {key:?} is not text")))?;
            let (author, trust) = (stamp.principal.into(), old.trust_of_changed());
            let data = EntryData { value, at: stamp.at, author, trust, ..EntryData::clone(old) };
            let entry = Entry { data, version: stamp.rev, access: old.access.clone() };
            state.put(*scope, key.clone(), entry);
        }
        AgentEvent::EntryRemoved { scope, key } | AgentEvent::EntryExpired { scope, key } => {
            take(state, *scope, key)?;
        }
        AgentEvent::Cleared { scope, .. } => clear(state, *scope)?,
        AgentEvent::NoteAdded { scope, note } => {
            if expect_scope(state, *scope)?.notes.contains_key(&note.id) {
                return Err(misfit(format!("note {} already exists", note.id)));
            }
            state.put_note(*scope, note.clone());
        }
        AgentEvent::NoteRemoved { scope, id } => take_note(state, *scope, *id)?,
        AgentEvent::ScopeCreated { id, name, parent } => {
            if state.scope(*id).is_some() {
                return Err(misfit(format!("scope {id} already exists")));
            }
            state.scopes.insert(*id, ScopeState::new(name.clone(), *parent, stamp.at));
        }
        AgentEvent::ScopeMerged { scope, notes } => {
            let found = state.scope_mut(*scope).ok_or_else(|| no_scope(*scope))?;
            found.notes_merged = *notes;
        }
        AgentEvent::ScopeDisposed { scope, .. } => {
            clear(state, *scope)?;
            state.scopes.remove(scope);
            state.idle = state.idle.filter(|idle| idle.scope != *scope);
        }
        AgentEvent::ConversationRenewed { scope, until } => {
            expect_scope(state, *scope)?;
            state.idle = Some(IdleExpiry { scope: *scope, used_at: stamp.at, until: *until });
        }
        AgentEvent::NotebookUpdated { notebook, update } => {
            let mut changed = state.notebook_or_new(notebook);
            changed.apply(update, stamp)?;
            state.put_notebook(notebook.clone(), changed);
        }
        AgentEvent::NotebookRestored { notebook, content } => {
            let mut changed = state.notebook_or_new(notebook);
            changed.restore(content, stamp);
            state.put_notebook(notebook.clone(), changed);
        }
        AgentEvent::NotebookCleared { notebook } => {
            let mut changed = expect_notebook(state, notebook)?;
            changed.clear(stamp);
            state.put_notebook(notebook.clone(), changed);
        }
        AgentEvent::NotebookItemRemoved { notebook, id } => {
            let mut changed = expect_notebook(state, notebook)?;
            if !changed.remove(*id, stamp) {
                return Err(misfit(format!("no {id} to remove from notebook {notebook}")));
            }
            state.put_notebook(notebook.clone(), changed);
        }
        AgentEvent::Restored { image } => {
            let notebooks = core::mem::take(&mut state.notebooks);
            let (last_note, activity) = (state.last_note, state.activity.take());
            let mut image = (**image).clone();
            // Versions never repeat, so restored items get new versions.
            image.scopes.iter_mut().flat_map(|scope| &mut scope.entries).for_each(|entry| entry.version = stamp.rev);
            image.notebooks.values_mut().for_each(|notebook| notebook.version = stamp.rev);
            *state = AgentState::from(image);
            state.last_note = state.last_note.max(last_note);
            state.keep_ids_of(notebooks, stamp);
            // The memory keeps its own activity.
            state.activity = activity;
        }
    }
    Ok(())
}

fn expect_scope(state: &AgentState, scope: ScopeId) -> Result<&ScopeState, FormatError> {
    state.scope(scope).ok_or_else(|| no_scope(scope))
}

fn expect_notebook(state: &AgentState, name: &NotebookName) -> Result<Notebook, FormatError> {
    let found = state.notebooks.get(name).map(|notebook| Notebook::clone(notebook));
    found.ok_or_else(|| misfit(format!("no notebook {name:?}")))
}

fn no_scope(scope: ScopeId) -> FormatError {
    misfit(format!("no scope {scope}"))
}

fn take(state: &mut AgentState, scope: ScopeId, key: &Key) -> Result<(), FormatError> {
    let found = state.scope_mut(scope).ok_or_else(|| no_scope(scope))?;
    let old = found.entries.remove(key).ok_or_else(|| misfit(format!("no entry {key:?} to remove")))?;
    state.bytes -= key.as_str().len() as u64 + old.bytes();
    state.entries -= 1;
    state.forget_expiry(scope, key, &old);
    Ok(())
}

fn take_note(state: &mut AgentState, scope: ScopeId, id: NoteId) -> Result<(), FormatError> {
    let found = state.scope_mut(scope).ok_or_else(|| no_scope(scope))?;
    let old = found.notes.remove(&id).ok_or_else(|| misfit(format!("no note {id} to remove")))?;
    state.notes -= 1;
    state.bytes -= old.text.len() as u64;
    Ok(())
}

fn clear(state: &mut AgentState, scope: ScopeId) -> Result<(), FormatError> {
    let found = state.scope_mut(scope).ok_or_else(|| no_scope(scope))?;
    let entries = core::mem::take(&mut found.entries);
    let notes = core::mem::take(&mut found.notes);
    for (key, old) in &entries {
        state.bytes -= key.as_str().len() as u64 + old.bytes();
        state.forget_expiry(scope, key, old);
    }
    state.entries -= entries.len() as u64;
    state.notes -= notes.len() as u64;
    state.bytes -= notes.values().map(|note| note.text.len() as u64).sum::<u64>();
    Ok(())
}
