//! Pauses: the board's clock stops, and every deadline moves by the length of the pause.

use jiff::{SignedDuration, Timestamp};

use super::views::Due;
use super::{BoardState, Lease, Pause};
use crate::FormatError;
use crate::space::{Stamp, misfit};

impl BoardState {
    pub(super) fn resume(&mut self, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let mut paused = None;
        self.change_info(stamp, |info| paused = info.paused.take())?;
        let Some(Pause { at: since, .. }) = paused else { return Err(misfit("the board was not paused")) };
        for due in self.views.all_due() {
            match due {
                Due::Orchestrator => {
                    let lease = self.orchestrator.clone();
                    self.set_orchestrator(lease.map(|lease| moved(lease, since, stamp.at)));
                }
                Due::Lease(task) => {
                    // Like a renewal, this changes no version, so it does not conflict with an edit of the task.
                    let task_before = self.expect(task)?;
                    let unchanged = Stamp { rev: task_before.version, at: task_before.updated_at, ..stamp };
                    self.change(task, unchanged, |task| {
                        task.claim = task.claim.take().map(|lease| moved(lease, since, stamp.at));
                    })?;
                }
                Due::Retry(task) => self.change(task, stamp, |task| {
                    task.not_before = task.not_before.map(|at| later(at, since, stamp.at));
                })?,
                Due::Nudge(nudge) => self.change_nudge(nudge, stamp, |nudge| {
                    // A nudge that was sent during the pause lost only the rest of the pause.
                    let since = nudge.created_at.max(since);
                    nudge.expires_at = nudge.expires_at.map(|at| later(at, since, stamp.at));
                })?,
            }
        }
        Ok(())
    }
}

fn moved(lease: Lease, since: Timestamp, until: Timestamp) -> Lease {
    Lease { deadline: later(lease.deadline, since, until), ..lease }
}

/// Moves a time by the length of an interval.
fn later(at: Timestamp, since: Timestamp, until: Timestamp) -> Timestamp {
    let length = until.duration_since(since).max(SignedDuration::ZERO);
    at.saturating_add(length).unwrap_or(Timestamp::MAX)
}
