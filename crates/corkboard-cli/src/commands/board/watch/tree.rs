//! A board's graph as an indented list: every task once, below one of those it depends on.

use std::collections::BTreeMap;

use corkboard::boards::{BoardState, TaskId};

/// Deeper tasks are not indented further.
const DEEPEST: usize = 10;

/// A task in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) task: TaskId,
    pub(super) indent: usize,
    /// Its other dependencies.
    pub(super) also_after: Vec<TaskId>,
}

/// Roots in order, each followed by its dependents.
pub(super) fn rows(state: &BoardState) -> Vec<Row> {
    let depths = depths(state);
    let depth = |task: &TaskId| depths.get(task).copied().unwrap_or_default();
    let mut below: BTreeMap<Option<TaskId>, Vec<TaskId>> = BTreeMap::new();
    for task in state.tasks() {
        // Put it below its deepest dependency, which is likely to finish last.
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

/// The longest distance of each task from a root.
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

#[cfg(test)]
mod tests {
    use corkboard::Corkboard;
    use corkboard::boards::{NewBoard, NewTask, TaskRef};

    use super::*;

    /// A board whose tasks depend on those with these numbers, as a list of indented ids.
    async fn listed(depends_on: &[&[u64]]) -> Vec<String> {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        let board = corkboard
            .create_board(NewBoard { name: "b".into(), goal: "g".into(), ..NewBoard::default() })
            .await
            .unwrap();
        let tasks = depends_on.iter().enumerate().map(|(index, on)| NewTask {
            key: Some(format!("k{}", index + 1)),
            depends_on: on.iter().map(|number| TaskRef::Member(format!("k{number}"))).collect(),
            ..NewTask::new("t")
        });
        board.add_tasks(tasks.collect(), Vec::new()).await.unwrap();
        let view = board.view().await.unwrap();
        rows(view.state())
            .iter()
            .map(|row| format!("{}{} {:?}", "-".repeat(row.indent), row.task, row.also_after))
            .collect()
    }

    #[tokio::test]
    async fn every_task_is_listed_once_below_the_deepest_it_waits_for() {
        let diamond = listed(&[&[], &[1], &[1], &[2, 3], &[]]).await;
        assert_eq!(diamond, ["T-1 []", "-T-2 []", "--T-4 [T-3]", "-T-3 []", "T-5 []"]);
        // T-1 waits for T-3: the order of the ids is not that of the graph.
        assert_eq!(listed(&[&[3], &[], &[2]]).await, ["T-2 []", "-T-3 []", "--T-1 []"]);
        assert_eq!(listed(&[&[], &[1], &[1, 2]]).await, ["T-1 []", "-T-2 []", "--T-3 [T-1]"]);
    }

    #[tokio::test]
    async fn a_long_chain_is_not_indented_for_ever() {
        let chain: Vec<Vec<u64>> = (0..5000).map(|number| if number == 0 { vec![] } else { vec![number] }).collect();
        let chain: Vec<&[u64]> = chain.iter().map(Vec::as_slice).collect();
        let rows = listed(&chain).await;
        assert_eq!((rows.len(), rows.last().unwrap().as_str()), (5000, "----------T-5000 []"));
    }
}
