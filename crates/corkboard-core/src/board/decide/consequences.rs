//! The effects on other tasks when a task fails, is cancelled or is retried.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use jiff::Timestamp;

use super::super::views::BranchStanding;
use super::super::{
    BoardEvent, BoardReply, CancelCause, Cancellation, FailurePolicy, Lease, NewTask, Task, TaskId, TaskOutcome,
    TaskStatus, TriggerVerdict,
};
use super::{BoardDecider, ReplyResult};

impl BoardDecider<'_> {
    /// After a failure: retries the task if its retry limit allows.
    pub(super) fn after_failure(&mut self, id: TaskId) {
        let Some(task) = self.state.task(id) else { return };
        if task.failures <= task.retry_limit {
            let not_before = backoff(task, self.clock());
            self.push(BoardEvent::TaskRetried { task: id, not_before, by_hand: false });
            self.settle(alloc::vec![id]);
        } else {
            self.failed_for_good(id);
        }
    }

    pub(super) fn failed_for_good(&mut self, id: TaskId) {
        if self.state.task(id).is_some_and(|task| task.on_failure == FailurePolicy::FailFast) {
            self.cancel_unfinished(CancelCause::UpstreamFailed, Some(id));
        }
        self.settle_dependents(id);
    }

    pub(super) fn cancel_one(&mut self, task: TaskId, cancellation: Cancellation) {
        self.push(BoardEvent::TaskCancelled { task, cancellation });
    }

    pub(super) fn cancel_unfinished(&mut self, cause: CancelCause, caused_by: Option<TaskId>) {
        let open = TaskStatus::ALL.into_iter().filter(|status| !status.is_finished());
        let unfinished: BTreeSet<TaskId> = open.flat_map(|status| self.state.with_status(status)).collect();
        for task in unfinished {
            self.cancel_one(task, Cancellation::new(cause, caused_by));
        }
    }

    /// After a change of a task: cancels its dependents that can no longer start, then theirs, and so on.
    pub(super) fn settle_dependents(&mut self, id: TaskId) {
        self.settle(self.state.blocks(id).collect());
    }

    /// Cancels those of these tasks that can no longer start, then their dependents, and so on. Every change that makes
    /// a task pending, or changes what it waits for, must end here, so that no waiting task is impossible.
    pub(super) fn settle(&mut self, mut tasks: Vec<TaskId>) {
        while let Some(id) = tasks.pop() {
            let Some(task) = self.state.task(id) else { continue };
            let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned);
            if !waits || self.state.prospect(task) != TriggerVerdict::Impossible {
                continue;
            }
            let (cause, caused_by) = match self.cause_for(task) {
                Some((cause, upstream)) => (cause, Some(upstream)),
                None => (CancelCause::BranchNotTaken, None),
            };
            self.cancel_one(id, Cancellation::new(cause, caused_by));
            tasks.extend(self.state.blocks(id));
        }
    }

    /// The task because of which this one can no longer start, and whether it failed or was cancelled. None: the branch
    /// was not taken.
    fn cause_for(&self, task: &Task) -> Option<(CancelCause, TaskId)> {
        if self.state.standing(task) == BranchStanding::NotTaken {
            return None;
        }
        let mut upstream = task.depends_on.iter().filter_map(|on| self.state.task(*on));
        let upstream = upstream.find(|task| TaskOutcome::of(task) == TaskOutcome::Failed)?;
        let first = self.state.task(upstream.upstream_cause().unwrap_or(upstream.id))?;
        let is_cancelled = first.status == TaskStatus::Cancelled;
        let cause = if is_cancelled { CancelCause::UpstreamCancelled } else { CancelCause::UpstreamFailed };
        Some((cause, first.id))
    }

    /// The tasks that were cancelled by events from this index on.
    pub(super) fn cancelled_since(&self, first: usize) -> Vec<TaskId> {
        let cancelled = self.events.iter().skip(first).filter_map(|event| match event {
            BoardEvent::TaskCancelled { task, .. } => Some(*task),
            _ => None,
        });
        cancelled.collect()
    }

    /// Makes failed tasks pending again, with the tasks that were cancelled because of them.
    pub(super) fn reopen(&mut self, failed: &BTreeSet<TaskId>) -> ReplyResult {
        for task in failed {
            self.push(BoardEvent::TaskRetried { task: *task, not_before: None, by_hand: true });
        }
        // Search all tasks: with `fail_fast`, cancelled tasks need not depend on the failed one.
        let because = |task: &&Task| task.upstream_cause().is_some_and(|cause| failed.contains(&cause));
        let cancelled: Vec<TaskId> = self.state.tasks().filter(because).map(|task| task.id).collect();
        for task in &cancelled {
            self.push(BoardEvent::TaskReopened { task: *task });
        }
        let mut returned: Vec<TaskId> = failed.iter().copied().chain(cancelled).collect();
        // A task with several failed dependencies may be possible again.
        let below = returned.iter().flat_map(|task| self.state.blocks(*task)).collect();
        returned.extend(self.revive(below));
        // Something else may make them impossible.
        self.settle(returned.clone());
        returned.retain(|id| self.state.task(*id).is_some_and(|task| task.status == TaskStatus::Pending));
        Ok(BoardReply::Tasks(returned))
    }

    /// Reopens those of these tasks that were cancelled because of others and are possible again, then their
    /// dependents, and so on.
    pub(super) fn revive(&mut self, mut tasks: Vec<TaskId>) -> Vec<TaskId> {
        let mut revived = Vec::new();
        while let Some(id) = tasks.pop() {
            if self.state.task(id).is_some_and(|task| self.can_return(task)) {
                self.push(BoardEvent::TaskReopened { task: id });
                revived.push(id);
                tasks.extend(self.state.blocks(id));
            }
        }
        revived
    }

    fn can_return(&self, task: &Task) -> bool {
        let cause = task.upstream_cause().and_then(|cause| self.state.task(cause));
        // A `fail_fast` failure keeps tasks cancelled until the failed task itself is retried.
        let is_stopped = cause
            .is_some_and(|cause| cause.status == TaskStatus::Failed && cause.on_failure == FailurePolicy::FailFast);
        task.is_stopped() && !is_stopped && self.state.prospect(task) != TriggerVerdict::Impossible
    }
}

/// The earliest retry of a task that has just failed. The delay doubles each time.
fn backoff(task: &Task, now: Timestamp) -> Option<Timestamp> {
    let doublings = task.failures.saturating_sub(1).min(32);
    let seconds = u64::from(task.retry_backoff_s).saturating_mul(1 << doublings).min(NewTask::MOST_BACKOFF_S);
    (seconds > 0).then(|| Lease::deadline_from(now, Duration::from_secs(seconds)))
}
