//! Cycles: found before an edge is added, with the way round.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use super::super::{BoardState, TaskId};

/// The way from one task to another along what each depends on, both included. None: there is no way.
///
/// Both ends are followed by turns, so that the cost is that of the smaller side: most tasks that get a new dependency
/// have few that depend on them.
pub(super) fn path_between(state: &BoardState, from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
    if from == to {
        return Some(alloc::vec![from]);
    }
    // All edges lead to older tasks: none leads back.
    if state.forward_edges == 0 && from < to {
        return None;
    }
    let (mut down, mut up) = (Side::new(from), Side::new(to));
    loop {
        // Along what it depends on ...
        let next = down.pop()?;
        for on in state.task(next).into_iter().flat_map(|task| task.depends_on.iter().copied()) {
            down.visit(on, next);
            if up.has(on) {
                return Some(joined(&down, &up, on));
            }
        }
        // ... and against it.
        let next = up.pop()?;
        for dependent in state.blocks(next) {
            up.visit(dependent, next);
            if down.has(dependent) {
                return Some(joined(&down, &up, dependent));
            }
        }
    }
}

/// One end of the search: what was reached, and from where.
struct Side {
    reached: BTreeMap<TaskId, TaskId>,
    open: Vec<TaskId>,
}

impl Side {
    fn new(start: TaskId) -> Self {
        Self { reached: BTreeMap::from([(start, start)]), open: alloc::vec![start] }
    }

    fn pop(&mut self) -> Option<TaskId> {
        self.open.pop()
    }

    fn visit(&mut self, task: TaskId, from: TaskId) {
        if let Entry::Vacant(place) = self.reached.entry(task) {
            place.insert(from);
            self.open.push(task);
        }
    }

    fn has(&self, task: TaskId) -> bool {
        self.reached.contains_key(&task)
    }

    /// The way back to the start, the task itself first.
    fn way(&self, task: TaskId) -> Vec<TaskId> {
        let mut way = alloc::vec![task];
        let mut at = task;
        while let Some(from) = self.reached.get(&at).copied().filter(|from| *from != at) {
            way.push(from);
            at = from;
        }
        way
    }
}

fn joined(down: &Side, up: &Side, meeting: TaskId) -> Vec<TaskId> {
    let mut way = down.way(meeting);
    way.reverse();
    way.extend(up.way(meeting).into_iter().skip(1));
    way
}

/// A way round among new tasks, of which the first has the id `first`, along what each depends on; its last is its first.
pub(super) fn batch_cycle(first: TaskId, depends_on: &[Vec<TaskId>]) -> Option<Vec<TaskId>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let index = |id: TaskId| id.0.checked_sub(first.0).map(|index| index as usize).filter(|at| *at < depends_on.len());
    let mut marks = alloc::vec![Mark::New; depends_on.len()];
    for start in 0..depends_on.len() {
        // The way down to where we are, with how many of each one's dependencies were followed.
        let mut way: Vec<(usize, usize)> = alloc::vec![(start, 0)];
        if marks.get(start) != Some(&Mark::New) {
            continue;
        }
        while let Some((at, followed)) = way.last_mut() {
            let next = depends_on.get(*at).and_then(|on| on.get(*followed)).copied();
            if let Some(mark) = marks.get_mut(*at) {
                *mark = if next.is_some() { Mark::Open } else { Mark::Done };
            }
            let Some(next) = next else {
                way.pop();
                continue;
            };
            *followed += 1;
            let Some(next) = index(next) else { continue };
            match marks.get(next) {
                Some(Mark::New) => way.push((next, 0)),
                Some(Mark::Open) => {
                    let round = way.iter().map(|(at, _)| *at).skip_while(|at| *at != next).chain([next]);
                    return Some(round.map(|at| TaskId(first.0 + at as u64)).collect());
                }
                _ => {}
            }
        }
    }
    None
}
