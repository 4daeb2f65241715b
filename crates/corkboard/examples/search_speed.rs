//! Speed of search, compared with SQLite's FTS5 on the same data in the same run. The results are in `docs/benchmarks.md`.
//! `cork bench retrieval` measures what search finds.
//!
//! ```text
//! cargo run --release --example search_speed -- FILE
//! ```
//!
//! The file contains JSON lines with a `text`; other lines are skipped.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "it prints its measurements and stops on invalid data"
)]

use std::time::{Duration, Instant};

use corkboard::{AgentMemory, Corkboard, EntryMetadata, Result};
use rusqlite::Connection;

/// Searches per kind of query.
const SEARCHES: usize = 200;
/// Writes per kind of write.
const WRITES: usize = 200;

#[tokio::main]
async fn main() -> Result<()> {
    let file = std::env::args().nth(1).expect("usage: search_speed FILE");
    let text = std::fs::read_to_string(file).expect("the file should be readable");
    let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let texts: Vec<String> = lines.filter_map(|line| Some(line["text"].as_str()?.to_owned())).collect();
    println!(
        "{:>8}  {:<24} {:>26} {:>26} {:>10}",
        "entries", "", "corkboard p50, p99 (µs)", "fts5 p50, p99 (µs)", "ratio"
    );
    for entries in [1_000, 10_000, 100_000] {
        measure(&texts, entries).await?;
    }
    Ok(())
}

/// The text of entry `at`. Every text has one word of its own, and every tenth a rare word.
fn text(texts: &[String], at: usize) -> String {
    let rare = if at.is_multiple_of(10) { format!(" rare{}", at / 10 % 1000) } else { String::new() };
    format!("{} only{at}{rare}", texts[at % texts.len()])
}

async fn write(agent: &AgentMemory, at: usize, text: &str) -> Result<()> {
    // Sessions of twenty entries.
    let metadata = EntryMetadata { session: Some(format!("s{}", at / 20)), ..EntryMetadata::default() };
    agent.working().set(&format!("k{at}"), text).metadata(metadata).await?;
    Ok(())
}

async fn measure(texts: &[String], entries: usize) -> Result<()> {
    let mut options = corkboard::Options::default();
    options.limits.entries_per_agent = 200_000;
    options.limits.state_bytes = 1 << 30;
    let corkboard = Corkboard::open_with("memory:", options).await?;
    let agent = corkboard.agent("measured")?;
    let fts = Fts::new();
    for at in 0..entries {
        write(&agent, at, &text(texts, at)).await?;
    }
    let before = corkboard.resident().1;
    let started = Instant::now();
    agent.search("anything").await?;
    let built = started.elapsed();
    let index_bytes = corkboard.resident().1 - before;
    let started = Instant::now();
    fts.connection.execute_batch("BEGIN").unwrap();
    (0..entries).for_each(|at| fts.write(at, &text(texts, at)));
    fts.connection.execute_batch("COMMIT").unwrap();
    let inserted = started.elapsed();
    let line = |what: &str, ours: [f64; 2], theirs: [f64; 2]| {
        let pair = |[p50, p99]: [f64; 2]| format!("{p50:.0}, {p99:.0}");
        println!("{entries:>8}  {what:<24} {:>26} {:>26} {:>9.2}×", pair(ours), pair(theirs), ours[0] / theirs[0]);
    };
    let micros = |took: Duration| took.as_secs_f64() * 1e6;
    line("build the index", [micros(built); 2], [micros(inserted); 2]);

    for (what, query) in [
        ("one rare word", "only{}"),
        ("one word of 1 in 10,000", "rare{}"),
        ("two common words", "time day"),
        ("a question", "When did she go to the beach with her family?"),
    ] {
        for words_only in [true, false] {
            let query = |at: usize| query.replace("{}", &(at * 7 % (entries / 10)).to_string());
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for at in 0..SEARCHES {
                let started = Instant::now();
                agent.search(&query(at)).words_only(words_only).await?;
                ours.push(micros(started.elapsed()));
                let started = Instant::now();
                fts.search(&query(at));
                theirs.push(micros(started.elapsed()));
            }
            let name = if words_only { what.to_owned() } else { format!("{what}, meaning") };
            line(&name, percentiles(ours), percentiles(theirs));
        }
    }
    println!("{entries:>8}  the index takes {} bytes per entry", index_bytes / entries as u64);

    // A write, and the work that it causes for the next search, against a write into a memory without an index.
    let other = corkboard.agent("without-index")?;
    for at in 0..entries {
        write(&other, at, &text(texts, at)).await?;
    }
    let (mut with, mut without, mut then_search) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..WRITES {
        let text = text(texts, at * 13 + 1);
        let started = Instant::now();
        write(&agent, at * 13 % entries, &text).await?;
        with.push(micros(started.elapsed()));
        let started = Instant::now();
        agent.search("only1").words_only(true).await?;
        then_search.push(micros(started.elapsed()));
        let started = Instant::now();
        write(&other, at * 13 % entries, &text).await?;
        without.push(micros(started.elapsed()));
    }
    let [with, without, then_search] = [with, without, then_search].map(percentiles);
    println!(
        "{entries:>8}  a write {:.0} µs with the index, {:.0} µs without: {:.2}×; the next search {:.0} µs",
        with[0],
        without[0],
        with[0] / without[0],
        then_search[0]
    );
    corkboard.close().await
}

/// The median and the 99th percentile.
fn percentiles(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[values.len() * 99 / 100]]
}

/// The baseline: FTS5 in memory with the Porter stemmer, and the query's words joined by OR.
struct Fts {
    connection: Connection,
}

impl Fts {
    fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE VIRTUAL TABLE entries USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61')")
            .unwrap();
        Self { connection }
    }

    fn write(&self, at: usize, text: &str) {
        let mut insert = self.connection.prepare_cached("INSERT INTO entries (id, text) VALUES (?1, ?2)").unwrap();
        insert.execute((format!("k{at}"), text)).unwrap();
    }

    fn search(&self, query: &str) -> Vec<String> {
        const STOP_WORDS: [&str; 7] = ["when", "did", "she", "to", "the", "with", "her"];
        let words = query.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase);
        let words = words.filter(|word| !word.is_empty() && !STOP_WORDS.contains(&&**word));
        let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        let mut select = self
            .connection
            .prepare_cached(
                "SELECT id, snippet(entries, 1, '', '', '…', 32) FROM entries WHERE entries MATCH ?1 ORDER BY rank LIMIT 10",
            )
            .unwrap();
        let rows = select.query_map([words.join(" OR ")], |row| row.get(0)).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }
}
