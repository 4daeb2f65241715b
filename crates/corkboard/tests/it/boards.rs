//! Boards as a user sees them: an orchestrator, its workers, and what they leave behind.

mod answers;
mod artifacts;
mod claims;
mod creation;
mod document;
mod drawing;
mod granted;
mod history;
mod holding;
mod keeping;
mod learnings;
mod lifetime;
mod people;
mod together;

use std::time::Duration;

use corkboard::boards::{BoardOutcome, NewBoard, NewTask, TaskResult, TaskStatus, Unfinished};
use corkboard::{Actor, ActorKind, Board, Corkboard, Role};

const LEASE: Duration = Duration::from_secs(30);

fn worker(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Worker)
}

fn new_board(name: &str) -> NewBoard {
    NewBoard { name: name.into(), goal: "to be done".into(), ..NewBoard::default() }
}

fn done() -> TaskResult {
    TaskResult { summary: "done".into(), next_steps: vec![], trust: None }
}

/// A board whose tasks each wait for the previous one.
async fn chain(corkboard: &Corkboard, tasks: usize) -> Board {
    let board = corkboard.create_board(new_board("chain")).await.unwrap();
    let task = |index: usize| NewTask {
        key: Some(format!("task {index}")),
        depends_on: (0..index).next_back().map(|before| format!("task {before}").as_str().into()).into_iter().collect(),
        ..NewTask::new(format!("task {index}"))
    };
    board.add_tasks((0..tasks).map(task).collect(), vec![]).await.unwrap();
    board
}

#[tokio::test]
async fn a_task_is_claimed_once_and_its_dependents_become_ready() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let new = NewBoard { name: "Implement auth system".into(), goal: "Add JWT".into(), ..NewBoard::default() };
    let board = corkboard.create_board(new).await.unwrap();
    let design = NewTask { key: Some("design".into()), ..NewTask::new("Design token schema") };
    let build = NewTask { depends_on: vec!["design".into()], ..NewTask::new("Build the service") };
    let (tasks, _) = board.add_tasks(vec![design, build], vec![]).await.unwrap();
    let [first, second] = tasks[..] else { panic!("{tasks:?}") };

    let ann = board.acting_as(worker("ann"));
    let claimed = ann.claim_task(None, LEASE).await.unwrap().unwrap();
    assert_eq!((claimed.task, claimed.epoch, claimed.attempt), (first, 1, 1));
    let bob = board.acting_as(worker("bob"));
    assert_eq!(bob.claim_task(None, LEASE).await.unwrap(), None);
    let refused = bob.claim_task(Some(first), LEASE).await.unwrap_err();
    assert_eq!(refused.code(), "task_held");
    assert!(refused.to_string().starts_with("T-1 is held by ann until "), "{refused}");
    let refused = bob.claim_task(Some(second), LEASE).await.unwrap_err();
    assert_eq!(refused.to_string(), "T-2 waits for T-1");

    let result = TaskResult { summary: "RS256".into(), next_steps: vec![], trust: None };
    assert_eq!(ann.complete_task(first, result.clone(), Some(1)).await.unwrap(), TaskStatus::Completed);
    assert_eq!(board.view().await.unwrap().ready().map(|task| task.id).collect::<Vec<_>>(), [second]);
    let refused = board.complete(None, Unfinished::Refuse).await.unwrap_err();
    assert_eq!(refused.to_string(), "1 task is not finished");
    bob.claim_task(None, LEASE).await.unwrap().unwrap();
    bob.complete_task(second, result, None).await.unwrap();
    assert_eq!(board.complete(None, Unfinished::Refuse).await.unwrap(), BoardOutcome::Success);
    let refused = board.add_task(NewTask::new("more")).await.unwrap_err();
    assert_eq!(refused.code(), "board_ended");
}
