//! The task graph. Every change of a task also updates tallies, views and sizes.

use alloc::format;
use alloc::sync::Arc;

use imbl::OrdSet;

use super::{BoardState, DecisionId, Tally, Task, TaskId, TaskNode, TaskOutcome, TaskStatus};
use crate::FormatError;
use crate::space::{Stamp, misfit};

impl BoardState {
    pub(super) fn expect(&self, id: TaskId) -> Result<&Task, FormatError> {
        self.task(id).ok_or_else(|| misfit(format!("there is no {id}")))
    }

    /// Changes a task, and everything derived from it.
    pub(super) fn change(
        &mut self,
        id: TaskId,
        stamp: Stamp<'_>,
        change: impl FnOnce(&mut Task),
    ) -> Result<(), FormatError> {
        let before = self.nodes.get(&id).cloned().ok_or_else(|| misfit(format!("there is no {id}")))?;
        let mut task = Task::clone(&before.task);
        change(&mut task);
        task.rework &= task.status == TaskStatus::InProgress;
        (task.version, task.updated_at) = (stamp.rev, stamp.at);
        self.bytes = self.bytes + task.bytes() - before.task.bytes();
        let (was, is) = (TaskOutcome::of(&before.task), TaskOutcome::of(&task));
        let blocks = before.blocks.clone();
        let after = TaskNode { task: Arc::new(task), ..before.clone() };
        self.replace(&before, after);
        if was != is {
            for dependent in blocks {
                self.retally(dependent, |tally| {
                    tally.take(was);
                    tally.add(is);
                });
            }
        }
        Ok(())
    }

    /// Changes the decisions that a task waits for.
    pub(super) fn await_decision(&mut self, id: TaskId, change: impl FnOnce(&mut OrdSet<DecisionId>)) {
        let Some(before) = self.nodes.get(&id).cloned() else { return };
        let mut after = before.clone();
        change(&mut after.awaits);
        self.replace(&before, after);
    }

    fn replace(&mut self, before: &TaskNode, after: TaskNode) {
        self.take_from_views(before);
        self.put_into_views(&after);
        self.nodes.insert(after.task.id, after);
    }

    pub(super) fn take_from_views(&mut self, node: &TaskNode) {
        let standing = self.standing(&node.task);
        self.views.take(node, standing);
    }

    pub(super) fn put_into_views(&mut self, node: &TaskNode) {
        let standing = self.standing(&node.task);
        self.views.put(node, standing);
    }

    fn retally(&mut self, id: TaskId, change: impl FnOnce(&mut Tally)) {
        let Some(before) = self.nodes.get(&id).cloned() else { return };
        let mut after = before.clone();
        change(&mut after.tally);
        self.replace(&before, after);
    }

    pub(super) fn add_task(&mut self, task: Task) -> Result<(), FormatError> {
        let id = task.id;
        if self.nodes.contains_key(&id) {
            return Err(misfit(format!("{id} already exists")));
        }
        let mut tally = Tally::default();
        for on in task.depends_on.iter() {
            tally.add(TaskOutcome::of(self.expect(*on)?));
        }
        self.bytes += task.bytes();
        let depends_on = task.depends_on.clone();
        let node = TaskNode { task: Arc::new(task), blocks: OrdSet::new(), tally, awaits: OrdSet::new() };
        self.put_into_views(&node);
        self.nodes.insert(id, node);
        depends_on.iter().for_each(|on| self.link(id, *on));
        Ok(())
    }

    pub(super) fn link(&mut self, task: TaskId, on: TaskId) {
        self.edges += 1;
        if on > task {
            self.forward_edges += 1;
        }
        if let Some(node) = self.nodes.get_mut(&on) {
            node.blocks.insert(task);
        }
    }

    pub(super) fn add_dependency(&mut self, task: TaskId, on: TaskId, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let outcome = TaskOutcome::of(self.expect(on)?);
        self.change(task, stamp, |task| task.depends_on = task.depends_on.iter().copied().chain([on]).collect())?;
        self.retally(task, |tally| tally.add(outcome));
        self.link(task, on);
        Ok(())
    }

    pub(super) fn remove_dependency(&mut self, task: TaskId, on: TaskId, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let outcome = TaskOutcome::of(self.expect(on)?);
        if !self.expect(task)?.depends_on.contains(&on) {
            return Err(misfit(format!("{task} does not depend on {on}")));
        }
        self.change(task, stamp, |task| {
            task.depends_on = task.depends_on.iter().copied().filter(|other| *other != on).collect();
        })?;
        self.retally(task, |tally| tally.take(outcome));
        self.unlink(task, on);
        Ok(())
    }

    fn unlink(&mut self, task: TaskId, on: TaskId) {
        self.edges = self.edges.saturating_sub(1);
        if on > task {
            self.forward_edges = self.forward_edges.saturating_sub(1);
        }
        if let Some(node) = self.nodes.get_mut(&on) {
            node.blocks.remove(&task);
        }
    }
}
