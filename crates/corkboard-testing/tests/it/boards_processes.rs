//! One board, many processes: each task is claimed by one of them, and killed or stopped processes do no harm.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use corkboard::boards::{
    BoardEvent, BoardOutcome, NewBoard, NewTask, ReviewVerdict, TaskResult, TaskStatus, Unfinished,
};
use corkboard::{Board, Corkboard, Watched};
use corkboard_testing::{Harness, Worker};

const WORKER: &str = env!("CARGO_BIN_EXE_board-worker");
const FOREVER: Duration = Duration::from_secs(150);

macro_rules! on_every_shared_store {
    ($($case:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&super::Harness::sqlite(super::WORKER)).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&super::Harness::postgres(super::WORKER)).await;
            })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&super::Harness::redis(super::WORKER)).await;
            })*
        }
    };
}

on_every_shared_store!(
    a_claim_race_of_eight_processes_has_one_winner_per_task
    a_worker_process_that_was_stopped_is_fenced
    workers_and_orchestrator_killed_at_random_lose_and_repeat_nothing
    a_claim_waits_for_a_task_that_another_process_makes_ready
    a_board_watched_from_another_process_has_no_gap
);

/// Whether `make soak` runs this.
fn is_soak() -> bool {
    std::env::var_os("CORK_SOAK_ROUNDS").is_some()
}

async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(FOREVER, work).await.unwrap_or_else(|_| panic!("{what} did not finish in time"))
}

async fn new_board(harness: &Harness, tasks: usize) -> (Corkboard, Board) {
    let corkboard = harness.corkboard().await;
    let new = NewBoard { name: "shared".into(), goal: "to be done once".into(), ..NewBoard::default() };
    let board = corkboard.create_board(new).id("shared").await.unwrap();
    let tasks: Vec<_> = (0..tasks).map(|index| NewTask::new(format!("task {index}"))).collect();
    if !tasks.is_empty() {
        board.add_tasks(tasks, vec![]).await.unwrap();
    }
    (corkboard, board)
}

fn spawn(harness: &Harness, name: &str, lease: Duration, work: &[&str]) -> Worker {
    let lease = lease.as_millis().to_string();
    harness.spawn(&[&["shared", name, &lease], work].concat())
}

/// All events of the log, each with its revision and author.
async fn log(board: &Board) -> Vec<(u64, String, BoardEvent)> {
    let head = board.view().await.unwrap().rev();
    let mut watch = board.watch(0).await.unwrap();
    let mut events = Vec::new();
    while watch.rev() < head {
        if let Watched::Revision { rev, commit, .. } = watch.next().await.unwrap() {
            let by = commit.actor.principal;
            events.extend(commit.events.into_iter().map(|event| (rev, by.clone(), event)));
        }
    }
    events
}

/// The number of completions of each task in the log.
fn completions(log: &[(u64, String, BoardEvent)]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for (_, _, event) in log {
        if let BoardEvent::TaskCompleted { task, .. }
        | BoardEvent::TaskReviewed { task, verdict: ReviewVerdict::Approved, .. } = event
        {
            *counts.entry(task.to_string()).or_default() += 1;
        }
    }
    counts
}

/// The second words of the lines that start with `word`.
fn said<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for line in lines {
        let words: Vec<_> = line.split(' ').collect();
        if words[0] == word {
            found.push(words[1]);
        }
    }
    found
}

/// Eight processes claim the tasks of one board. Each task is claimed once and completed once, and nobody is fenced.
async fn a_claim_race_of_eight_processes_has_one_winner_per_task(harness: &Harness) {
    let count = if is_soak() { 256 } else { 32 };
    let (_corkboard, board) = new_board(harness, count).await;
    let names: Vec<String> = (0..8).map(|index| format!("worker-{index}")).collect();
    let lease = Duration::from_secs(60);
    let workers: Vec<_> = names.iter().map(|name| spawn(harness, name, lease, &["work"])).collect();
    let mut watch = board.watch(0).await.unwrap();
    in_time("the race", async {
        while board.view().await.unwrap().state().count(TaskStatus::Completed) < count as u64 {
            watch.next().await.unwrap();
        }
    })
    .await;
    assert_eq!(board.complete(None, Unfinished::Refuse).await.unwrap(), BoardOutcome::Success);
    let mut lines = Vec::new();
    for worker in workers {
        lines.extend(in_time("a worker's end", worker.finish()).await);
    }
    let (claimed, completed) = (said(&lines, "claimed"), said(&lines, "completed"));
    assert_eq!((claimed.len(), completed.len()), (count, count), "{lines:?}");
    assert_eq!(claimed.iter().collect::<BTreeSet<_>>().len(), count, "no task should be claimed twice");
    assert_eq!(said(&lines, "fenced"), [""; 0]);
    let log = log(&board).await;
    let starts = log.iter().filter(|(_, _, event)| matches!(event, BoardEvent::TaskStarted { .. })).count();
    let losses = log.iter().filter(|(_, _, event)| matches!(event, BoardEvent::LeaseExpired { .. })).count();
    assert_eq!((starts, losses), (count, 0));
    let completions = completions(&log);
    assert!(completions.len() == count && completions.values().all(|times| *times == 1), "{completions:?}");
    assert_eq!(board.view().await.unwrap().state().discoveries().count(), count);
}

/// A worker is stopped past its lease, and another one claims its task. When the first continues, it can no longer
/// write.
async fn a_worker_process_that_was_stopped_is_fenced(harness: &Harness) {
    let (_corkboard, board) = new_board(harness, 1).await;
    let lease = Duration::from_secs(3);
    let mut zombie = spawn(harness, "zombie", lease, &["hold"]);
    assert_eq!(in_time("a claim", zombie.line()).await.as_deref(), Some("claimed T-1 1"));
    assert_eq!(in_time("a record", zombie.line()).await.as_deref(), Some("recorded F-1"));
    zombie.signal("STOP");
    let rival = spawn(harness, "rival", Duration::from_secs(60), &["work"]);
    let mut watch = board.watch(board.view().await.unwrap().rev()).await.unwrap();
    let taken_at = in_time("the takeover", async {
        loop {
            if let Watched::Revision { rev, commit, .. } = watch.next().await.unwrap()
                && commit.events.iter().any(|event| matches!(event, BoardEvent::TaskStarted { .. }))
            {
                return rev;
            }
        }
    })
    .await;
    zombie.tell("go on").await;
    zombie.signal("CONT");
    let lines = in_time("the stopped worker's end", zombie.finish()).await;
    assert_eq!(lines, ["refused fenced", "lost", "refused fenced"]);
    in_time("the rival's task", async {
        while board.view().await.unwrap().state().count(TaskStatus::Completed) < 1 {
            watch.next().await.unwrap();
        }
    })
    .await;
    board.complete(None, Unfinished::Refuse).await.unwrap();
    let lines = in_time("the rival's end", rival.finish()).await;
    assert_eq!((said(&lines, "claimed"), said(&lines, "completed")), (vec!["T-1"], vec!["T-1"]));
    let log = log(&board).await;
    let late: Vec<_> = log.iter().filter(|(rev, by, _)| *rev >= taken_at && by == "zombie").collect();
    assert!(late.is_empty(), "{late:?}");
    assert!(log.iter().any(|(_, _, event)| matches!(event, BoardEvent::LeaseExpired { .. })));
}

/// Workers and orchestrators are killed repeatedly while they work on a graph. All acknowledged changes are kept, and
/// every task is completed once.
async fn workers_and_orchestrator_killed_at_random_lose_and_repeat_nothing(harness: &Harness) {
    let mut dice = corkboard_testing::dice();
    let (batches, size, kills) = if is_soak() { (24_u64, 8_u64, 60) } else { (6, 6, 10) };
    let (_corkboard, board) = new_board(harness, 0).await;
    // The board does not end before the kills do, even if the work is fast.
    let last = board.add_task(NewTask::new("all were killed")).await.unwrap();
    board.assign_task(last, &board.actor().principal).await.unwrap();
    let lease = Duration::from_secs(1);
    let start = |index: usize| match index {
        // Always with the same name, so that the next one continues where the last one was killed.
        0 => spawn(harness, "chief", lease, &["lead", &batches.to_string(), &size.to_string()]),
        _ => spawn(harness, &format!("worker-{index}"), lease, &["work"]),
    };
    let mut workers: Vec<Worker> = (0..5).map(start).collect();
    let mut lines = Vec::new();
    for _ in 0..kills {
        let index = dice.usize(0..workers.len());
        let mut victim = std::mem::replace(&mut workers[index], start(index));
        // At a random point of its work, unless it has none.
        for _ in 0..dice.usize(0..8) {
            match tokio::time::timeout(Duration::from_millis(200), victim.line()).await {
                Ok(Some(line)) => lines.push(line),
                Ok(None) | Err(_) => break,
            }
        }
        tokio::time::sleep(Duration::from_micros(dice.u64(0..3000))).await;
        lines.extend(victim.kill().await);
    }
    let claimed = board.claim_task(Some(last), Duration::from_secs(60)).await.unwrap().unwrap();
    let result = TaskResult { summary: format!("{kills} kills"), next_steps: vec![], trust: None };
    board.complete_task(last, result, Some(claimed.epoch)).await.unwrap();
    for worker in workers {
        lines.extend(in_time("a worker's end", worker.finish()).await);
    }
    // The pipe of a killed process may end with half a line.
    let whole = |line: &&String| line.split(' ').count() >= 2 || line.as_str() == "ended";
    let lines: Vec<String> = lines.iter().filter(whole).cloned().collect();
    let view = board.view().await.unwrap();
    assert_eq!(view.info().unwrap().outcome, Some(BoardOutcome::Success));
    assert_eq!(view.state().task_count() as u64, batches * size + 1, "no batch should be added twice");
    let completions = completions(&log(&board).await);
    assert_eq!(completions.len() as u64, batches * size + 1);
    assert!(completions.values().all(|times| *times == 1), "{completions:?}");
    let kept: BTreeSet<String> = view.state().discoveries().map(|found| found.id.to_string()).collect();
    let acknowledged = said(&lines, "recorded");
    let lost: Vec<_> = acknowledged.iter().filter(|id| !kept.contains(**id)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(acknowledged.len() as u64 >= batches * size / 2, "only {} were acknowledged", acknowledged.len());
    assert!(board.view().await.unwrap().state().orchestrator().is_none());
    println!("{kills} kills, {} records, revision {}", kept.len(), view.rev());
}

/// A waiting claim is woken when another process completes a task, and when a killed process's lease expires.
async fn a_claim_waits_for_a_task_that_another_process_makes_ready(harness: &Harness) {
    let (_corkboard, board) = new_board(harness, 0).await;
    let first = NewTask { key: Some("first".into()), ..NewTask::new("first") };
    let second = NewTask { depends_on: vec!["first".into()], ..NewTask::new("second") };
    board.add_tasks(vec![first, second], vec![]).await.unwrap();
    let mut holder = spawn(harness, "holder", Duration::from_secs(2), &["hold"]);
    assert_eq!(in_time("a claim", holder.line()).await.as_deref(), Some("claimed T-1 1"));
    let waiting = board.claim_task(None, Duration::from_secs(60)).wait(FOREVER);
    let waiting = tokio::spawn(waiting.into_future());
    holder.kill().await;
    let claimed = in_time("the dead worker's task", waiting).await.unwrap().unwrap().unwrap();
    assert_eq!((claimed.task.to_string().as_str(), claimed.epoch, claimed.attempt), ("T-1", 2, 2));
    board.release_task(claimed.task, Some(2)).await.unwrap();
    let worker = spawn(harness, "worker", Duration::from_secs(60), &["work"]);
    let second = board.claim_task(Some("T-2".parse().unwrap()), Duration::from_secs(60)).wait(FOREVER);
    match in_time("the second task", second.into_future()).await {
        Ok(Some(claimed)) => {
            assert_eq!(claimed.task.to_string(), "T-2");
            board.release_task(claimed.task, Some(claimed.epoch)).await.unwrap();
        }
        // The worker claimed and completed it first.
        Err(error) => assert_eq!(error.code(), "task_move"),
        Ok(None) => panic!("the claim should wait for a task"),
    }
    let mut watch = board.watch(0).await.unwrap();
    in_time("both tasks", async {
        while board.view().await.unwrap().state().count(TaskStatus::Completed) < 2 {
            watch.next().await.unwrap();
        }
    })
    .await;
    board.complete(None, Unfinished::Refuse).await.unwrap();
    in_time("the worker's end", worker.finish()).await;
}

/// A watcher in another process sees every revision of the board once, in order, whole.
async fn a_board_watched_from_another_process_has_no_gap(harness: &Harness) {
    let (_corkboard, board) = new_board(harness, 12).await;
    let mut watcher = spawn(harness, "watcher", Duration::from_secs(60), &["watch", "0", "38"]);
    assert_eq!(in_time("the watcher", watcher.line()).await.as_deref(), Some("watching"));
    let workers: Vec<_> =
        ["a", "b", "c"].iter().map(|name| spawn(harness, name, Duration::from_secs(60), &["work"])).collect();
    // The board, its tasks, and for each of the twelve tasks: claimed, discovery, completed.
    let seen = in_time("the watcher's end", watcher.finish()).await;
    let expected = board.at(38).await.unwrap();
    assert_eq!(expected.state().count(TaskStatus::Completed), 12);
    let revisions = seen.iter().map(|line| line.split_once(' ').unwrap().0.parse::<u64>().unwrap());
    assert!(revisions.eq(1..=38), "{seen:?}");
    assert_eq!(seen[1], "2 12", "a batch should be one revision");
    board.complete(None, Unfinished::Refuse).await.unwrap();
    for worker in workers {
        in_time("a worker's end", worker.finish()).await;
    }
}
