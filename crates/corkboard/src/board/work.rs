//! Operations of workers.

use std::time::Duration;

use corkboard_core::board::{
    BoardCommand, BoardReply, DecisionId, DiscoveryId, Lease, NewDecision, NewDiscovery, TaskId, TaskResult, TaskStatus,
};
use jiff::Timestamp;

use super::{Board, BoardView, expect_reply, unexpected};
use crate::{Error, Result};

impl Board {
    /// Renews the claim of a task. Returns the new deadline.
    pub async fn heartbeat(&self, task: TaskId, epoch: Option<u64>) -> Result<Timestamp> {
        expect_reply!(self.ask(BoardCommand::Heartbeat { task, epoch }).await?, BoardReply::Held { deadline, .. } => deadline)
    }

    /// Renews the claims of all tasks that the actor holds. Returns the shortest lease of them.
    pub async fn renew_claims(&self) -> Result<Option<Duration>> {
        let view = self.view().await?;
        self.renew_claims_in(&view).await
    }

    pub(crate) async fn renew_claims_in(&self, view: &BoardView) -> Result<Option<Duration>> {
        let mut shortest = None;
        for task in view.held_by(&self.actor().principal) {
            let Some(claim) = &task.claim else { continue };
            shortest = Some(shortest.map_or(claim.lease, |lease: Duration| lease.min(claim.lease)));
            if claim.renewed(view.at()).is_none() {
                continue;
            }
            match self.heartbeat(task.id, None).await {
                // If the actor lost the claim meanwhile, its next command for the task reports that.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(shortest)
    }

    /// Releases a task. The orchestrator and people can also use this to take a task from its holder.
    pub async fn release_task(&self, task: TaskId, epoch: Option<u64>) -> Result<()> {
        self.moved(BoardCommand::Release { task, epoch }).await.map(|_| ())
    }

    /// Moves a task to another status. If the move is invalid, the refusal lists the valid ones.
    pub async fn update_task_status(
        &self,
        task: TaskId,
        status: TaskStatus,
        reason: Option<String>,
        epoch: Option<u64>,
    ) -> Result<TaskStatus> {
        let lease = Lease::CLAIM;
        self.moved(BoardCommand::SetStatus { task, status, reason, epoch, lease }).await
    }

    /// Completes a task. Returns `completed`, or `review` if the task needs a review.
    pub async fn complete_task(&self, task: TaskId, result: TaskResult, epoch: Option<u64>) -> Result<TaskStatus> {
        self.moved(BoardCommand::CompleteTask { task, result, epoch, heed_nudges: false }).await
    }

    /// Completes a task unless this handle's actor has an urgent nudge that was not delivered yet.
    pub(crate) async fn complete_heeding_nudges(&self, task: TaskId, result: TaskResult) -> Result<TaskStatus> {
        self.moved(BoardCommand::CompleteTask { task, result, epoch: None, heed_nudges: true }).await
    }

    /// Fails a task. Returns `failed`, or `pending` if the task will be retried.
    pub async fn fail_task(&self, task: TaskId, reason: &str, epoch: Option<u64>) -> Result<TaskStatus> {
        self.moved(BoardCommand::FailTask { task, reason: reason.into(), epoch }).await
    }

    /// Records a decision, which may supersede one by the same author.
    pub async fn record_decision(&self, decision: NewDecision) -> Result<DecisionId> {
        expect_reply!(self.ask(BoardCommand::RecordDecision(decision)).await?, BoardReply::Decision(id) => id)
    }

    /// Records a discovery.
    pub async fn record_discovery(&self, discovery: NewDiscovery) -> Result<DiscoveryId> {
        expect_reply!(self.ask(BoardCommand::RecordDiscovery(discovery)).await?, BoardReply::Discovery(id) => id)
    }
}
