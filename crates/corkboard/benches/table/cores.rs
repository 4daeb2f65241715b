//! Memory cores: the cost of creating a board that draws on them, and the duration of a search in a large core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use corkboard::boards::NewBoard;
use corkboard::cores::NewCoreEntry;
use corkboard::{Core, Corkboard};

use crate::cpu::instructions_of;
use crate::{Row, median, runtime};

/// Cores that a board draws on, and the number of entries in each.
const CORES: [&str; 3] = ["rules", "history", "people"];
const ENTRIES: usize = 10_000;
/// Size of the core that is searched, and number of searches.
const LARGE: usize = 100_000;
const SEARCHES: usize = 2_000;
const ROUNDS: usize = 15;
/// Entries per `add_many`.
const BATCH: usize = 5_000;

const SERVICES: usize = 997;
const TOPICS: [&str; 12] = [
    "deployment",
    "login",
    "invoice",
    "schema",
    "backup",
    "search",
    "latency",
    "migration",
    "release",
    "session",
    "password",
    "report",
];

pub(crate) fn rows() -> Vec<Row> {
    let (creation, search) = runtime().block_on(async { (creation().await, searches().await) });
    let counted = instructions_of("cores create", 10, 40);
    let plain = instructions_of("cores plain", 10, 40);
    let what = "a board that draws on three cores of 10,000 entries, `memory:`";
    let result = format!("{:.2}× ({counted} : {plain} instructions)", counted as f64 / plain as f64);
    let mut rows = vec![creation, Row::new(what, "a board that draws on none", result, "report")];
    rows.extend(search);
    rows
}

fn entry(number: usize) -> NewCoreEntry {
    let topic = |step: usize| TOPICS[number / step % TOPICS.len()];
    let text = format!(
        "Lesson {number}: the {} of service s{} needs setting k{number} before any {} in region r{}",
        topic(1),
        number % SERVICES,
        topic(12),
        number % 7
    );
    NewCoreEntry { importance: Some((number % 10) as f32 / 10.0), ..text.into() }
}

async fn filled(corkboard: &Corkboard, name: &str, entries: usize) -> Core {
    let core = corkboard.core(name).unwrap();
    for from in (0..entries).step_by(BATCH) {
        core.add_many((from..entries.min(from + BATCH)).map(entry).collect()).await.unwrap();
    }
    core
}

fn board(index: usize, cores: &[&str]) -> NewBoard {
    let topic = TOPICS[index % TOPICS.len()];
    NewBoard {
        name: format!("Board {index}"),
        goal: format!("Bring the {topic} of service s{} into order in every region", index * 31 % SERVICES),
        cores: cores.iter().map(|core| (*core).into()).collect(),
        ..NewBoard::default()
    }
}

/// Creates boards on SQLite, alternately with and without cores. Also measures the first board of a fresh process,
/// which must load the cores.
async fn creation() -> Row {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/cores.db", folder.path().display());
    let corkboard = Corkboard::open(&url).await.unwrap();
    for name in CORES {
        filled(&corkboard, name, ENTRIES).await;
    }
    corkboard.close().await.unwrap();
    let timed = async |corkboard: &Corkboard, new: NewBoard| {
        let started = Instant::now();
        corkboard.create_board(new).await.unwrap();
        started.elapsed()
    };
    let mut first = Vec::new();
    for round in 0..5 {
        let corkboard = Corkboard::open(&url).await.unwrap();
        first.push(timed(&corkboard, board(round, &CORES)).await);
        corkboard.close().await.unwrap();
    }
    let corkboard = Corkboard::open(&url).await.unwrap();
    timed(&corkboard, board(0, &CORES)).await;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS * 10 {
        ours.push(timed(&corkboard, board(round, &CORES)).await);
        plain.push(timed(&corkboard, board(round, &[])).await);
    }
    let (ours, plain, first) = (median(ours), median(plain), median(first));
    let result = format!(
        "{} : {}; the first board of a process, which loads and indexes the cores: {}",
        milliseconds(ours),
        milliseconds(plain),
        milliseconds(first)
    );
    let what = "creating a board that draws on three cores of 10,000 entries each, SQLite";
    Row::new(what, "a board that draws on none", result, "report")
}

/// p50 and p99 of searches in a large core, and the time to build its index.
async fn searches() -> Vec<Row> {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let core = filled(&corkboard, "large", LARGE).await;
    let started = Instant::now();
    core.search("anything").await.unwrap();
    let indexing = started.elapsed();
    let mut rows = Vec::new();
    // Words in a few entries, and words in a twelfth or all of them.
    let rare = |index: usize| format!("which setting does k{} have for s{}?", index * 37 % LARGE, index % SERVICES);
    let common = |index: usize| format!("what does the {} need in this service?", TOPICS[index % TOPICS.len()]);
    let kinds: [(&str, &dyn Fn(usize) -> String); 2] =
        [("rare words", &rare), ("words that most entries have", &common)];
    for (words, query) in kinds {
        let mut times = Vec::with_capacity(SEARCHES);
        for index in 0..SEARCHES {
            let query = query(index);
            let started = Instant::now();
            black_box(core.search(&query).await.unwrap());
            times.push(started.elapsed());
        }
        times.sort_unstable();
        let at = |percent: usize| milliseconds(times[times.len() * percent / 100 - 1]);
        let result = format!("p50 {}, p99 {}", at(50), at(99));
        let what = format!("a search in a core of 100,000 entries, {words}");
        rows.push(Row::new(what, "–", result, "report"));
    }
    rows.push(Row::new("the first search in that core, which builds the index", "–", milliseconds(indexing), "report"));
    rows
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// Runs a workload for callgrind.
pub(crate) async fn work(name: &str, times: usize) -> bool {
    let Some(name) = name.strip_prefix("cores ") else { return false };
    let corkboard = Corkboard::open("memory:").await.unwrap();
    if name == "search" {
        let core = filled(&corkboard, "large", LARGE).await;
        for index in 0..times {
            let query = format!("what does the {} need in this service?", TOPICS[index % TOPICS.len()]);
            black_box(core.search(&query).await.unwrap());
        }
        return true;
    }
    let cores: &[&str] = if name == "create" { &CORES } else { &[] };
    for name in cores {
        filled(&corkboard, name, ENTRIES).await;
    }
    for index in 0..times {
        black_box(corkboard.create_board(board(index, cores)).await.unwrap());
    }
    true
}
