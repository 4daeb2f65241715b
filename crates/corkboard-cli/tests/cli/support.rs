//! A fresh store for every test, and the binary to run on it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::killable_server::KillableServer;

pub(crate) const CORK: &str = env!("CARGO_BIN_EXE_cork");

/// Longer than anything here takes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// The user that runs every command.
const USER: &str = "tester";

pub(crate) struct Sandbox {
    pub(crate) folder: TempDir,
    /// The server that commands use, if any.
    pub(crate) served: Option<KillableServer>,
}

/// If set, every sandbox serves its store, and every command goes through the server.
const REMOTE: &str = "CORK_TEST_REMOTE";
/// Commands that move whole logs. They work only on a store.
const OF_STORES: [&str; 3] = ["export", "import", "migrate"];

/// A finished command: its exit code and output.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let is_remote = std::env::var_os(REMOTE).is_some();
        if is_remote { Self::remote() } else { Self::local() }
    }

    /// Commands open the store directly. The store exists and is empty, because commands that only read create none.
    pub(crate) fn local() -> Self {
        let sandbox = Self::without_store();
        File::options().write(true).create_new(true).mode(0o600).open(sandbox.database()).unwrap();
        sandbox
    }

    /// The store does not exist yet.
    pub(crate) fn without_store() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), served: None }
    }

    /// Commands go through a server that has the store open. Their token belongs to an admin with the user's name.
    pub(crate) fn remote() -> Self {
        Self::remote_with(&[])
    }

    /// Commands go through a server with these settings, each given as an environment variable.
    pub(crate) fn remote_with(settings: &[(&str, &str)]) -> Self {
        let sandbox = Self::local();
        let served = KillableServer::start_with(&sandbox.store(), "127.0.0.1:0", settings).with_token_of(USER);
        Self { served: Some(served), ..sandbox }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.path().join("cork.db")
    }

    /// Whether any file of the sandbox, including the database, contains the text.
    pub(crate) fn files_contain(&self, text: &str) -> bool {
        let files = std::fs::read_dir(self.path()).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
        let mut contents = files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        contents.any(|content| content.contains(text))
    }

    /// A command that sees only this sandbox, not the rest of the machine.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.path()).env("USER", USER);
        command.env("CORK_STORE", self.store()).env("CORK", CORK);
        if let Some(served) = &self.served {
            command.env("CORK_URL", &served.url).env("CORK_TOKEN", &served.secret);
        }
        command
    }

    pub(crate) fn cork(&self, arguments: &[&str]) -> Ran {
        self.cork_with_stdin(arguments, b"")
    }

    pub(crate) fn cork_with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Ran {
        run(self.cork_command(arguments), stdin)
    }

    /// The command, not yet started.
    pub(crate) fn cork_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(CORK);
        let is_of_store = |argument: &&str| *argument == "--store" || OF_STORES.contains(argument);
        if arguments.iter().any(is_of_store) {
            command.env_remove("CORK_URL");
        }
        command.args(arguments);
        command
    }

    /// The URL of its store.
    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.database().display())
    }

    /// Changes the closed database, and leaves it as a version without checksums would have. Returns the number of
    /// changed rows.
    pub(crate) fn tamper(&mut self, sql: &str) -> usize {
        let before_checksums = "ALTER TABLE log DROP COLUMN sum; ALTER TABLE snapshots DROP COLUMN sum;
             PRAGMA user_version = 3";
        self.change_database(sql, before_checksums)
    }

    /// Changes the closed database, as a failing disk would. Returns the number of changed rows.
    pub(crate) fn damage(&mut self, sql: &str) -> usize {
        self.change_database(sql, "")
    }

    fn change_database(&mut self, sql: &str, then: &str) -> usize {
        let secret = self.served.take().map(|served| served.secret.clone());
        let database = rusqlite::Connection::open(self.database()).unwrap();
        let rows = database.execute(sql, []).unwrap();
        database.execute_batch(then).unwrap();
        drop(database);
        self.served = secret.map(|secret| KillableServer::start(&self.store(), "127.0.0.1:0").with_secret(secret));
        rows
    }

    /// The log's form of an actor named by `--principal`. Through a server, it includes the user who acted for the
    /// actor.
    pub(crate) fn named(&self, principal: &str, kind: &str, role: &str) -> Value {
        let mut actor = json!({ "principal": principal, "kind": kind, "role": role, "via": null });
        if self.served.is_some() {
            actor["via"] = json!(USER);
        }
        actor
    }

    /// The output of a command that must succeed, without its last newline.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.cork(arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {ran:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
        ran.stdout.strip_suffix('\n').unwrap_or(&ran.stdout).to_owned()
    }

    /// The `--json` output of a command that must succeed.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        let text = self.ok(&arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?} {error}: {text}"))
    }

    /// The items of a whole list printed with `--json`.
    pub(crate) fn items(&self, arguments: &[&str]) -> Value {
        let mut page = self.json(arguments);
        assert_eq!(page.get("next"), Some(&Value::Null), "{arguments:?} {page}");
        page["items"].take()
    }

    /// Runs a command that must fail, once as text and once as JSON. Returns the JSON error.
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, said: &str) -> Value {
        let ran = self.cork(arguments);
        assert_eq!(ran.code, code, "{arguments:?} {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{arguments:?} {ran:?}");
        assert!(ran.stderr.contains(said), "{arguments:?} {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        let ran = self.cork(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, code, "{arguments:?} {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        let error: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        for field in ["type", "title", "detail", "code", "kind"] {
            assert!(error[field].is_string(), "{field} in {error}");
        }
        assert!(error["status"].is_u64() && error["retryable"].is_boolean(), "{error}");
        error
    }
}

pub(crate) fn run(mut command: Command, stdin: &[u8]) -> Ran {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A command that fails early does not read all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        // A busy machine also makes fast commands report their progress.
        stderr: stderr.split_inclusive('\n').filter(|line| !line.starts_with("… still ")).collect(),
    }
}

/// Waits for a process to end by itself.
pub(crate) fn finish(mut child: Child) -> Ran {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > DEADLINE {
            child.kill().unwrap();
            panic!("the process did not end within {DEADLINE:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut stdout).unwrap());
    child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut stderr).unwrap());
    Ran { code: status.code().unwrap_or(-1), stdout, stderr }
}

/// Waits until a condition holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < DEADLINE, "{what} did not happen within {DEADLINE:?}");
    }
}
