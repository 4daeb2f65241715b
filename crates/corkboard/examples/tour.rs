//! A tour: an agent's memory, a board with its workers, and what the next board learns from it. `make tour` runs it.
//! Read it from top to bottom beside its output.

#![allow(clippy::print_stdout, reason = "it prints its results")]

use std::time::Instant;

use corkboard::boards::{NewBoard, NewDecision, NewNudge, NewTask, NudgePriority, NudgeTarget, TaskResult, Unfinished};
use corkboard::cores::NewCoreEntry;
use corkboard::tools::{ToolContext, ToolRegistry};
use corkboard::{
    Actor, ActorKind, ContextRequest, Corkboard, EntryMetadata, Error, MemoryKind, Refusal, Result, Role, TaskPattern,
    Watched,
};
use serde_json::json;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Plan {
    goal: String,
    steps: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    // Everything is in one SQLite file. A second process can open it at the same time; try `cork --store …` on it.
    let folder = std::env::temp_dir().join(format!("corkboard-tour-{}", std::process::id()));
    let url = format!("sqlite:{}", folder.join("corkboard.db").display());
    let corkboard = Corkboard::open(&url).await?;
    println!("opened {url}\n");

    // Each agent has a private memory. A value can be of any type that serializes. It is durable when the call returns.
    let ada = corkboard.agent("ada")?;
    let memory = ada.working();
    let started = Instant::now();
    memory.set("user_name", "Grace").await?;
    println!("set user_name in {:?}, fsync included", started.elapsed());
    let plan = Plan { goal: "add login".into(), steps: vec!["schema".into(), "routes".into()] };
    let important = EntryMetadata { importance: Some(0.9), kind: Some(MemoryKind::Insight), ..Default::default() };
    memory.set("plan", &plan).metadata(important).await?;
    memory.add_note("Grace prefers short answers").await?;
    println!("plan is {:?}", memory.get::<Plan>("plan").await?);

    // Scopes: reads fall back to the parent, writes stay local until they are merged.
    let task = memory.create_scope("task-1").await?;
    task.set("user_name", "Grace Hopper").await?;
    task.set("branch", "feature/login").await?;
    println!("\nin the scope:  user_name = {:?}", task.get::<String>("user_name").await?);
    println!("in the root:   user_name = {:?}", memory.get::<String>("user_name").await?);
    println!("entries merged into the root without overwriting: {}", task.merge_to_parent(false).await?);
    task.dispose().await?;

    // Optimistic locking: a write based on an old version is refused, and the refusal contains the current value.
    let read = memory.get_entry("user_name").await?.map_or(0, |entry| entry.version);
    memory.set("user_name", "Rear Admiral Hopper").await?;
    match memory.set("user_name", "G.").if_version(read).await {
        Err(Error::Refused(refusal @ Refusal::Conflict { .. })) => println!("\na stale write was refused: {refusal}"),
        other => println!("\nunexpected: {other:?}"),
    }

    // A hundred tasks increment a counter at once. The update is atomic, so no increment is lost.
    let started = Instant::now();
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let memory = memory.clone();
            tokio::spawn(async move { memory.update("visits", |visits: Option<u32>| visits.unwrap_or(0) + 1).await })
        })
        .collect();
    for task in tasks {
        if let Ok(counted) = task.await {
            counted?;
        }
    }
    println!(
        "100 concurrent increments: visits = {:?}, in {:?}",
        memory.get::<u32>("visits").await?,
        started.elapsed()
    );

    // The memory is a log. A watcher reads it from any revision, then waits for new ones.
    let rev = ada.rev().await?;
    let mut watch = ada.watch(rev - 2).await?;
    for _ in 0..2 {
        if let Watched::Revision { rev, commit, .. } = watch.next().await? {
            println!("revision {rev} by {}: {} event(s)", commit.actor.principal, commit.events.len());
        }
    }

    // Restoring a snapshot brings everything back.
    let snapshot = ada.snapshot().await?;
    ada.clear(Default::default()).await?;
    println!("\ncleared; entries left: {}", memory.len().await?);
    ada.restore(snapshot).await?;
    println!("restored; keys: {:?}", memory.keys().await?);
    let stats = ada.stats().await?;
    println!(
        "entries: {}, notes: {}, bytes: {}, revision: {}",
        stats.total_entries_working, stats.total_notes, stats.storage_bytes_used, stats.rev
    );

    // What a model gets: tools to call, and a prompt that fits its budget. A model would make this call:
    let tools = ToolRegistry::new(&corkboard);
    let handoff = json!({"content": "Login routes half done; next: their tests"});
    let said = tools.call("write_session_handoff", handoff, &ToolContext::agent("ada")).await;
    println!("\n{}", said.map_or_else(|error| error.to_string(), |output| output.text));
    // The notebook: what the model keeps about its task, in its own words.
    let block = "CURRENT_PROGRESS:\n  In Progress:\n    - tests of the login routes\n\
                 KEY_LEARNINGS:\n  ADD:\n    - because it cost an hour: cookies need SameSite=Lax here\n";
    ada.notebook("main")?.apply(block).await?;
    let window = ada.context_window().compose(ContextRequest::new().budget(500).query("cookies")).await?;
    println!("its next prompt, {} of {} tokens:\n\n{}", window.tokens, window.budget, window.text);

    together(&corkboard).await?;

    corkboard.close().await?;
    // All acknowledged changes are there when the file is opened again.
    let corkboard = Corkboard::open(&url).await?;
    println!("\nreopened: visits = {:?}", corkboard.agent("ada")?.working().get::<u32>("visits").await?);
    corkboard.close().await?;
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

/// A board: tasks, a decision that waits for a person, a nudge. The next board uses what this one taught.
async fn together(corkboard: &Corkboard) -> Result<()> {
    // A memory core holds shared knowledge and outlives boards. A task pattern lists the usual tasks of a kind of work.
    let rules = corkboard.core("house-rules")?;
    rules.add("Every login route has a test").await?;
    let steps = "Adding a login\n1. Choose a hash\n2. Write the login route ~30m";
    rules.add(NewCoreEntry { tags: vec!["task-pattern".into()], ..steps.into() }).await?;

    let named = |name: &str| NewBoard {
        name: name.into(),
        goal: format!("{name} with a password"),
        cores: vec!["house-rules".into()],
        ..NewBoard::default()
    };
    let made = corkboard.create_board(named("Add a login")).tasks_from_pattern(TaskPattern::Best).report().await?;
    let board = made.board;
    println!("\n\na board, which drew {} from its core and began with {} tasks", listed(&made.drawn), made.tasks.len());

    // Workers claim ready tasks. A task has at most one holder.
    let worker = |name: &str| Actor::new(name, ActorKind::Agent, Role::Worker);
    let (ada, lin) = (board.acting_as(worker("ada")), board.acting_as(worker("lin")));
    let lease = std::time::Duration::from_secs(60);
    let Some(claimed) = ada.claim_task(None, lease).await? else { return Ok(()) };
    println!("ada has {}; for lin there is {:?}", claimed.task, lin.claim_task(None, lease).await?.map(|it| it.task));

    // A decision can wait for a person's approval. A task that depends on it cannot be completed before.
    let decision = NewDecision {
        question: "Which hash?".into(),
        choice: "argon2id".into(),
        rationale: "It is hard on memory".into(),
        affects_tasks: vec![claimed.task],
        needs_approval: true,
        ..NewDecision::default()
    };
    let decision = ada.record_decision(decision).await?;
    let done = |summary: &str| TaskResult { summary: summary.into(), ..TaskResult::default() };
    if let Err(refused) = ada.complete_task(claimed.task, done("argon2id it is"), Some(claimed.epoch)).await {
        println!("ada is told: {refused}");
    }
    let grace = board.acting_as(Actor::new("grace", ActorKind::Human, Role::Human));
    grace.approve(decision, Some("measured".into())).await?;
    let (to, message) = (NudgeTarget::All, "Mind the budget".to_owned());
    grace.send_nudge(NewNudge { to, message, priority: NudgePriority::Urgent, expires_at: None }).await?;
    for nudge in ada.receive_nudges().await? {
        println!("grace approved {decision}, and ada hears: {}", nudge.message);
        ada.acknowledge(&[nudge.id]).await?;
    }
    ada.complete_task(claimed.task, done("argon2id it is"), Some(claimed.epoch)).await?;
    board.add_task(NewTask::new("Tell everybody")).await?;
    println!("its tasks now:");
    for task in board.view().await?.state().tasks() {
        println!("  {} {} ({})", task.id, task.title, task.status);
    }

    // Corkboard finds a board's learnings by rules, and a person decides which to keep. The next board starts with
    // them.
    board.complete(None, Unfinished::Cancel).await?;
    for learning in board.extract_learning_candidates().await? {
        println!("learned, score {:.2}: {}", learning.score, learning.content.replace('\n', " "));
        let promoted = grace.promote_learning(learning.id).await?;
        println!("grace promoted it: {}:{}", promoted.core, promoted.entry);
    }
    let next = corkboard.create_board(named("Hash the tokens of a login")).report().await?;
    println!("the next board drew {}", listed(&next.drawn));
    Ok(())
}

fn listed(entries: &[corkboard::boards::CoreRef]) -> String {
    entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
