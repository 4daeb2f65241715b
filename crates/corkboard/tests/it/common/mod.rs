//! A store to test on with a clock that the test controls, and short forms of common checks.

use std::sync::Arc;
use std::time::Duration;

use corkboard::{
    AgentMemory, Corkboard, EntryMetadata, Error, LimitName, ManualClock, MemoryEvent, Options, Refusal, Result,
    ScopeInfo, WorkingMemory,
};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::TryRecvError;

/// Longer than any test takes. A future that takes longer hangs.
const FOREVER: Duration = Duration::from_secs(120);

/// A fresh place for one test's data, and a manual clock.
pub(crate) struct Home {
    url: String,
    pub(crate) clock: Arc<ManualClock>,
    _folder: Option<TempDir>,
}

impl Home {
    /// Every opening is a separate store.
    pub(crate) fn memory() -> Self {
        Self { url: "memory:".into(), clock: clock(), _folder: None }
    }

    /// Every opening is another Corkboard on the same file, as in another process.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("corkboard.db").display());
        Self { url, clock: clock(), _folder: Some(folder) }
    }

    /// The current time of the clock.
    pub(crate) fn clock_now(&self) -> Timestamp {
        corkboard::Clock::now(&*self.clock)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The folder of its files.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self._folder.as_ref().unwrap().path()
    }

    /// Whether two openings share one store.
    pub(crate) fn is_shared(&self) -> bool {
        self._folder.is_some()
    }

    /// The defaults, except that the test controls time: no tick happens by itself.
    pub(crate) fn options(&self) -> Options {
        let never = Duration::from_secs(365 * 24 * 3600);
        Options { clock: self.clock.clone(), tick_interval: never, ..Options::default() }
    }

    pub(crate) async fn open(&self) -> Corkboard {
        self.open_with(self.options()).await
    }

    pub(crate) async fn open_with(&self, options: Options) -> Corkboard {
        Corkboard::open_with(&self.url, options).await.unwrap()
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(start()))
}

/// The time at which every test starts.
pub(crate) fn start() -> Timestamp {
    "2026-02-04T12:00:00Z".parse().unwrap()
}

/// Runs a test on every store, each time from scratch.
pub(crate) async fn on_every_store(test: impl AsyncFn(Home)) {
    for home in [Home::memory(), Home::sqlite()] {
        println!("on {}", home.url);
        in_time(test(home)).await;
    }
}

/// The future's result; panics if the future takes too long.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(FOREVER, future).await.unwrap_or_else(|_| panic!("the future did not finish"))
}

/// A Corkboard, agent "A" in it, and the agent's working memory.
pub(crate) async fn agent_a(home: &Home) -> (Corkboard, AgentMemory, WorkingMemory) {
    let corkboard = home.open().await;
    let agent = corkboard.agent("A").unwrap();
    let memory = agent.working();
    (corkboard, agent, memory)
}

/// All events received so far.
pub(crate) fn drain(events: &mut broadcast::Receiver<MemoryEvent>) -> Vec<MemoryEvent> {
    let mut drained = Vec::new();
    loop {
        match events.try_recv() {
            Ok(event) => drained.push(event),
            Err(TryRecvError::Empty | TryRecvError::Closed) => return drained,
            Err(TryRecvError::Lagged(missed)) => panic!("missed {missed} events"),
        }
    }
}

/// The refusal of a call that must have been refused.
pub(crate) fn refusal<T>(result: Result<T>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        Err(other) => panic!("expected a refusal, found {other:?}"),
        Ok(_) => panic!("expected a refusal, found success"),
    }
}

/// The error of an attempt that must leave no trace: no revision, no changed content, no event.
pub(crate) async fn fails_without_a_trace<T>(
    corkboard: &Corkboard,
    agent: &AgentMemory,
    attempt: impl IntoFuture<Output = Result<T>>,
) -> Error {
    let look = async || {
        let scopes = agent.working().active_scopes().await.unwrap();
        (agent.rev().await.unwrap(), agent.snapshot().await.unwrap().memory, agent.stats().await.unwrap(), scopes)
    };
    let before = look().await;
    let mut events = corkboard.subscribe();
    let error = attempt.await.err().unwrap_or_else(|| panic!("expected an error, found success"));
    assert_eq!(drain(&mut events), []);
    assert_eq!(look().await, before);
    error
}

/// Like [`fails_without_a_trace`], for attempts that must be refused.
pub(crate) async fn refused<T>(
    corkboard: &Corkboard,
    agent: &AgentMemory,
    attempt: impl IntoFuture<Output = Result<T>>,
) -> Refusal {
    refusal(Err::<T, _>(fails_without_a_trace(corkboard, agent, attempt).await))
}

pub(crate) fn limit(limit: LimitName, used: u64, allowed: u64) -> Refusal {
    Refusal::Limit { limit, used, allowed }
}

/// Metadata of an entry that expires after `days` days.
pub(crate) fn days(days: u32) -> EntryMetadata {
    EntryMetadata { expiry_days: Some(days), ..EntryMetadata::default() }
}

/// The names in a list of scopes, sorted.
pub(crate) fn names(scopes: &[ScopeInfo]) -> Vec<&str> {
    let mut names: Vec<_> = scopes.iter().map(|scope| scope.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Makes the log of one space unreadable, in a store that is not open.
pub(crate) fn damage(home: &Home, space: &str) {
    let path = home.url().strip_prefix("sqlite:").unwrap();
    let sql = "UPDATE log SET body = x'7b' WHERE space = (SELECT id FROM spaces WHERE name = ?1)";
    let changed = rusqlite::Connection::open(path).unwrap().execute(sql, [space]).unwrap();
    assert!(changed > 0, "{space} has no log");
}

/// Replaces a text in a space's log, to imitate an older program.
pub(crate) fn rewrite(home: &Home, space: &str, text: &str, other: &str) {
    let path = home.url().strip_prefix("sqlite:").unwrap();
    let sql = "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), ?2, ?3) AS BLOB)
        WHERE space = (SELECT id FROM spaces WHERE name = ?1) AND instr(CAST(body AS TEXT), ?2) > 0";
    let database = rusqlite::Connection::open(path).unwrap();
    let changed = database.execute(sql, [space, text, other]).unwrap();
    assert!(changed > 0, "{space} does not contain {text}");
    let version: u32 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    if version > 3 {
        // The older program had no checksums.
        let before = "ALTER TABLE log DROP COLUMN sum; ALTER TABLE snapshots DROP COLUMN sum; PRAGMA user_version = 3";
        database.execute_batch(before).unwrap();
    }
}

/// The texts of the notes.
pub(crate) fn texts(notes: &[corkboard::Note]) -> Vec<&str> {
    notes.iter().map(|note| &*note.text).collect()
}
