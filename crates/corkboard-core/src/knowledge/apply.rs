//! Applying events to a memory core.

use alloc::format;
use alloc::sync::Arc;

use super::{CoreEntry, CoreEntryData, CoreEntryId, CoreEvent, CoreState, ForgottenMark, Trust, Vouched};
use crate::FormatError;
use crate::space::{Stamp, misfit};

pub(super) fn apply(state: &mut CoreState, event: &CoreEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
    match event {
        CoreEvent::EntryAdded { id, entry } => {
            if *id <= state.last {
                return Err(misfit(format!("{id} is already assigned")));
            }
            let CoreEntryData { content, kind, importance, tags, expires_at, provenance } = (**entry).clone();
            state.put(CoreEntry {
                id: *id,
                version: stamp.rev,
                content,
                kind,
                importance,
                tags,
                provenance: alloc::vec![provenance],
                vouched: None,
                created_at: stamp.at,
                updated_at: stamp.at,
                expires_at,
                forgotten: None,
            });
        }
        CoreEvent::EntryMerged { id, entry } => change(state, *id, stamp, |found| found.merge(entry))?,
        CoreEvent::EntryEdited { id, edit, provenance, vouched } => change(state, *id, stamp, |found| {
            let was = found.clone();
            // The trust was checked when the event was decided.
            found.edit(edit, stamp.principal, Trust::Own);
            if let Some(provenance) = provenance {
                found.provenance = provenance.clone();
            }
            found.forget_vouching_for(&was);
            if *vouched {
                found.vouched = Some(Vouched { by: stamp.principal.into(), at: stamp.at });
            }
        })?,
        CoreEvent::EntryForgotten { id, reason } => change(state, *id, stamp, |found| {
            let mark = ForgottenMark { at: stamp.at, by: stamp.principal.into(), reason: reason.clone() };
            found.forgotten = Some(mark);
        })?,
        CoreEvent::EntryRestored { id } => change(state, *id, stamp, |found| found.forgotten = None)?,
        CoreEvent::EntryWithdrawn { id, provenance } if provenance.is_empty() => take(state, *id)?,
        CoreEvent::EntryWithdrawn { id, provenance } => {
            change(state, *id, stamp, |found| {
                let was = found.clone();
                found.provenance = provenance.clone();
                found.forget_vouching_for(&was);
            })?;
        }
        CoreEvent::EntryExpired { id } | CoreEvent::EntryForgottenHard { id } => take(state, *id)?,
        CoreEvent::Cleared { .. } => *state = CoreState { last: state.last, ..CoreState::default() },
        CoreEvent::Replaced { image } => {
            let last = state.last;
            let mut image = (**image).clone();
            // Versions and IDs never repeat, so restored entries get new versions and the last ID only grows.
            image.entries.iter_mut().for_each(|entry| entry.version = stamp.rev);
            *state = CoreState::from(image);
            state.last = state.last.max(last);
        }
    }
    Ok(())
}

fn change(
    state: &mut CoreState,
    id: CoreEntryId,
    stamp: Stamp<'_>,
    change: impl FnOnce(&mut CoreEntry),
) -> Result<(), FormatError> {
    let mut entry = state.entries.get(&id).map(|entry| CoreEntry::clone(entry)).ok_or_else(|| no_entry(id))?;
    change(&mut entry);
    entry.version = stamp.rev;
    entry.updated_at = stamp.at;
    state.put(entry);
    Ok(())
}

fn take(state: &mut CoreState, id: CoreEntryId) -> Result<(), FormatError> {
    let entry = state.entries.remove(&id).ok_or_else(|| no_entry(id))?;
    state.leave(&entry);
    Ok(())
}

fn no_entry(id: CoreEntryId) -> FormatError {
    misfit(format!("entry {id} does not exist"))
}

impl CoreState {
    /// Adds or replaces an entry and updates the indexes and counts.
    pub(super) fn put(&mut self, entry: CoreEntry) {
        let entry = Arc::new(entry);
        if let Some(old) = self.entries.insert(entry.id, entry.clone()) {
            self.leave(&old);
        }
        self.last = self.last.max(entry.id);
        self.bytes += entry.bytes();
        self.forgotten += u64::from(entry.forgotten.is_some());
        self.by_text.insert(super::entry::normalised(&entry.content), entry.id);
        if let Some(at) = entry.expires_at {
            self.expiries.insert((at, entry.id));
        }
    }

    /// Removes an old form of an entry from the indexes and counts.
    fn leave(&mut self, old: &CoreEntry) {
        self.bytes -= old.bytes();
        self.forgotten -= u64::from(old.forgotten.is_some());
        let text = super::entry::normalised(&old.content);
        if self.by_text.get(&text) == Some(&old.id) {
            self.by_text.remove(&text);
        }
        if let Some(at) = old.expires_at {
            self.expiries.remove(&(at, old.id));
        }
    }
}
