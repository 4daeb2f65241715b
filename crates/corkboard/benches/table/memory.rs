//! What memories weigh: resident bytes of a fresh process.

use std::process::Command;

use corkboard::Corkboard;

use crate::{Row, this_program};

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

fn measured(name: &str, count: usize) -> u64 {
    let output = Command::new(this_program()).args(["work", name, &count.to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

pub(crate) async fn work(name: &str, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/m.db", folder.path().display());
    let board = Corkboard::open(&url).await.unwrap();
    let names: Vec<String> =
        (0..count).map(|index| if name == "agents" { format!("agent-{index}") } else { "agent".into() }).collect();
    let keys: Vec<String> = (0..count).map(|index| format!("key-{index}")).collect();
    for start in (0..count).step_by(500) {
        let sets = (start..count.min(start + 500)).map(|index| {
            let memory = board.agent(&names[index]).unwrap().working();
            let key = &keys[index];
            async move { memory.set(key, &"x".repeat(98)).await.unwrap() }
        });
        futures_util::future::join_all(sets).await;
    }
    board.close().await.unwrap();
    drop(board);
    // A second process would do; a second opening counts what loading alone brings.
    let board = Corkboard::open(&url).await.unwrap();
    let agents: Vec<_> = names.iter().take(if name == "agents" { count } else { 1 }).collect();
    let warm = board.agent("warm").unwrap().working();
    assert_eq!(warm.len().await.unwrap(), 0);
    let before = resident();
    for agent in agents {
        assert!(board.agent(agent).unwrap().working().len().await.unwrap() > 0);
    }
    println!("{}", resident().saturating_sub(before));
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    pages * 4096
}
