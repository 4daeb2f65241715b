//! `cork serve` as a process: the cost of HTTP, the time to start, and memory.
//!
//! Rates are compared in interleaved rounds of one run, and the medians of the ratios are shown. `server NAME …`
//! measures only the named parts (read, write, start, memory). `server bare` runs the bare route that reads are
//! compared with.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark may stop at any surprise"
)]

mod load;
mod process;

use std::time::{Duration, Instant};

use corkboard::Corkboard;
use load::{Request, rate};
use process::Process;

/// How long each side is measured in a round.
const ROUND: Duration = Duration::from_millis(500);
const ROUNDS: usize = 21;
/// Connections that read.
const READERS: usize = 16;
/// Connections that write; the target is set for this number.
const WRITERS: usize = 64;
const ENTRY: &str = "/v1/agents/ada/entries/color";

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if named.first().is_some_and(|name| name == "bare") {
        return process::bare();
    }
    let is_asked = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    println!("| what | against | result | aim |\n|---|---|---|---|");
    let parts: [(&str, fn()); 4] = [("read", read), ("write", write), ("start", start), ("memory", memory)];
    for (name, measure) in parts {
        if is_asked(name) {
            measure();
        }
    }
    let size = std::fs::metadata(process::CORK).unwrap().len() as f64 / (1024.0 * 1024.0);
    row("release binary", "–", &format!("{size:.1} MiB, with line tables"), "report");
}

fn row(what: &str, against: &str, result: &str, aim: &str) {
    println!("| {what} | {against} | {result} | {aim} |");
}

fn read() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::cork(folder.path(), &[]);
    let body =
        r#"{"value":{"name":"Ada Lovelace","count":42,"done":true,"score":0.75},"metadata":{"tags":["project"]}}"#;
    load::once(&server.address, &Request::new("PUT", ENTRY, body));
    let (_, json) = load::once(&server.address, &Request::new("GET", ENTRY, ""));
    let bare = Process::bare(&json);
    let request = Request::new("GET", ENTRY, "");
    let sides = [server.address.as_str(), bare.address.as_str()];
    let wish = r#"{"principal":"ada","kind":"agent","role":"worker","grants":{"agents":["ada"]}}"#;
    let (_, created) = load::once(&server.address, &Request::new("POST", "/v1/tokens", wish));
    let created: serde_json::Value = serde_json::from_str(&created).unwrap();
    let by_token = Request::by(created["secret"].as_str().unwrap(), "GET", ENTRY, "");
    for (who, asked) in [("the admin's token", &request), ("a token of the store", &by_token)] {
        let rounds = interleaved(|side| rate(sides[side], READERS, ROUND, |_| asked.clone()));
        let what = format!("read one entry, {READERS} connections, {who}");
        told(&what, "a bare axum route with the same JSON", &rounds, ">= 0.7x");
    }
    let (before, wall) = ([server.cpu(), bare.cpu()], Duration::from_secs(2));
    let asked = sides.map(|side| rate(side, READERS, wall, |_| request.clone()) * wall.as_secs_f64());
    let spent = [server.cpu() - before[0], bare.cpu() - before[1]];
    let each = [0, 1].map(|side| spent[side].as_secs_f64() * 1e6 / asked[side]);
    row(
        "processor time of a read",
        "the bare route",
        &format!("{:.1} us against {:.1} us", each[0], each[1]),
        "report",
    );
}

/// The bare route is an upper bound for every server of this framework.
fn write() {
    let (served, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Process::cork(served.path(), &[]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let url = format!("sqlite:{}", own.path().join("own.db").display());
    let corkboard = runtime.block_on(Corkboard::open(&url)).unwrap();
    let requests = |connection: usize| {
        let path = format!("/v1/agents/ada/entries/key-{connection}");
        Request::new("PUT", &path, r#"{"value":{"name":"Ada Lovelace","count":42,"done":true,"score":0.75}}"#)
    };
    let rounds = interleaved(|side| match side {
        0 => rate(&server.address, WRITERS, ROUND, requests),
        _ => runtime.block_on(library_rate(&corkboard)),
    });
    told("durable write, 64 connections", "64 callers of the library", &rounds, ">= 0.7x");
    let (_, json) = load::once(&server.address, &requests(0));
    let bare = Process::bare(&json);
    let sides = [server.address.as_str(), bare.address.as_str()];
    let rounds = interleaved(|side| rate(sides[side], WRITERS, ROUND, requests));
    let against = "a bare axum route that reads the same JSON and keeps nothing";
    told("durable write, 64 connections", against, &rounds, "report");
    runtime.block_on(corkboard.close()).unwrap();
}

/// Durable writes per second of this many callers.
async fn library_rate(corkboard: &Corkboard) -> f64 {
    let started = Instant::now();
    let callers = (0..WRITERS).map(|caller| {
        let memory = corkboard.agent("ada").unwrap().working();
        tokio::spawn(async move {
            let value = serde_json::json!({ "name": "Ada Lovelace", "count": 42, "done": true, "score": 0.75 });
            let (key, mut written) = (format!("key-{caller}"), 0);
            while started.elapsed() < ROUND {
                memory.set(&key, &value).await.unwrap();
                written += 1;
            }
            written
        })
    });
    let callers: Vec<_> = callers.collect();
    let mut written = 0;
    for caller in callers {
        written += caller.await.unwrap();
    }
    f64::from(written) / started.elapsed().as_secs_f64()
}

fn start() {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| started(tempfile::tempdir().unwrap().path())).collect();
    row("start to ready, empty store", "–", &milliseconds(&mut times), "< 50 ms");
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(boards(&folder.path().join("cork.db"), 10_000));
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| started(folder.path())).collect();
    row("start to ready, 10,000 boards", "–", &milliseconds(&mut times), "report");
}

/// Milliseconds from starting the process until it reports that it is ready.
fn started(folder: &std::path::Path) -> f64 {
    let began = Instant::now();
    let server = Process::cork(folder, &[]);
    let (status, _) = load::once(&server.address, &Request::new("GET", "/readyz", ""));
    assert_eq!(status, 200);
    began.elapsed().as_secs_f64() * 1000.0
}

async fn boards(file: &std::path::Path, count: usize) {
    let corkboard = Corkboard::open(&format!("sqlite:{}", file.display())).await.unwrap();
    let workers = (0..WRITERS).map(|worker| {
        let corkboard = corkboard.clone();
        tokio::spawn(async move {
            for number in (worker..count).step_by(WRITERS) {
                let board = corkboard::boards::NewBoard { name: format!("Board {number}"), ..Default::default() };
                corkboard.create_board(board).await.unwrap();
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    corkboard.close().await.unwrap();
}

fn memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::cork(folder.path(), &[]);
    load::once(&server.address, &Request::new("GET", "/readyz", ""));
    row("idle memory", "–", &format!("{:.1} MB", server.resident()), "< 30 MB");
    let mut streams = Vec::new();
    for count in [1_000, 10_000] {
        while streams.len() < count {
            match load::subscribed(&server.address, "/v1/events") {
                Some(stream) => streams.push(stream),
                None => return row("memory with subscribers", "–", "there is no such route", "report"),
            }
        }
        row(&format!("memory with {count} event streams"), "–", &format!("{:.1} MB", server.resident()), "report");
    }
}

/// Measures both sides in interleaved rounds and returns the rates of each round.
fn interleaved(mut measure: impl FnMut(usize) -> f64) -> Vec<[f64; 2]> {
    // The first round warms up.
    let rounds = (0..=ROUNDS).map(|round| {
        // Alternate which side goes first, so that neither always follows the other.
        let (first, second) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
        let mut reached = [0.0; 2];
        reached[first] = measure(first);
        reached[second] = measure(second);
        reached
    });
    rounds.skip(1).collect()
}

fn told(what: &str, against: &str, rounds: &[[f64; 2]], aim: &str) {
    let mut ratios: Vec<f64> = rounds.iter().map(|[own, other]| own / other).collect();
    let [own, other] = [0, 1].map(|side| median(&mut rounds.iter().map(|round| round[side]).collect::<Vec<_>>()));
    row(what, against, &format!("{:.2}x ({own:.0}/s against {other:.0}/s)", median(&mut ratios)), aim);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn milliseconds(times: &mut [f64]) -> String {
    let median = median(times);
    format!("{median:.1} ms (fastest {:.1} ms)", times[0])
}
