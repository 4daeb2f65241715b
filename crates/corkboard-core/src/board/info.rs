//! What a board says of itself.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BoardEdit, CoreRef, Extraction, FailurePolicy, NewBoard, Waiver};
use crate::space::Stamp;
use crate::text::enum_text;

/// Where a board is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardStatus {
    /// It is worked on.
    #[default]
    Active,
    /// It was brought to its end.
    Completed,
    /// It was given up.
    Cancelled,
    /// It is kept to be read.
    Archived,
    /// It is gone for good; only that is still to be seen, until the store has deleted it.
    Purged,
}

/// How a board ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Outcome))]
#[serde(rename_all = "snake_case")]
pub enum BoardOutcome {
    /// Every task was completed, or lay on a branch not taken.
    Success,
    /// Some were completed, others not.
    Partial,
    /// None was completed.
    Failed,
}

/// The board and revision that a board was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForkedFrom {
    pub board: String,
    pub rev: u64,
}

/// That a board is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pause {
    pub since: Timestamp,
    pub by: Arc<str>,
    #[serde(default, alias = "comment")]
    pub reason: Option<Arc<str>>,
}

/// What a board says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardInfo {
    pub name: String,
    pub created_at: Timestamp,
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    /// Where it is in its life.
    pub status: BoardStatus,
    /// What is to be accomplished.
    pub goal: String,
    pub constraints: Vec<String>,
    /// The names of the memory cores that it draws on.
    #[serde(alias = "memory_core_refs")]
    pub cores: Vec<String>,
    /// What becomes of it when a task fails, where the task does not say.
    pub on_failure: FailurePolicy,
    /// What its cores knew about its goal when it was made, or when they were last named, the best first.
    #[serde(default)]
    pub drawn: Vec<CoreRef>,
    /// The task pattern that its first tasks were made from.
    #[serde(default)]
    pub pattern: Option<CoreRef>,
    #[serde(default)]
    pub outcome: Option<BoardOutcome>,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// Why it ended, if a reason was given.
    #[serde(default, alias = "comment")]
    pub reason: Option<Arc<str>>,
    /// The board that it was made from.
    #[serde(default)]
    pub forked_from: Option<ForkedFrom>,
    /// That it is paused.
    #[serde(default)]
    pub paused: Option<Pause>,
    #[serde(default)]
    pub archived_at: Option<Timestamp>,
    /// Until when it is kept at least, once it is archived.
    #[serde(default)]
    pub retain_until: Option<Timestamp>,
    /// That it was looked through what it taught, after its end.
    #[serde(default)]
    pub learnings_extracted: Option<Extraction>,
    /// That nobody wants to know what it taught.
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

    /// The same as the beginning of a board of its own.
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
