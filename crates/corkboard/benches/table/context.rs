//! The context window: the cost of composing it, and how much of a prompt stays unchanged.

use std::hint::black_box;

use corkboard::boards::{NewArtifact, NewBoard, NewDecision, NewDiscovery, NewTask, TaskId};
use corkboard::{AgentMemory, Board, ContextRequest, Corkboard, EntryMetadata};

use crate::cpu::instructions_of;
use crate::{Row, key, runtime};

/// Number of entries where the cost is measured.
const MANY: usize = 10_000;
/// Number of entries where the unchanged share is measured.
const SOME: usize = 1_000;
/// Token budget of a window.
const BUDGET: u64 = 8_000;
const TOPICS: [&str; 8] = ["deploy", "kitchen", "invoice", "garden", "database", "holiday", "meeting", "budget"];

pub(crate) fn rows() -> Vec<Row> {
    let (compose, count) = (instructions_of("context compose", 10, 20), instructions_of("context count", 10, 20));
    let times = |ours: u64, bare: u64| format!("{:.2}× ({ours} : {bare} instructions)", ours as f64 / bare as f64);
    let cost = times(compose, count);
    let (task, counted) = (instructions_of("task context", 10, 20), instructions_of("task count", 10, 20));
    let row = |what: &str, share: Shares, aim| {
        let result = format!("mean {:.1} %, median {:.1} %, least {:.1} %", share.mean, share.median, share.least);
        Row::new(what, "the new prompt's bytes", result, aim)
    };
    let (note, query, entry) = runtime().block_on(async { (notes().await, queries().await, entries().await) });
    vec![
        Row::new("`compose` at 10,000 entries, 8,000 tokens", "tokenising the same output once", cost, "≤ 5×"),
        Row::new(
            "`context_for_task` on a board of 10,000 records, 8,000 tokens",
            "tokenising the same output once",
            times(task, counted),
            "≤ 5×",
        ),
        row("prompt kept from its beginning: after a note", note, "> 90 %"),
        row("the same, after a new query", query, "> 90 %"),
        row("the same, after one entry of 1,000 changed", entry, "report"),
    ]
}

pub(crate) async fn work(name: &str, times: usize) -> bool {
    if name.starts_with("task ") {
        let (board, last) = filled_board(MANY / 4).await;
        let text = board.context_for_task(last, Some(BUDGET)).await.unwrap().text;
        for _ in 0..times {
            match name {
                "task context" => drop(black_box(board.context_for_task(last, Some(BUDGET)).await.unwrap())),
                _ => drop(black_box(tiktoken::get_encoding("o200k_base").unwrap().count(&text))),
            }
        }
        return true;
    }
    if !name.starts_with("context ") {
        return false;
    }
    let agent = filled(MANY, 0).await;
    let text = compose(&agent, ContextRequest::new()).await;
    for _ in 0..times {
        match name {
            "context compose" => drop(black_box(compose(&agent, ContextRequest::new()).await)),
            _ => drop(black_box(tiktoken::get_encoding("o200k_base").unwrap().count(&text))),
        }
    }
    true
}

struct Shares {
    mean: f64,
    median: f64,
    least: f64,
}

/// Share of each prompt that equals the beginning of the previous prompt, in percent.
fn kept(prompts: &[String]) -> Shares {
    let share = |pair: &[String]| {
        let same = pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count();
        same as f64 / pair[1].len() as f64 * 100.0
    };
    let mut shares: Vec<f64> = prompts.windows(2).map(share).collect();
    shares.sort_by(f64::total_cmp);
    Shares {
        mean: shares.iter().sum::<f64>() / shares.len() as f64,
        median: shares[shares.len() / 2],
        least: shares[0],
    }
}

async fn notes() -> Shares {
    let agent = filled(SOME, 100).await;
    let mut prompts = Vec::new();
    for number in 0..200 {
        agent.working().add_note(&note(number)).await.unwrap();
        prompts.push(compose(&agent, ContextRequest::new()).await);
    }
    kept(&prompts)
}

async fn queries() -> Shares {
    let agent = filled(SOME, 100).await;
    let mut prompts = Vec::new();
    for turn in 0..40 {
        // Most queries ask for entries that the window does not show otherwise.
        prompts.push(compose(&agent, ContextRequest::new().query(value(turn * 379 % SOME))).await);
    }
    assert!(prompts.iter().filter(|prompt| prompt.contains("\n<found>\n")).count() > 20);
    kept(&prompts)
}

/// Changes arbitrary entries, shown or not.
async fn entries() -> Shares {
    let agent = filled(SOME, 100).await;
    let mut prompts = vec![compose(&agent, ContextRequest::new()).await];
    for turn in 0..200 {
        let index = 1 + turn * 379 % (SOME - 1);
        agent
            .working()
            .set(&key(index), &format!("{} (changed)", value(index)))
            .metadata(metadata(index))
            .await
            .unwrap();
        prompts.push(compose(&agent, ContextRequest::new()).await);
    }
    kept(&prompts)
}

async fn compose(agent: &AgentMemory, request: ContextRequest) -> String {
    let window = agent.context_window().compose(request.budget(BUDGET)).await.unwrap();
    assert!(window.tokens <= BUDGET);
    window.text
}

async fn filled(count: usize, notes: usize) -> AgentMemory {
    let agent = Corkboard::open("memory:").await.unwrap().agent("a").unwrap();
    let memory = agent.working();
    memory.set("session-handoff", &"Go on with the plan where it was left. ".repeat(20)).await.unwrap();
    // The handoff is an entry, too.
    for index in 1..count {
        memory.set(&key(index), &value(index)).metadata(metadata(index)).await.unwrap();
    }
    for number in 0..notes {
        memory.add_note(&note(number)).await.unwrap();
    }
    agent
}

/// A board with `count` tasks, decisions, discoveries and artifacts each. The last task depends on all others.
async fn filled_board(count: usize) -> (Board, TaskId) {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let goal = "Bring everything that is known about it into order.".into();
    let constraints = vec!["No breaking changes.".into(), "Every change is tested.".into()];
    let new = NewBoard { name: "b".into(), goal, constraints, ..NewBoard::default() };
    let board = corkboard.create_board(new).await.unwrap();
    let task = |index: usize| NewTask {
        key: Some(format!("k{index}")),
        description: value(index),
        depends_on: [index.checked_sub(1), index.checked_sub(7)]
            .into_iter()
            .flatten()
            .map(|on| format!("k{on}").as_str().into())
            .collect(),
        ..NewTask::new(value(index))
    };
    let (tasks, _) = board.add_tasks((0..count).map(task).collect(), vec![]).await.unwrap();
    for (index, id) in tasks.iter().enumerate() {
        let affects_tasks = if index % 2 == 0 { vec![*id] } else { vec![] };
        let (question, choice) = (value(index), format!("the {index}th way"));
        let decision = NewDecision { question, choice, affects_tasks: affects_tasks.clone(), ..NewDecision::default() };
        board.record_decision(decision).await.unwrap();
        let discovery = NewDiscovery { content: value(index), affects_tasks, ..NewDiscovery::default() };
        board.record_discovery(discovery).await.unwrap();
        let (path, task) = (key(index), Some(*id).filter(|_| index % 2 == 0));
        let artifact = NewArtifact { path, description: value(index), task, ..NewArtifact::default() };
        board.record_artifact(artifact).await.unwrap();
    }
    (board, *tasks.last().unwrap())
}

fn value(index: usize) -> String {
    format!(
        "What is known about the {} number {index}, in about a hundred bytes of prose.",
        TOPICS[index % TOPICS.len()]
    )
}

fn metadata(index: usize) -> EntryMetadata {
    EntryMetadata { importance: Some((index * 7 % 11) as f32 / 10.0), ..EntryMetadata::default() }
}

fn note(number: usize) -> String {
    format!("observation {number}: {} was mentioned again", TOPICS[number % TOPICS.len()])
}
