//! A read-only view of a board at one revision.

use corkboard_core::board::{BoardInfo, BoardState, Task, TaskId, TaskStatus};
use corkboard_core::{BoardId, Refusal, Revisioned};
use jiff::Timestamp;

use crate::Result;

/// A board at one revision and time. Everything due by then has expired.
#[derive(Debug, Clone)]
pub struct BoardView {
    id: BoardId,
    rev: u64,
    at: Timestamp,
    updated_at: Timestamp,
    state: BoardState,
}

impl BoardView {
    pub(super) fn new(id: BoardId, current: &Revisioned<BoardState>, now: Timestamp) -> Result<Self> {
        let rev = current.head.rev;
        Self::of(id, rev, (now, current.last_at), current.state.at(now, rev))
    }

    /// The board at a revision, the time for which it is shown, and the time of its last change.
    pub(super) fn of(
        id: BoardId,
        rev: u64,
        (at, updated_at): (Timestamp, Timestamp),
        state: BoardState,
    ) -> Result<Self> {
        state.readable()?;
        Ok(Self { id, rev, at, updated_at, state })
    }

    /// The board's ID.
    pub fn id(&self) -> &BoardId {
        &self.id
    }

    /// The revision shown.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// The time for which the board is shown.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The time of the last change: to the board itself, its tasks or its records.
    pub fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// The whole state.
    pub fn state(&self) -> &BoardState {
        &self.state
    }

    /// The board's own fields: name, goal, status, ….
    pub fn info(&self) -> Result<&BoardInfo> {
        Ok(self.state.readable()?)
    }

    /// Returns the task with this ID. Refused if there is none.
    pub fn task(&self, id: TaskId) -> Result<&Task> {
        Ok(self.state.task(id).ok_or_else(|| Refusal::NotOnBoard { what: "task".into(), id: id.to_string() })?)
    }

    /// The tasks that can be claimed, by priority, then oldest first.
    pub fn ready(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks_of(self.state.ready())
    }

    /// The blocked tasks, oldest first.
    pub fn blocked(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks_of(self.state.blocked())
    }

    /// The tasks in progress, oldest first.
    pub fn in_progress(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks_of(self.state.in_progress())
    }

    /// The tasks that wait for review, oldest first.
    pub fn needs_review(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks_of(self.state.needs_review())
    }

    /// The tasks with this status, oldest first.
    pub fn with_status(&self, status: TaskStatus) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks_of(self.state.with_status(status))
    }

    /// The assigned tasks that can be started, oldest first.
    pub fn startable(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks_of(self.state.startable())
    }

    /// The tasks that this principal holds.
    pub fn held_by(&self, principal: &str) -> impl Iterator<Item = &Task> {
        let held = self.state.held().filter_map(|id| self.state.task(id));
        held.filter(move |task| task.claim.as_ref().is_some_and(|claim| claim.holder.as_str() == principal))
    }

    #[expect(clippy::expect_used, reason = "a view lists only tasks of its own state")]
    fn tasks_of(&self, ids: impl ExactSizeIterator<Item = TaskId>) -> impl ExactSizeIterator<Item = &Task> {
        ids.map(|id| self.state.task(id).expect("a view lists only tasks of its own state"))
    }
}
