//! Claims, heartbeats and releases of tasks.

use alloc::string::ToString;
use core::time::Duration;

use super::super::{BoardAction, BoardEvent, BoardReply, Claimed, Lease, Task, TaskId, TaskStatus};
use super::{BoardDecider, ReplyResult};
use crate::{AgentId, Refusal};

impl BoardDecider<'_> {
    pub(super) fn claim(&mut self, task: Option<TaskId>, epoch: Option<u64>, lease: Duration) -> ReplyResult {
        let lease = self.check_lease(lease)?;
        let caller = self.caller()?;
        if let Some(task) = self.own_to_resume(task, epoch, &caller)? {
            return Ok(BoardReply::Claimed(Some(self.resume_task(task, lease)?)));
        }
        self.check_running()?;
        let found = match task {
            Some(task) => Some(self.check_claimable(task, &caller)?),
            None => self.next_for(&caller),
        };
        let Some(task) = found else { return Ok(BoardReply::Claimed(None)) };
        let by = (self.task(task)?.status == TaskStatus::Pending).then_some(caller);
        let claimed = self.start(task, by, lease)?;
        Ok(BoardReply::Claimed(Some(claimed)))
    }

    /// The task that the caller holds and resumes: one that was sent back for rework, or the one whose epoch the caller
    /// sends after a restart. A paused board allows this, since no task starts.
    fn own_to_resume(
        &self,
        task: Option<TaskId>,
        epoch: Option<u64>,
        caller: &AgentId,
    ) -> Result<Option<TaskId>, Refusal> {
        let Some(id) = task else {
            return match epoch {
                Some(_) => Err(Refusal::Blank { what: "task".into() }),
                None => Ok(self.first_of(self.state.rework_of(caller))),
            };
        };
        let task = self.task(id)?;
        // If nobody holds the task, an older epoch is harmless: the claim is a new attempt.
        if epoch.is_some_and(|epoch| epoch > task.epoch || epoch < task.epoch && task.claim.is_some()) {
            return Err(self.fenced(id, epoch));
        }
        let is_worked_on = matches!(task.status, TaskStatus::InProgress | TaskStatus::Blocked);
        let is_own = task.claim.as_ref().is_some_and(|claim| claim.holder == *caller);
        Ok((is_own && is_worked_on && (task.rework || epoch.is_some())).then_some(id))
    }

    /// The holder resumes the task under a new epoch. Another process of the same name with the old epoch is fenced.
    fn resume_task(&mut self, id: TaskId, lease: Duration) -> Result<Claimed, Refusal> {
        let task = self.task(id)?;
        let (epoch, attempt) = (task.epoch + 1, task.attempt);
        let deadline = Lease::deadline_from(self.clock(), lease);
        if task.status == TaskStatus::Blocked {
            self.push(BoardEvent::TaskUnblocked { task: id });
        }
        self.push(BoardEvent::TaskResumed { task: id, epoch, deadline, lease });
        Ok(Claimed { task: id, epoch, deadline, attempt })
    }

    /// A task assigned to the caller, else an unassigned one: highest priority first, then oldest.
    fn next_for(&self, caller: &AgentId) -> Option<TaskId> {
        let assigned = self.state.assigned_to(caller).filter(|task| self.state.may_begin(*task));
        self.first_of(assigned).or_else(|| self.state.ready().next())
    }

    /// The task with the highest priority; among equals, the oldest.
    fn first_of(&self, tasks: impl Iterator<Item = TaskId>) -> Option<TaskId> {
        tasks.min_by_key(|task| (core::cmp::Reverse(self.state.task(*task).map(|task| task.priority)), *task))
    }

    fn check_claimable(&self, id: TaskId, caller: &AgentId) -> Result<TaskId, Refusal> {
        let task = self.task(id)?;
        match (&task.status, &task.assigned_to) {
            (TaskStatus::Pending, _) => self.check_may_begin(id)?,
            (TaskStatus::Assigned, Some(to)) if to == caller => self.check_may_begin(id)?,
            // Also if the caller is the holder: another process may use the same name.
            (TaskStatus::Assigned | TaskStatus::InProgress | TaskStatus::Blocked, Some(holder)) => {
                let deadline = task.claim.as_ref().map(|claim| claim.deadline);
                return Err(Refusal::TaskHeld { task: id, holder: holder.clone(), deadline });
            }
            _ => return Err(refused_move(task, TaskStatus::Assigned)),
        }
        Ok(id)
    }

    fn check_may_begin(&self, task: TaskId) -> Result<(), Refusal> {
        if self.state.may_begin(task) {
            return Ok(());
        }
        Err(Refusal::NotReady { task, hindrances: self.state.hindrances(task) })
    }

    /// Starts a task for `agent`, or for the agent that it is assigned to.
    pub(super) fn start(&mut self, id: TaskId, agent: Option<AgentId>, lease: Duration) -> Result<Claimed, Refusal> {
        self.check_running()?;
        self.check_may_begin(id)?;
        let task = self.task(id)?;
        let (epoch, attempt) = (task.epoch + 1, task.attempt.saturating_add(1));
        let deadline = Lease::deadline_from(self.clock(), lease);
        self.push(BoardEvent::TaskStarted { task: id, agent, epoch, deadline, lease });
        Ok(Claimed { task: id, epoch, deadline, attempt })
    }

    pub(super) fn heartbeat(&mut self, id: TaskId, epoch: Option<u64>) -> ReplyResult {
        self.check_holder(id, epoch)?;
        self.renew(id);
        match &self.task(id)?.claim {
            Some(claim) => Ok(BoardReply::Held { epoch: claim.epoch, deadline: claim.deadline }),
            // Assigned to the caller but not started: there is no lease yet.
            None => Err(refused_move(self.task(id)?, TaskStatus::InProgress)),
        }
    }

    pub(super) fn release(&mut self, id: TaskId, epoch: Option<u64>) -> ReplyResult {
        // Actors that run the board may take the task from its holder.
        let takes = epoch.is_none() && BoardAction::TakeTask.is_allowed_to(self.context.actor.role);
        if !takes {
            self.check_role(BoardAction::Work)?;
        }
        let task = self.task(id)?;
        if !takes {
            self.check_holder(id, epoch)?;
        }
        match task.status {
            TaskStatus::Assigned | TaskStatus::InProgress | TaskStatus::Blocked => {}
            _ => return Err(refused_move(task, TaskStatus::Pending)),
        }
        self.push(BoardEvent::TaskReleased { task: id });
        self.settle(alloc::vec![id]);
        self.moved(id)
    }

    /// Refuses a caller that does not hold the task, or no longer does.
    pub(super) fn check_holder(&self, id: TaskId, epoch: Option<u64>) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let caller = &self.context.actor.principal;
        let is_held = match (&task.claim, &task.assigned_to) {
            (Some(claim), _) => claim.holder.as_str() == caller && epoch.is_none_or(|expected| expected == claim.epoch),
            // Before the task starts there is no claim, and so no epoch.
            (None, Some(to)) => task.status == TaskStatus::Assigned && to.as_str() == caller && epoch.is_none(),
            (None, None) => false,
        };
        if is_held { Ok(()) } else { Err(self.fenced(id, epoch)) }
    }

    fn fenced(&self, id: TaskId, sent: Option<u64>) -> Refusal {
        let task = self.state.task(id);
        let holder = task.and_then(|task| match (&task.claim, task.status) {
            (Some(claim), _) => Some(claim.holder.clone()),
            (None, TaskStatus::Assigned) => task.assigned_to.clone(),
            _ => None,
        });
        let (epoch, status) = (task.map_or(0, |task| task.epoch), task.map(|task| task.status));
        Refusal::Fenced { what: id.to_string(), holder, epoch, sent, status }
    }

    pub(super) fn renew(&mut self, task: TaskId) {
        let (claim, now) = (self.state.task(task).and_then(|task| task.claim.as_ref()), self.clock());
        if let Some(deadline) = claim.and_then(|claim| claim.renewed(now)) {
            self.push(BoardEvent::LeaseRenewed { task, deadline });
        }
    }

    /// Renews the leases of those of these tasks that the caller holds.
    pub(super) fn renew_own(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            if self.check_holder(*task, None).is_ok() {
                self.renew(*task);
            }
        }
    }
}

/// Refuses a move that the task's status does not allow, or that needs another command.
pub(super) fn refused_move(task: &Task, to: TaskStatus) -> Refusal {
    let (id, from, allowed) = (task.id, task.status, task.moves());
    if allowed.contains(&to) {
        return Refusal::NotThisWay { task: id, from, to };
    }
    Refusal::TaskMove { task: id, from, to, allowed }
}
