//! A store to test, and other processes on it.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::servers::{POSTGRES_URL, RedisPrefix, shared, unique};
use super::{FaultPlan, FaultyStore, PgBouncer};
use corkboard::store::{
    FileStore, MemoryStore, Ownership, PostgresStore, RedisStore, ServerUrl, SqliteStore, Store, StoreError,
};
use corkboard::{Corkboard, Options};

/// A fresh place for one test's data that can be opened several times.
pub struct Harness {
    kind: Kind,
    worker: Option<PathBuf>,
}

enum Kind {
    Memory(Arc<MemoryStore>),
    File { folder: tempfile::TempDir, opened: tokio::sync::Mutex<Option<Arc<FileStore>>> },
    Sqlite(tempfile::TempDir),
    Postgres(PostgresSchema),
    Redis(RedisPrefix),
    Faulty(Box<Harness>),
}

/// How long a writer waits for other processes: on a busy disk, six writers can keep one waiting for over 30 s.
pub const SQLITE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

impl Harness {
    /// `memory:`, shared by everyone who opens it.
    pub fn memory() -> Self {
        Self { kind: Kind::Memory(Arc::new(MemoryStore::shared())), worker: None }
    }

    /// `file:` in a temporary folder, opened once for this whole process. `worker` is the program `conformance-worker`.
    pub fn file(worker: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder should be created");
        Self { kind: Kind::File { folder, opened: tokio::sync::Mutex::default() }, worker: Some(worker.into()) }
    }

    /// `sqlite:` in a temporary folder. `worker` is the program `conformance-worker`.
    pub fn sqlite(worker: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder should be created");
        Self { kind: Kind::Sqlite(folder), worker: Some(worker.into()) }
    }

    /// `postgres:` in a new schema on the shared test server. `worker` is the program `conformance-worker`.
    pub fn postgres(worker: &str) -> Self {
        Self { kind: Kind::Postgres(PostgresSchema::on_shared_server()), worker: Some(worker.into()) }
    }

    /// Like [`postgres`](Self::postgres), behind a PgBouncer that pools transactions.
    pub fn pgbouncer(worker: &str) -> Self {
        Self { kind: Kind::Postgres(PostgresSchema::behind_pgbouncer()), worker: Some(worker.into()) }
    }

    /// `redis:` on the shared test server, with a unique prefix. `worker` is the program `conformance-worker`.
    pub fn redis(worker: &str) -> Self {
        Self { kind: Kind::Redis(RedisPrefix::new()), worker: Some(worker.into()) }
    }

    /// The store of another harness behind a [`FaultyStore`] that injects nothing.
    pub fn faulty(inner: Self) -> Self {
        let worker = inner.worker.clone();
        Self { kind: Kind::Faulty(Box::new(inner)), worker }
    }

    /// Opens the store. If the store can be shared, like another process would.
    pub async fn open(&self) -> Arc<dyn Store> {
        match &self.kind {
            Kind::Memory(store) => store.clone(),
            Kind::File { folder, opened } => {
                let mut opened = opened.lock().await;
                if let Some(store) = &*opened
                    && store.list(corkboard_core::SpaceKind::Agent, None, 0).await != Err(StoreError::Closed)
                {
                    return store.clone();
                }
                let store = FileStore::open(folder.path().join("store"), Ownership::Shared).await;
                opened.insert(Arc::new(store.expect("the store should open"))).clone()
            }
            Kind::Sqlite(folder) => {
                let path = folder.path().join("corkboard.db");
                Arc::new(
                    SqliteStore::open(path, Ownership::Shared, SQLITE_PATIENCE).await.expect("the store should open"),
                )
            }
            Kind::Postgres(schema) => {
                let timeout = Options::default().busy_timeout;
                Arc::new(
                    PostgresStore::open(&ServerUrl::new(&schema.url()), timeout).await.expect("the store should open"),
                )
            }
            Kind::Redis(prefix) => {
                let timeout = Options::default().busy_timeout;
                Arc::new(
                    RedisStore::open(&ServerUrl::new(&prefix.url()), timeout).await.expect("the store should open"),
                )
            }
            Kind::Faulty(inner) => {
                let inner = Box::pin(inner.open()).await;
                Arc::new(FaultyStore::new(inner, FaultPlan::none()))
            }
        }
    }

    pub async fn corkboard(&self) -> Corkboard {
        self.corkboard_with(Options::default()).await
    }

    pub async fn corkboard_with(&self, options: Options) -> Corkboard {
        Corkboard::with_store(self.open().await, options)
    }

    pub fn url(&self) -> String {
        match &self.kind {
            Kind::Memory(_) => panic!("memory: lives in one process, so process cases do not apply to it"),
            Kind::File { folder, .. } => format!("file:{}", folder.path().join("store").display()),
            Kind::Sqlite(folder) => format!("sqlite:{}", folder.path().join("corkboard.db").display()),
            Kind::Postgres(schema) => schema.url(),
            Kind::Redis(prefix) => prefix.url(),
            Kind::Faulty(inner) => inner.url(),
        }
    }

    /// Starts a process that works on the store. See `conformance-worker.rs` and `board-worker.rs` for its commands.
    pub fn spawn(&self, arguments: &[&str]) -> Worker {
        let program = self.worker.as_ref().expect("process cases need a worker program");
        let mut child = Command::new(program)
            .arg(self.url())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the worker should start");
        let lines = BufReader::new(child.stdout.take().expect("stdout should be piped")).lines();
        Worker { child, lines }
    }
}

/// A schema of a PostgreSQL database, dropped at the end.
pub struct PostgresSchema {
    server: String,
    name: String,
    _bouncer: Option<PgBouncer>,
}

impl PostgresSchema {
    pub fn on_shared_server() -> Self {
        Self::on(shared(POSTGRES_URL))
    }

    pub fn on(server: String) -> Self {
        Self { server, name: format!("test_{}", unique().simple()), _bouncer: None }
    }

    /// A new schema on the shared test server, behind a PgBouncer that pools transactions.
    pub fn behind_pgbouncer() -> Self {
        let schema = Self::on_shared_server();
        let bouncer = PgBouncer::start(schema.port());
        let server = schema.server.replace(&format!(":{}/", schema.port()), &format!(":{}/", bouncer.port()));
        let name = schema.name.clone();
        Self { server, name, _bouncer: Some(bouncer) }
    }

    pub fn port(&self) -> u16 {
        let (place, _) = self.server.rsplit_once('/').expect("the URL should contain a database name");
        place.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("the URL should contain a port")
    }

    /// The server's URL for direct SQL.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn url(&self) -> String {
        format!("{}?schema={}", self.server, self.name)
    }
}

impl Drop for PostgresSchema {
    fn drop(&mut self) {
        let drop = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.name);
        let psql = std::process::Command::new("psql").args([&self.server, "-qc", &drop]).output();
        assert!(psql.is_ok_and(|psql| psql.status.success()) || std::thread::panicking(), "{drop}");
    }
}

pub struct Worker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Its next output line: an acknowledged write, or a revision.
    pub async fn line(&mut self) -> Option<String> {
        self.lines.next_line().await.expect("the worker's output should be readable")
    }

    /// Waits for it to end successfully. Returns the lines not read yet.
    pub async fn finish(mut self) -> Vec<String> {
        let rest = self.rest().await;
        let status = self.child.wait().await.expect("waiting for the worker should work");
        assert!(status.success(), "the worker ended with {status}: {rest:?}");
        rest
    }

    /// Kills it with SIGKILL. Returns the lines not read yet.
    pub async fn kill(mut self) -> Vec<String> {
        self.child.start_kill().expect("killing the worker should work");
        let rest = self.rest().await;
        let _ = self.child.wait().await;
        rest
    }

    pub async fn tell(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin should be piped");
        stdin.write_all(format!("{line}\n").as_bytes()).await.expect("the worker should read its stdin");
    }

    /// Sends it a signal, `STOP` or `CONT`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().expect("the worker should be running").to_string();
        let kill = std::process::Command::new("kill").args(["-s", name, &pid]).status().expect("kill should run");
        assert!(kill.success(), "{name} could not be sent to the worker");
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }
}
