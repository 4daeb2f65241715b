//! What is checked in a command that came as text from outside. In one that was made here, it was when that was made.

use super::decide::{check_entry, check_whole_note};
use super::{AgentCommand, EntryChange};
use crate::authority::{ImageCaller, limit_note};
use crate::{Actor, Key, Limits, NotebookName, Refusal, ScopeName};

/// Checks what is not checked when the command is decided.
pub(super) fn check(command: &mut AgentCommand, actor: &Actor, limits: &Limits) -> Result<(), Refusal> {
    let key = |key: &Key| Key::check(key.as_str(), limits);
    let notebook = |name: &NotebookName| NotebookName::check(name.as_str(), limits);
    match command {
        AgentCommand::Set { key: name, .. }
        | AgentCommand::Append { key: name, .. }
        | AgentCommand::Remove { key: name, .. } => key(name),
        AgentCommand::Batch { changes, .. } => changes.iter().try_for_each(|change| match change {
            EntryChange::Set { key: name, .. }
            | EntryChange::Append { key: name, .. }
            | EntryChange::Remove { key: name, .. } => key(name),
            EntryChange::Move { from, to } => key(from).and(key(to)),
        }),
        AgentCommand::Absorb { entries, notes, .. } => {
            entries.iter().try_for_each(|(name, entry)| check_entry(name, entry, limits))?;
            // A scope of this process knows who wrote its notes. From outside, that is only the caller's word.
            notes.iter_mut().for_each(|note| limit_note(note, None, ImageCaller::new(actor)));
            notes.iter().try_for_each(|note| check_whole_note(note, limits))
        }
        AgentCommand::CreateScope { name, .. } => ScopeName::check(name.as_str(), limits),
        AgentCommand::UpdateNotebook { notebook: name, .. }
        | AgentCommand::RestoreNotebook { notebook: name, .. }
        | AgentCommand::ClearNotebook { notebook: name } => notebook(name),
        // Images are checked whole when they are decided, and to look for a name that cannot be does no harm.
        AgentCommand::Restore { .. }
        | AgentCommand::Forget { .. }
        | AgentCommand::Clear { .. }
        | AgentCommand::AddNote { .. }
        | AgentCommand::RemoveNote { .. }
        | AgentCommand::MergeScope { .. }
        | AgentCommand::MarkMerged { .. }
        | AgentCommand::DisposeScope { .. }
        | AgentCommand::ClearAll
        | AgentCommand::Tick
        // It has no form as text.
        | AgentCommand::Converse { .. } => Ok(()),
    }
}
