//! Finds cycles before an edge is added, with the path.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use super::super::{BoardState, TaskId};

/// The path from one task to another along dependencies, both included, if there is one.
///
/// Searches from both ends, always continuing at the end that has cost less so far. The total cost is about twice that
/// of the cheaper side: most tasks that get a new dependency have few dependents.
pub(super) fn path_between(state: &BoardState, from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
    if from == to {
        return Some(alloc::vec![from]);
    }
    // All edges lead to older tasks, so no path leads to a newer one.
    if state.forward_edges == 0 && from < to {
        return None;
    }
    let (mut down, mut up) = (SearchFrontier::new(from), SearchFrontier::new(to));
    let meeting = search(state, &mut down, &mut up)?;
    Some(joined(&down, &up, meeting))
}

fn search(state: &BoardState, down: &mut SearchFrontier, up: &mut SearchFrontier) -> Option<TaskId> {
    loop {
        // If one side has no open tasks left, the other end cannot be reached.
        let (lower, upper) = (*down.open.last()?, *up.open.last()?);
        let depends_on = state.task(lower).map(|task| &*task.depends_on).unwrap_or_default();
        let is_down = down.cost + depends_on.len() <= up.cost + state.blocks_count(upper);
        let meeting =
            if is_down { down.follow(depends_on.iter().copied(), up) } else { up.follow(state.blocks(upper), down) };
        if meeting.is_some() {
            return meeting;
        }
    }
}

/// One end of the search: the tasks reached, and from where.
struct SearchFrontier {
    reached: BTreeMap<TaskId, TaskId>,
    open: Vec<TaskId>,
    /// How many edges were examined.
    cost: usize,
}

impl SearchFrontier {
    fn new(start: TaskId) -> Self {
        Self { reached: BTreeMap::from([(start, start)]), open: alloc::vec![start], cost: 0 }
    }

    /// Follows the edges of the last open task. Returns a task that the other side has reached, too.
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

    /// The path back to the start, beginning with the task itself.
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

fn joined(down: &SearchFrontier, up: &SearchFrontier, meeting: TaskId) -> Vec<TaskId> {
    let mut way = down.way(meeting);
    way.reverse();
    way.extend(up.way(meeting).into_iter().skip(1));
    way
}

/// Sorts new tasks so that each comes after its dependencies, in the given order where possible. `depends_on` contains
/// indices. A cycle is returned as an error: its path along dependencies, with the first task repeated at the end.
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
        // The path to the current task, each with the number of its dependencies followed so far.
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

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use super::super::super::{BoardEvent, NewTask, TaskRef};
    use super::*;
    use crate::Role;
    use crate::space::{Space, Stamp};

    /// A board of tasks with these dependencies, by number.
    fn board(tasks: u64, on: impl Fn(u64) -> Vec<u64>) -> BoardState {
        let mut state = BoardState::default();
        let stamp = Stamp { rev: 1, at: jiff::Timestamp::UNIX_EPOCH, principal: "ann", role: Role::Worker };
        for id in 1..=tasks {
            let depends_on = on(id).into_iter().map(|on| TaskRef::Task(TaskId(on))).collect();
            let task = Box::new(NewTask { depends_on, ..NewTask::new("task") });
            state.apply(&BoardEvent::TaskAdded { id: TaskId(id), task }, stamp).unwrap();
        }
        state
    }

    /// How many edges are examined, and whether there is a path.
    fn cost(state: &BoardState, from: u64, to: u64) -> (usize, bool) {
        let (mut down, mut up) = (SearchFrontier::new(TaskId(from)), SearchFrontier::new(TaskId(to)));
        let meeting = search(state, &mut down, &mut up);
        (down.cost + up.cost, meeting.is_some())
    }

    #[test]
    fn a_search_costs_about_twice_its_cheaper_side() {
        // The tasks in between depend on the first, the last but one depends on all of them, and the last has no edges.
        const MANY: u64 = 2_000;
        let state = board(MANY, |id| match id {
            1 | MANY => Vec::new(),
            id if id == MANY - 1 => (2..id).collect(),
            _ => alloc::vec![1],
        });
        // The last task has no edges, so the other side is not examined.
        assert_eq!(cost(&state, 1, MANY), (0, false));
        assert_eq!(cost(&state, MANY - 1, MANY), (0, false));
        assert_eq!(cost(&state, MANY, 1), (0, false));
        assert_eq!(cost(&state, MANY, MANY - 1), (0, false));
        // A task between the two hubs has two edges. The search examines none of the hubs' thousands of edges.
        assert_eq!(cost(&state, 2, 3), (1, false));
        let (looked_at, is_found) = cost(&state, MANY - 1, 2);
        assert!(is_found && looked_at <= 3, "{looked_at}");
    }

    #[test]
    fn path_follows_dependencies() {
        let state = board(50, |id| (id.saturating_sub(3).max(1)..id).collect());
        let path = path_between(&state, TaskId(50), TaskId(1)).unwrap();
        assert_eq!((path.first(), path.last()), (Some(&TaskId(50)), Some(&TaskId(1))));
        for (from, to) in path.iter().zip(path.iter().skip(1)) {
            assert!(state.task(*from).unwrap().depends_on.contains(to), "{from} does not depend on {to}");
        }
        assert_eq!(path_between(&state, TaskId(1), TaskId(50)), None);
    }
}
