//! Tasks are added, edited, and made to wait for one another.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::{BoardEvent, BoardReply, NewChoice, NewTask, TaskEdit, TaskId, TaskRef, TaskStatus};
use super::graph::{batch_cycle, path_between};
use super::{Draft, Reply, not_on_board, place_in_batch};
use crate::Refusal;

impl Draft<'_> {
    pub(super) fn add_tasks(&mut self, tasks: &[NewTask], choices: &[NewChoice]) -> Reply {
        let first = self.state.nodes.get_max().map(|(id, _)| *id).unwrap_or_default().next();
        let batch = Batch::new(tasks, first)?;
        let mut depends_on = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            self.check_new(task)?;
            // Once each, in the order given.
            let (mut seen, mut on) = (BTreeSet::new(), Vec::new());
            for upstream in &task.depends_on {
                let upstream = self.resolve(&batch, upstream)?;
                if upstream == batch.id(index) {
                    let own = batch.name(upstream);
                    return Err(Refusal::Cycle { path: alloc::vec![own.clone(), own] });
                }
                if seen.insert(upstream) {
                    on.push(upstream);
                }
            }
            depends_on.push(on);
        }
        // What was there before cannot depend on what comes now: a cycle lies in the batch.
        if let Some(path) = batch_cycle(first, &depends_on) {
            return Err(Refusal::Cycle { path: path.into_iter().map(|id| batch.name(id)).collect() });
        }
        let on_failure = self.info()?.on_failure;
        for (index, task) in tasks.iter().enumerate() {
            let id = batch.id(index);
            let on = depends_on.get(index).into_iter().flatten().filter(|on| **on < id);
            let task = NewTask {
                key: None,
                depends_on: on.copied().map(TaskRef::Task).collect(),
                on_failure: Some(task.on_failure.unwrap_or(on_failure)),
                ..task.clone()
            };
            self.push(BoardEvent::TaskAdded { id, task: Box::new(task) });
        }
        // What comes later in the batch is there only now.
        for (index, on) in depends_on.iter().enumerate() {
            let task = batch.id(index);
            for on in on.iter().filter(|on| **on > task) {
                self.push(BoardEvent::DependencyAdded { task, on: *on });
            }
        }
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| {
                let resolved = batch.clone();
                self.add_choice(choice, |task| resolved.resolve(task))
            })
            .collect::<Result<_, _>>()?;
        let added: Vec<TaskId> = (0..tasks.len()).map(|index| batch.id(index)).collect();
        self.settle(added.clone());
        Ok(BoardReply::Added { tasks: added, choices })
    }

    fn check_new(&self, task: &NewTask) -> Result<(), Refusal> {
        self.check_line("task title", &task.title)?;
        self.check_length(&task.description)
    }

    fn resolve(&self, batch: &Batch, task: &TaskRef) -> Result<TaskId, Refusal> {
        let id = batch.resolve(task)?;
        // An id that only this batch will give is nobody's business yet.
        match task {
            TaskRef::Task(id) => self.task(*id).map(|task| task.id),
            TaskRef::Member(_) => Ok(id),
        }
    }

    pub(super) fn add_dependency(&mut self, id: TaskId, on: TaskId) -> Reply {
        let task = self.task(id)?;
        self.state.task(on).ok_or_else(|| not_on_board("task", on))?;
        if task.depends_on.contains(&on) {
            return Ok(BoardReply::Done);
        }
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned) {
            return Err(Refusal::AlreadyBegun { task: id, status: task.status });
        }
        if let Some(path) = path_between(&self.state, on, id) {
            let path = core::iter::once(id).chain(path).map(TaskRef::Task).collect();
            return Err(Refusal::Cycle { path });
        }
        self.push(BoardEvent::DependencyAdded { task: id, on });
        self.settle(alloc::vec![id]);
        Ok(BoardReply::Done)
    }

    pub(super) fn edit_task(&mut self, id: TaskId, edit: &TaskEdit, if_version: Option<u64>) -> Reply {
        let task = self.task(id)?;
        if let Some(expected) = if_version
            && expected != task.version
        {
            return Err(Refusal::TaskConflict { expected, current: Box::new(task.clone()) });
        }
        edit.title.as_ref().map_or(Ok(()), |title| self.check_line("task title", title))?;
        edit.description.as_ref().map_or(Ok(()), |description| self.check_length(description))?;
        let mut edited = task.clone();
        edited.edit(edit);
        if edited != *task {
            self.push(BoardEvent::TaskEdited { task: id, edit: Box::new(edit.clone()) });
            let mut touched = alloc::vec![id];
            touched.extend(self.state.blocks(id));
            self.settle(touched);
        }
        Ok(BoardReply::Done)
    }
}

/// New tasks, the ids that they will have and the keys by which they know one another.
#[derive(Clone)]
struct Batch {
    first: TaskId,
    keys: BTreeMap<String, TaskId>,
}

impl Batch {
    fn new(tasks: &[NewTask], first: TaskId) -> Result<Self, Refusal> {
        let mut batch = Self { first, keys: BTreeMap::new() };
        for (index, task) in tasks.iter().enumerate() {
            let Some(key) = &task.key else { continue };
            let id = batch.id(index);
            if batch.keys.insert(key.clone(), id).is_some() {
                return Err(Refusal::DuplicateMember { key: key.clone() });
            }
        }
        Ok(batch)
    }

    fn id(&self, index: usize) -> TaskId {
        TaskId(self.first.0 + index as u64)
    }

    fn resolve(&self, task: &TaskRef) -> Result<TaskId, Refusal> {
        match task {
            TaskRef::Task(id) => Ok(*id),
            TaskRef::Member(key) => {
                self.keys.get(key).copied().ok_or_else(|| Refusal::UnknownMember { key: key.clone() })
            }
        }
    }

    /// What whoever sent the batch calls a task.
    fn name(&self, id: TaskId) -> TaskRef {
        let key = self.keys.iter().find(|(_, member)| **member == id).map(|(key, _)| key.to_owned());
        TaskRef::Member(key.unwrap_or_else(|| place_in_batch((id.0.saturating_sub(self.first.0)) as usize)))
    }
}
