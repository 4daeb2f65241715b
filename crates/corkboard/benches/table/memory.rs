//! Memory use of agents: resident bytes of a fresh process.

use std::process::Command;

use corkboard::Corkboard;

use crate::{Row, runtime, this_program};

/// Environment variable that tells the measured process the store's URL.
const URL: &str = "CORK_BENCH_URL";

pub(crate) fn rows() -> Vec<Row> {
    let entries = measured("entries", 10_000);
    let agents = measured("agents", 10_000);
    let payload = 10_000 * 100;
    vec![
        Row::new(
            "10,000 entries of 100 bytes in memory",
            "the payload",
            format!("{:.1} MB, {:.1}× the payload", entries as f64 / 1e6, entries as f64 / f64::from(payload)),
            "≤ 10 MB",
        ),
        Row::new("one idle loaded agent with one entry", "–", format!("{} bytes", agents / 10_000), "report"),
    ]
}

/// Bytes that a fresh process needs to load the agents.
fn measured(name: &str, count: usize) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/m.db", folder.path().display());
    runtime().block_on(fill(&url, name, count));
    let output = Command::new(this_program()).args(["work", name, &count.to_string()]).env(URL, url).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("the measured process should print a number")
}

fn agent(name: &str, index: usize) -> String {
    if name == "agents" { format!("agent-{index}") } else { "agent".into() }
}

async fn fill(url: &str, name: &str, count: usize) {
    let corkboard = Corkboard::open(url).await.unwrap();
    for start in (0..count).step_by(500) {
        let sets = (start..count.min(start + 500)).map(|index| {
            let memory = corkboard.agent(&agent(name, index)).unwrap().working();
            async move { memory.set(&format!("key-{index}"), &"x".repeat(98)).await.unwrap() }
        });
        futures_util::future::join_all(sets).await;
    }
    corkboard.close().await.unwrap();
}

pub(crate) async fn work(name: &str, count: usize) {
    let corkboard = Corkboard::open(&std::env::var(URL).unwrap()).await.unwrap();
    assert_eq!(corkboard.agent("warm").unwrap().working().len().await.unwrap(), 0);
    let before = resident();
    for index in 0..if name == "agents" { count } else { 1 } {
        assert!(corkboard.agent(&agent(name, index)).unwrap().working().len().await.unwrap() > 0);
    }
    println!("{}", resident().saturating_sub(before));
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc should exist: this benchmark needs Linux");
    let pages: u64 = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .expect("statm should contain the resident pages");
    pages * 4096
}
