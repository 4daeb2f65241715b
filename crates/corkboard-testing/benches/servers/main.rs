//! `cargo bench --package corkboard-testing --bench servers`: one table of ratios for the stores on servers, each
//! against a baseline measured in the same run on the same server. Rounds are interleaved, and the medians of their
//! ratios are shown. `servers NAME …` measures only the named stores.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may stop at any surprise"
)]

mod postgres;

use std::fmt::Display;
use std::time::Duration;

use corkboard::Corkboard;

/// One line of the table.
pub(crate) struct Row {
    what: String,
    against: String,
    result: String,
    aim: &'static str,
}

impl Row {
    pub(crate) fn new(what: impl Display, against: impl Display, result: impl Display, aim: &'static str) -> Self {
        Self { what: what.to_string(), against: against.to_string(), result: result.to_string(), aim }
    }
}

/// A part of the table and the function that measures it.
type Part = (&'static str, fn() -> Vec<Row>);

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let parts: [Part; 1] = [("postgres", postgres::rows)];
    println!("| what | against | measured | aim |\n|---|---|---|---|");
    for (name, rows) in parts {
        if only.is_empty() || only.iter().any(|wanted| wanted == name) {
            eprintln!("measuring {name} …");
            for Row { what, against, result, aim } in rows() {
                println!("| {what} | {against} | {result} | {aim} |");
            }
        }
    }
}

/// Concurrent callers.
pub(crate) const CALLERS: usize = 64;

/// The value that all benchmarks write and read: a small struct.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Small {
    name: String,
    count: u64,
    done: bool,
    score: f64,
}

pub(crate) fn small() -> Small {
    Small { name: "Ada Lovelace".into(), count: 42, done: true, score: 0.75 }
}

/// A runtime like that of real programs.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the runtime should start")
}

pub(crate) fn median<T: Copy + PartialOrd>(values: &[T]) -> T {
    percentile(values, 50)
}

pub(crate) fn percentile<T: Copy + PartialOrd>(values: &[T], percent: usize) -> T {
    let mut values = values.to_vec();
    values.sort_by(|one, other| one.partial_cmp(other).expect("measurements should be comparable"));
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Durable `set`s per second of many concurrent callers.
pub(crate) async fn callers(corkboard: &Corkboard, times: usize, agent: impl Fn(usize) -> String) -> f64 {
    let started = std::time::Instant::now();
    let tasks = (0..CALLERS).map(|caller| {
        let memory = corkboard.agent(&agent(caller)).unwrap().working();
        tokio::spawn(async move {
            for index in 0..times {
                memory.set(&format!("key-{}", index % 100), &small()).await.unwrap();
            }
        })
    });
    for task in futures_util::future::join_all(tasks).await {
        task.unwrap();
    }
    (CALLERS * times) as f64 / started.elapsed().as_secs_f64()
}
