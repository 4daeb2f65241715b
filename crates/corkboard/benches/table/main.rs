//! `make bench`: prints one table of ratios, each against a baseline measured in the same run.
//!
//! CPU work is counted in instructions (callgrind), which do not vary between runs. Work that waits for the disk is
//! timed in interleaved pairs, and the medians are compared. `table work NAME N` is the command that callgrind runs.
//! `table NAME …` measures only the named parts (instructions, durable, replay, memory, sharing, context, workers,
//! boards, cores).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may stop at any surprise"
)]

mod boards;
mod context;
mod cores;
mod cpu;
mod durable;
mod memory;
mod replay;
mod sharing;

use std::fmt::Display;

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

/// The value that all benchmarks write and read: a small struct.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Small {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) done: bool,
    pub(crate) score: f64,
}

pub(crate) fn small() -> Small {
    Small { name: "Ada Lovelace".into(), count: 42, done: true, score: 0.75 }
}

pub(crate) fn key(index: usize) -> String {
    format!("conversation/user-{index}/name")
}

pub(crate) fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("measurements should be comparable"));
    values[values.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("the runtime should start");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["work", name, times] => {
            let times = times.parse().expect("the number of times should be a number");
            runtime.block_on(async {
                if !cpu::work(name, times).await
                    && !context::work(name, times).await
                    && !boards::work(name, times).await
                    && !durable::work(name, times).await
                    && !cores::work(name, times).await
                {
                    memory::work(name, times).await;
                }
            });
        }
        ref only => {
            let parts: [Part; 10] = [
                ("instructions", cpu::rows),
                ("durable", durable::rows),
                ("replay", replay::rows),
                ("memory", memory::rows),
                ("sharing", sharing::rows),
                ("context", context::rows),
                ("workers", boards::durable_rows),
                ("boards", boards::rows),
                ("cores", cores::rows),
                ("learnings", boards::learning_rows),
            ];
            println!("| what | against | measured | aim |\n|---|---|---|---|");
            for (name, rows) in parts.into_iter().filter(|(name, _)| only.is_empty() || only.contains(name)) {
                eprintln!("measuring {name} …");
                for Row { what, against, result, aim } in rows() {
                    println!("| {what} | {against} | {result} | {aim} |");
                }
            }
        }
    }
}

/// The path of this program, to run one workload in a new process.
pub(crate) fn this_program() -> std::path::PathBuf {
    std::env::current_exe().expect("the path of this program should be known")
}

/// A runtime like that of real programs.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the runtime should start")
}
