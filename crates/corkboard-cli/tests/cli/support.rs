//! A store of its own for every test, and a binary to run on it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::served::Served;

pub(crate) const CORK: &str = env!("CARGO_BIN_EXE_cork");

/// Longer than anything here takes. Who waits for it has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Who runs every command.
const USER: &str = "tester";

pub(crate) struct Sandbox {
    pub(crate) folder: TempDir,
    /// Through which commands reach the store, if not by themselves.
    pub(crate) served: Option<Served>,
}

/// Set to anything, it has every sandbox serve its store, and every command go through the server.
const REMOTE: &str = "CORK_TEST_REMOTE";
/// Whole logs are moved where the store is: these know no server.
const OF_STORES: [&str; 3] = ["export", "import", "migrate"];

/// How a command ended.
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

    /// Commands open the store. It is there, and empty: commands that read create none.
    pub(crate) fn local() -> Self {
        let sandbox = Self::without_store();
        File::options().write(true).create_new(true).mode(0o600).open(sandbox.database()).unwrap();
        sandbox
    }

    /// The store does not exist yet.
    pub(crate) fn without_store() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), served: None }
    }

    /// Commands ask a server, which has the store open. They come with the token of an admin who is called as the user is.
    pub(crate) fn remote() -> Self {
        Self::remote_with(&[])
    }

    /// Commands ask a server with these settings, each a variable of the environment.
    pub(crate) fn remote_with(settings: &[(&str, &str)]) -> Self {
        let sandbox = Self::local();
        let served = Served::start_with(&sandbox.store(), "127.0.0.1:0", settings).with_token_of(USER);
        Self { served: Some(served), ..sandbox }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.path().join("cork.db")
    }

    /// Whether any file of the sandbox, the database's own included, contains the text.
    pub(crate) fn files_contain(&self, text: &str) -> bool {
        let files = std::fs::read_dir(self.path()).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
        let mut contents = files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        contents.any(|content| content.contains(text))
    }

    /// A command that sees nothing of the machine but this sandbox.
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

    /// The same, to be run otherwise.
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

    /// Changes the database while nobody has it open, and leaves it as a version without checksums would have. Returns how
    /// many rows were changed.
    pub(crate) fn tamper(&mut self, sql: &str) -> usize {
        let before_checksums = "ALTER TABLE log DROP COLUMN sum; ALTER TABLE snapshots DROP COLUMN sum;
             PRAGMA user_version = 3";
        self.change_database(sql, before_checksums)
    }

    /// Changes the database while nobody has it open, as a failing disk would. Returns how many rows were changed.
    pub(crate) fn damage(&mut self, sql: &str) -> usize {
        self.change_database(sql, "")
    }

    fn change_database(&mut self, sql: &str, then: &str) -> usize {
        let secret = self.served.take().map(|served| served.secret.clone());
        let database = rusqlite::Connection::open(self.database()).unwrap();
        let rows = database.execute(sql, []).unwrap();
        database.execute_batch(then).unwrap();
        drop(database);
        self.served = secret.map(|secret| Served::start(&self.store(), "127.0.0.1:0").with_secret(secret));
        rows
    }

    /// An actor as the log has it whom a command named by `--principal`: whoever spoke for them to a server is there, too.
    pub(crate) fn named(&self, principal: &str, kind: &str, role: &str) -> Value {
        let mut actor = json!({ "principal": principal, "kind": kind, "role": role, "via": null });
        if self.served.is_some() {
            actor["via"] = json!(USER);
        }
        actor
    }

    /// What a command that must succeed prints, without its last newline.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.cork(arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {ran:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
        ran.stdout.strip_suffix('\n').unwrap_or(&ran.stdout).to_owned()
    }

    /// What a command that must succeed prints with `--json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        let text = self.ok(&arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?} {error}: {text}"))
    }

    /// The items of a list that is printed as a whole with `--json`.
    pub(crate) fn items(&self, arguments: &[&str]) -> Value {
        let mut page = self.json(arguments);
        assert_eq!(page.get("next"), Some(&Value::Null), "{arguments:?} {page}");
        page["items"].take()
    }

    /// Runs a command that must fail twice, for people and for programs. Returns the JSON error.
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
    // A command that fails early does not read it all.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
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
            panic!("the process did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut stdout).unwrap());
    child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut stderr).unwrap());
    Ran { code: status.code().unwrap_or(-1), stdout, stderr }
}

/// Tries until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < DEADLINE, "{what} did not happen");
    }
}
