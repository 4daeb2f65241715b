//! Quality and speed of search, compared with SQLite's FTS5 in the same run. The results are in
//! `docs/decisions/0032-bm25-for-short-texts.md`.
//!
//! ```text
//! cargo run --release --example retrieval -- FOLDER…
//! ```
//!
//! A folder contains files of JSON lines. A line of `kind` `entry` has `id`, `store` and `text`, and optionally
//! `speaker`, `time`, `title` and `aliases`. A line of `kind` `query` has `store`, `query`, `category` and `gold`:
//! groups of entry IDs, each group a piece of evidence.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "it prints its measurements and stops on invalid data"
)]

#[path = "../src/search/stop_words.rs"]
mod stop_words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use corkboard::{AgentMemory, Corkboard, EntryMetadata, Result};
use rusqlite::Connection;
use serde::Deserialize;

/// Number of hits to examine.
const DEPTH: usize = 20;
/// Number of entries in the timed memory.
const TIMED_ENTRIES: usize = 10_000;
/// Number of timed writes, each followed by a search.
const TIMED_WRITES: usize = 500;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Dataset {},
    Entry(Entry),
    Query(Query),
}

#[derive(Deserialize, Clone)]
struct Entry {
    id: String,
    store: String,
    text: String,
    speaker: Option<String>,
    time: Option<String>,
    session: Option<u64>,
    title: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
}

#[derive(Deserialize)]
struct Query {
    store: String,
    #[serde(alias = "question", alias = "text")]
    query: String,
    category: Option<String>,
    gold: Vec<Vec<String>>,
}

struct Dataset {
    name: String,
    entries: Vec<Entry>,
    queries: Vec<Query>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut datasets = Vec::new();
    for folder in &folders {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("the argument should be a readable folder")
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        datasets.extend(files.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl")).map(read));
    }
    println!("{:<24} {:<20} {:>9} {:>7} {:>7}", "", "", "recall@10", "MRR", "hit@1");
    for dataset in &datasets {
        let corkboard = Corkboard::open("memory:").await?;
        for entry in &dataset.entries {
            write(&corkboard.agent(&entry.store)?, &entry.id, entry).await?;
        }
        let mut ours = Scores::default();
        for query in dataset.queries.iter().filter(|query| query.is_scored()) {
            let hits = corkboard.agent(&query.store)?.search(&query.query).limit(DEPTH).await?;
            ours.add(query, &hits.iter().filter_map(|hit| hit.key().map(String::from)).collect::<Vec<_>>());
        }
        ours.print(&dataset.name, "corkboard");
        for (name, with_metadata) in [("fts5, text", false), ("fts5, text+metadata", true)] {
            let mut theirs = Scores::default();
            let mut stores: BTreeMap<&str, Fts> = BTreeMap::new();
            for entry in &dataset.entries {
                stores.entry(&entry.store).or_insert_with(Fts::new).write(&entry.id, entry, with_metadata);
            }
            for query in dataset.queries.iter().filter(|query| query.is_scored()) {
                theirs.add(query, &stores[&*query.store].search(&query.query, DEPTH));
            }
            theirs.print(&dataset.name, name);
        }
        corkboard.close().await?;
    }
    time(&datasets).await
}

fn read(path: &PathBuf) -> Dataset {
    let text = std::fs::read_to_string(path).expect("the file should be readable");
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut dataset = Dataset { name, entries: Vec::new(), queries: Vec::new() };
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str(line).expect("each line should be an entry or a query") {
            Line::Dataset {} => {}
            Line::Entry(entry) => dataset.entries.push(entry),
            Line::Query(query) => dataset.queries.push(query),
        }
    }
    dataset
}

async fn write(agent: &AgentMemory, key: &str, entry: &Entry) -> Result<()> {
    let metadata = EntryMetadata {
        author: entry.speaker.clone(),
        session: entry.session.map(|session| session.to_string()),
        at: entry
            .time
            .as_ref()
            .map(|time| format!("{time}:00Z").parse().expect("`time` should be a time without seconds")),
        ..EntryMetadata::default()
    };
    let memory = agent.working();
    match &entry.title {
        None => memory.set(key, &entry.text).metadata(metadata).await?,
        Some(title) => {
            let value = serde_json::json!({"title": title, "aliases": entry.aliases, "text": entry.text});
            memory.set(key, &value).metadata(metadata).await?
        }
    };
    Ok(())
}

impl Query {
    /// Adversarial queries ask for information that is missing, and some queries have lost their evidence.
    fn is_scored(&self) -> bool {
        self.category.as_deref() != Some("adversarial") && !self.gold.is_empty()
    }
}

#[derive(Default)]
struct Scores {
    queries: f64,
    recall: f64,
    reciprocal: f64,
    first: f64,
}

impl Scores {
    fn add(&mut self, query: &Query, ranked: &[String]) {
        let found = |group: &&Vec<String>| ranked.iter().take(10).any(|id| group.contains(id));
        let rank = ranked.iter().position(|id| query.gold.iter().any(|group| group.contains(id)));
        self.queries += 1.0;
        self.recall += query.gold.iter().filter(found).count() as f64 / query.gold.len().max(1) as f64;
        self.reciprocal += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        self.first += f64::from(u8::from(rank == Some(0)));
    }

    fn print(&self, dataset: &str, system: &str) {
        let share = |sum: f64| sum / self.queries.max(1.0);
        let (recall, reciprocal, first) = (share(self.recall), share(self.reciprocal), share(self.first));
        println!("{dataset:<24} {system:<20} {recall:>9.4} {reciprocal:>7.4} {first:>7.4}");
    }
}

/// The baseline: FTS5 with the Porter stemmer, the same stop words, and the query's words joined by OR.
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

    fn write(&self, id: &str, entry: &Entry, with_metadata: bool) {
        let mut text = entry.text.clone();
        if with_metadata {
            let date = entry.time.as_ref().and_then(|time| format!("{time}:00Z").parse::<jiff::Timestamp>().ok());
            let date = date.map(|date| date.strftime("%Y-%m-%d %-d %B").to_string());
            let more = [&entry.speaker, &entry.title, &date].into_iter().flatten().chain(&entry.aliases);
            more.for_each(|words| text.extend([" ", words]));
        }
        let mut insert = self.connection.prepare_cached("INSERT INTO entries (id, text) VALUES (?1, ?2)").unwrap();
        insert.execute([id, &*text]).unwrap();
    }

    fn search(&self, query: &str, limit: usize) -> Vec<String> {
        let words: Vec<String> = query
            .split(|character: char| !character.is_alphanumeric() && character != '\'')
            .map(str::to_lowercase)
            .filter(|word| !word.is_empty() && !stop_words::is_stop_word(word))
            .map(|word| format!("\"{word}\""))
            .collect();
        if words.is_empty() {
            return Vec::new();
        }
        let mut select = self
            .connection
            .prepare_cached(
                "SELECT id, snippet(entries, 1, '', '', '…', 32) FROM entries WHERE entries MATCH ?1 ORDER BY rank LIMIT ?2",
            )
            .unwrap();
        let rows = select.query_map((words.join(" OR "), limit as i64), |row| row.get(0)).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }
}

/// Times searches in one memory of many entries, and a search after every write.
async fn time(datasets: &[Dataset]) -> Result<()> {
    let entries: Vec<&Entry> = datasets.iter().flat_map(|dataset| &dataset.entries).collect();
    let queries: Vec<&str> = datasets.iter().flat_map(|set| set.queries.iter().map(|query| &*query.query)).collect();
    if entries.is_empty() || queries.is_empty() {
        return Ok(());
    }
    let corkboard = Corkboard::open("memory:").await?;
    let agent = corkboard.agent("timed")?;
    let fts = Fts::new();
    let all = entries.iter().cycle().take(TIMED_ENTRIES).enumerate();
    for (index, entry) in all.clone() {
        write(&agent, &format!("{index}"), entry).await?;
    }
    let (_, states) = corkboard.resident();
    let before = process_bytes();
    let started = Instant::now();
    agent.search("anything").await?;
    let built = started.elapsed();
    let grown = process_bytes().saturating_sub(before);
    let index_bytes = corkboard.resident().1 - states;
    let started = Instant::now();
    fts.connection.execute_batch("BEGIN").unwrap();
    all.clone().for_each(|(index, entry)| fts.write(&format!("{index}"), entry, true));
    fts.connection.execute_batch("COMMIT").unwrap();
    let inserted = started.elapsed();
    println!("\n{TIMED_ENTRIES} entries: about {:.1} MiB of states, {:.1} MiB of index", mib(states), mib(index_bytes));
    println!("(the process grew by {:.1} MiB while it was indexed)", mib(grown));
    compare("indexing all", built, inserted, 1);

    let started = Instant::now();
    for query in &queries {
        agent.search(query).await?;
    }
    let ours = started.elapsed();
    let started = Instant::now();
    queries.iter().for_each(|query| drop(fts.search(query, 10)));
    compare("search", ours, started.elapsed(), queries.len());

    let writes = || entries.iter().cycle().take(TIMED_WRITES).zip(queries.iter().cycle()).enumerate();
    let started = Instant::now();
    for (index, (entry, query)) in writes() {
        write(&agent, &format!("{}", index * 7 % TIMED_ENTRIES), entry).await?;
        agent.search(query).await?;
    }
    let ours = started.elapsed();
    let started = Instant::now();
    for (index, (entry, query)) in writes() {
        let id = format!("{}", index * 7 % TIMED_ENTRIES);
        // FTS5 identifies rows by number; the IDs here are numbered from 1.
        let rowid = (index * 7 % TIMED_ENTRIES + 1) as i64;
        fts.connection.prepare_cached("DELETE FROM entries WHERE rowid = ?1").unwrap().execute([rowid]).unwrap();
        let mut insert =
            fts.connection.prepare_cached("INSERT INTO entries (rowid, id, text) VALUES (?1, ?2, ?3)").unwrap();
        insert.execute((rowid, id, &entry.text)).unwrap();
        fts.search(query, 10);
    }
    compare("write and search", ours, started.elapsed(), TIMED_WRITES);
    corkboard.close().await
}

fn compare(what: &str, ours: Duration, theirs: Duration, times: usize) {
    let micros = |took: Duration| took.as_secs_f64() * 1e6 / times as f64;
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{what:<20} corkboard {:>9.0} µs, fts5 {:>9.0} µs: {ratio:.2}×", micros(ours), micros(theirs));
}

/// Resident memory of this process according to the system.
fn process_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
