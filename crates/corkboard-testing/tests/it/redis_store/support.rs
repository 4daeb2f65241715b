//! Test servers, and writers that record their answers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corkboard::store::{Append, Appended, Record, RedisStore, ServerUrl, Store, StoreError};
use corkboard::{CommitId, Corkboard, Error};
use corkboard_core::{Head, SpaceId, SpaceKind};
use corkboard_testing::servers::TestServer;
use jiff::Timestamp;
use parking_lot::Mutex;
use redis::FromRedisValue;

/// Longer than anything here takes.
const FOREVER: Duration = Duration::from_secs(120);

/// The result of a command that is sent directly to the server.
pub(crate) fn redis<T: FromRedisValue>(server: &TestServer, command: &[&str]) -> T {
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let (name, arguments) = command.split_first().unwrap();
    redis::cmd(name).arg(arguments).query(&mut connection).unwrap()
}

pub(crate) async fn open(url: &str) -> Arc<RedisStore> {
    open_within(url, FOREVER).await
}

pub(crate) async fn open_within(url: &str, answer_within: Duration) -> Arc<RedisStore> {
    Arc::new(RedisStore::open(&ServerUrl::new(url), answer_within).await.unwrap())
}

/// The error of opening the store.
pub(crate) async fn refused(url: &str) -> StoreError {
    match RedisStore::open(&ServerUrl::new(url), FOREVER).await {
        Ok(_) => panic!("{url} should not open"),
        Err(error) => error,
    }
}

pub(crate) fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

pub(crate) fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn commit() -> CommitId {
    CommitId(uuid::Uuid::new_v4())
}

/// An append of one record to a space.
pub(crate) fn append(space: &SpaceId, expected: Head, body: &[u8]) -> Append {
    let record =
        Record { rev: expected.rev + 1, commit: commit(), at: time(expected.rev as i64 + 1), body: body.to_vec() };
    Append { space: space.clone(), expected, records: vec![record], next_due: None, summary: b"{}".to_vec() }
}

/// The head after the append.
pub(crate) fn head_after(append: &Append) -> Head {
    let last = append.records.last().unwrap();
    Head { rev: last.rev, commit: last.commit }
}

/// Appends and expects success.
pub(crate) async fn put(store: &Arc<RedisStore>, append: Append) -> Head {
    let head = head_after(&append);
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    head
}

/// Waits until a condition holds that others establish.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + FOREVER;
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within {FOREVER:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn in_time<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(FOREVER, future).await.expect("the future should finish")
}

/// How often the randomized tests repeat.
pub(crate) fn rounds() -> usize {
    std::env::var("CORK_SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

/// Writers that add notes without pause and record their answers.
pub(crate) struct Writers {
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// The answers that writers got, by agent.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Acknowledged: durable.
    acknowledged: HashMap<String, HashSet<String>>,
    /// Failed: not written.
    denied: HashMap<String, HashSet<String>>,
    /// Unknown outcomes.
    pub(crate) unknown: usize,
}

impl Writers {
    /// Starts eight writers: half of them share one agent, the others have one each.
    pub(crate) fn start(corkboard: &Corkboard, name: &str) -> Self {
        let (stop, ledger) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Ledger::default())));
        let tasks = (0..8).map(|writer| {
            let agent = if writer % 2 == 0 { "shared".to_owned() } else { format!("own-{writer}") };
            let prefix = format!("{name}-{writer}");
            tokio::spawn(write(corkboard.clone(), agent, prefix, stop.clone(), ledger.clone()))
        });
        Self { tasks: tasks.collect(), stop, ledger }
    }

    /// Number of notes acknowledged so far.
    pub(crate) fn acknowledged(&self) -> usize {
        self.ledger.lock().acknowledged.values().map(HashSet::len).sum()
    }

    /// Waits until this many more notes are acknowledged.
    pub(crate) async fn progress(&self, notes: usize) {
        let before = self.acknowledged();
        eventually("the writers' progress", || async { self.acknowledged() >= before + notes }).await;
    }

    /// Stops the writers and compares their answers with the stored notes.
    pub(crate) async fn check(self, url: &str) -> Ledger {
        self.stop.store(true, Ordering::SeqCst);
        for task in self.tasks {
            in_time(task).await.unwrap();
        }
        let ledger = std::mem::take(&mut *self.ledger.lock());
        let corkboard = Corkboard::open(url).await.unwrap();
        for (agent, notes) in &ledger.acknowledged {
            let kept = corkboard.agent(agent).unwrap().working().notes().await.unwrap();
            let texts: HashSet<&str> = kept.iter().map(|note| &*note.text).collect();
            assert_eq!(texts.len(), kept.len(), "{agent}: no note should be there twice");
            let lost: Vec<_> = notes.iter().filter(|note| !texts.contains(note.as_str())).collect();
            assert!(lost.is_empty(), "{agent}: {} of {} acknowledged notes lost: {lost:?}", lost.len(), notes.len());
            let denied = ledger.denied.get(agent).cloned().unwrap_or_default();
            let undead: Vec<_> = denied.iter().filter(|note| texts.contains(note.as_str())).collect();
            assert!(undead.is_empty(), "{agent}: reported as failed, but written: {undead:?}");
        }
        assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
        corkboard.close().await.unwrap();
        ledger
    }
}

async fn write(corkboard: Corkboard, agent: String, prefix: String, stop: Arc<AtomicBool>, ledger: Arc<Mutex<Ledger>>) {
    let memory = corkboard.agent(&agent).unwrap().working();
    for index in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let note = format!("{prefix}-{index}");
        let answer = memory.add_note(&note).await;
        let mut ledger = ledger.lock();
        match answer {
            Ok(_) => {
                ledger.acknowledged.entry(agent.clone()).or_default().insert(note);
            }
            Err(Error::Store(StoreError::Unavailable(_))) => {
                ledger.denied.entry(agent.clone()).or_default().insert(note);
            }
            Err(Error::Store(StoreError::OutcomeUnknown(_))) => ledger.unknown += 1,
            Err(error) => panic!("{error}"),
        }
    }
}
