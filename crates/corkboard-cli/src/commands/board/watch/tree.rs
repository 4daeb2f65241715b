//! A board's graph as an indented list: every task once, below one of those it depends on.

use std::collections::BTreeMap;

use corkboard::boards::{BoardState, TaskId};

/// Deeper ones are not indented further.
const DEEPEST: usize = 10;

/// A task in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) task: TaskId,
    pub(super) indent: usize,
    /// What else it depends on.
    pub(super) also_after: Vec<TaskId>,
}

/// Roots in order, each followed by what is below it.
pub(super) fn rows(state: &BoardState) -> Vec<Row> {
    let depths = depths(state);
    let depth = |task: &TaskId| depths.get(task).copied().unwrap_or_default();
    let mut below: BTreeMap<Option<TaskId>, Vec<TaskId>> = BTreeMap::new();
    for task in state.tasks() {
        // Below the deepest one: that is likely to be finished last.
        let parent = task.depends_on.iter().copied().max_by_key(|on| (depth(on), std::cmp::Reverse(*on)));
        below.entry(parent).or_default().push(task.id);
    }
    let mut rows = Vec::with_capacity(state.task_count());
    let mut next: Vec<(TaskId, Option<TaskId>, usize)> = Vec::new();
    let push = |next: &mut Vec<_>, parent: Option<TaskId>, indent: usize| {
        let children = below.get(&parent).into_iter().flatten().rev();
        next.extend(children.map(|child| (*child, parent, indent)));
    };
    push(&mut next, None, 0);
    while let Some((id, parent, indent)) = next.pop() {
        let also_after = state.task(id).map(|task| task.depends_on.iter().copied()).into_iter().flatten();
        let also_after = also_after.filter(|on| Some(*on) != parent).collect();
        rows.push(Row { task: id, indent: indent.min(DEEPEST), also_after });
        push(&mut next, Some(id), indent + 1);
    }
    rows
}

/// How many steps each task is from a root, by the longest way.
fn depths(state: &BoardState) -> BTreeMap<TaskId, usize> {
    let mut depths = BTreeMap::new();
    let mut open: BTreeMap<TaskId, usize> = state.tasks().map(|task| (task.id, task.depends_on.len())).collect();
    let mut next: Vec<TaskId> = open.iter().filter(|(_, open)| **open == 0).map(|(id, _)| *id).collect();
    depths.extend(next.iter().map(|id| (*id, 0)));
    while let Some(id) = next.pop() {
        let depth = depths.get(&id).copied().unwrap_or_default();
        for dependent in state.blocks(id) {
            let known = depths.entry(dependent).or_default();
            *known = (*known).max(depth + 1);
            let left = open.entry(dependent).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                next.push(dependent);
            }
        }
    }
    depths
}
