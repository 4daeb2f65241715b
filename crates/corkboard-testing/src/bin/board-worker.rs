//! `board-worker URL BOARD NAME LEASE_MS WORK …`: another process on the same board, for tests with several processes.
//!
//! - `work`: claims one task after the other, records a discovery on each and completes it, until the board has ended
//! - `hold`: claims a task, waits for a line on its standard input, and continues as if nothing had happened
//! - `lead BATCHES SIZE`: is the orchestrator: adds batches of tasks, approves submitted ones, and completes the board
//! - `watch FROM COUNT`: prints COUNT revisions
//!
//! It prints one line for each acknowledged command.

#![allow(clippy::print_stdout, reason = "tests read its output")]

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use corkboard::boards::{NewDiscovery, NewTask, ReviewVerdict, TaskResult, TaskStatus, Unfinished};
use corkboard::{
    Actor, ActorKind, Board, Claim, Corkboard, Error, Options, Orchestrator, Refusal, Result, Role, Watched,
};

/// Longer than any test takes.
const WAIT: Duration = Duration::from_secs(600);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match start(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn start(arguments: &[&str]) -> Result<()> {
    let [url, board, name, lease, work @ ..] = arguments else {
        tell("usage: board-worker URL BOARD NAME LEASE_MS work|hold|lead|watch …");
        return Ok(());
    };
    let role = if matches!(work, ["lead", ..]) { Role::Orchestrator } else { Role::Worker };
    let actor = Actor::new(*name, ActorKind::Agent, role);
    let options = Options { actor, tick_interval: Duration::from_millis(100), ..Options::default() };
    let corkboard = Corkboard::open_with(url, options).await?;
    let board = corkboard.board(board)?;
    let lease = Duration::from_millis(number(lease));
    let done = match *work {
        ["work"] => take_tasks(&board, lease).await,
        ["hold"] => hold(&board, lease).await,
        ["lead", batches, size] => lead(&board, lease, number(batches), number(size)).await,
        ["watch", from, count] => watch(&board, number(from), number(count)).await,
        _ => {
            tell("unknown work");
            Ok(())
        }
    };
    done?;
    corkboard.close().await
}

async fn take_tasks(board: &Board, lease: Duration) -> Result<()> {
    loop {
        let claim = match board.work_on(None, lease).wait(WAIT).await {
            Ok(Some(claim)) => claim,
            Ok(None) => continue,
            Err(Error::Refused(Refusal::BoardEnded { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        tell(&format!("claimed {} {}", claim.task(), claim.epoch()));
        match work_on(&claim).await {
            // The lease expired before the task was done, so another worker does it.
            Err(error) if error.code() == "fenced" => tell(&format!("fenced {} {}", claim.task(), claim.epoch())),
            other => other?,
        }
    }
}

async fn work_on(claim: &Claim) -> Result<()> {
    let found = claim.record_discovery(discovery(claim, 0)).await?;
    tell(&format!("recorded {found}"));
    let result =
        TaskResult { summary: format!("done by {}", claim.board().actor().principal), next_steps: vec![], trust: None };
    let status = claim.complete(result).await?;
    tell(&format!(
        "{} {} {}",
        if status == TaskStatus::Review { "submitted" } else { "completed" },
        claim.task(),
        claim.epoch()
    ));
    Ok(())
}

fn discovery(claim: &Claim, index: u64) -> NewDiscovery {
    let content = format!("{} {} {index} by {}", claim.task(), claim.epoch(), claim.board().actor().principal);
    NewDiscovery { content, affects_tasks: vec![claim.task()], ..NewDiscovery::default() }
}

async fn hold(board: &Board, lease: Duration) -> Result<()> {
    let Some(claim) = board.work_on(None, lease).wait(WAIT).await? else { return Ok(()) };
    tell(&format!("claimed {} {}", claim.task(), claim.epoch()));
    let found = claim.record_discovery(discovery(&claim, 0)).await?;
    tell(&format!("recorded {found}"));
    // Idle, so that a test that stops this process does not stop it in a write, which would keep SQLite's lock.
    let told = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    if told.await.is_err() {
        return Ok(());
    }
    let late = claim.record_discovery(discovery(&claim, 1)).await;
    tell(&format!("refused {}", late.err().map_or("nothing", |error| error.code())));
    claim.lost().await;
    tell("lost");
    let late = claim.complete(TaskResult { summary: "too late".into(), next_steps: vec![], trust: None }).await;
    tell(&format!("refused {}", late.err().map_or("nothing", |error| error.code())));
    Ok(())
}

/// Continues where another orchestrator with the same name was killed. Repeated requests have the same idempotency key.
async fn lead(board: &Board, lease: Duration, batches: u64, size: u64) -> Result<()> {
    loop {
        let orchestrator = match board.orchestrate(lease).wait(WAIT).await {
            Ok(orchestrator) => orchestrator,
            Err(Error::Refused(Refusal::BoardEnded { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        tell(&format!("leads {}", orchestrator.epoch()));
        match steer(&orchestrator, batches, size).await {
            Err(error) if error.code() == "fenced" => tell(&format!("fenced orchestrator {}", orchestrator.epoch())),
            Err(error) if error.code() == "board_ended" => return Ok(()),
            other => return other,
        }
    }
}

async fn steer(orchestrator: &Orchestrator, batches: u64, size: u64) -> Result<()> {
    let board = orchestrator.board();
    let mut before = Vec::new();
    for batch in 0..batches {
        let task = |index| NewTask {
            depends_on: before.iter().copied().map(Into::into).collect(),
            needs_review: index % 3 == 0,
            ..NewTask::new(format!("{batch}.{index}"))
        };
        let tasks = (0..size).map(task).collect();
        before = board.idempotency_key(format!("batch {batch}")).add_tasks(tasks, vec![]).await?.0;
        tell(&format!("added {batch}"));
    }
    // From here on, every revision can bring a task to review, or the end.
    let mut watch = board.watch(board.view().await?.rev()).await?;
    loop {
        let view = board.view().await?;
        for task in view.needs_review() {
            match board.review_task(task.id, ReviewVerdict::Approved, None).await {
                // The previous process approved it, and its answer was lost.
                Ok(_) | Err(Error::Refused(Refusal::TaskMove { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        if view.state().unfinished() == 0 {
            board.complete(None, Unfinished::Refuse).await?;
            tell("ended");
            return Ok(());
        }
        watch.next().await?;
    }
}

async fn watch(board: &Board, from: u64, count: u64) -> Result<()> {
    let mut watch = board.watch(from).await?;
    tell("watching");
    let mut seen = 0;
    while seen < count {
        if let Watched::Revision { rev, commit, .. } = watch.next().await? {
            tell(&format!("{rev} {}", commit.events.len()));
            seen += 1;
        }
    }
    Ok(())
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// Prints one line at once, because the reader waits for it.
fn tell(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}
