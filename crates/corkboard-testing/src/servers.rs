//! Temporary servers on loopback, each with a separate folder and port, removed when dropped.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The shared PostgreSQL test server, on which each test creates a schema. Set by `test-servers`.
pub const POSTGRES_URL: &str = "CORK_TEST_POSTGRES";
/// The shared Redis test server, on which each test has a key prefix. Set by `test-servers`.
pub const REDIS_URL: &str = "CORK_TEST_REDIS";

/// The shared server's URL. If it is missing, the test fails; no test is skipped.
pub fn shared(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `make test`, or under `test-servers`"))
}

/// A key prefix on the shared Redis test server. Dropping it deletes its keys.
pub struct RedisPrefix {
    server: String,
    prefix: String,
}

impl RedisPrefix {
    /// A unique prefix.
    #[expect(clippy::new_without_default, reason = "every call gives another prefix")]
    pub fn new() -> Self {
        Self { server: shared(REDIS_URL), prefix: format!("test-{}", unique().simple()) }
    }

    pub fn url(&self) -> String {
        format!("{}?prefix={}", self.server, self.prefix)
    }
}

impl Drop for RedisPrefix {
    fn drop(&mut self) {
        let remove = || -> redis::RedisResult<()> {
            let mut connection = redis::Client::open(&*self.server)?.get_connection()?;
            let mut query = redis::cmd("SCAN");
            query.cursor_arg(0).arg("MATCH").arg(format!("{}:*", self.prefix)).arg("COUNT").arg(1000);
            let keys = query.iter::<Vec<u8>>(&mut connection)?.collect::<redis::RedisResult<Vec<_>>>()?;
            for some in keys.chunks(1000) {
                redis::cmd("UNLINK").arg(some).exec(&mut connection)?;
            }
            Ok(())
        };
        // The server and its data may be gone already.
        let _ = remove();
    }
}

/// Maximum time for a server to start; a busy machine is slow.
const START: Duration = Duration::from_secs(60);

/// A server for one test, which can kill it.
pub struct TestServer {
    kind: Kind,
    folder: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
    arguments: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Postgres,
    Redis,
}

impl TestServer {
    /// A new PostgreSQL cluster that syncs its commits. It runs as an unprivileged user, because PostgreSQL refuses
    /// root.
    pub fn postgres() -> Self {
        Self::postgres_with(&[])
    }

    /// The same, with further settings, each as `name=value`.
    pub fn postgres_with(settings: &[&str]) -> Self {
        let folder = folder();
        let mut initdb = unprivileged(&postgres_program("initdb"));
        let made = initdb
            .args(["--username=cork", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--pgdata"])
            .arg(folder.path().join("data"))
            .output()
            .expect("initdb should run");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let arguments = settings.iter().flat_map(|setting| ["-c".into(), (*setting).into()]).collect();
        let mut server = Self { kind: Kind::Postgres, folder, port: free_port(), child: None, arguments };
        server.start();
        server
    }

    /// A Redis that syncs every write before it answers.
    pub fn redis() -> Self {
        Self::redis_with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    pub fn redis_with(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).into()).collect();
        let mut server = Self { kind: Kind::Redis, folder: folder(), port: free_port(), child: None, arguments };
        server.start();
        server
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The URL of the same server through another port, for example a proxy's.
    pub fn url_at(&self, port: u16) -> String {
        match self.kind {
            Kind::Postgres => format!("postgres://cork@127.0.0.1:{port}/postgres"),
            Kind::Redis => format!("redis://127.0.0.1:{port}/"),
        }
    }

    /// Makes PostgreSQL write its memory to its files.
    pub fn checkpoint(&self) {
        self.execute("CHECKPOINT");
    }

    /// Makes PostgreSQL rewrite all tables, as an operator would at a quiet time.
    pub fn vacuum_full(&self) {
        self.execute("VACUUM (FULL)");
    }

    fn execute(&self, statement: &str) {
        let mut psql = Command::new("psql");
        let done = psql.args(["--no-psqlrc", "--quiet", "--command", statement, &self.url()]).output();
        let done = done.expect("psql should run");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Kills it and its children with SIGKILL, as a crash would.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // PostgreSQL's children end when they notice that their parent is gone. Until then its shared memory is in use.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Restarts it on the same data and port.
    pub fn start(&mut self) {
        self.kill();
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            let before = self.log().len();
            let mut child = self.command().spawn().expect("the server should start");
            if self.is_up(&mut child, before, deadline) {
                self.child = Some(child);
                return;
            }
            // It ended at once: children of a killed server may still hold its shared memory, or another server took
            // the port. Try again.
            let _ = child.kill();
            let _ = child.wait();
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server did not start within {START:?}: {}", self.log());
    }

    fn command(&self) -> Command {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_file())
            .expect("a log file should be opened");
        let mut command = match self.kind {
            Kind::Postgres => {
                let mut command = unprivileged(&postgres_program("postgres"));
                command.arg("-D").arg(self.folder.path().join("data")).arg("-p").arg(self.port.to_string());
                command.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]);
                command.arg("-c").arg(format!("unix_socket_directories={}", self.folder.path().display()));
                command
            }
            Kind::Redis => {
                let mut command = Command::new("redis-server");
                command.arg("--port").arg(self.port.to_string()).arg("--dir").arg(self.folder.path());
                command.args(["--bind", "127.0.0.1", "--save", ""]);
                command
            }
        };
        command.args(&self.arguments).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("the log file should be cloned")).stderr(log);
        command
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn log(&self) -> String {
        std::fs::read(self.log_file()).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }

    /// Waits until the log, from `before` on, says that the server is ready; false if it ended. Connecting to the port
    /// would not prove it, because another test's server could have that port.
    fn is_up(&self, child: &mut Child, before: usize, deadline: Instant) -> bool {
        while Instant::now() < deadline {
            if child.try_wait().expect("waiting for the server should work").is_some() {
                return false;
            }
            if self.log()[before..].to_lowercase().contains("ready to accept connections") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // SIGINT: PostgreSQL then waits for its children and leaves nothing behind.
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            let deadline = Instant::now() + Duration::from_secs(10);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        self.kill();
    }
}

/// A temporary folder that the unprivileged user can use, too.
pub(super) fn folder() -> tempfile::TempDir {
    let folder =
        tempfile::Builder::new().prefix("cork-server-").tempdir().expect("a temporary folder should be created");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("permissions should be set");
    folder
}

/// A value that no other process has. A generator seeded with the time is not enough: of processes that start together,
/// a few in a thousand get the same numbers.
pub(super) fn unique() -> uuid::Uuid {
    uuid::Uuid::new_v4()
}

/// A free port that no other test process takes while this one runs, so a killed server gets its port again. It is
/// outside the range of ports that the system assigns, whose new owner might never answer.
pub fn free_port() -> u16 {
    let reserved = std::env::temp_dir().join("cork-test-ports");
    std::fs::create_dir_all(&reserved).expect("the folder for reserved ports should be created");
    loop {
        let port = 10_000 + (unique().as_u128() % 22_768) as u16;
        let file = std::fs::File::create(reserved.join(port.to_string()))
            .expect("the file for a reserved port should be created");
        if file.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            // The lock lasts until the process ends.
            std::mem::forget(file);
            return port;
        }
    }
}

/// Debian installs PostgreSQL's programs outside the path.
fn postgres_program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<_> = versions.map(|version| version.path().join("bin").join(name)).collect();
    found.retain(|program| program.exists());
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

/// A command that runs as `postgres` or `nobody` if we are root.
pub(super) fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new(program);
    let user_of = |line: &str| {
        let mut fields = line.split(':');
        let (name, user, group) = (fields.next()?, fields.nth(1)?.parse::<u32>(), fields.next()?.parse::<u32>());
        Some((name.to_owned(), user.ok()?, group.ok()?))
    };
    let is_root = std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")));
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let users: Vec<_> = users.lines().filter_map(user_of).collect();
    let found = ["postgres", "nobody"].iter().find_map(|wanted| users.iter().find(|(name, ..)| name == wanted));
    if let (true, Some((_, user, group))) = (is_root, found) {
        command.uid(*user).gid(*group);
    }
    command.current_dir("/");
    command
}
