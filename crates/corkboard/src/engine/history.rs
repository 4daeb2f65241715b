//! Replay a log: the state at every retained revision.

use std::ops::ControlFlow;
use std::sync::Arc;

use corkboard_core::{Commit, Revisioned, Space};

use super::{Engine, PAGE, Slot};
use crate::store::{Cursor, StoreError};
use crate::{Error, Result};

/// One revision, and the states before and after it.
pub(crate) struct HistoryStep<'a, S: Space> {
    pub(crate) rev: u64,
    pub(crate) commit: &'a Commit<S::Event, S::Reply>,
    pub(crate) before: &'a S,
    pub(crate) after: &'a S,
}

impl<S: Space> Engine<S> {
    /// Replays the log and passes every revision to `look`. Starts at the newest snapshot if `from` is not before it or
    /// if retention dropped the earlier revisions, otherwise at the beginning. Returns the space as it was at the
    /// start, and the last revision seen.
    pub(crate) async fn retrace(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        from: u64,
        mut look: impl FnMut(HistoryStep<'_, S>) -> ControlFlow<()> + Send,
    ) -> Result<(Revisioned<S>, u64)> {
        self.check_usable()?;
        self.flush_now(slot).await?;
        let loaded = self.store.load(&slot.id).await?;
        let mut state = Revisioned::<S> { head: loaded.born, ..Revisioned::default() };
        let of_snapshot = |body: &[u8]| Revisioned::decode(body).map_err(|error| Error::format(&slot.id, error));
        if let Some(snapshot) = loaded.snapshot.as_ref().filter(|snapshot| snapshot.head.rev <= from) {
            state = of_snapshot(&snapshot.body)?;
        }
        let first = Cursor { rev: state.head.rev, commit: None };
        let mut page = match (self.store.read_after(&slot.id, first, PAGE).await, loaded.snapshot) {
            (Err(StoreError::Compacted { .. }), Some(snapshot)) => {
                state = of_snapshot(&snapshot.body)?;
                let first = Cursor { rev: state.head.rev, commit: Some(state.head.commit) };
                self.store.read_after(&slot.id, first, PAGE).await?
            }
            (page, _) => page?,
        };
        let oldest = state.clone();
        loop {
            for record in &page.records {
                let commit = self.decode(&slot.id, record)?;
                let before = state.state.clone();
                let applied = state.apply(&commit, record.commit, &self.options.limits);
                applied.map_err(|error| Error::format(&slot.id, error))?;
                let step = HistoryStep { rev: record.rev, commit: &commit, before: &before, after: &state.state };
                if look(step).is_break() {
                    return Ok((oldest, state.head.rev));
                }
            }
            if state.head.rev >= page.head.rev || page.records.is_empty() {
                return Ok((oldest, state.head.rev));
            }
            let next = Cursor { rev: state.head.rev, commit: Some(state.head.commit) };
            page = self.store.read_after(&slot.id, next, PAGE).await?;
        }
    }
}
