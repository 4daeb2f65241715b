//! A board's progress in IDs and counts.

use std::collections::BTreeMap;

use corkboard_core::BoardId;
use corkboard_core::board::{BoardOutcome, BoardStatus, ChoiceId, TaskId, TaskStatus};
use serde::Serialize;

use super::BoardView;
use crate::Result;

/// The maximum number of IDs in each list of a board's progress.
const LISTED: usize = 100;

/// A board's progress. Each list has at most 100 IDs; `counts` has their whole lengths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardProgress {
    /// The board's ID.
    pub id: BoardId,
    /// The revision shown.
    pub rev: u64,
    /// The board's status.
    pub status: BoardStatus,
    /// How the board ended.
    pub outcome: Option<BoardOutcome>,
    /// Whether the board is paused: no task can be claimed then.
    pub paused: bool,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of tasks by status, without zeros.
    pub by_status: BTreeMap<&'static str, u64>,
    /// The tasks that can be claimed, by priority, then oldest first.
    pub ready: Vec<TaskId>,
    /// The tasks in progress, oldest first.
    pub in_progress: Vec<TaskId>,
    /// The blocked tasks, oldest first.
    pub blocked: Vec<TaskId>,
    /// The tasks that wait for review, oldest first.
    pub needs_review: Vec<TaskId>,
    /// The failed tasks, oldest first.
    pub failed: Vec<TaskId>,
    /// The open choices.
    pub open_choices: Vec<ChoiceId>,
    /// How many items each list would have without the maximum of 100.
    pub counts: BoardProgressCounts,
}

/// The whole lengths of the lists of a board's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardProgressCounts {
    /// Number of tasks that can be claimed.
    pub ready: u64,
    /// Number of tasks in progress.
    pub in_progress: u64,
    /// Number of tasks that cannot start or continue. It also counts tasks that wait, so it is at least
    /// `by_status.blocked`, the number of those that their holders reported as blocked.
    pub blocked: u64,
    /// Number of tasks that wait for review: those with the status `review`.
    pub needs_review: u64,
    /// Number of failed tasks.
    pub failed: u64,
    /// Number of open choices.
    pub open_choices: u64,
}

impl BoardView {
    /// Returns the board's progress.
    pub fn progress(&self) -> Result<BoardProgress> {
        let (state, info) = (self.state(), self.info()?);
        let counted = TaskStatus::ALL.map(|status| (status.as_str(), state.count(status)));
        Ok(BoardProgress {
            id: self.id().clone(),
            rev: self.rev(),
            status: info.status,
            outcome: info.outcome,
            paused: info.paused.is_some(),
            tasks: state.task_count() as u64,
            by_status: counted.into_iter().filter(|(_, count)| *count > 0).collect(),
            ready: state.ready().take(LISTED).collect(),
            in_progress: state.in_progress().take(LISTED).collect(),
            blocked: state.blocked().take(LISTED).collect(),
            needs_review: state.needs_review().take(LISTED).collect(),
            failed: state.with_status(TaskStatus::Failed).take(LISTED).collect(),
            open_choices: state.open_choices().take(LISTED).collect(),
            counts: BoardProgressCounts {
                ready: state.ready().len() as u64,
                in_progress: state.in_progress().len() as u64,
                blocked: state.blocked().len() as u64,
                needs_review: state.needs_review().len() as u64,
                failed: state.count(TaskStatus::Failed),
                open_choices: state.open_choices().len() as u64,
            },
        })
    }
}
