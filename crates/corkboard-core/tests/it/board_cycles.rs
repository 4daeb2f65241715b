//! Dependencies: a cycle is refused with its path, a batch is checked as a whole, and large graphs stay fast.

use crate::board_support::*;
use corkboard_core::board::{BoardCommand, BoardEvent, BoardReply, NewTask, TaskId, TaskRef, TaskStatus, TriggerRule};
use corkboard_core::{Actor, LimitName, Limits, Refusal};

fn depend(task: TaskId, on: TaskId) -> BoardCommand {
    BoardCommand::AddDependency { task, depends_on: on }
}

/// The cycle in a refusal.
fn path(refusal: Refusal) -> Vec<String> {
    match refusal {
        Refusal::Cycle { path } => path.iter().map(TaskRef::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

/// A chain in which each task depends on the previous one.
fn chain(length: u64) -> Vec<NewTask> {
    let link = |at: u64| match at {
        0 => member("m0", &[]),
        at => member(&format!("m{at}"), &[&format!("m{}", at - 1)]),
    };
    (0..length).map(link).collect()
}

#[test]
fn answer_4_a_cycle_is_refused_with_its_path() {
    let mut desk = Desk::new();
    desk.add_all(chain(4));
    let refusal = desk.refused(depend(id(1), id(4)));
    assert_eq!(refusal.to_string(), "dependency cycle: T-1 -> T-4 -> T-3 -> T-2 -> T-1");
    assert_eq!(path(refusal), ["T-1", "T-4", "T-3", "T-2", "T-1"]);
    // In the other direction: a task can depend on one that is added later.
    let later = desk.add(NewTask::new("later"));
    desk.tell(depend(id(1), later));
    assert_eq!(path(desk.refused(depend(later, id(3)))), ["T-5", "T-3", "T-2", "T-1", "T-5"]);
}

#[test]
fn answer_4_a_task_does_not_wait_for_itself() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask::new("task"));
    assert_eq!(path(desk.refused(depend(task, task))), ["T-1", "T-1"]);
    assert_eq!(path(desk.refused(add_tasks(vec![member("own", &["own"])]))), ["own", "own"]);
}

#[test]
fn answer_4_a_batch_is_checked_whole() {
    let mut desk = Desk::new();
    desk.add(NewTask::new("old"));
    let before = desk.live.clone();
    let nameless = NewTask { depends_on: vec![TaskRef::from("b")], ..NewTask::new("nameless") };
    let tasks =
        vec![member("fine", &[]), member("a", &["b", "T-1"]), member("b", &["c"]), member("c", &["a"]), nameless];
    assert_eq!(path(desk.refused(add_tasks(tasks.clone()))), ["a", "b", "c", "a"]);
    let mut unknown = tasks[..1].to_vec();
    unknown.push(member("x", &["nobody"]));
    assert_eq!(desk.refused(add_tasks(unknown)), Refusal::UnknownMember { key: "nobody".into() });
    let twice = vec![member("x", &[]), member("x", &[])];
    assert_eq!(desk.refused(add_tasks(twice)), Refusal::DuplicateMember { key: "x".into() });
    let as_id = vec![member("t-7", &[])];
    assert_eq!(desk.refused(add_tasks(as_id)), Refusal::KeyReadsAsId { key: "t-7".into() });
    // The ID that the batch itself would assign does not exist yet.
    let ahead = vec![NewTask::new("first"), after("second", &[id(2)])];
    assert_eq!(desk.refused(add_tasks(ahead)), Refusal::NotOnBoard { what: "task".into(), id: "T-2".into() });
    assert_eq!(desk.live, before);
}

#[test]
fn a_batch_may_refer_to_its_later_tasks() {
    let mut desk = Desk::new();
    let tasks =
        vec![member("last", &["middle", "first", "middle"]), member("middle", &["first"]), member("first", &[])];
    assert_eq!(desk.add_all(tasks), ids(&[1, 2, 3]));
    assert_eq!(&*desk.task(id(1)).depends_on, ids(&[2, 3]));
    assert_eq!(desk.ready(), ids(&[3]));
    for task in [3, 2, 1] {
        desk.complete(id(task));
    }
    assert_eq!(desk.state().count(TaskStatus::Completed), 3);
    assert_eq!(path(desk.refused(add_tasks(vec![member("a", &["b"]), member("b", &["a"])]))), ["a", "b", "a"]);
}

#[test]
fn a_dependency_is_added_once_and_only_to_tasks_not_started() {
    let mut desk = Desk::new();
    desk.add_all(chain(2));
    let rev = desk.rev();
    desk.tell(depend(id(2), id(1)));
    assert_eq!(desk.rev(), rev, "adding an existing dependency changes nothing");
    let other = desk.add(NewTask::new("other"));
    desk.claim(&worker("ann"), id(1));
    let refusal = desk.refused(depend(id(1), other));
    assert_eq!(refusal, Refusal::AlreadyBegun { task: id(1), status: TaskStatus::InProgress });
    assert_eq!(desk.refused(depend(id(9), id(1))), Refusal::NotOnBoard { what: "task".into(), id: "T-9".into() });
    assert_eq!(desk.refused(depend(id(1), id(9))), Refusal::NotOnBoard { what: "task".into(), id: "T-9".into() });
}

#[test]
fn a_dependency_can_be_removed_and_the_task_becomes_ready() {
    let remove = |task, on| BoardCommand::RemoveDependency { task: id(task), depends_on: id(on) };
    let mut desk = Desk::new();
    desk.add_all(chain(3));
    let later = desk.add(NewTask::new("later"));
    desk.tell(depend(id(1), later));
    assert_eq!((desk.ready(), desk.state().edge_count()), (ids(&[4]), 3));
    // After each revision, `Desk` compares views, tallies and edges with a scan.
    assert_eq!(desk.tell(remove(2, 1)), BoardReply::Tasks(ids(&[2])));
    assert_eq!((desk.ready(), desk.state().edge_count()), (ids(&[2, 4]), 2));
    assert_eq!(desk.last_events(), [BoardEvent::DependencyRemoved { task: id(2), depends_on: id(1) }]);
    let rev = desk.rev();
    assert_eq!(desk.tell(remove(2, 1)), BoardReply::Tasks(vec![]));
    assert_eq!(desk.rev(), rev, "removing a missing dependency changes nothing");
    // Dependencies that would have closed a cycle are now allowed, including those on later tasks.
    desk.tell(remove(1, 4));
    desk.tell(depend(id(4), id(1)));
    desk.tell(depend(id(1), id(2)));
    assert_eq!(path(desk.refused(depend(id(2), id(4)))), ["T-2", "T-4", "T-1", "T-2"]);
    assert_eq!(desk.refused(remove(9, 1)), Refusal::NotOnBoard { what: "task".into(), id: "T-9".into() });
    assert_eq!(desk.refused(remove(1, 9)), Refusal::NotOnBoard { what: "task".into(), id: "T-9".into() });
    desk.complete(id(2));
    desk.claim(&worker("ann"), id(1));
    assert_eq!(desk.refused(remove(1, 2)), Refusal::AlreadyBegun { task: id(1), status: TaskStatus::InProgress });
}

#[test]
fn removing_a_failed_dependency_restores_a_task_and_its_dependents() {
    let remove = |task, on| BoardCommand::RemoveDependency { task: id(task), depends_on: id(on) };
    let mut desk = Desk::new();
    desk.add_all(chain(3));
    let last_chance = desk.add(NewTask { trigger_rule: TriggerRule::OneFailed, ..after("repair", &ids(&[1, 2])) });
    desk.fail(id(1));
    assert_eq!((desk.status(id(2)), desk.status(id(3))), (TaskStatus::Cancelled, TaskStatus::Cancelled));
    desk.tell(remove(2, 1));
    assert_eq!((desk.status(id(2)), desk.status(id(3))), (TaskStatus::Pending, TaskStatus::Pending));
    // Without the failure that it needs, this task can no longer start.
    assert_eq!(desk.status(last_chance), TaskStatus::Pending);
    desk.tell(remove(4, 1));
    desk.complete(id(2));
    assert_eq!(desk.status(last_chance), TaskStatus::Cancelled);
}

#[test]
fn a_long_cycle_is_reported_whole_and_displayed_by_its_ends() {
    let mut desk = Desk::new();
    desk.limits = Limits { command_bytes: 64 << 20, ..Limits::default() };
    const LENGTH: u64 = 100_000;
    let mut tasks = chain(LENGTH);
    tasks[0].depends_on.push(TaskRef::from(&*format!("m{}", LENGTH - 1)));
    let refusal = desk.refused(add_tasks(tasks));
    assert!(refusal.to_string().len() < 500, "{}", refusal.to_string().len());
    let round = path(refusal);
    assert_eq!((round.len() as u64, &*round[0], &*round[1]), (LENGTH + 1, "m0", "m99999"));
}

/// Operations on a hundred thousand edges finish in time, including edges to later tasks.
#[test]
fn a_hundred_thousand_edges_stay_fast() {
    const TASKS: u64 = 50_000;
    let mut desk = Desk::new();
    // Each task waits for the next two, so all edges lead to later tasks of the batch.
    let task = |at: u64| {
        let on: Vec<String> = (at + 1..(at + 3).min(TASKS)).map(|at| format!("m{at}")).collect();
        member(&format!("m{at}"), &on.iter().map(|key| &**key).collect::<Vec<_>>())
    };
    desk.add_all((0..TASKS).map(task).collect());
    assert_eq!(desk.state().edge_count(), 2 * TASKS - 3);
    assert_eq!(desk.ready(), [id(TASKS)]);
    // Paths of all lengths connect the two ends.
    let round = path(desk.refused(depend(id(TASKS), id(1))));
    assert_eq!((&*round[0], &*round[1], round.last().unwrap().as_str()), ("T-50000", "T-1", "T-50000"));
    // No path leads from a task without dependencies, from either end.
    let lone = desk.add(NewTask::new("lone"));
    desk.tell(depend(id(1), lone));
    for task in (TASKS - 200..=TASKS).rev() {
        desk.complete(id(task));
    }
    assert_eq!(desk.state().count(TaskStatus::Completed), 201);
    desk.fail(id(TASKS - 201));
    assert_eq!(desk.state().count(TaskStatus::Cancelled), TASKS - 202);
    let BoardReply::Tasks(back) = desk.tell(BoardCommand::RetryFailed) else { panic!("expected the retried tasks") };
    assert_eq!(back.len() as u64, TASKS - 201);
}

#[test]
fn a_task_with_a_hundred_thousand_dependents_and_one_with_as_many_upstreams() {
    const WIDE: u64 = 99_998;
    let mut desk = Desk::new();
    desk.limits = Limits { command_bytes: 64 << 20, ..Limits::default() };
    let names: Vec<String> = (0..WIDE).map(|at| format!("m{at}")).collect();
    let all: Vec<&str> = names.iter().map(|name| &**name).collect();
    // The join comes first, and all its dependencies come later.
    let mut tasks = vec![member("join", &all), member("root", &[])];
    tasks.extend(all.iter().map(|name| member(name, &["root"])));
    desk.add_all(tasks);
    assert_eq!(desk.state().edge_count(), 2 * WIDE);
    desk.complete(id(2));
    assert_eq!(desk.state().ready().len() as u64, WIDE);
    desk.fail(id(3));
    assert_eq!(desk.status(id(1)), TaskStatus::Cancelled);
    let refusal = desk.ask(&Actor::local(), add_tasks(vec![NewTask::new("a"), NewTask::new("b")])).unwrap_err();
    let (limit, used) = (LimitName::TasksPerBoard, WIDE + 4);
    assert_eq!(refusal, Refusal::Limit { limit, used, allowed: 100_000 });
}
