//! Checks for commands that were deserialized from outside input. Other commands consist of parts that were checked
//! when they were created.

use super::decide::{check_entry, check_whole_note};
use super::{AgentCommand, EntryChange};
use crate::authority::{ImageCaller, limit_note};
use crate::{Actor, Key, Limits, NotebookName, Refusal, ScopeName};

/// Checks the parts that the decision does not check.
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
            // In a command from outside, the authors of notes are only the caller's claim.
            notes.iter_mut().for_each(|note| limit_note(note, None, ImageCaller::new(actor)));
            notes.iter().try_for_each(|note| check_whole_note(note, limits))
        }
        AgentCommand::CreateScope { name, .. } => ScopeName::check(name.as_str(), limits),
        AgentCommand::UpdateNotebook { notebook: name, .. }
        | AgentCommand::RestoreNotebook { notebook: name, .. }
        | AgentCommand::ClearNotebook { notebook: name } => notebook(name),
        // The decision checks whole images, and looking up an invalid name does no harm.
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
        // Cannot be sent.
        | AgentCommand::Converse { .. } => Ok(()),
    }
}
