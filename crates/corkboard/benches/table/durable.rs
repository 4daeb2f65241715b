//! Durable writes compared with raw SQLite at the same durability and with the same bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corkboard::store::{Ownership, SqliteStore};
use corkboard::{Corkboard, Options};
use tokio::sync::oneshot;

use crate::{Row, key, median, runtime, small};

/// Average log size of one revision of a small struct, in bytes.
const BODY: usize = 380;
const PAIRS: usize = 1000;
const CALLERS: usize = 64;
const ROUNDS: usize = 9;
const PER_CALLER: usize = 100;

pub(crate) fn rows() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut rows = vec![one_caller(folder.path()).await];
        rows.extend(many_callers(folder.path()).await);
        rows
    })
}

async fn open(path: &Path) -> (Corkboard, Arc<SqliteStore>) {
    let store = SqliteStore::open(path.to_owned(), Ownership::Shared, Duration::from_secs(30)).await.unwrap();
    let store = Arc::new(store);
    (Corkboard::with_store(store.clone(), Options::default()), store)
}

pub(crate) fn raw(path: &Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = FULL; CREATE TABLE log (position INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        .unwrap();
    connection
}

async fn one_caller(folder: &Path) -> Row {
    let (corkboard, _) = open(&folder.join("one.db")).await;
    let memory = corkboard.agent("a").unwrap().working();
    let raw = raw(&folder.join("raw-one.db"));
    let body = vec![b'x'; BODY];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for index in 0..PAIRS {
        let started = Instant::now();
        memory.set(&key(index % 100), &small()).await.unwrap();
        ours.push(started.elapsed());
        let started = Instant::now();
        raw.execute("INSERT INTO log (body) VALUES (?1)", [&body]).unwrap();
        theirs.push(started.elapsed());
    }
    let ratio = median(ours.iter().zip(&theirs).map(|(ours, raw)| ours.as_secs_f64() / raw.as_secs_f64()).collect());
    let result = format!("{ratio:.2}× ({:.0} µs : {:.0} µs)", micros(median(ours)), micros(median(theirs)));
    Row::new("durable `set`, 1 caller", "one raw SQLite FULL commit of the same bytes", result, "≤ 1.3×")
}

async fn many_callers(folder: &Path) -> Vec<Row> {
    let (many, many_store) = open(&folder.join("many.db")).await;
    let (one, one_store) = open(&folder.join("single.db")).await;
    let mut raw = raw(&folder.join("raw-many.db"));
    let commands = (CALLERS * PER_CALLER) as f64;
    let bare = Bare::start(&folder.join("bare.db"));
    let (mut on_many, mut on_one, mut on_bare, mut raws) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        on_many.push(commands / callers(&many, PER_CALLER, |caller| format!("agent-{caller}")).await.as_secs_f64());
        raws.push(commands / raw_batches(&mut raw, BODY, PER_CALLER).as_secs_f64());
        on_one.push(commands / callers(&one, PER_CALLER, |_| "agent".to_owned()).await.as_secs_f64());
        on_bare.push(commands / bare.callers(PER_CALLER).await.as_secs_f64());
    }
    let total = commands * ROUNDS as f64;
    let row = |what: &str, ours: Vec<f64>, commits: u64, aim: &'static str| {
        let ratio = median(ours.iter().zip(&raws).map(|(ours, raw)| ours / raw).collect());
        let (ours, raw) = (median(ours), median(raws.clone()));
        let result =
            format!("{ratio:.2}× ({ours:.0}/s : {raw:.0}/s), {:.3} fsyncs per command", commits as f64 / total);
        Row::new(what, "raw SQLite, one writer, batches of 64", result, aim)
    };
    vec![
        row("durable `set`, 64 callers on 64 agents", on_many, many_store.commits(), "≥ 0.5×"),
        row("durable `set`, 64 callers on one agent", on_one, one_store.commits(), "≥ 0.5×"),
        row("64 callers whose rows one thread inserts, without Corkboard", on_bare, bare.commits(), "–"),
    ]
}

async fn callers(corkboard: &Corkboard, times: usize, agent: impl Fn(usize) -> String) -> Duration {
    let started = Instant::now();
    let tasks = (0..CALLERS).map(|caller| {
        let memory = corkboard.agent(&agent(caller)).unwrap().working();
        tokio::spawn(async move {
            for index in 0..times {
                memory.set(&key(index % PER_CALLER), &small()).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await;
    started.elapsed()
}

/// Writes batches of 64 rows.
pub(crate) fn raw_batches(connection: &mut rusqlite::Connection, body: usize, batches: usize) -> Duration {
    let body = vec![b'x'; body];
    let started = Instant::now();
    for _ in 0..batches {
        let transaction = connection.transaction().unwrap();
        {
            let mut insert = transaction.prepare_cached("INSERT INTO log (body) VALUES (?1)").unwrap();
            for _ in 0..CALLERS {
                insert.execute([&body]).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
    started.elapsed()
}

/// The minimum of a durable write, without deciding, caching or reading: each caller hands a row to a thread and waits.
/// The thread commits all rows that have arrived.
struct Bare {
    rows: std::sync::mpsc::Sender<(Vec<u8>, oneshot::Sender<()>)>,
    commits: Arc<AtomicU64>,
}

impl Bare {
    fn start(path: &Path) -> Self {
        let (rows, waiting) = std::sync::mpsc::channel::<(Vec<u8>, oneshot::Sender<()>)>();
        let (mut connection, runtime) = (raw(path), tokio::runtime::Handle::current());
        let commits = Arc::new(AtomicU64::new(0));
        let counted = commits.clone();
        std::thread::spawn(move || {
            while let Ok(first) = waiting.recv() {
                let mut batch = vec![first];
                let transaction = connection.transaction().unwrap();
                {
                    let mut insert = transaction.prepare_cached("INSERT INTO log (body) VALUES (?1)").unwrap();
                    let mut inserted = 0;
                    while inserted < batch.len() {
                        for (body, _) in &batch[inserted..] {
                            insert.execute([body]).unwrap();
                        }
                        inserted = batch.len();
                        batch.extend(waiting.try_iter());
                    }
                }
                transaction.commit().unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
                runtime.spawn(async move { batch.into_iter().for_each(|(_, done)| done.send(()).unwrap()) });
            }
        });
        Self { rows, commits }
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    async fn callers(&self, times: usize) -> Duration {
        let started = Instant::now();
        let tasks = (0..CALLERS).map(|_| {
            let rows = self.rows.clone();
            tokio::spawn(async move {
                for _ in 0..times {
                    let (done, answer) = oneshot::channel();
                    rows.send((vec![b'x'; BODY], done)).unwrap();
                    answer.await.unwrap();
                }
            })
        });
        futures_util::future::join_all(tasks).await;
        started.elapsed()
    }
}

/// Runs a workload for callgrind: each caller writes `times` times.
pub(crate) async fn work(name: &str, times: usize) -> bool {
    let Some(name) = name.strip_prefix("durable ") else { return false };
    let folder = tempfile::tempdir().unwrap();
    match name {
        "raw" => drop(raw_batches(&mut raw(&folder.path().join("raw.db")), BODY, times)),
        _ => {
            let (corkboard, _) = open(&folder.path().join("ours.db")).await;
            callers(
                &corkboard,
                times,
                |caller| if name == "many" { format!("agent-{caller}") } else { "agent".into() },
            )
            .await;
        }
    }
    true
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
