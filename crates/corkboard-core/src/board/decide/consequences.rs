//! What follows for others when a task fails, is cancelled, or is tried again.

use alloc::vec::Vec;

use jiff::Timestamp;

use super::super::{
    BoardEvent, BoardReply, CancelReason, FailurePolicy, Fate, Lease, Task, TaskId, TaskStatus, Verdict,
};
use super::{Draft, Reply};

/// No retry waits longer.
const LONGEST_BACKOFF_S: u64 = 24 * 60 * 60;

impl Draft<'_> {
    /// A task failed: it is tried again if its retry limit allows.
    pub(super) fn after_failure(&mut self, id: TaskId) {
        let Some(task) = self.state.task(id) else { return };
        if task.failures <= task.retry_limit {
            let not_before = backoff(task, self.context.now);
            self.push(BoardEvent::TaskRetried { task: id, not_before, by_hand: false });
        } else {
            self.failed_for_good(id);
        }
    }

    pub(super) fn failed_for_good(&mut self, id: TaskId) {
        if self.state.task(id).is_some_and(|task| task.on_failure == FailurePolicy::FailFast) {
            self.cancel_unfinished(CancelReason::UpstreamFailed, Some(id));
        }
        self.settle_dependents(id);
    }

    pub(super) fn cancel_unfinished(&mut self, reason: CancelReason, cause: Option<TaskId>) {
        let unfinished = self.state.tasks().filter(|task| !task.status.is_finished()).map(|task| task.id);
        for task in unfinished.collect::<Vec<_>>() {
            self.push(BoardEvent::TaskCancelled { task, reason, cause, comment: None });
        }
    }

    /// Something became of a task: cancels those that depend on it and can no longer begin, and so on.
    pub(super) fn settle_dependents(&mut self, id: TaskId) {
        self.settle(self.state.blocks(id).collect());
    }

    /// Cancels those of these tasks that can no longer begin, then those that depend on them, and so on.
    pub(super) fn settle(&mut self, mut tasks: Vec<TaskId>) {
        while let Some(id) = tasks.pop() {
            let Some(task) = self.state.task(id) else { continue };
            let has_begun = !matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned);
            if has_begun || self.state.tally(id).verdict(task.trigger_rule) != Verdict::Impossible {
                continue;
            }
            let cause = self.cause_for(task);
            let reason = if cause.is_some() { CancelReason::UpstreamFailed } else { CancelReason::BranchNotTaken };
            self.push(BoardEvent::TaskCancelled { task: id, reason, cause, comment: None });
            tasks.extend(self.state.blocks(id));
        }
    }

    /// The task in which the failure began that hinders this one. None: nothing failed.
    fn cause_for(&self, task: &Task) -> Option<TaskId> {
        let mut upstream = task.depends_on.iter().filter_map(|on| self.state.task(*on));
        let failed = upstream.find(|task| Fate::of(task) == Fate::Failed)?;
        Some(failed.cancellation.as_ref().and_then(|cancelled| cancelled.cause).unwrap_or(failed.id))
    }

    /// Failed tasks, and what was cancelled because of them, are pending again.
    pub(super) fn reopen(&mut self, failed: &[TaskId]) -> Reply {
        let mut reopened = failed.to_vec();
        for task in failed {
            self.push(BoardEvent::TaskRetried { task: *task, not_before: None, by_hand: true });
        }
        let because = |task: &&Task| {
            let cause = task.cancellation.as_ref().filter(|_| task.is_upstream_failed()).and_then(|it| it.cause);
            cause.is_some_and(|cause| failed.contains(&cause))
        };
        let cancelled: Vec<TaskId> = self.state.tasks().filter(because).map(|task| task.id).collect();
        for task in &cancelled {
            self.push(BoardEvent::TaskReopened { task: *task });
        }
        // Something else may hinder them for good.
        self.settle(cancelled.clone());
        reopened.extend(cancelled);
        reopened.retain(|id| self.state.task(*id).is_some_and(|task| task.status == TaskStatus::Pending));
        Ok(BoardReply::Tasks(reopened))
    }
}

/// Until when a task that has just failed waits: twice as long each time.
fn backoff(task: &Task, now: Timestamp) -> Option<Timestamp> {
    let doublings = task.failures.saturating_sub(1).min(32);
    let seconds = u64::from(task.retry_backoff_s).saturating_mul(1 << doublings).min(LONGEST_BACKOFF_S);
    (seconds > 0).then(|| Lease::deadline_from(now, seconds * 1000))
}
