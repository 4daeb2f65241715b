//! What a worker does on a board.

use corkboard_core::board::{
    BoardCommand, BoardReply, DecisionId, DiscoveryId, Lease, NewDecision, NewDiscovery, TaskId, TaskResult, TaskStatus,
};
use jiff::Timestamp;

use super::{Board, expect_reply, unexpected};
use crate::Result;

impl Board {
    /// Says that the holder still works on the task. Returns until when it is theirs.
    pub async fn heartbeat(&self, task: TaskId, epoch: Option<u64>) -> Result<Timestamp> {
        expect_reply!(self.ask(BoardCommand::Heartbeat { task, epoch }).await?, BoardReply::Held { deadline, .. } => deadline)
    }

    /// Gives a task back. Whoever runs the board may take it from its holder so.
    pub async fn release_task(&self, task: TaskId, epoch: Option<u64>) -> Result<()> {
        self.moved(BoardCommand::Release { task, epoch }).await.map(|_| ())
    }

    /// Moves a task to another state. Refused with the moves allowed if there is no way there.
    pub async fn update_task_status(
        &self,
        task: TaskId,
        status: TaskStatus,
        reason: Option<String>,
        epoch: Option<u64>,
    ) -> Result<TaskStatus> {
        let lease_ms = Lease::CLAIM_MS;
        self.moved(BoardCommand::SetStatus { task, status, reason, epoch, lease_ms }).await
    }

    /// Says that a task is done. Returns `completed`, or `review` if somebody is to look at it.
    pub async fn complete_task(&self, task: TaskId, result: TaskResult, epoch: Option<u64>) -> Result<TaskStatus> {
        self.moved(BoardCommand::CompleteTask { task, result, epoch, heed_nudges: false }).await
    }

    /// Completes a task unless an urgent nudge to this handle's actor is not delivered yet.
    pub(crate) async fn complete_heeding_nudges(&self, task: TaskId, result: TaskResult) -> Result<TaskStatus> {
        self.moved(BoardCommand::CompleteTask { task, result, epoch: None, heed_nudges: true }).await
    }

    /// Says that a task did not work. Returns `failed`, or `pending` if it is tried again.
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
