//! A board at any stored revision.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use corkboard_core::board::{BoardState, TaskId};
use jiff::Timestamp;

use super::{Board, BoardDiff, BoardView};
use crate::engine::HistoryStep;
use crate::store::StoreError;
use crate::{Error, Result};

struct Moment {
    rev: u64,
    at: Timestamp,
    state: BoardState,
}

/// Who last moved each task.
pub(super) type LastMovers = BTreeMap<TaskId, Arc<str>>;

impl Board {
    /// Returns the board at a revision. Fails with [`StoreError::Compacted`], which names the oldest stored revision,
    /// if the revision was trimmed, and with [`StoreError::Future`] if it does not exist yet.
    pub async fn at(&self, rev: u64) -> Result<BoardView> {
        let (_, Moment { at, state, .. }, _) = self.retrace(rev, rev).await?;
        BoardView::of(self.id.clone(), rev, (at, at), state)
    }

    /// Returns what changed between two revisions. Revision 0 is the time before the first.
    pub async fn diff(&self, from: u64, to: u64) -> Result<BoardDiff> {
        if from > to {
            return Err(Error::Backwards { from, to });
        }
        let (before, after, movers) = self.retrace(from, to).await?;
        Ok(BoardDiff::new(self.id.clone(), (before.rev, &before.state), (after.rev, &after.state), &movers))
    }

    /// The board at two revisions, and who moved its tasks in between.
    async fn retrace(&self, from: u64, to: u64) -> Result<(Moment, Moment, LastMovers)> {
        // A board that does not exist has no revisions.
        let current = self.engine.current(&self.slot).await?;
        current.state.readable()?;
        let (mut before, mut after, mut movers) = (None, None, LastMovers::new());
        let look = |step: HistoryStep<'_, BoardState>| {
            let moment = || Some(Moment { rev: step.rev, at: step.commit.at, state: step.after.clone() });
            if step.rev == from {
                before = moment();
            }
            if step.rev > to {
                return ControlFlow::Break(());
            }
            if step.rev > from {
                note_movers(&step, &mut movers);
            }
            if step.rev == to {
                after = moment();
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let (oldest, last) = self.engine.retrace(&self.slot, from, look).await?;
        let oldest_rev = oldest.head.rev;
        let first = || Moment { rev: oldest_rev, at: oldest.last_at, state: oldest.state.clone() };
        if to > last.max(oldest_rev) {
            return Err(StoreError::Future { asked: to, head: last.max(oldest_rev) }.into());
        }
        let compacted = || {
            let is_empty = oldest.state.info().is_none();
            Error::from(StoreError::Compacted { oldest: if is_empty { oldest_rev + 1 } else { oldest_rev } })
        };
        let before = before.or_else(|| (from == oldest_rev).then(first)).ok_or_else(compacted)?;
        let after = after.or_else(|| (to == oldest_rev).then(first)).ok_or_else(compacted)?;
        Ok((before, after, movers))
    }
}

fn note_movers(step: &HistoryStep<'_, BoardState>, movers: &mut LastMovers) {
    let by: Arc<str> = step.commit.actor.principal.as_str().into();
    for task in step.commit.events.iter().filter_map(|event| event.task()) {
        let status = |state: &BoardState| state.task(task).map(|task| task.status);
        if status(step.before) != status(step.after) {
            movers.insert(task, by.clone());
        }
    }
}
