//! Views of a board (ready, blocked, in progress, in review, due times), updated with every change.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::ops::Bound;

use imbl::OrdSet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    BoardEvent, BoardState, ChoiceId, DecisionId, NudgeId, Task, TaskId, TaskNode, TaskStatus, TriggerVerdict,
};
use crate::AgentId;
use crate::text::enum_text;

/// The views of a board, derived from its tasks, nudges and orchestrator.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Views {
    /// Pending tasks that may start: highest priority first, then oldest.
    ready: OrdSet<(Reverse<i32>, TaskId)>,
    blocked: OrdSet<TaskId>,
    /// Assigned tasks that may start.
    startable: OrdSet<TaskId>,
    by_status: [OrdSet<TaskId>; TaskStatus::ALL.len()],
    assigned: OrdSet<(AgentId, TaskId)>,
    /// Tasks that were sent back for rework and not claimed again by their holders.
    rework: OrdSet<(AgentId, TaskId)>,
    due: OrdSet<(Timestamp, Due)>,
}

/// A list of tasks. Each list has its own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskList {
    /// Oldest first.
    All,
    /// Oldest first.
    Status(TaskStatus),
    /// Tasks that can be claimed: highest priority first, then oldest.
    Ready,
    /// Tasks that cannot start or continue, oldest first.
    Blocked,
}

/// The position of a task in a [`TaskList`]. Only the list `Ready` is ordered by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPosition {
    pub priority: i32,
    pub id: TaskId,
}

impl From<&Task> for TaskPosition {
    fn from(Task { priority, id, .. }: &Task) -> Self {
        Self { priority: *priority, id: *id }
    }
}

/// A view of a board's tasks, derived from their status and from what they wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskView {
    /// Tasks that can be claimed: highest priority first, then oldest.
    Ready,
    /// Tasks that cannot start or continue: those with the status `blocked`, which their holders reported, and those with
    /// the status `pending` or `assigned` that wait for something. `hindrances` says what.
    Blocked,
    /// Tasks with the status `in_progress`.
    InProgress,
    /// Tasks with the status `review`.
    NeedsReview,
}

enum_text!(TaskView {
    Ready => "ready",
    Blocked => "blocked",
    InProgress => "in_progress",
    NeedsReview => "needs_review",
});

impl TaskView {
    pub const ALL: [Self; 4] = [Self::Ready, Self::Blocked, Self::InProgress, Self::NeedsReview];
}

/// Something that expires or becomes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    Orchestrator,
    Lease(TaskId),
    Retry(TaskId),
    Nudge(NudgeId),
}

impl Due {
    pub(super) fn task(self) -> Option<TaskId> {
        match self {
            Self::Orchestrator | Self::Nudge(_) => None,
            Self::Lease(task) | Self::Retry(task) => Some(task),
        }
    }

    pub(super) fn event(self) -> BoardEvent {
        match self {
            Self::Orchestrator => BoardEvent::OrchestratorExpired,
            Self::Lease(task) => BoardEvent::LeaseExpired { task },
            Self::Retry(task) => BoardEvent::RetryDue { task },
            Self::Nudge(nudge) => BoardEvent::NudgeExpired { nudge },
        }
    }
}

/// Why a task cannot start or continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Hindrance {
    /// Its dependencies do not satisfy its trigger rule.
    Dependencies {
        /// The unfinished dependencies.
        depends_on: Vec<TaskId>,
    },
    /// It begins an option of a choice that was not made.
    Choice { choice: ChoiceId },
    /// A decision that concerns it needs approval and has none.
    Approval { decision: DecisionId },
    /// It waits for its retry.
    Backoff { not_before: Timestamp },
    /// Its holder reported that it is blocked.
    Reported { reason: Option<Arc<str>> },
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// At most this many tasks are named; the rest are counted.
        const NAMED: usize = 5;
        match self {
            Self::Dependencies { depends_on } => {
                let named: Vec<_> = depends_on.iter().take(NAMED).map(ToString::to_string).collect();
                write!(f, "it waits for {}", named.join(", "))?;
                if depends_on.len() > NAMED { write!(f, " and {} more", depends_on.len() - NAMED) } else { Ok(()) }
            }
            Self::Choice { choice } => write!(f, "{choice} is not decided"),
            Self::Approval { decision } => write!(f, "{decision} is not approved"),
            Self::Backoff { not_before } => write!(f, "it will be retried at {not_before}"),
            Self::Reported { reason: Some(reason) } => f.write_str(reason),
            Self::Reported { reason: None } => f.write_str("its holder reported that it is blocked"),
        }
    }
}

impl Views {
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = Due> {
        self.due.iter().take_while(move |(at, _)| *at <= now).map(|(_, due)| *due)
    }

    pub(super) fn all_due(&self) -> Vec<Due> {
        self.due.iter().map(|(_, due)| *due).collect()
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.get_min().map(|(at, _)| *at)
    }

    pub(super) fn set_due(&mut self, due: Due, before: Option<Timestamp>, after: Option<Timestamp>) {
        if let Some(at) = before {
            self.due.remove(&(at, due));
        }
        if let Some(at) = after {
            self.due.insert((at, due));
        }
    }

    /// Removes a task, in its old state, from the views.
    pub(super) fn take(&mut self, node: &TaskNode, standing: BranchStanding) {
        self.change(node, standing, ViewChange::Take);
    }

    /// Adds a task, in its new state, to the views.
    pub(super) fn put(&mut self, node: &TaskNode, standing: BranchStanding) {
        self.change(node, standing, ViewChange::Put);
    }

    fn change(&mut self, node: &TaskNode, standing: BranchStanding, change: ViewChange) {
        let task = &*node.task;
        if let Some(tasks) = self.by_status.get_mut(task.status as usize) {
            change.apply(tasks, task.id);
        }
        match task.status {
            TaskStatus::Pending | TaskStatus::Assigned if !is_free(node, standing) => {
                change.apply(&mut self.blocked, task.id);
            }
            TaskStatus::Pending => change.apply(&mut self.ready, (Reverse(task.priority), task.id)),
            TaskStatus::Assigned => change.apply(&mut self.startable, task.id),
            TaskStatus::Blocked => change.apply(&mut self.blocked, task.id),
            _ => {}
        }
        if let (TaskStatus::Assigned, Some(agent)) = (task.status, &task.assigned_to) {
            change.apply(&mut self.assigned, (agent.clone(), task.id));
        }
        if let (true, Some(agent)) = (task.rework, &task.assigned_to) {
            change.apply(&mut self.rework, (agent.clone(), task.id));
        }
        if let Some(claim) = &task.claim {
            change.apply(&mut self.due, (claim.deadline, Due::Lease(task.id)));
        }
        if let Some(at) = task.not_before {
            change.apply(&mut self.due, (at, Due::Retry(task.id)));
        }
    }
}

#[derive(Clone, Copy)]
enum ViewChange {
    Put,
    Take,
}

impl ViewChange {
    fn apply<T: Ord + Clone>(self, set: &mut OrdSet<T>, item: T) {
        match self {
            Self::Put => drop(set.insert(item)),
            Self::Take => drop(set.remove(&item)),
        }
    }
}

/// Whether a task's branch can start, if the task begins a branch of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BranchStanding {
    /// It begins no branch, or the chosen one.
    Free,
    /// The choice was not made.
    Undecided,
    /// Another branch was chosen.
    NotTaken,
}

/// The items of a view from its start, or after an item that need not be in the view.
fn rest<T: Ord + Clone>(view: &OrdSet<T>, after: Option<T>) -> impl Iterator<Item = &T> {
    view.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
}

/// An agent's tasks in a view that is ordered by agent.
fn of_agent(view: &OrdSet<(AgentId, TaskId)>, agent: &AgentId) -> impl Iterator<Item = TaskId> {
    let from = (agent.clone(), TaskId(0));
    view.range(from..).take_while(move |(to, _)| to == agent).map(|(_, id)| *id)
}

/// Whether the task needs only a worker to start.
fn is_free(node: &TaskNode, standing: BranchStanding) -> bool {
    let TaskNode { task, tally, awaits, .. } = node;
    let is_waiting = task.not_before.is_some() || !awaits.is_empty();
    standing == BranchStanding::Free && !is_waiting && tally.verdict(task.trigger_rule) == TriggerVerdict::Run
}

impl BoardState {
    /// The tasks that can be claimed, highest priority first, then oldest.
    pub fn ready(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.views.ready.iter().map(|(_, id)| *id)
    }

    /// The tasks that cannot start or continue, oldest first.
    pub fn blocked(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.views.blocked.iter().copied()
    }

    /// The tasks in progress, oldest first.
    pub fn in_progress(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.with_status(TaskStatus::InProgress)
    }

    /// The tasks that wait for review, oldest first.
    pub fn needs_review(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.with_status(TaskStatus::Review)
    }

    /// The tasks with this status, oldest first.
    #[expect(clippy::indexing_slicing, reason = "there is a set for every status")]
    pub fn with_status(&self, status: TaskStatus) -> impl ExactSizeIterator<Item = TaskId> {
        self.views.by_status[status as usize].iter().copied()
    }

    /// The assigned tasks that may start, oldest first.
    pub fn startable(&self) -> impl ExactSizeIterator<Item = TaskId> {
        self.views.startable.iter().copied()
    }

    /// The tasks of a list, from its start or after a position, which need not hold a task.
    pub fn list(&self, list: TaskList, after: Option<TaskPosition>) -> Box<dyn Iterator<Item = &Task> + '_> {
        let id = after.map(|after| after.id);
        match list {
            TaskList::All => {
                let start = id.map_or(Bound::Unbounded, Bound::Excluded);
                Box::new(self.nodes.range((start, Bound::Unbounded)).map(|(_, node)| &*node.task))
            }
            TaskList::Status(status) => {
                let view = self.views.by_status.get(status as usize).into_iter();
                Box::new(view.flat_map(move |tasks| rest(tasks, id)).filter_map(|id| self.task(*id)))
            }
            TaskList::Ready => {
                let after = after.map(|TaskPosition { priority, id }| (Reverse(priority), id));
                Box::new(rest(&self.views.ready, after).filter_map(|(_, id)| self.task(*id)))
            }
            TaskList::Blocked => Box::new(rest(&self.views.blocked, id).filter_map(|id| self.task(*id))),
        }
    }

    /// The tasks that are assigned to an agent and not started, oldest first.
    pub fn assigned_to(&self, agent: &AgentId) -> impl Iterator<Item = TaskId> {
        of_agent(&self.views.assigned, agent)
    }

    /// The tasks that were sent back for rework to an agent that has not claimed them again, oldest first.
    pub fn rework_of(&self, agent: &AgentId) -> impl Iterator<Item = TaskId> {
        of_agent(&self.views.rework, agent)
    }

    /// All tasks that are assigned and not started, by agent.
    pub(super) fn assigned(&self) -> impl Iterator<Item = TaskId> {
        self.views.assigned.iter().map(|(_, id)| *id)
    }

    /// The tasks that somebody holds, earliest deadline first.
    pub fn held(&self) -> impl Iterator<Item = TaskId> {
        self.views.due.iter().filter_map(|(_, due)| match due {
            Due::Lease(task) => Some(*task),
            Due::Orchestrator | Due::Retry(_) | Due::Nudge(_) => None,
        })
    }

    pub fn count(&self, status: TaskStatus) -> u64 {
        self.with_status(status).len() as u64
    }

    pub fn unfinished(&self) -> u64 {
        let open = TaskStatus::ALL.into_iter().filter(|status| !status.is_finished());
        open.map(|status| self.count(status)).sum()
    }

    /// Whether the task needs only a worker to start.
    pub fn may_begin(&self, id: TaskId) -> bool {
        self.nodes.get(&id).is_some_and(|node| is_free(node, self.standing(&node.task)))
    }

    /// Why a task cannot start or continue: empty if it is ready, in progress or finished.
    pub fn hindrances(&self, id: TaskId) -> Vec<Hindrance> {
        let Some(node) = self.nodes.get(&id) else { return Vec::new() };
        let task = &node.task;
        let mut found = Vec::new();
        match task.status {
            TaskStatus::Blocked => found.push(Hindrance::Reported { reason: task.blocked_reason.clone() }),
            TaskStatus::Pending | TaskStatus::Assigned => {
                if node.tally.verdict(task.trigger_rule) != TriggerVerdict::Run {
                    let open = |id: &&TaskId| self.task(**id).is_some_and(|task| !task.status.is_finished());
                    found.push(Hindrance::Dependencies {
                        depends_on: task.depends_on.iter().filter(open).copied().collect(),
                    });
                }
                if let (BranchStanding::Undecided, Some(choice)) = (self.standing(task), task.choice) {
                    found.push(Hindrance::Choice { choice });
                }
                found.extend(node.awaits.iter().map(|decision| Hindrance::Approval { decision: *decision }));
                if let Some(until) = task.not_before {
                    found.push(Hindrance::Backoff { not_before: until });
                }
            }
            _ => {}
        }
        found
    }

    pub(super) fn standing(&self, task: &Task) -> BranchStanding {
        let Some(choice) = task.choice.and_then(|choice| self.choices.get(&choice)) else {
            return BranchStanding::Free;
        };
        let Some(chosen) = &choice.chosen else { return BranchStanding::Undecided };
        let is_taken = choice.options.iter().any(|branch| branch.name == *chosen && branch.tasks.contains(&task.id));
        if is_taken { BranchStanding::Free } else { BranchStanding::NotTaken }
    }

    /// Whether a task may ever start, by its trigger rule and the chosen branch.
    pub(super) fn prospect(&self, task: &Task) -> TriggerVerdict {
        match self.standing(task) {
            BranchStanding::NotTaken => TriggerVerdict::Impossible,
            BranchStanding::Free | BranchStanding::Undecided => self.tally(task.id).verdict(task.trigger_rule),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::cmp::Ordering;

    use super::*;

    std::thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// An item that counts its comparisons.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Counted(u64);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn reading_ten_of_20_000_items_needs_no_scan() {
        let view: OrdSet<Counted> = (0..20_000).map(Counted).collect();
        for start in [None, Some(0), Some(9_999), Some(19_980)] {
            COMPARED.set(0);
            let found: Vec<u64> = rest(&view, start.map(Counted)).take(10).map(|item| item.0).collect();
            let first = start.map_or(0, |start| start + 1);
            assert_eq!(found, (first..first + 10).collect::<Vec<_>>());
            assert!(COMPARED.get() < 100, "{} comparisons after {start:?}", COMPARED.get());
        }
        assert_eq!(rest(&view, Some(Counted(20_000))).next(), None);
    }
}
