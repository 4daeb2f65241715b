//! `cork bench retrieval`: how much of the evidence a search finds.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use corkboard::embed::Reindex;
use corkboard::{AgentMemory, Corkboard, EntryMetadata, ErrorKind, Options, SearchAnswer, SpaceKind};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::Global;
use crate::commands::search::reindexed;
use crate::error::CliError;
use crate::output::{Fit, Output, Rest, table};
use crate::progress::ProgressLine;

/// Measure how much of the evidence a search finds
///
/// Reads sets of entries and queries, writes the entries into a memory that is not stored, and searches. Prints recall, nDCG,
/// MRR and hit@1 per set, and per category of queries. Queries of the category `adversarial` are not scored.
///
/// Uses the configured embedding model, if there is one.
///
/// A set is a file of JSON lines. An entry is {"kind": "entry", "id", "store", "text"} and optionally "speaker", "session",
/// "time", "title" and "aliases". A query is {"kind": "query", "store", "text", "category", "gold"}: `gold` lists groups of
/// entry IDs, and each group is one piece of evidence.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork bench retrieval questions.jsonl
  cork bench retrieval data/ --words-only --json

Example lines:
  {\"kind\": \"entry\", \"store\": \"team\", \"id\": \"e1\", \"text\": \"We deploy on Tuesdays\"}
  {\"kind\": \"query\", \"store\": \"team\", \"text\": \"When do we deploy?\", \"gold\": [[\"e1\"]]}")]
pub(crate) struct Retrieval {
    /// File of JSON lines, or folder with such files
    path: PathBuf,

    /// Match words only, without any embedding model, not even the built-in one
    #[arg(long)]
    words_only: bool,
}

/// Number of hits to examine.
const DEPTH: usize = 20;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Dataset {},
    Entry(Entry),
    Query(Query),
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    store: String,
    text: String,
    speaker: Option<String>,
    time: Option<String>,
    session: Option<serde_json::Value>,
    title: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
}

#[derive(Deserialize)]
struct Query {
    store: String,
    text: String,
    #[serde(default)]
    category: String,
    gold: Vec<Vec<String>>,
}

impl Query {
    fn is_scored(&self) -> bool {
        self.category != "adversarial" && !self.gold.is_empty()
    }
}

/// Sums over queries.
#[derive(Default, Clone, Copy)]
struct Scores {
    queries: u32,
    sums: [f64; 6],
}

const MEASURES: [&str; 6] = ["recall@5", "recall@10", "recall@20", "nDCG@10", "MRR", "hit@1"];

/// The scores of a set, or of one category of its queries.
#[derive(Serialize)]
struct Row {
    set: String,
    category: Option<String>,
    queries: u32,
    #[serde(flatten)]
    measures: BTreeMap<&'static str, f64>,
}

impl Retrieval {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let output = Output::new(global.json);
        let embedder = global.options().embedder.filter(|_| !self.words_only);
        // The timeout must not decide about the results.
        let options = Options { embedder, embedder_query_timeout: Duration::from_secs(600), ..Options::default() };
        let mut rows = Vec::new();
        let mut progress = ProgressLine::new(output);
        for file in files(&self.path)? {
            rows.extend(measure(&file, &options, self.words_only, &mut progress).await?);
        }
        drop(progress);
        output.answer(&json!({"items": rows, "next": null}), || text(&rows))
    }
}

fn text(rows: &[Row]) -> String {
    let header = [("SET", Rest), ("CATEGORY", Fit), ("QUERIES", Fit)];
    let header = header.into_iter().chain(MEASURES.map(|name| (name, Fit))).collect::<Vec<_>>();
    let Ok(header) = <[_; 9]>::try_from(header) else { return String::new() };
    table(
        header,
        rows.iter().map(|row| {
            let measure = |name| row.measures.get(name).map_or_else(String::new, |value| format!("{value:.3}"));
            let [r5, r10, r20, ndcg, mrr, hit] = MEASURES.map(measure);
            let category = row.category.clone().unwrap_or_else(|| "all".into());
            [row.set.clone(), category, row.queries.to_string(), r5, r10, r20, ndcg, mrr, hit]
        }),
    )
}

fn files(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unreadable = |error| CliError::invalid("path", format!("cannot read {}: {error}", path.display()));
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for file in std::fs::read_dir(path).map_err(unreadable)? {
        let file = file.map_err(unreadable)?.path();
        if file.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(file);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(CliError::invalid("path", format!("{} contains no file with the ending .jsonl", path.display()))),
        false => Ok(files),
    }
}

fn read(file: &Path) -> Result<(Vec<Entry>, Vec<Query>), CliError> {
    let name = file.display();
    let invalid = |message: String| CliError::invalid("path", message);
    let text = std::fs::read_to_string(file).map_err(|error| invalid(format!("cannot read {name}: {error}")))?;
    let (mut entries, mut queries) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match parse(line).map_err(|problem| invalid(format!("{name}, line {number}: {problem}")))? {
            Line::Dataset {} => {}
            Line::Entry(entry) => entries.push(entry),
            Line::Query(query) => queries.push((number, query)),
        }
    }
    if queries.is_empty() {
        return Err(invalid(format!("{name} contains no query")));
    }
    let known: HashSet<(&str, &str)> = entries.iter().map(|entry: &Entry| (&*entry.store, &*entry.id)).collect();
    for (number, query) in queries.iter().filter(|(_, query)| query.is_scored()) {
        if let Some(id) = query.gold.iter().flatten().find(|id| !known.contains(&(&*query.store, &***id))) {
            let store = &query.store;
            return Err(invalid(format!("{name}, line {number}: gold ID {id:?} is not an entry of store {store:?}")));
        }
    }
    let queries = queries.into_iter().map(|(_, query)| query).collect();
    Ok((entries, queries))
}

/// Reads a line, or says what is wrong with it.
fn parse(line: &str) -> Result<Line, String> {
    match serde_json::from_str(line) {
        Ok(value @ serde_json::Value::Object(_)) => serde_json::from_value(value).map_err(|error| error.to_string()),
        _ => Err("expected a JSON object".into()),
    }
}

async fn measure(
    file: &Path,
    options: &Options,
    words_only: bool,
    progress: &mut ProgressLine,
) -> Result<Vec<Row>, CliError> {
    let (entries, queries) = read(file)?;
    let corkboard = Corkboard::open_with("memory:", options.clone()).await?;
    for (done, entry) in (0..).zip(&entries) {
        progress.tell_count("writing", done, entries.len() as u64, "entries");
        write(&corkboard.agent(&entry.store)?, entry).await?;
    }
    if options.embedder.is_some() {
        index(&corkboard, &entries, progress).await?;
    }
    let mut all = Scores::default();
    let mut by_category: BTreeMap<&str, Scores> = BTreeMap::new();
    for (done, query) in (0..).zip(&queries) {
        progress.tell_count("searching", done, queries.len() as u64, "queries");
        if !query.is_scored() {
            continue;
        }
        let agent = corkboard.agent(&query.store)?;
        let SearchAnswer { hits, embedder, .. } =
            agent.search(&query.text).limit(DEPTH).words_only(words_only).answer().await?;
        if let Some(problem) = embedder.and_then(|embedder| embedder.problem) {
            return Err(CliError::Own {
                code: "embedder_failed",
                kind: ErrorKind::Unavailable,
                message: problem,
                hint: None,
            });
        }
        let ranked: Vec<&str> = hits.iter().filter_map(|hit| hit.key()).collect();
        let measures = measures(&query.gold, &ranked);
        all.add(measures);
        by_category.entry(&query.category).or_default().add(measures);
    }
    corkboard.close().await?;
    let set = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let row = |category: Option<&str>, scores: Scores| Row {
        set: set.clone(),
        category: category.map(str::to_owned),
        queries: scores.queries,
        measures: scores.means(),
    };
    let categories = by_category.into_iter().filter(|(category, _)| !category.is_empty());
    Ok(std::iter::once(row(None, all)).chain(categories.map(|(name, scores)| row(Some(name), scores))).collect())
}

/// Waits until all entries have vectors of the configured embedding model.
async fn index(corkboard: &Corkboard, entries: &[Entry], progress: &mut ProgressLine) -> Result<(), CliError> {
    let stores: HashSet<&str> = entries.iter().map(|entry| entry.store.as_str()).collect();
    for (done, store) in (0..).zip(&stores) {
        progress.tell_count("indexing", done, stores.len() as u64, "agents");
        reindexed(&corkboard.log(SpaceKind::Agent, store)?, Reindex::Missing, |_| {}).await?;
    }
    Ok(())
}

async fn write(agent: &AgentMemory, entry: &Entry) -> Result<(), CliError> {
    let time = |time: &String| {
        let with_zone = if time.len() == "2023-05-08T13:56".len() { format!("{time}:00Z") } else { time.clone() };
        with_zone.parse().map_err(|_| CliError::invalid("path", format!("entry {}: invalid time {time:?}", entry.id)))
    };
    let session = entry.session.as_ref().map(|session| match session.as_str() {
        Some(text) => text.to_owned(),
        None => session.to_string(),
    });
    let metadata = EntryMetadata {
        author: entry.speaker.clone(),
        session,
        at: entry.time.as_ref().map(time).transpose()?,
        tags: (!entry.aliases.is_empty()).then(|| entry.aliases.clone()),
        ..EntryMetadata::default()
    };
    let text = match &entry.title {
        Some(title) => format!("{title}: {}", entry.text),
        None => entry.text.clone(),
    };
    agent.working().set(&entry.id, &text).metadata(metadata).await?;
    Ok(())
}

/// The measures of one query, in the order of [`MEASURES`].
fn measures(gold: &[Vec<String>], ranked: &[&str]) -> [f64; 6] {
    let has = |group: &Vec<String>, id: &str| group.iter().any(|member| member == id);
    let recall = |depth: usize| {
        let found = gold.iter().filter(|group| ranked.iter().take(depth).any(|id| has(group, id)));
        found.count() as f64 / gold.len() as f64
    };
    let first = ranked.iter().position(|id| gold.iter().any(|group| has(group, id)));
    let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
    // Each piece of evidence counts once.
    let mut seen = HashSet::new();
    let mut gain = 0.0;
    for (place, id) in ranked.iter().take(10).enumerate() {
        let new: Vec<usize> = (0..gold.len()).filter(|at| gold.get(*at).is_some_and(|group| has(group, id))).collect();
        if new.into_iter().filter(|group| seen.insert(*group)).count() > 0 {
            gain += discount(place);
        }
    }
    let ideal: f64 = (0..gold.len().min(10)).map(discount).sum();
    let reciprocal = first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
    [recall(5), recall(10), recall(20), gain / ideal, reciprocal, f64::from(u8::from(first == Some(0)))]
}

impl Scores {
    fn add(&mut self, measures: [f64; 6]) {
        self.queries += 1;
        self.sums.iter_mut().zip(measures).for_each(|(sum, measure)| *sum += measure);
    }

    fn means(&self) -> BTreeMap<&'static str, f64> {
        let queries = f64::from(self.queries.max(1));
        MEASURES.into_iter().zip(self.sums.map(|sum| sum / queries)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_files_are_refused_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bad.jsonl");
        let entry = r#"{"kind": "entry", "store": "s", "id": "e1", "text": "x"}"#;
        for (text, expected) in [
            ("[1]", "bad.jsonl, line 1: expected a JSON object"),
            ("\nnot JSON", "bad.jsonl, line 2: expected a JSON object"),
            (r#"{"kind": "entry", "store": "s", "text": "x"}"#, "bad.jsonl, line 1: missing field `id`"),
            (
                r#"{"kind": "note"}"#,
                "bad.jsonl, line 1: unknown variant `note`, expected one of `dataset`, `entry`, `query`",
            ),
            (entry, "bad.jsonl contains no query"),
            (
                &format!("{entry}\n{}", r#"{"kind": "query", "store": "t", "text": "x", "gold": [["e1"]]}"#),
                "bad.jsonl, line 2: gold ID \"e1\" is not an entry of store \"t\"",
            ),
        ] {
            std::fs::write(&file, text).unwrap();
            let Some(CliError::Own { message, .. }) = read(&file).err() else { panic!("it should be refused: {text}") };
            assert!(message.ends_with(expected), "{message}");
        }
    }

    #[test]
    fn measures_are_those_of_the_literature() {
        let gold = |groups: &[&[&str]]| -> Vec<Vec<String>> {
            groups.iter().map(|group| group.iter().map(|id| (*id).to_owned()).collect()).collect()
        };
        let third = 1.0 / 4_f64.log2();
        for (groups, ranked, expected) in [
            (&[&["a"] as &[&str]] as &[&[&str]], &["a", "b"] as &[&str], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
            (&[&["a", "b"]], &["x", "y", "b", "a"], [1.0, 1.0, 1.0, third, 1.0 / 3.0, 0.0]),
            (&[&["a"], &["b"]], &["a"], [0.5, 0.5, 0.5, 1.0 / (1.0 + 1.0 / 3_f64.log2()), 1.0, 1.0]),
            (&[&["a"]], &["1", "2", "3", "4", "5", "a"], [0.0, 1.0, 1.0, 1.0 / 7_f64.log2(), 1.0 / 6.0, 0.0]),
            (&[&["a"]], &[], [0.0; 6]),
        ] {
            for (measure, expected) in measures(&gold(groups), ranked).into_iter().zip(expected) {
                assert!((measure - expected).abs() < 1e-9, "{groups:?} {ranked:?}: {measure} {expected}");
            }
        }
    }
}
