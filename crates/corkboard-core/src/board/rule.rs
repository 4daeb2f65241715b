//! Whether a task may start: now, not yet, or never.

use super::{CancelCause, FailurePolicy, Task, TaskStatus, TriggerRule};

/// What a trigger rule decides for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerVerdict {
    /// It may start.
    Run,
    /// It may not start yet.
    Wait,
    /// It can never start, however the unfinished tasks end.
    Impossible,
}

/// The outcome of a task, as the tasks that depend on it see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskOutcome {
    /// It is not finished.
    Open,
    /// It succeeded, or it failed with the policy `continue`.
    Succeeded,
    /// It failed, or was cancelled.
    Failed,
    /// It is on a branch not taken.
    Skipped,
}

impl TaskOutcome {
    pub fn of(task: &Task) -> Self {
        match task.status {
            TaskStatus::Completed => Self::Succeeded,
            TaskStatus::Failed if task.on_failure == FailurePolicy::Continue => Self::Succeeded,
            TaskStatus::Failed => Self::Failed,
            TaskStatus::Cancelled => match &task.cancellation {
                Some(cancelled) if cancelled.cause == CancelCause::BranchNotTaken => Self::Skipped,
                _ => Self::Failed,
            },
            _ => Self::Open,
        }
    }
}

/// How many dependencies of a task had which outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub open: u32,
    pub succeeded: u32,
    pub failed: u32,
    /// On a branch not taken.
    pub skipped: u32,
}

impl Tally {
    fn count(&mut self, outcome: TaskOutcome) -> &mut u32 {
        match outcome {
            TaskOutcome::Open => &mut self.open,
            TaskOutcome::Succeeded => &mut self.succeeded,
            TaskOutcome::Failed => &mut self.failed,
            TaskOutcome::Skipped => &mut self.skipped,
        }
    }

    pub fn add(&mut self, outcome: TaskOutcome) {
        *self.count(outcome) += 1;
    }

    pub fn take(&mut self, outcome: TaskOutcome) {
        let count = self.count(outcome);
        *count = count.saturating_sub(1);
    }

    pub fn verdict(self, rule: TriggerRule) -> TriggerVerdict {
        let Self { open, succeeded, failed, skipped } = self;
        if open + succeeded + failed + skipped == 0 {
            return TriggerVerdict::Run;
        }
        // `never`: the outcomes so far rule the task out for good. `now`: enough outcomes are known.
        let (never, now) = match rule {
            TriggerRule::AllSuccess => (failed > 0 || (open == 0 && succeeded == 0), open == 0),
            TriggerRule::AllDone => (false, open == 0),
            TriggerRule::OneSuccess => (open == 0 && succeeded == 0, succeeded > 0),
            TriggerRule::OneFailed => (open == 0 && failed == 0, failed > 0),
            TriggerRule::NoneFailed => (failed > 0, open == 0),
            TriggerRule::NoneFailedMinOneSuccess => (failed > 0 || (open == 0 && succeeded == 0), open == 0),
        };
        match (never, now) {
            (true, _) => TriggerVerdict::Impossible,
            (false, true) => TriggerVerdict::Run,
            (false, false) => TriggerVerdict::Wait,
        }
    }
}
