//! Operations of those who run a board.

use std::time::Duration;

use corkboard_core::AgentId;
use corkboard_core::board::{
    BoardCommand, BoardEdit, BoardOutcome, BoardReply, ChoiceId, NewChoice, NewTask, ReviewVerdict, TaskEdit, TaskId,
    TaskStatus, Unfinished,
};
use jiff::Timestamp;

use super::{Board, expect_reply, unexpected};
use crate::Result;

impl Board {
    /// Changes the board's own fields. With a version, only if the board is at that version. Returns the new revision.
    ///
    /// If the edit names memory cores, even the current ones, the board draws the best entries for its name and goal
    /// again in the same revision.
    pub async fn edit(&self, edit: BoardEdit, if_version: Option<u64>) -> Result<u64> {
        let asked = BoardCommand::Edit { edit: edit.clone(), if_version };
        self.check_allowed_spaces(&asked).await?;
        // The key does not cover what the cores contain: a repeat may find something else.
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

    /// Adds tasks, which may depend on each other, and choices between them, all in one revision or not at all.
    pub async fn add_tasks(
        &self,
        tasks: Vec<NewTask>,
        choices: Vec<NewChoice>,
    ) -> Result<(Vec<TaskId>, Vec<ChoiceId>)> {
        expect_reply!(self.ask(BoardCommand::AddTasks { tasks, choices }).await?, BoardReply::Added { tasks, choices } => (tasks, choices))
    }

    /// Adds a choice between branches. Each branch begins with tasks of the board.
    pub async fn add_choice(&self, choice: NewChoice) -> Result<ChoiceId> {
        match self.add_tasks(Vec::new(), vec![choice]).await?.1.as_slice() {
            [id] => Ok(*id),
            _ => Err(unexpected(BoardReply::Done)),
        }
    }

    /// Makes a task depend on another. A dependency cycle is refused, and the refusal shows it.
    pub async fn add_dependency(&self, task: TaskId, depends_on: TaskId) -> Result<()> {
        self.ask(BoardCommand::AddDependency { task, depends_on }).await.map(|_| ())
    }

    /// Removes a dependency, which can make the task ready. Returns whether it existed.
    pub async fn remove_dependency(&self, task: TaskId, depends_on: TaskId) -> Result<bool> {
        Ok(!self.tasks(BoardCommand::RemoveDependency { task, depends_on }).await?.is_empty())
    }

    /// Changes a task's fields. With a version, only if the task is at that version. Returns the new version.
    pub async fn edit_task(&self, task: TaskId, edit: TaskEdit, if_version: Option<u64>) -> Result<u64> {
        Ok(self.ask(BoardCommand::EditTask { task, edit, if_version }).await?.rev)
    }

    /// Assigns a task to an agent. The lease starts only when work begins.
    pub async fn assign_task(&self, task: TaskId, agent: &str) -> Result<()> {
        let agent = AgentId::new(agent, &self.options().limits)?;
        self.ask(BoardCommand::Assign { task, agent }).await.map(|_| ())
    }

    /// Assigns the review of a task.
    pub async fn assign_review(&self, task: TaskId, agent: &str) -> Result<()> {
        let agent = AgentId::new(agent, &self.options().limits)?;
        self.ask(BoardCommand::AssignReview { task, agent }).await.map(|_| ())
    }

    /// Reviews a task: approve, request rework or reject. Returns its new status. An assigned review can only be given
    /// by its reviewer or a person. Agents cannot approve their own tasks.
    pub async fn review_task(
        &self,
        task: TaskId,
        verdict: ReviewVerdict,
        comment: Option<String>,
    ) -> Result<TaskStatus> {
        self.moved(BoardCommand::Review { task, verdict, comment }).await
    }

    /// Cancels a task, and the tasks that can no longer start because of it. Returns all of them, the named one first.
    pub async fn cancel_task(&self, task: TaskId, reason: Option<String>) -> Result<Vec<TaskId>> {
        match self.ask(BoardCommand::CancelTask { task, reason }).await?.reply {
            BoardReply::Tasks(tasks) => Ok(tasks),
            // Older versions stored this answer under an idempotency key.
            BoardReply::Moved { .. } => Ok(vec![task]),
            other => Err(unexpected(other)),
        }
    }

    /// Reopens a failed task and the tasks that were cancelled because of it. Returns the tasks that are pending again.
    pub async fn retry_task(&self, task: TaskId) -> Result<Vec<TaskId>> {
        self.tasks(BoardCommand::Retry { task }).await
    }

    /// Reopens all failed tasks and the tasks that were cancelled because of them. Returns the tasks that are pending
    /// again.
    pub async fn retry_failed(&self) -> Result<Vec<TaskId>> {
        self.tasks(BoardCommand::RetryFailed).await
    }

    /// Chooses a branch. Returns the tasks of the other branches, which are cancelled.
    pub async fn choose(&self, choice: ChoiceId, option: &str, rationale: Option<String>) -> Result<Vec<TaskId>> {
        self.tasks(BoardCommand::Choose { choice, option: option.into(), rationale }).await
    }

    /// Completes the board. `unfinished` says what to do if tasks are not finished.
    pub async fn complete(&self, reason: Option<String>, unfinished: Unfinished) -> Result<BoardOutcome> {
        self.ended(BoardCommand::Complete { reason, unfinished }).await
    }

    /// Cancels the board and its unfinished tasks.
    pub async fn cancel(&self, reason: Option<String>) -> Result<BoardOutcome> {
        self.ended(BoardCommand::Cancel { reason }).await
    }

    /// Acquires the orchestrator's role if nobody else holds it. An earlier holder of the same principal is fenced.
    pub async fn acquire_orchestrator(&self, lease: Duration) -> Result<Orchestrating> {
        let command = BoardCommand::AcquireOrchestrator { lease };
        expect_reply!(self.ask(command).await?, BoardReply::Held { epoch, deadline } => Orchestrating { board: self.clone(), epoch, deadline })
    }

    /// Renews the orchestrator's role. Returns the new deadline.
    pub async fn renew_orchestrator(&self, epoch: u64) -> Result<Timestamp> {
        expect_reply!(self.ask(BoardCommand::RenewOrchestrator { epoch }).await?, BoardReply::Held { deadline, .. } => deadline)
    }

    /// Releases the orchestrator's role.
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

/// The orchestrator's role. Its commands are refused as fenced once somebody else holds the role.
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

    /// The deadline after the last renewal through this value.
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// Returns a board handle whose commands carry the epoch and renew the role.
    pub fn board(&self) -> Board {
        self.board.as_orchestrator(self.epoch)
    }

    /// Renews the role. Returns the new deadline.
    pub async fn renew(&mut self) -> Result<Timestamp> {
        self.deadline = self.board.renew_orchestrator(self.epoch).await?;
        Ok(self.deadline)
    }

    /// Releases the role.
    pub async fn release(self) -> Result<()> {
        self.board.release_orchestrator(self.epoch).await
    }
}
