//! Adds and edits tasks and dependencies.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::super::id::next_id;
use super::super::{BoardEvent, BoardReply, NewChoice, NewTask, TaskEdit, TaskId, TaskRef, TaskStatus};
use super::graph::{path_between, upstream_first};
use super::{BoardDecider, ReplyResult};
use crate::id::check_visible;
use crate::{ActorKind, LimitName, Limits, Refusal};

impl BoardDecider<'_> {
    pub(super) fn add_tasks(&mut self, tasks: &[NewTask], choices: &[NewChoice]) -> ReplyResult {
        // First, before any work on a batch that is too large.
        let count = (self.state.nodes.len() + tasks.len()) as u64;
        Limits::check(LimitName::TasksPerBoard, count, self.limits().tasks_per_board)?;
        let batch = NewTaskBatch::new(tasks, next_id(&self.state.nodes).0)?;
        let mut upstream = Vec::with_capacity(tasks.len());
        for task in tasks {
            self.check_new(task)?;
            let on: Vec<TaskId> =
                task.depends_on.iter().map(|on| self.resolve(&batch, on)).collect::<Result<_, _>>()?;
            upstream.push(once_each(on));
        }
        // Existing tasks cannot depend on new ones, so any cycle lies in the batch.
        let inside: Vec<Vec<usize>> =
            upstream.iter().map(|on| on.iter().filter_map(|on| batch.place(*on)).collect()).collect();
        let order = upstream_first(&inside)
            .map_err(|round| Refusal::Cycle { path: round.into_iter().map(|place| batch.name(place)).collect() })?;
        let on_failure = self.info()?.on_failure;
        for place in order {
            let (Some(task), Some(on)) = (tasks.get(place), upstream.get(place)) else { continue };
            let task = NewTask {
                key: None,
                depends_on: on.iter().copied().map(TaskRef::Task).collect(),
                on_failure: Some(task.on_failure.unwrap_or(on_failure)),
                ..task.clone()
            };
            self.push(BoardEvent::TaskAdded { id: batch.id(place), task: Box::new(task) });
        }
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| self.add_choice(choice, |task| batch.resolve(task)))
            .collect::<Result<_, _>>()?;
        let added: Vec<TaskId> = (0..tasks.len()).map(|place| batch.id(place)).collect();
        self.settle(added.clone());
        Ok(BoardReply::Added { tasks: added, choices })
    }

    fn check_new(&self, task: &NewTask) -> Result<(), Refusal> {
        if let Some(key) = &task.key {
            self.check_line("key", key)?;
            check_visible("key", key)?;
            if key.parse::<TaskId>().is_ok() {
                return Err(Refusal::KeyReadsAsId { key: key.clone() });
            }
        }
        self.check_line("task title", &task.title)?;
        self.check_length(&task.description)?;
        check_numbers(task.estimate_minutes, Some(task.retry_limit), Some(task.retry_backoff_s))
    }

    fn resolve(&self, batch: &NewTaskBatch<'_>, task: &TaskRef) -> Result<TaskId, Refusal> {
        match task {
            // An ID must exist already: IDs that this batch will assign cannot be used.
            TaskRef::Task(id) => self.task(*id).map(|task| task.id),
            TaskRef::Member(_) => batch.resolve(task),
        }
    }

    pub(super) fn add_dependency(&mut self, id: TaskId, on: TaskId) -> ReplyResult {
        let task = self.task(id)?;
        self.task(on)?;
        if task.depends_on.contains(&on) {
            return Ok(BoardReply::Done);
        }
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned) {
            return Err(Refusal::AlreadyBegun { task: id, status: task.status });
        }
        if let Some(path) = path_between(self.state, on, id) {
            let path = core::iter::once(id).chain(path).map(TaskRef::Task).collect();
            return Err(Refusal::Cycle { path });
        }
        self.push(BoardEvent::DependencyAdded { task: id, depends_on: on });
        self.settle(alloc::vec![id]);
        Ok(BoardReply::Done)
    }

    /// Replies with the task if it had the dependency, else with no task.
    pub(super) fn remove_dependency(&mut self, id: TaskId, on: TaskId) -> ReplyResult {
        let task = self.task(id)?;
        self.task(on)?;
        if !task.depends_on.contains(&on) {
            return Ok(BoardReply::Tasks(Vec::new()));
        }
        // A task that was cancelled because of the other may become possible again.
        if !matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned) && !task.is_stopped() {
            return Err(Refusal::AlreadyBegun { task: id, status: task.status });
        }
        self.push(BoardEvent::DependencyRemoved { task: id, depends_on: on });
        let mut touched = self.revive(alloc::vec![id]);
        touched.push(id);
        self.settle(touched);
        Ok(BoardReply::Tasks(alloc::vec![id]))
    }

    pub(super) fn edit_task(&mut self, id: TaskId, edit: &TaskEdit, if_version: Option<u64>) -> ReplyResult {
        let task = self.task(id)?;
        if let Some(expected) = if_version
            && expected != task.version
        {
            return Err(Refusal::TaskConflict { expected, current: Box::new(task.clone()) });
        }
        edit.title.as_ref().map_or(Ok(()), |title| self.check_line("task title", title))?;
        self.check_comment(edit.description.as_deref())?;
        check_numbers(edit.estimate_minutes, edit.retry_limit, edit.retry_backoff_s)?;
        let actor = self.context.actor;
        let is_own = task.assigned_to.as_ref().is_some_and(|agent| agent.as_str() == actor.principal);
        if actor.kind != ActorKind::Human && is_own && task.needs_review && edit.needs_review == Some(false) {
            // Dropping the review would be self-approval.
            return Err(Refusal::OwnTask { task: id, principal: actor.principal.clone() });
        }
        let mut edited = task.clone();
        edited.edit(edit);
        if edited != *task {
            let is_failed = task.status == TaskStatus::Failed;
            self.push(BoardEvent::TaskEdited { task: id, edit: Box::new(edit.clone()) });
            // A new trigger rule or failure policy may make tasks possible or impossible.
            let mut touched = alloc::vec![id];
            touched.extend(self.state.blocks(id));
            // Tasks that it cancelled with `fail_fast` need not depend on it.
            if is_failed && edit.on_failure.is_some() {
                let stopped = self.state.tasks().filter(|task| task.upstream_cause() == Some(id));
                touched.extend(stopped.map(|task| task.id));
            }
            touched.extend(self.revive(touched.clone()));
            self.settle(touched);
        }
        Ok(BoardReply::Done)
    }
}

/// Removes duplicates and keeps the order.
fn once_each(mut tasks: Vec<TaskId>) -> Vec<TaskId> {
    let mut seen = BTreeSet::new();
    tasks.retain(|task| seen.insert(*task));
    tasks
}

/// New tasks, with their future IDs and the keys by which they refer to one another.
struct NewTaskBatch<'a> {
    tasks: &'a [NewTask],
    first: u64,
    places: BTreeMap<&'a str, usize>,
}

impl<'a> NewTaskBatch<'a> {
    fn new(tasks: &'a [NewTask], first: u64) -> Result<Self, Refusal> {
        let mut places = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            if let Some(key) = &task.key
                && places.insert(&**key, place).is_some()
            {
                return Err(Refusal::DuplicateMember { key: key.clone() });
            }
        }
        Ok(Self { tasks, first, places })
    }

    fn id(&self, place: usize) -> TaskId {
        TaskId(self.first + place as u64)
    }

    /// The index of a task in the batch, if it belongs to the batch.
    fn place(&self, id: TaskId) -> Option<usize> {
        id.0.checked_sub(self.first).and_then(|place| usize::try_from(place).ok())
    }

    fn resolve(&self, task: &TaskRef) -> Result<TaskId, Refusal> {
        match task {
            TaskRef::Task(id) => Ok(*id),
            TaskRef::Member(key) => {
                let place = self.places.get(&**key).ok_or_else(|| Refusal::UnknownMember { key: key.clone() })?;
                Ok(self.id(*place))
            }
        }
    }

    /// The sender's name for a task: its key, or its position.
    fn name(&self, place: usize) -> TaskRef {
        let key = self.tasks.get(place).and_then(|task| task.key.clone());
        TaskRef::Member(key.unwrap_or_else(|| format!("#{}", place + 1)))
    }
}

fn check_numbers(minutes: Option<u32>, retries: Option<u32>, backoff_s: Option<u32>) -> Result<(), Refusal> {
    let of = |number: Option<u32>| number.unwrap_or_default().into();
    Limits::check_range("estimate_minutes", of(minutes), 0..=NewTask::MOST_MINUTES)?;
    Limits::check_range("retry_limit", of(retries), 0..=NewTask::MOST_RETRIES)?;
    Limits::check_range("retry_backoff_s", of(backoff_s), 0..=NewTask::MOST_BACKOFF_S)
}
