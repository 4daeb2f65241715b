//! What a board's memory cores have to say: when it is made, and to whoever works on it.

use std::collections::{HashMap, HashSet};

use corkboard_core::CoreId;
use corkboard_core::board::{CoreRef, NewBoard, NewTask, TASK_PATTERN_TAG, TaskId};
use corkboard_core::knowledge::{CoreEntry, Trust};
use futures_util::future::try_join_all;
use serde::{Serialize, Serializer};

use super::{Board, BoardView};
use crate::context::Knowledge;
use crate::knowledge::{Core, Known, best, if_readable};
use crate::{Error, Refusal, Result};

/// How many entries a new board draws from its cores.
const DRAWN: usize = 12;

/// How many entries are looked for besides, for a task.
const FOR_TASK: usize = 8;

/// Which task pattern a new board's first tasks are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPattern {
    /// The one in the board's cores that fits its goal best, if any does.
    Best,
    /// This one, in whichever core it is.
    Entry(CoreRef),
}

impl std::str::FromStr for TaskPattern {
    type Err = corkboard_core::board::NoCoreRef;

    /// `best`, or `CORE:E-3`.
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

impl Board {
    /// A shared memory core of the same store.
    fn core(&self, name: &str) -> Result<Core> {
        let id = CoreId::new(name, &self.options().limits)?;
        Ok(self.core_of(id))
    }

    /// The cores of these names, each once. A name that no shared core can have is refused.
    fn cores_named(&self, names: &[String]) -> Result<Vec<Core>> {
        let mut seen = HashSet::new();
        names.iter().filter(|name| seen.insert(name.as_str())).map(|name| self.core(name)).collect()
    }

    /// A board to be made, with what its cores know about its goal, and its first tasks.
    pub(super) async fn prepare(
        &self,
        mut board: NewBoard,
        pattern: Option<&TaskPattern>,
    ) -> Result<(NewBoard, Vec<NewTask>)> {
        let cores = self.cores_named(&board.memory_core_refs)?;
        let about = format!("{}\n{}", board.name, board.goal);
        let found = match pattern {
            Some(pattern) => self.pattern(pattern, &cores, &about).await?,
            None => None,
        };
        let (pattern, tasks) = found.unzip();
        if pattern.is_some() {
            board.pattern = pattern;
        }
        if board.drawn.is_empty() {
            // What became tasks need not be said once more.
            let drawn = best(&cores, &about, DRAWN + 1, |_| true).await?.into_iter().map(|known| known.reference());
            board.drawn = drawn.filter(|drawn| Some(drawn) != board.pattern.as_ref()).take(DRAWN).collect();
        }
        Ok((board, tasks.unwrap_or_default()))
    }

    /// What the board's cores have to say to whoever reads it: what fits the task, and what the board drew, as it is now. A
    /// core that was taken off the board has nothing to say any more.
    pub(crate) async fn knowledge(&self, view: &BoardView, task: Option<TaskId>) -> Result<Knowledge> {
        let info = view.info()?;
        let mut knowledge = Knowledge::default();
        let mut readable = Vec::new();
        let mut states = HashMap::new();
        // A name that no core can have, which an edit may have brought, names none.
        let cores = info.memory_core_refs.iter().filter_map(|name| self.core(name).ok());
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
            Some(Known { core: core.clone(), entry: entry.clone() })
        }));
        Ok(knowledge)
    }

    async fn pattern(
        &self,
        pattern: &TaskPattern,
        cores: &[Core],
        about: &str,
    ) -> Result<Option<(CoreRef, Vec<NewTask>)>> {
        let (reference, entry) = match pattern {
            // What came from outside is never made into tasks: those who work would take them for orders.
            TaskPattern::Best => {
                let is_meant = |entry: &CoreEntry| is_pattern(entry) && entry.trust() > Trust::Outside;
                let Some(known) = best(cores, about, 1, is_meant).await?.pop() else { return Ok(None) };
                (known.reference(), known.entry)
            }
            TaskPattern::Entry(reference) => {
                let id = reference.entry;
                let found = self.core(&reference.core)?.get(id).await?.ok_or(Refusal::NotInCore { entry: id })?;
                (reference.clone(), found)
            }
        };
        let wrong = |line, reason: &str| Error::TaskPattern { pattern: reference.clone(), line, reason: reason.into() };
        if entry.forgotten.is_some() {
            return Err(Refusal::EntryForgotten { entry: entry.id }.into());
        }
        if !is_pattern(&entry) {
            return Err(wrong(None, "it does not have the tag task-pattern"));
        }
        if entry.trust() == Trust::Outside {
            return Err(Error::PatternFromOutside { pattern: reference });
        }
        match NewTask::from_pattern(&entry.content) {
            Ok(tasks) => Ok(Some((reference, tasks))),
            Err(problem) => Err(wrong(Some(problem.line), &problem.reason)),
        }
    }
}

fn is_pattern(entry: &CoreEntry) -> bool {
    entry.tags.iter().any(|tag| **tag == *TASK_PATTERN_TAG)
}
