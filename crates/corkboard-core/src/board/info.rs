//! A board's name, goal, settings and status.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BoardEdit, CoreRef, Extraction, FailurePolicy, NewBoard, Waiver};
use crate::space::Stamp;
use crate::text::enum_text;

/// Status of a board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardStatus {
    /// Work is in progress.
    #[default]
    Active,
    /// It was completed.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// It has ended and is kept for reading.
    Archived,
    /// It was purged. Only this status remains until the store has deleted it.
    Purged,
}

/// How a board ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Outcome))]
#[serde(rename_all = "snake_case")]
pub enum BoardOutcome {
    /// Every task was completed, or belonged to an option that was not chosen.
    Success,
    /// Some tasks were completed, others not.
    Partial,
    /// No task was completed.
    Failed,
}

impl BoardOutcome {
    /// How a board with this status ended, in words that follow "the board".
    pub fn in_words(self, status: BoardStatus) -> String {
        match status {
            // "Completed: failed" would contradict itself.
            BoardStatus::Completed => format!("has ended; outcome: {self}"),
            status => format!("is {status}; outcome: {self}"),
        }
    }
}

/// The board and revision that a board was copied from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForkedFrom {
    pub board: String,
    pub rev: u64,
}

/// A pause of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pause {
    #[serde(alias = "since")]
    pub at: Timestamp,
    pub by: Arc<str>,
    #[serde(default, alias = "comment")]
    pub reason: Option<Arc<str>>,
}

/// A board's name, goal, settings and status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardInfo {
    pub name: String,
    pub created_at: Timestamp,
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    pub status: BoardStatus,
    /// What the board should accomplish.
    pub goal: String,
    pub constraints: Vec<String>,
    /// The names of the memory cores that it draws on.
    #[serde(alias = "memory_core_refs")]
    pub cores: Vec<String>,
    /// Failure policy of tasks that set none.
    pub on_failure: FailurePolicy,
    /// Entries of its cores that concerned the goal when the board was created or its cores were last set, best first.
    #[serde(default)]
    pub drawn: Vec<CoreRef>,
    /// The task pattern that its first tasks were created from.
    #[serde(default)]
    pub pattern: Option<CoreRef>,
    #[serde(default)]
    pub outcome: Option<BoardOutcome>,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// Why it ended, if a reason was given.
    #[serde(default, alias = "comment")]
    pub reason: Option<Arc<str>>,
    /// The board that it was copied from.
    #[serde(default)]
    pub forked_from: Option<ForkedFrom>,
    /// The current pause, if any.
    #[serde(default)]
    pub paused: Option<Pause>,
    #[serde(default)]
    pub archived_at: Option<Timestamp>,
    /// End of the minimum retention, once it is archived.
    #[serde(default)]
    pub retain_until: Option<Timestamp>,
    /// The extraction of its learnings, after its end.
    #[serde(default)]
    pub learnings_extracted: Option<Extraction>,
    /// The waiver of its learnings.
    #[serde(default)]
    pub waived: Option<Waiver>,
    /// The revision that last changed any of this.
    pub version: u64,
}

impl BoardInfo {
    pub(super) fn new(board: &NewBoard, stamp: Stamp<'_>) -> Self {
        let NewBoard { name, goal, constraints, cores, on_failure, drawn, pattern } = board.clone();
        Self {
            name,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            updated_at: stamp.at,
            goal,
            constraints,
            cores,
            on_failure,
            drawn,
            pattern,
            version: stamp.rev,
            ..Self::default()
        }
    }

    pub(super) fn edit(&mut self, edit: &BoardEdit) {
        let BoardEdit { name, goal, constraints, cores, on_failure, drawn } = edit.clone();
        self.name = name.unwrap_or_else(|| self.name.clone());
        self.goal = goal.unwrap_or_else(|| self.goal.clone());
        self.constraints = constraints.unwrap_or_else(|| self.constraints.clone());
        self.cores = cores.unwrap_or_else(|| self.cores.clone());
        self.on_failure = on_failure.unwrap_or(self.on_failure);
        self.drawn = drawn.unwrap_or_else(|| mem::take(&mut self.drawn));
    }

    pub(super) fn archive(&mut self, retain_until: Timestamp, stamp: Stamp<'_>) {
        self.status = BoardStatus::Archived;
        self.archived_at = self.archived_at.or(Some(stamp.at));
        self.retain_until = Some(retain_until);
    }

    /// Resets everything that a copy of the board must not keep.
    pub(super) fn renew(&mut self) {
        self.paused = None;
        self.archived_at = None;
        self.retain_until = None;
        self.learnings_extracted = None;
        self.waived = None;
    }

    pub fn bytes(&self) -> u64 {
        let lists = self.constraints.iter().chain(&self.cores).map(String::len).sum::<usize>();
        let drawn = self.drawn.iter().chain(&self.pattern).map(CoreRef::bytes).sum::<usize>();
        let reason = self.reason.as_ref().map_or(0, |reason| reason.len());
        let paused = self.paused.as_ref().and_then(|pause| pause.reason.as_ref()).map_or(0, |reason| reason.len());
        let waived = self.waived.as_ref().and_then(|waiver| waiver.reason.as_ref()).map_or(0, |reason| reason.len());
        (self.name.len() + self.goal.len() + lists + drawn + reason + paused + waived) as u64
    }
}

enum_text!(BoardStatus {
    Active => "active",
    Completed => "completed",
    Cancelled => "cancelled",
    Archived => "archived",
    Purged => "purged",
});

enum_text!(BoardOutcome {
    Success => "success",
    Partial => "partial",
    Failed => "failed",
});
