//! Capacity of one node: fills a store with agents, then reads them cold and warm. Results are in `docs/scaling.md`.
//!
//! ```text
//! cargo run --release --all-features --example scale -- sqlite:/tmp/scale.db 100000
//! ```

#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::time::{Duration, Instant};

use corkboard::{Corkboard, Options, Result};
use futures_util::{StreamExt, stream};

/// Concurrent callers, as on a busy server.
const CALLERS: usize = 64;
/// Number of agents to read again.
const SAMPLE: usize = 2000;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "memory:".into());
    let agents: usize = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(10_000);

    let corkboard = Corkboard::open(&url).await?;
    let before = resident_bytes();
    let started = Instant::now();
    let mut writes = stream::iter(0..agents).map(|index| fill(&corkboard, index)).buffer_unordered(CALLERS);
    while let Some(filled) = writes.next().await {
        filled?;
    }
    drop(writes);
    let took = started.elapsed();
    let commands = (agents * COMMANDS) as f64;
    println!("{agents} agents, {COMMANDS} writes each: {:.0} durable writes/s", commands / took.as_secs_f64());
    let (loaded, bytes) = corkboard.resident();
    let used = resident_bytes().saturating_sub(before);
    println!("{loaded} of them loaded: {:.0} bytes of process memory each", used as f64 / loaded.max(1) as f64);
    println!("  (about {:.0} bytes of state each)", bytes as f64 / loaded.max(1) as f64);
    corkboard.close().await?;
    if url == "memory:" {
        return Ok(());
    }

    let started = Instant::now();
    let corkboard = Corkboard::open_with(&url, Options::default()).await?;
    println!("opened again in {:.1} ms", millis(started.elapsed()));
    let started = Instant::now();
    let (mut after, mut listed) = (None, 0);
    loop {
        let page = corkboard.agents(after.as_ref(), 1000).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        listed += page.len();
    }
    println!("listed {listed} agents in {:.0} ms", millis(started.elapsed()));

    let sample: Vec<usize> = (0..SAMPLE.min(agents)).map(|index| index * (agents / SAMPLE.min(agents))).collect();
    for pass in ["cold", "warm"] {
        let mut times = Vec::new();
        for index in &sample {
            let started = Instant::now();
            let found: Option<String> = corkboard.agent(&name(*index))?.working().get("entry-3").await?;
            assert!(found.is_some(), "agent {index} was not found");
            times.push(started.elapsed());
        }
        times.sort();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        println!("{pass} read of one entry: p50 {:.3} ms, p99 {:.3} ms", millis(at(50)), millis(at(99)));
    }
    corkboard.close().await
}

/// Writes per agent.
const COMMANDS: usize = 11;

/// Ten entries of a hundred bytes, and a note.
async fn fill(corkboard: &Corkboard, index: usize) -> Result<()> {
    let memory = corkboard.agent(&name(index))?.working();
    let value = format!("{:x<98}", format!("what agent {index} remembers "));
    for entry in 1..COMMANDS {
        memory.set(&format!("entry-{entry}"), &value).await?;
    }
    memory.add_note("prefers short answers").await.map(|_| ())
}

fn name(index: usize) -> String {
    format!("agent-{index:08}")
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
