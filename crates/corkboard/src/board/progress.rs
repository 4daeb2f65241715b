//! How far a board is, in ids and counts.

use std::collections::BTreeMap;

use corkboard_core::BoardId;
use corkboard_core::board::{BoardOutcome, BoardStatus, ChoiceId, TaskId, TaskStatus};
use serde::Serialize;

use super::BoardView;
use crate::Result;

/// How far a board is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardProgress {
    /// The board's id.
    pub id: BoardId,
    /// The revision that is shown.
    pub rev: u64,
    /// Where it is in its life.
    pub status: BoardStatus,
    /// How it ended.
    pub outcome: Option<BoardOutcome>,
    /// Whether it is paused: nothing can be claimed then.
    pub paused: bool,
    /// How many tasks it has.
    pub tasks: u64,
    /// How many of them are in which state; those in which none is are missing.
    pub by_status: BTreeMap<&'static str, u64>,
    /// Those that may be claimed, the highest priority first, then the oldest.
    pub ready: Vec<TaskId>,
    /// Those that are worked on, oldest first.
    pub in_progress: Vec<TaskId>,
    /// Those that something hinders, oldest first.
    pub blocked: Vec<TaskId>,
    /// Those that wait for review, oldest first.
    pub needs_review: Vec<TaskId>,
    /// Those that failed, oldest first.
    pub failed: Vec<TaskId>,
    /// The choices that nobody has made yet.
    pub open_choices: Vec<ChoiceId>,
}

impl BoardView {
    /// How far the board is.
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
            ready: state.ready().collect(),
            in_progress: state.in_progress().collect(),
            blocked: state.blocked().collect(),
            needs_review: state.needs_review().collect(),
            failed: state.with_status(TaskStatus::Failed).collect(),
            open_choices: state.open_choices().collect(),
        })
    }
}
