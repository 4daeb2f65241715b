//! What a board draws from its memory cores: at its creation, and for readers of its tasks.

use std::collections::{HashMap, HashSet};

use corkboard_core::CoreId;
use corkboard_core::board::{BoardEdit, BoardInfo, CoreRef, NewBoard, NewTask, TASK_PATTERN_TAG, TaskId};
use corkboard_core::knowledge::{CoreEntry, Trust};
use futures_util::future::try_join_all;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Board, BoardView};
use crate::context::Knowledge;
use crate::knowledge::{Admit, Core, SourcedEntry, best, if_readable};
use crate::{Error, Refusal, Result};

/// Number of entries that a new board draws from its cores.
const DRAWN: usize = 12;

/// Number of further entries to find for a task.
const FOR_TASK: usize = 8;

/// Maximum number of reported task patterns that cannot be parsed.
const PASSED_OVER: usize = 12;

/// Task pattern for a new board's first tasks: `best`, or `CORE:E-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPattern {
    /// The pattern in the board's cores that fits its goal best, if any. Patterns that cannot be parsed are skipped.
    Best,
    /// This entry, in any core.
    Entry(CoreRef),
}

/// A better fitting task pattern that was skipped because it cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnreadablePattern {
    /// The entry.
    pub pattern: CoreRef,
    /// The invalid line, starting at 1.
    pub line: usize,
    /// Why the line is invalid.
    pub reason: String,
}

pub(super) struct PreparedBoard {
    pub(super) board: NewBoard,
    pub(super) tasks: Vec<NewTask>,
    pub(super) passed_over: Vec<UnreadablePattern>,
}

impl std::fmt::Display for UnreadablePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is not a task pattern: line {}: {}", self.pattern, self.line, self.reason)
    }
}

impl std::str::FromStr for TaskPattern {
    type Err = corkboard_core::board::ParseCoreRefError;

    /// Parses `best` or `CORE:E-3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "best" { Ok(Self::Best) } else { text.parse().map(Self::Entry) }
    }
}

impl std::fmt::Display for TaskPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Best => f.write_str("best"),
            Self::Entry(entry) => entry.fmt(f),
        }
    }
}

impl Serialize for TaskPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Board {
    /// A shared memory core of the same store.
    fn core(&self, name: &str) -> Result<Core> {
        let id = CoreId::new(name, &self.options().limits)?;
        Ok(self.core_of(id))
    }

    /// The cores with these names, without duplicates. An invalid name is refused.
    fn cores_named(&self, names: &[String]) -> Result<Vec<Core>> {
        let mut seen = HashSet::new();
        names.iter().filter(|name| seen.insert(name.as_str())).map(|name| self.core(name)).collect()
    }

    /// Prepares a new board: what its cores know about its goal, and its first tasks.
    pub(super) async fn prepare(&self, mut board: NewBoard, pattern: Option<&TaskPattern>) -> Result<PreparedBoard> {
        let cores = self.cores_named(&board.cores)?;
        let about = about(&board.name, &board.goal);
        let (mut tasks, mut passed_over) = (Vec::new(), Vec::new());
        let found = match pattern {
            Some(TaskPattern::Best) => best_pattern(&cores, &about, &mut passed_over).await?,
            Some(TaskPattern::Entry(reference)) => Some(self.pattern(reference).await?),
            None => None,
        };
        if let Some((pattern, first)) = found {
            (board.pattern, tasks) = (Some(pattern), first);
        }
        if board.drawn.is_empty() {
            board.drawn = drawn(&cores, &about, board.pattern.as_ref()).await?;
        }
        Ok(PreparedBoard { board, tasks, passed_over })
    }

    /// Adds to an edit of the cores what they know about the board's new name and goal.
    pub(super) async fn drawn_anew(&self, edit: BoardEdit) -> Result<BoardEdit> {
        let cores = self.cores_named(edit.cores.as_deref().unwrap_or_default())?;
        let view = self.view().await?;
        let BoardInfo { name, goal, pattern, .. } = view.info()?;
        let (name, goal) = (edit.name.as_ref().unwrap_or(name), edit.goal.as_ref().unwrap_or(goal));
        let drawn = drawn(&cores, &about(name, goal), pattern.as_ref()).await?;
        Ok(BoardEdit { drawn: Some(drawn), ..edit })
    }

    /// What the board's cores know about the task, then the entries that the board drew, in their current form. Entries
    /// of a core that was removed from the board are left out.
    pub(crate) async fn knowledge(&self, view: &BoardView, task: Option<TaskId>) -> Result<Knowledge> {
        let info = view.info()?;
        let mut knowledge = Knowledge::default();
        let mut readable = Vec::new();
        let mut states = HashMap::new();
        // An earlier edit may have stored an invalid name: skip it.
        let cores = info.cores.iter().filter_map(|name| self.core(name).ok());
        let read = cores.map(async |core| Ok::<_, Error>((if_readable(&core, core.current().await)?, core)));
        for (state, core) in try_join_all(read).await? {
            let name = core.id().as_str().to_owned();
            if knowledge.order.contains(&name) {
                continue;
            }
            knowledge.order.push(name.clone());
            match state {
                Some(state) => {
                    states.insert(name, (state, core.id().clone()));
                    readable.push(core);
                }
                None => knowledge.unreadable.push(name),
            }
        }
        if let Some(task) = task {
            let task = view.task(task)?;
            let about = format!("{}\n{}", task.title, task.description);
            knowledge.add(best(&readable, &about, FOR_TASK, |_| true).await?);
        }
        knowledge.add(info.drawn.iter().filter_map(|reference| {
            let ((current, now), core) = states.get(&reference.core)?;
            let entry = current.state.get(reference.entry, *now).filter(|entry| entry.forgotten.is_none())?;
            Some(SourcedEntry { core: core.clone(), entry: entry.clone() })
        }));
        Ok(knowledge)
    }

    async fn pattern(&self, reference: &CoreRef) -> Result<(CoreRef, Vec<NewTask>)> {
        let id = reference.entry;
        let entry = self.core(&reference.core)?.get(id).await?.ok_or(Refusal::NotInCore { entry: id })?;
        let wrong = |line, reason: &str| Error::TaskPattern { pattern: reference.clone(), line, reason: reason.into() };
        if entry.forgotten.is_some() {
            return Err(Refusal::EntryForgotten { entry: entry.id }.into());
        }
        if !is_pattern(&entry) {
            return Err(wrong(None, "it does not have the tag task-pattern"));
        }
        if entry.trust() == Trust::Outside {
            return Err(Error::PatternFromOutside { pattern: reference.clone() });
        }
        match NewTask::from_pattern(&entry.content) {
            Ok(tasks) => Ok((reference.clone(), tasks)),
            Err(problem) => Err(wrong(Some(problem.line), &problem.reason)),
        }
    }
}

/// The tasks of the best fitting pattern that can be parsed. Better fitting ones go to `passed_over`.
async fn best_pattern(
    cores: &[Core],
    about: &str,
    passed_over: &mut Vec<UnreadablePattern>,
) -> Result<Option<(CoreRef, Vec<NewTask>)>> {
    // Outside text never becomes tasks: workers would take it for instructions.
    let is_meant: Admit = |entry| is_pattern(entry) && entry.trust() > Trust::Outside;
    for known in best(cores, about, PASSED_OVER, is_meant).await? {
        let pattern = known.reference();
        match NewTask::from_pattern(&known.entry.content) {
            Ok(tasks) => return Ok(Some((pattern, tasks))),
            Err(problem) => {
                tracing::info!(%pattern, %problem, "skipping a task pattern that cannot be parsed");
                passed_over.push(UnreadablePattern { pattern, line: problem.line, reason: problem.reason });
            }
        }
    }
    // If none of these can be parsed, one that can may follow them.
    let is_readable: Admit =
        |entry| is_pattern(entry) && entry.trust() > Trust::Outside && NewTask::from_pattern(&entry.content).is_ok();
    let readable = best(cores, about, 1, is_readable).await?.pop();
    Ok(readable.and_then(|known| Some((known.reference(), NewTask::from_pattern(&known.entry.content).ok()?))))
}

/// The search text for the cores of a board.
fn about(name: &str, goal: &str) -> String {
    format!("{name}\n{goal}")
}

/// The best entries of these cores, without the pattern: its content has already become tasks.
async fn drawn(cores: &[Core], about: &str, pattern: Option<&CoreRef>) -> Result<Vec<CoreRef>> {
    let found = best(cores, about, DRAWN + 1, |_| true).await?.into_iter().map(|known| known.reference());
    Ok(found.filter(|drawn| Some(drawn) != pattern).take(DRAWN).collect())
}

fn is_pattern(entry: &CoreEntry) -> bool {
    entry.tags.iter().any(|tag| **tag == *TASK_PATTERN_TAG)
}
