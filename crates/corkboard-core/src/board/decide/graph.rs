//! Cycles: found before an edge is added, with the way round.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use super::super::{BoardState, TaskId};

/// The way from one task to another along what each depends on, both included. None: there is no way.
///
/// Both ends are followed, always the one that has cost less so far, so that the cost is about twice that of the cheaper
/// side: most tasks that get a new dependency have few that depend on them.
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
        // One side is all known: the other's end is not on it.
        let (lower, upper) = (*down.open.last()?, *up.open.last()?);
        let depends_on = state.task(lower).map(|task| &*task.depends_on).unwrap_or_default();
        let is_down = down.cost + depends_on.len() <= up.cost + state.blocks_count(upper);
        let (side, other) = if is_down { (&mut down, &up) } else { (&mut up, &down) };
        let meeting = if is_down {
            side.follow(depends_on.iter().copied(), other)
        } else {
            side.follow(state.blocks(upper), other)
        };
        if let Some(meeting) = meeting {
            return Some(joined(&down, &up, meeting));
        }
    }
}

/// One end of the search: what was reached, and from where.
struct Side {
    reached: BTreeMap<TaskId, TaskId>,
    open: Vec<TaskId>,
    /// How many edges were looked at.
    cost: usize,
}

impl Side {
    fn new(start: TaskId) -> Self {
        Self { reached: BTreeMap::from([(start, start)]), open: alloc::vec![start], cost: 0 }
    }

    /// Goes on from the last that was reached. Returns where the other side was met.
    fn follow(&mut self, next: impl Iterator<Item = TaskId>, other: &Self) -> Option<TaskId> {
        let from = self.open.pop()?;
        for task in next {
            self.cost += 1;
            if let Entry::Vacant(place) = self.reached.entry(task) {
                place.insert(from);
                self.open.push(task);
            }
            if other.reached.contains_key(&task) {
                return Some(task);
            }
        }
        None
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

/// New tasks in an order in which each comes after those of them that it depends on: in their own, where that is one.
/// `depends_on` names them by their places. Refused with a way round, along what each depends on, its last being its
/// first.
pub(super) fn upstream_first(depends_on: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = alloc::vec![Mark::New; depends_on.len()];
    let mut order = Vec::with_capacity(depends_on.len());
    for start in 0..depends_on.len() {
        // The way down to where we are, with how many of each one's dependencies were followed.
        let mut way: Vec<(usize, usize)> = Vec::new();
        if marks.get(start) == Some(&Mark::New) {
            way.push((start, 0));
        }
        while let Some((at, followed)) = way.last_mut() {
            let (at, next) = (*at, depends_on.get(*at).and_then(|on| on.get(*followed)).copied());
            *followed += 1;
            if let Some(mark) = marks.get_mut(at) {
                *mark = if next.is_some() { Mark::Open } else { Mark::Done };
            }
            match next.map(|next| (next, marks.get(next))) {
                None => {
                    way.pop();
                    order.push(at);
                }
                Some((next, Some(Mark::New))) => way.push((next, 0)),
                Some((next, Some(Mark::Open))) => {
                    return Err(way.iter().map(|(at, _)| *at).skip_while(|at| *at != next).chain([next]).collect());
                }
                Some(_) => {}
            }
        }
    }
    Ok(order)
}
