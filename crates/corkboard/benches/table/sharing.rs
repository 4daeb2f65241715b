//! Reads during constant writes, and the latency of single operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corkboard::{Corkboard, WorkingMemory};

use crate::{Row, Small, key, median, small};

const KEYS: usize = 1000;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(300);

pub(crate) fn rows() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    for (name, url) in
        [("memory:", "memory:".to_owned()), ("sqlite:", format!("sqlite:{}/s.db", folder.path().display()))]
    {
        // One worker for the writer; the reader has its own thread. On two cores, a third thread would compete with
        // them.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async { rows.extend(on(name, &url).await) });
    }
    rows
}

async fn on(name: &str, url: &str) -> Vec<Row> {
    let corkboard = Corkboard::open(url).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let value = small();
    let sets = keys.iter().map(|key| memory.set(key, &value).into_future());
    futures_util::future::join_all(sets).await;
    let (mut alone, mut beside, mut gets, mut sets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(read(&memory, &mut Vec::new()).await);
        let stop = Arc::new(AtomicBool::new(false));
        let writer = tokio::spawn(write(memory.clone(), stop.clone()));
        beside.push(read(&memory, &mut gets).await);
        stop.store(true, Ordering::Relaxed);
        sets.extend(writer.await.unwrap());
    }
    let ratio = median(beside.iter().zip(&alone).map(|(beside, alone)| beside / alone).collect());
    let result = format!("{ratio:.2}× ({:.0}/s : {:.0}/s)", median(beside), median(alone));
    let latency = format!("get {:.1} µs, set {:.0} µs", p95(gets), p95(sets));
    vec![
        Row::new(format!("reads while one writer writes without pause, `{name}`"), "reads alone", result, "≥ 0.8×"),
        Row::new(format!("p95 in that run, `{name}`"), "the specification: 5 ms and 10 ms", latency, "report"),
    ]
}

/// Reads for a fixed time and returns reads per second.
async fn read(memory: &WorkingMemory, latencies: &mut Vec<Duration>) -> f64 {
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < ROUND {
        let one = Instant::now();
        memory.get::<Small>(&keys[count % KEYS]).await.unwrap().unwrap();
        latencies.push(one.elapsed());
        count += 1;
    }
    count as f64 / started.elapsed().as_secs_f64()
}

async fn write(memory: WorkingMemory, stop: Arc<AtomicBool>) -> Vec<Duration> {
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let mut latencies = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let one = Instant::now();
        memory.set(&keys[latencies.len() * 7 % KEYS], &small()).await.unwrap();
        latencies.push(one.elapsed());
    }
    latencies
}

fn p95(mut latencies: Vec<Duration>) -> f64 {
    latencies.sort();
    latencies[latencies.len() * 95 / 100].as_secs_f64() * 1e6
}
