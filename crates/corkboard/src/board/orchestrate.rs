//! What whoever runs a board does.

use std::time::Duration;

use corkboard_core::AgentId;
use corkboard_core::board::{
    BoardCommand, BoardEdit, BoardOutcome, BoardReply, ChoiceId, NewChoice, NewTask, ReviewStatus, TaskEdit, TaskId,
    TaskStatus, Unfinished,
};
use jiff::Timestamp;

use super::{Board, expect_reply, unexpected};
use crate::Result;

impl Board {
    /// Changes what the board says of itself; with a version, only if it is at that version. Where memory cores are named,
    /// even those that it has, the best of what they know about its name and goal is drawn anew, in the same revision.
    pub async fn edit(&self, edit: BoardEdit, if_version: Option<u64>) -> Result<u64> {
        let asked = BoardCommand::Edit { edit: edit.clone(), if_version };
        self.check_allowed_spaces(&asked).await?;
        // What is found in the cores is no part of what is asked: the same again may find something else.
        let name = self.name_of(&asked)?;
        let command = match edit.cores.is_some() && edit.drawn.is_none() {
            true => BoardCommand::Edit { edit: self.drawn_anew(edit).await?, if_version },
            false => asked,
        };
        let rev = self.send(command, name).await?.rev;
        self.saw(rev);
        Ok(rev)
    }

    /// Adds a task.
    pub async fn add_task(&self, task: NewTask) -> Result<TaskId> {
        match self.add_tasks(vec![task], Vec::new()).await?.0.as_slice() {
            [id] => Ok(*id),
            _ => Err(unexpected(BoardReply::Done)),
        }
    }

    /// Adds tasks that may depend on one another, and choices between them, in one revision: all of it, or nothing.
    pub async fn add_tasks(
        &self,
        tasks: Vec<NewTask>,
        choices: Vec<NewChoice>,
    ) -> Result<(Vec<TaskId>, Vec<ChoiceId>)> {
        expect_reply!(self.ask(BoardCommand::AddTasks { tasks, choices }).await?, BoardReply::Added { tasks, choices } => (tasks, choices))
    }

    /// Adds a choice between branches, each of which begins with tasks of the board.
    pub async fn add_choice(&self, choice: NewChoice) -> Result<ChoiceId> {
        match self.add_tasks(Vec::new(), vec![choice]).await?.1.as_slice() {
            [id] => Ok(*id),
            _ => Err(unexpected(BoardReply::Done)),
        }
    }

    /// Makes a task wait for another. Refused with the way round if they would wait for one another.
    pub async fn add_dependency(&self, task: TaskId, on: TaskId) -> Result<()> {
        self.ask(BoardCommand::AddDependency { task, on }).await.map(|_| ())
    }

    /// Ends a task's wait for another; it may become ready by that. Returns whether it waited for it.
    pub async fn remove_dependency(&self, task: TaskId, on: TaskId) -> Result<bool> {
        Ok(!self.tasks(BoardCommand::RemoveDependency { task, on }).await?.is_empty())
    }

    /// Changes what a task says; with a version, only if it is at that version. Returns the task's version.
    pub async fn edit_task(&self, task: TaskId, edit: TaskEdit, if_version: Option<u64>) -> Result<u64> {
        Ok(self.ask(BoardCommand::EditTask { task, edit, if_version }).await?.rev)
    }

    /// Says who is to do a task. There is no lease until work begins.
    pub async fn assign_task(&self, task: TaskId, to: &str) -> Result<()> {
        let to = AgentId::new(to, &self.options().limits)?;
        self.ask(BoardCommand::Assign { task, to }).await.map(|_| ())
    }

    /// Says who is to look at a task.
    pub async fn assign_review(&self, task: TaskId, to: &str) -> Result<()> {
        let to = AgentId::new(to, &self.options().limits)?;
        self.ask(BoardCommand::AssignReview { task, to }).await.map(|_| ())
    }

    /// Reviews a task: approve, request rework or reject. Returns its new status. An assigned review is given by the assigned
    /// reviewer or a person, and no agent approves its own task.
    pub async fn review_task(
        &self,
        task: TaskId,
        verdict: ReviewStatus,
        comment: Option<String>,
    ) -> Result<TaskStatus> {
        self.moved(BoardCommand::Review { task, verdict, comment }).await
    }

    /// Cancels a task, and those that can no longer begin because of it. Returns all of them, the named one first.
    pub async fn cancel_task(&self, task: TaskId, reason: Option<String>) -> Result<Vec<TaskId>> {
        match self.ask(BoardCommand::CancelTask { task, reason }).await?.reply {
            BoardReply::Tasks(tasks) => Ok(tasks),
            // The answer that an older version remembered under an idempotency key.
            BoardReply::Moved { .. } => Ok(vec![task]),
            other => Err(unexpected(other)),
        }
    }

    /// Reopens a failed task, and what was cancelled because of it. Returns what is pending again.
    pub async fn retry_task(&self, task: TaskId) -> Result<Vec<TaskId>> {
        self.tasks(BoardCommand::Retry { task }).await
    }

    /// Reopens all that failed, and what was cancelled because of it. Returns what is pending again.
    pub async fn retry_failed(&self) -> Result<Vec<TaskId>> {
        self.tasks(BoardCommand::RetryFailed).await
    }

    /// Chooses a branch. Returns the tasks of the others, which are cancelled.
    pub async fn choose(&self, choice: ChoiceId, option: &str, rationale: Option<String>) -> Result<Vec<TaskId>> {
        self.tasks(BoardCommand::Choose { choice, option: option.into(), rationale }).await
    }

    /// Ends the board.
    pub async fn complete(&self, reason: Option<String>, unfinished: Unfinished) -> Result<BoardOutcome> {
        self.ended(BoardCommand::Complete { reason, unfinished }).await
    }

    /// Gives the board up: what is unfinished is cancelled.
    pub async fn cancel(&self, reason: Option<String>) -> Result<BoardOutcome> {
        self.ended(BoardCommand::Cancel { reason }).await
    }

    /// Becomes the orchestrator, if nobody else is. Whoever was it by the same name is fenced.
    pub async fn acquire_orchestrator(&self, lease: Duration) -> Result<Orchestrating> {
        let command = BoardCommand::AcquireOrchestrator { lease_ms: milliseconds(lease) };
        expect_reply!(self.ask(command).await?, BoardReply::Held { epoch, deadline } => Orchestrating { board: self.clone(), epoch, deadline })
    }

    /// Keeps the orchestrator's role. Returns until when.
    pub async fn renew_orchestrator(&self, epoch: u64) -> Result<Timestamp> {
        expect_reply!(self.ask(BoardCommand::RenewOrchestrator { epoch }).await?, BoardReply::Held { deadline, .. } => deadline)
    }

    /// Gives the orchestrator's role back.
    pub async fn release_orchestrator(&self, epoch: u64) -> Result<()> {
        self.ask(BoardCommand::ReleaseOrchestrator { epoch }).await.map(|_| ())
    }

    pub(super) async fn moved(&self, command: BoardCommand) -> Result<TaskStatus> {
        expect_reply!(self.ask(command).await?, BoardReply::Moved { status } => status)
    }

    async fn tasks(&self, command: BoardCommand) -> Result<Vec<TaskId>> {
        expect_reply!(self.ask(command).await?, BoardReply::Tasks(tasks) => tasks)
    }

    async fn ended(&self, command: BoardCommand) -> Result<BoardOutcome> {
        expect_reply!(self.ask(command).await?, BoardReply::Ended { outcome } => outcome)
    }
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The orchestrator's role, held. What is done through it is refused as fenced once the role is another's.
#[derive(Debug, Clone)]
pub struct Orchestrating {
    board: Board,
    epoch: u64,
    deadline: Timestamp,
}

impl Orchestrating {
    /// The role's epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Until when it was held when it was last renewed by hand.
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// The board; every command of this handle carries the epoch, and renews the role.
    pub fn board(&self) -> Board {
        self.board.as_orchestrator(self.epoch)
    }

    /// Keeps the role.
    pub async fn renew(&mut self) -> Result<Timestamp> {
        self.deadline = self.board.renew_orchestrator(self.epoch).await?;
        Ok(self.deadline)
    }

    /// Gives the role back.
    pub async fn release(self) -> Result<()> {
        self.board.release_orchestrator(self.epoch).await
    }
}
