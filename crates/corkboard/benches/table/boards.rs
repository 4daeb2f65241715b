//! Boards: workers claim and complete tasks; the cost of a larger board.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use corkboard::boards::{NewBoard, NewDecision, NewDiscovery, NewTask, TaskId, TaskResult};
use corkboard::{Actor, ActorKind, Board, Corkboard, Role};

use crate::cpu::instructions_of;
use crate::{Row, median, runtime};

/// Average log size of the revisions of one claim and one completion, in bytes.
const BODY: usize = 217;
const WORKERS: usize = 64;
const ROUNDS: usize = 9;
const PER_WORKER: usize = 50;
const LEASE: Duration = Duration::from_secs(30);
/// Ready tasks on a board where all other tasks wait for one of them.
const READY: usize = 10;

/// Rows that depend on the disk.
pub(crate) fn durable_rows() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    vec![runtime().block_on(workers(folder.path()))]
}

/// Rows counted in instructions.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let sizes = ["10", "1000", "100000"].map(|size| instructions_of(&format!("board ready {size}"), 200, 1200));
    let listed = sizes.map(|count| count.to_string()).join(" / ");
    let what = "`view` and `ready` of 10 tasks, on boards of 10 / 1,000 / 100,000";
    rows.push(Row::new(what, "–", format!("{listed} instructions"), "flat"));
    let sizes = ["1000", "10000", "100000"].map(|size| instructions_of(&format!("board claim {size}"), 100, 900));
    let listed = sizes.map(|count| count.to_string()).join(" / ");
    let what = "claim + complete on `memory:`, boards of 1,000 / 10,000 / 100,000 tasks";
    rows.push(Row::new(what, "–", format!("{listed} instructions"), "report"));
    for (order, name) in [("an older task", "back"), ("a newer task", "forward")] {
        let count = instructions_of(&format!("board depend {name}"), 100, 900);
        let what = format!("a dependency on {order}, board of 10,000 tasks");
        rows.push(Row::new(what, "–", format!("{count} instructions"), "report"));
    }
    rows
}

/// The cost of finding a board's learnings, compared with visiting each record once and copying its text.
pub(crate) fn learning_rows() -> Vec<Row> {
    let extract = instructions_of("board learnings extract", 2, 12);
    let limit = instructions_of("board learnings scan", 2, 12);
    let ratio = extract as f64 / limit as f64;
    let result = format!("{ratio:.2}× ({extract} : {limit} instructions)");
    let what = "learnings of a board of 10,000 records, 4,000 of them tasks";
    vec![Row::new(what, "one pass over the records that copies their texts", result, "report")]
}

async fn new_board(corkboard: &Corkboard, tasks: usize) -> Board {
    let board = NewBoard { name: "bench".into(), goal: "measure".into(), ..NewBoard::default() };
    let board = corkboard.create_board(board).await.unwrap();
    add(&board, tasks, |_| Vec::new()).await;
    board
}

async fn add(board: &Board, tasks: usize, depends_on: impl Fn(usize) -> Vec<TaskId>) {
    for from in (0..tasks).step_by(5000) {
        let some = (from..tasks.min(from + 5000)).map(|index| NewTask {
            depends_on: depends_on(index).into_iter().map(Into::into).collect(),
            ..NewTask::new(format!("Task number {index} of the benchmark"))
        });
        board.add_tasks(some.collect(), vec![]).await.unwrap();
    }
}

fn worker(index: usize) -> Actor {
    Actor::new(format!("worker-{index}"), ActorKind::Agent, Role::Worker)
}

async fn claim_and_complete(board: &Board) {
    let claimed = board.claim_task(None, LEASE).await.unwrap().unwrap();
    let result = TaskResult { summary: "Done as the description says".into(), next_steps: vec![], trust: None };
    board.complete_task(claimed.task, result, Some(claimed.epoch)).await.unwrap();
}

async fn workers(folder: &Path) -> Row {
    let corkboard = Corkboard::open(&format!("sqlite:{}/boards.db", folder.display())).await.unwrap();
    let mut raw = crate::durable::raw(&folder.join("raw-boards.db"));
    let pairs = (WORKERS * PER_WORKER) as f64;
    let (mut ours, mut raws) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let board = new_board(&corkboard, WORKERS * PER_WORKER).await;
        ours.push(pairs / by_workers(&board, PER_WORKER).await.as_secs_f64());
        // A claim and a completion are two rows.
        let first = crate::durable::raw_batches(&mut raw, BODY, 2 * PER_WORKER);
        raws.push(pairs / first.as_secs_f64());
    }
    let ratio = median(ours.iter().zip(&raws).map(|(ours, raw)| ours / raw).collect());
    let result = format!("{ratio:.2}× ({:.0}/s : {:.0}/s)", median(ours), median(raws));
    let what = "claim + complete, 64 workers on one board, SQLite";
    Row::new(what, "raw SQLite, one writer, the same commits in batches of 64", result, "≥ 0.5×")
}

async fn by_workers(board: &Board, times: usize) -> Duration {
    let started = Instant::now();
    let tasks = (0..WORKERS).map(|index| {
        let board = board.acting_as(worker(index));
        tokio::spawn(async move {
            for _ in 0..times {
                claim_and_complete(&board).await;
            }
        })
    });
    for task in futures_util::future::join_all(tasks).await {
        task.unwrap();
    }
    started.elapsed()
}

/// Runs a workload for callgrind.
pub(crate) async fn work(name: &str, times: usize) -> bool {
    let Some(name) = name.strip_prefix("board ") else { return false };
    if name == "workers" {
        let folder = tempfile::tempdir().unwrap();
        let corkboard = Corkboard::open(&format!("sqlite:{}/boards.db", folder.path().display())).await.unwrap();
        by_workers(&new_board(&corkboard, WORKERS * PER_WORKER).await, times).await;
        return true;
    }
    if let Some(name) = name.strip_prefix("learnings ") {
        learnings(name, times).await;
        return true;
    }
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let board = match name.split_once(' ').unwrap() {
        ("ready" | "claim", size) => {
            let size: usize = size.parse().unwrap();
            let ready = if name.starts_with("claim") { size } else { READY };
            let board = new_board(&corkboard, ready).await;
            // Each of the others waits for one of the ready tasks.
            add(&board, size - ready, |index| vec![TaskId((index % READY + 1) as u64)]).await;
            board
        }
        _ => {
            // Each waits for an earlier task, and all wait for the first, directly or not.
            let board = new_board(&corkboard, 1).await;
            add(&board, 9_999, |index| vec![TaskId(index.saturating_sub(4_999).max(1) as u64)]).await;
            board
        }
    };
    match name {
        "depend back" => {
            for index in 0..times {
                board.add_dependency(TaskId(9_000 - index as u64), TaskId(3)).await.unwrap();
            }
        }
        "depend forward" => {
            for index in 0..times {
                // A task that T-9990 does not wait for.
                let task = TaskId(2 + 10 * index as u64);
                board.add_dependency(task, TaskId(9_990)).await.unwrap();
            }
        }
        _ if name.starts_with("ready") => {
            for _ in 0..times {
                let view = board.view().await.unwrap();
                black_box(view.ready().map(|task| task.id).collect::<Vec<_>>());
            }
        }
        _ => {
            let board = board.acting_as(worker(0));
            for _ in 0..times {
                claim_and_complete(&board).await;
            }
        }
    }
    true
}

/// A board of 10,000 records: decisions with reasons, insights, and chains of tasks, many of which look alike.
async fn taught() -> Board {
    const CHAINS: usize = 1000;
    const WORDS: [&str; 4] = ["Design", "Implement", "Test", "Ship"];
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let board = corkboard.create_board(NewBoard { name: "bench".into(), ..NewBoard::default() }).await.unwrap();
    let tasks = (0..CHAINS).flat_map(|chain| {
        WORDS.iter().enumerate().map(move |(at, word)| NewTask {
            key: Some(format!("{chain}/{at}")),
            depends_on: at
                .checked_sub(1)
                .map(|before| format!("{chain}/{before}").as_str().into())
                .into_iter()
                .collect(),
            estimate_minutes: Some(30),
            // The second word differs between chains, so that not all chains look alike.
            ..NewTask::new(if at == 1 { format!("{word}{} part", chain % 50) } else { format!("{word} part {chain}") })
        })
    });
    board.add_tasks(tasks.collect(), vec![]).await.unwrap();
    let worker = board.acting_as(worker(0));
    for _ in 0..CHAINS * WORDS.len() {
        claim_and_complete(&worker).await;
    }
    for index in 0..3000 {
        let decision = NewDecision {
            question: format!("How is part {index} to be stored?"),
            choice: "In rows of a separate table".into(),
            alternatives: vec!["In one column".into()],
            rationale: "Rows can be read one by one, and a column cannot".into(),
            affects_tasks: vec![TaskId(index % 4000 + 1)],
            ..NewDecision::default()
        };
        worker.record_decision(decision).await.unwrap();
        let content = format!("Part {index} is read a hundred times for every time that it is written");
        worker.record_discovery(NewDiscovery { content, ..NewDiscovery::default() }).await.unwrap();
    }
    board
}

async fn learnings(name: &str, times: usize) {
    let view = taught().await.view().await.unwrap();
    let state = view.state();
    for _ in 0..times {
        match name {
            "extract" => drop(black_box(state.learning_candidates())),
            _ => {
                let tasks = state.tasks().map(|task| task.title.to_string());
                let decisions = state.decisions().map(|decision| {
                    [&decision.question, &decision.choice, &decision.rationale].map(String::as_str).join(" ")
                });
                let discoveries = state.discoveries().map(|discovery| discovery.content.clone());
                drop(black_box(tasks.chain(decisions).chain(discoveries).collect::<Vec<_>>()));
            }
        }
    }
}
