//! The context window: what composing costs, and how much of a prompt stays as it was.

use std::hint::black_box;

use corkboard::{AgentMemory, ContextRequest, Corkboard, EntryMetadata};

use crate::cpu::instructions_of;
use crate::{Row, key, runtime};

/// Entries where the cost is measured.
const MANY: usize = 10_000;
/// Entries where the share is measured.
const SOME: usize = 1_000;
/// What a window may have.
const BUDGET: u64 = 8_000;
const TOPICS: [&str; 8] = ["deploy", "kitchen", "invoice", "garden", "database", "holiday", "meeting", "budget"];

pub(crate) fn rows() -> Vec<Row> {
    let (compose, count) = (instructions_of("context compose", 10, 20), instructions_of("context count", 10, 20));
    let cost = format!("{:.2}× ({compose} : {count} instructions)", compose as f64 / count as f64);
    let row = |what: &str, share: Shares, aim| {
        let result = format!("mean {:.1} %, median {:.1} %, least {:.1} %", share.mean, share.median, share.least);
        Row::new(what, "the new prompt's bytes", result, aim)
    };
    let (note, query, entry) = runtime().block_on(async { (notes().await, queries().await, entries().await) });
    vec![
        Row::new("`compose` at 10,000 entries, 8,000 tokens", "tokenising the same output once", cost, "≤ 5×"),
        row("prompt kept from its beginning: after a note", note, "> 90 %"),
        row("the same, after a new query", query, "> 90 %"),
        row("the same, after one entry of 1,000 changed", entry, "report"),
    ]
}

pub(crate) async fn work(name: &str, times: usize) -> bool {
    if !name.starts_with("context ") {
        return false;
    }
    let agent = filled(MANY, 0).await;
    let text = compose(&agent, ContextRequest::new()).await;
    for _ in 0..times {
        match name {
            "context compose" => drop(black_box(compose(&agent, ContextRequest::new()).await)),
            _ => drop(black_box(bpe_openai::o200k_base().count(text.as_str()))),
        }
    }
    true
}

struct Shares {
    mean: f64,
    median: f64,
    least: f64,
}

/// How much of each prompt the one before began with, in percent.
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
        // Most of what is asked about is not shown otherwise.
        prompts.push(compose(&agent, ContextRequest::new().query(value(turn * 379 % SOME))).await);
    }
    assert!(prompts.iter().filter(|prompt| prompt.contains("\n<found>\n")).count() > 20);
    kept(&prompts)
}

/// Any entry of all, shown or not.
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
    // The handoff is an entry too.
    for index in 1..count {
        memory.set(&key(index), &value(index)).metadata(metadata(index)).await.unwrap();
    }
    for number in 0..notes {
        memory.add_note(&note(number)).await.unwrap();
    }
    agent
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
