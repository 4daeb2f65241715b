//! The PostgreSQL store under server crashes, network cuts, contention, and behind a proxy.

mod access;
mod crash;
mod network;
mod pooling;
mod tables;
mod upkeep;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use corkboard::store::{Append, Appended, PostgresStore, Record, ServerUrl, Store, StoreError};
use corkboard::{CommitId, Corkboard, Error, Options};
use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

/// How often the randomized tests repeat. `make soak` asks for more.
fn rounds(few: usize) -> usize {
    std::env::var("CORK_SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(few)
}

/// A store with this timeout for everything.
async fn store(url: &str, patience: Duration) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(&ServerUrl::new(url), patience).await.unwrap())
}

async fn patient(url: &str) -> Arc<PostgresStore> {
    store(url, Options::default().busy_timeout).await
}

async fn open(url: &str, patience: Duration) -> Corkboard {
    Corkboard::with_store(store(url, patience).await, Options::default())
}

/// A connection for direct SQL.
async fn sql(url: &str) -> Client {
    let url = url.split('?').next().unwrap();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

fn commit() -> CommitId {
    CommitId(uuid::Uuid::new_v4())
}

/// One record after `expected`.
fn append(space: &SpaceId, expected: Head, body: &[u8]) -> Append {
    let rev = expected.rev + 1;
    let record = Record { rev, commit: commit(), at: Timestamp::from_second(rev as i64).unwrap(), body: body.to_vec() };
    Append { space: space.clone(), expected, records: vec![record], next_due: None, summary: b"{}".to_vec() }
}

fn new_head(append: &Append) -> Head {
    let last = append.records.last().unwrap();
    Head { rev: last.rev, commit: last.commit }
}

/// Appends and expects success. Returns the new head.
async fn put(store: &dyn Store, space: &SpaceId, expected: Head, body: &[u8]) -> Head {
    let append = append(space, expected, body);
    let head = new_head(&append);
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    head
}

/// Waits until a condition holds that others establish.
async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within 120 s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Callers that add notes without pause and record their answers.
struct Storm {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    callers: Vec<JoinHandle<Vec<NoteOutcome>>>,
}

/// An agent, a note, and the answer that its writer got.
type NoteOutcome = (String, String, Result<(), Error>);

impl Storm {
    /// Starts callers on every Corkboard, on a few agents each that all of them write to.
    fn start(boards: &[Corkboard]) -> Self {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let callers = (0..boards.len() * 6).map(|caller| {
            let agent = format!("agent-{}", caller / boards.len() % 3);
            let memory = boards[caller % boards.len()].agent(&agent).unwrap().working();
            let (stop, acknowledged) = (stop.clone(), acknowledged.clone());
            tokio::spawn(async move {
                let mut outcomes = Vec::new();
                for index in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let note = format!("{caller}/{index}");
                    let outcome = memory.add_note(&note).await.map(|_| ());
                    acknowledged.fetch_add(usize::from(outcome.is_ok()), Ordering::SeqCst);
                    outcomes.push((agent.clone(), note, outcome));
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                outcomes
            })
        });
        let callers = callers.collect();
        Self { stop, acknowledged, callers }
    }

    /// Waits until this many more notes are acknowledged.
    async fn more(&self, acknowledged: usize) {
        let enough = self.acknowledged.load(Ordering::SeqCst) + acknowledged;
        eventually("writes are acknowledged", || async { self.acknowledged.load(Ordering::SeqCst) >= enough }).await;
    }

    /// Checks that an acknowledged note is stored once, a failed one is not stored, and only a note with an unknown
    /// outcome can be either.
    async fn judge(self, fresh: &Corkboard) {
        self.stop.store(true, Ordering::SeqCst);
        let mut outcomes = Vec::new();
        for caller in self.callers {
            outcomes.extend(caller.await.unwrap());
        }
        let mut count: HashMap<(String, String), usize> = HashMap::new();
        for agent in (0..3).map(|agent| format!("agent-{agent}")) {
            for note in fresh.agent(&agent).unwrap().working().notes().await.unwrap() {
                *count.entry((agent.clone(), note.text.to_string())).or_default() += 1;
            }
        }
        let (mut acknowledged, mut unknown, mut failed) = (0, 0, 0);
        for (agent, note, outcome) in outcomes {
            let found = count.get(&(agent, note.clone())).copied().unwrap_or(0);
            match outcome {
                Ok(()) => {
                    acknowledged += 1;
                    assert_eq!(found, 1, "acknowledged {note}");
                }
                Err(Error::Store(StoreError::OutcomeUnknown(_))) => {
                    unknown += 1;
                    assert!(found <= 1, "{note} with unknown outcome is stored {found} times");
                }
                Err(error) => {
                    failed += 1;
                    assert_eq!(found, 0, "{note} failed with {error}, but is stored");
                }
            }
        }
        println!("{acknowledged} acknowledged, {unknown} unknown, {failed} failed");
        assert_eq!(fresh.check().await.unwrap(), [""; 0]);
    }
}
