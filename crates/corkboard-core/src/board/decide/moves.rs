//! Moves tasks between statuses.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::time::Duration;

use super::super::{
    BoardAction, BoardEvent, BoardReply, Cancellation, ReviewVerdict, Task, TaskId, TaskResult, TaskStatus,
};
use super::claims::refused_move;
use super::{BoardDecider, ReplyResult};
use crate::id::check_visible;
use crate::knowledge::Trust;
use crate::{ActorKind, AgentId, Refusal};

/// The reason of a failure that was reported without one.
const NO_REASON: &str = "no reason was given";

impl BoardDecider<'_> {
    pub(super) fn set_status(
        &mut self,
        id: TaskId,
        to: TaskStatus,
        reason: Option<&str>,
        epoch: Option<u64>,
        lease: Duration,
    ) -> ReplyResult {
        use TaskStatus::*;
        // A caller with an epoch once held the task. If that is over, say so before anything else.
        if epoch.is_some() {
            self.check_holder(id, epoch)?;
        }
        let task = self.task(id)?;
        match (task.status, to) {
            // `release` checks the caller itself.
            (Assigned | InProgress | Blocked, Pending) => {}
            (_, Cancelled) => self.check_role(BoardAction::CancelTask)?,
            (Review, _) => self.check_role(BoardAction::Review)?,
            (Failed | Cancelled, _) => self.check_role(BoardAction::Retry)?,
            _ => self.check_role(BoardAction::Work)?,
        }
        match (task.status, to) {
            // The status stays the same, but the lease is renewed.
            (InProgress, InProgress) | (Blocked, Blocked) => {
                self.check_holder(id, epoch)?;
                self.renew(id);
            }
            (Pending, Assigned) => return self.assign(id, &self.caller()?),
            (Assigned, InProgress) => {
                let lease = self.check_lease(lease)?;
                self.check_holder(id, epoch)?;
                self.start(id, None, lease)?;
            }
            (InProgress, Blocked) => {
                self.check_holder(id, epoch)?;
                self.check_comment(reason)?;
                self.renew(id);
                self.push(BoardEvent::TaskBlocked { task: id, reason: reason.map(Into::into) });
            }
            (Blocked, InProgress) => {
                self.check_holder(id, epoch)?;
                self.renew(id);
                self.push(BoardEvent::TaskUnblocked { task: id });
            }
            (InProgress, Review) if task.needs_review => return self.complete_task(id, None, epoch),
            (InProgress, Completed) if !task.needs_review => return self.complete_task(id, None, epoch),
            (Review, Completed) => return self.review(id, ReviewVerdict::Approved, reason),
            (Review, InProgress) if task.claim.is_some() => return self.review(id, ReviewVerdict::NeedsRework, reason),
            (Review, Pending) if task.claim.is_none() => return self.review(id, ReviewVerdict::NeedsRework, reason),
            (Review, Failed) => return self.review(id, ReviewVerdict::Rejected, reason),
            (Assigned | InProgress | Blocked, Pending) => return self.release(id, epoch),
            (Assigned | InProgress | Blocked, Failed) => return self.fail_task(id, reason.unwrap_or(NO_REASON), epoch),
            (Failed, Pending) => {
                self.retry(id)?;
            }
            (Cancelled, Pending) if task.is_stopped() => {
                self.retry(id)?;
            }
            (from, Cancelled) if !from.is_finished() => {
                self.cancel_task(id, reason)?;
            }
            _ => return Err(refused_move(task, to)),
        }
        self.moved(id)
    }

    pub(super) fn moved(&self, id: TaskId) -> ReplyResult {
        Ok(BoardReply::Moved { status: self.task(id)?.status })
    }

    pub(super) fn assign(&mut self, id: TaskId, to: &AgentId) -> ReplyResult {
        AgentId::check(to.as_str(), self.limits())?;
        check_visible("agent ID", to.as_str())?;
        let task = self.task(id)?;
        match task.status {
            TaskStatus::Pending => {}
            TaskStatus::Assigned if task.assigned_to.as_ref() == Some(to) => return self.moved(id),
            TaskStatus::Assigned => self.push(BoardEvent::TaskReleased { task: id }),
            _ => return Err(refused_move(task, TaskStatus::Assigned)),
        }
        self.push(BoardEvent::TaskAssigned { task: id, agent: to.clone() });
        self.moved(id)
    }

    pub(super) fn complete_task(&mut self, id: TaskId, result: Option<&TaskResult>, epoch: Option<u64>) -> ReplyResult {
        // Report a lost claim as such, not as a move that is no longer possible.
        self.check_holder(id, epoch)?;
        let task = self.task(id)?;
        let needs_review = task.needs_review;
        if task.status != TaskStatus::InProgress {
            let to = if needs_review { TaskStatus::Review } else { TaskStatus::Completed };
            return Err(refused_move(task, to));
        }
        if let Some(result) = result {
            self.check_text("summary", &result.summary)?;
            self.check_list("next step", &result.next_steps)?;
        }
        if !needs_review {
            self.check_approved(id)?;
        }
        let result = match result {
            Some(result) => {
                let trust = Trust::granted(result.trust, self.context.actor)?;
                Some(Arc::new(TaskResult { trust, ..result.clone() }))
            }
            None => None,
        };
        if needs_review {
            self.renew(id);
            self.push(BoardEvent::TaskSubmitted { task: id, result });
        } else {
            self.push(BoardEvent::TaskCompleted { task: id, result });
            self.settle_dependents(id);
        }
        self.moved(id)
    }

    pub(super) fn assign_review(&mut self, id: TaskId, to: &AgentId) -> ReplyResult {
        AgentId::check(to.as_str(), self.limits())?;
        check_visible("agent ID", to.as_str())?;
        let task = self.task(id)?;
        if task.status.is_finished() {
            return Err(refused_move(task, TaskStatus::Review));
        }
        let actor = self.context.actor;
        if let Some(reviewer) = task.reviewer.as_ref().filter(|reviewer| *reviewer != to) {
            // Otherwise an agent could assign any review to itself.
            if actor.kind != ActorKind::Human && to.as_str() == actor.principal {
                return Err(Refusal::NotReviewer { task: id, reviewer: reviewer.clone() });
            }
        }
        if task.reviewer.as_ref() != Some(to) {
            self.push(BoardEvent::ReviewAssigned { task: id, agent: to.clone() });
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn review(&mut self, id: TaskId, verdict: ReviewVerdict, comment: Option<&str>) -> ReplyResult {
        self.check_comment(comment)?;
        let task = self.task(id)?;
        if task.status != TaskStatus::Review {
            let to = match verdict {
                ReviewVerdict::Approved => TaskStatus::Completed,
                ReviewVerdict::NeedsRework => TaskStatus::InProgress,
                ReviewVerdict::Rejected => TaskStatus::Failed,
            };
            return Err(refused_move(task, to));
        }
        self.check_may_review(task, verdict)?;
        match verdict {
            ReviewVerdict::Approved => self.check_approved(id)?,
            // The worker must learn what to improve.
            ReviewVerdict::NeedsRework | ReviewVerdict::Rejected => {
                self.check_says("comment", comment.unwrap_or_default())?;
            }
        }
        let (comment, remembered) = (comment.map(Into::into), verdict != ReviewVerdict::Approved);
        self.push(BoardEvent::TaskReviewed { task: id, verdict, comment, remembered });
        match verdict {
            ReviewVerdict::Approved => self.settle_dependents(id),
            ReviewVerdict::NeedsRework => {
                self.settle(alloc::vec![id]);
                // The review used up part of the lease; the rework gets a full one.
                self.renew(id);
            }
            ReviewVerdict::Rejected => self.failed_for_good(id),
        }
        self.moved(id)
    }

    /// Only the assigned reviewer or a person may give an assigned review. No agent may approve its own work.
    fn check_may_review(&self, task: &Task, verdict: ReviewVerdict) -> Result<(), Refusal> {
        let actor = self.context.actor;
        if actor.kind == ActorKind::Human {
            return Ok(());
        }
        let is_caller = |agent: &AgentId| agent.as_str() == actor.principal;
        if verdict == ReviewVerdict::Approved && task.assigned_to.as_ref().is_some_and(is_caller) {
            return Err(Refusal::OwnTask { task: task.id, principal: actor.principal.clone() });
        }
        match &task.reviewer {
            Some(reviewer) if !is_caller(reviewer) => {
                Err(Refusal::NotReviewer { task: task.id, reviewer: reviewer.clone() })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn fail_task(&mut self, id: TaskId, reason: &str, epoch: Option<u64>) -> ReplyResult {
        self.check_holder(id, epoch)?;
        let task = self.task(id)?;
        if !matches!(task.status, TaskStatus::Assigned | TaskStatus::InProgress | TaskStatus::Blocked) {
            return Err(refused_move(task, TaskStatus::Failed));
        }
        self.check_text("reason", reason)?;
        self.push(BoardEvent::TaskFailed { task: id, reason: reason.into(), remembered: true });
        self.after_failure(id);
        self.moved(id)
    }

    /// Cancels a task. The reply names it and all tasks that can no longer start because of it.
    pub(super) fn cancel_task(&mut self, id: TaskId, reason: Option<&str>) -> ReplyResult {
        self.check_comment(reason)?;
        let task = self.task(id)?;
        if task.status.is_finished() {
            return Err(refused_move(task, TaskStatus::Cancelled));
        }
        self.cancel_one(id, Cancellation::requested(reason));
        let before = self.events.len();
        self.settle_dependents(id);
        let mut dependents = self.cancelled_since(before);
        dependents.sort();
        Ok(BoardReply::Tasks(core::iter::once(id).chain(dependents).collect()))
    }

    pub(super) fn retry(&mut self, id: TaskId) -> ReplyResult {
        let task = self.task(id)?;
        // A task that was cancelled because of another is reopened with that one.
        let cause = task.upstream_cause();
        let failed = cause.unwrap_or(id);
        if self.task(failed)?.status != TaskStatus::Failed {
            return Err(match cause {
                Some(cause) => Refusal::CauseNotRetried { task: id, cause: cause.to_string() },
                None => refused_move(self.task(id)?, TaskStatus::Pending),
            });
        }
        self.reopen(&BTreeSet::from([failed]))
    }

    pub(super) fn retry_failed(&mut self) -> ReplyResult {
        let failed = self.state.with_status(TaskStatus::Failed).collect();
        self.reopen(&failed)
    }
}
