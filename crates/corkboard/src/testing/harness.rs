//! A store to test, and other processes on it.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::servers::RedisPrefix;
use super::{FaultPlan, FaultyStore};
use crate::store::{MemoryStore, Ownership, RedisStore, ServerUrl, SqliteStore, Store};
use crate::{Corkboard, Options};

/// A fresh place for one test's data, which can be opened several times.
pub struct Harness {
    kind: Kind,
    worker: Option<PathBuf>,
}

enum Kind {
    Memory(Arc<MemoryStore>),
    Sqlite(tempfile::TempDir),
    Redis(RedisPrefix),
    Faulty(Box<Harness>),
}

impl Harness {
    /// `memory:`, shared by all who open it.
    pub fn memory() -> Self {
        Self { kind: Kind::Memory(Arc::new(MemoryStore::shared())), worker: None }
    }

    /// `sqlite:` in a temporary folder. `worker` is the program `conformance-worker`.
    pub fn sqlite(worker: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { kind: Kind::Sqlite(folder), worker: Some(worker.into()) }
    }

    /// `redis:` on the server that tests share, below a prefix of its own. `worker` is the program `conformance-worker`.
    pub fn redis(worker: &str) -> Self {
        Self { kind: Kind::Redis(RedisPrefix::new()), worker: Some(worker.into()) }
    }

    /// The store of another harness behind a [`FaultyStore`] that injects nothing.
    pub fn faulty(inner: Self) -> Self {
        let worker = inner.worker.clone();
        Self { kind: Kind::Faulty(Box::new(inner)), worker }
    }

    /// Opens the store: as another process would, where the store is for several.
    pub async fn open(&self) -> Arc<dyn Store> {
        match &self.kind {
            Kind::Memory(store) => store.clone(),
            Kind::Sqlite(folder) => {
                let path = folder.path().join("corkboard.db");
                let timeout = Options::default().busy_timeout;
                Arc::new(SqliteStore::open(path, Ownership::Shared, timeout).await.expect("the store opens"))
            }
            Kind::Redis(prefix) => {
                let timeout = Options::default().busy_timeout;
                Arc::new(RedisStore::open(&ServerUrl::new(&prefix.url()), timeout).await.expect("the store opens"))
            }
            Kind::Faulty(inner) => {
                let inner = Box::pin(inner.open()).await;
                Arc::new(FaultyStore::new(inner, FaultPlan::none()))
            }
        }
    }

    /// A Corkboard on the store.
    pub async fn board(&self) -> Corkboard {
        self.board_with(Options::default()).await
    }

    /// A Corkboard on the store, with settings.
    pub async fn board_with(&self, options: Options) -> Corkboard {
        Corkboard::with_store(self.open().await, options)
    }

    /// The store's URL for other processes.
    pub fn url(&self) -> String {
        match &self.kind {
            Kind::Memory(_) => panic!("memory: is in one process; process cases do not apply to it"),
            Kind::Sqlite(folder) => format!("sqlite:{}", folder.path().join("corkboard.db").display()),
            Kind::Redis(prefix) => prefix.url(),
            Kind::Faulty(inner) => inner.url(),
        }
    }

    /// Starts a process that works on the store. See `worker.rs` for what it can do.
    pub fn spawn(&self, arguments: &[&str]) -> Worker {
        let program = self.worker.as_ref().expect("process cases need a worker program");
        let mut child = Command::new(program)
            .arg(self.url())
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the worker starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        Worker { child, lines }
    }
}

/// Another process.
pub struct Worker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// The next line that it prints: an acknowledged write, or a revision seen.
    pub async fn line(&mut self) -> Option<String> {
        self.lines.next_line().await.expect("the worker's output can be read")
    }

    /// Waits for its end, which must be a good one. Returns the lines not read yet.
    pub async fn finish(mut self) -> Vec<String> {
        let rest = self.rest().await;
        let status = self.child.wait().await.expect("the worker can be waited for");
        assert!(status.success(), "the worker ended with {status}: {rest:?}");
        rest
    }

    /// Kills it with SIGKILL. Returns the lines not read yet.
    pub async fn kill(mut self) -> Vec<String> {
        self.child.start_kill().expect("the worker can be killed");
        let rest = self.rest().await;
        let _ = self.child.wait().await;
        rest
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }
}
