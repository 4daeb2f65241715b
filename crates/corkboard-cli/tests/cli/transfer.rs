//! `cork export`, `cork import`, `cork migrate`, `cork snapshot store`, which need direct access to the store.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{CORK, Sandbox, eventually, finish, run};

/// Writes agents with this many revisions each. Uses the library, because a process for each write would take long.
fn fill(sandbox: &Sandbox, agents: usize, revisions: usize, bytes: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let corkboard = corkboard::Corkboard::open(&url(sandbox, "cork.db")).await.unwrap();
        for agent in 0..agents {
            let memory = corkboard.agent(&format!("agent-{agent:03}")).unwrap().working();
            let text = "x".repeat(bytes);
            let writes = (0..revisions).map(|number| {
                let (memory, text) = (memory.clone(), text.clone());
                tokio::spawn(async move { memory.set(&format!("key-{}", number % 7), &text).await.unwrap() })
            });
            for write in writes.collect::<Vec<_>>() {
                write.await.unwrap();
            }
        }
        corkboard.close().await.unwrap();
    });
}

fn url(sandbox: &Sandbox, file: &str) -> String {
    format!("sqlite:{}", sandbox.path().join(file).display())
}

/// A store's content in the form of an export, without the export's time.
fn contents(sandbox: &Sandbox, store: &str) -> Vec<String> {
    let export = sandbox.ok(&["--store", store, "export", "--all"]);
    export.lines().skip(1).map(str::to_owned).collect()
}

/// A command that fails, but also prints a report to stdout.
fn fails_with_report(sandbox: &Sandbox, arguments: &[&str], code: i32) -> (Value, Value) {
    let ran = sandbox.cork(&[arguments, &["--json"]].concat());
    assert_eq!(ran.code, code, "{arguments:?} {ran:?}");
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let error: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (report, error)
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_export_pipes_into_an_import() {
    let sandbox = Sandbox::local();
    for agent in ["ada", "grace"] {
        sandbox.ok(&["--agent", agent, "memory", "set", "name", agent, "--tag", "t"]);
        sandbox.ok(&["--agent", agent, "memory", "note", "add", "noted"]);
        sandbox.ok(&["--agent", agent, "memory", "append", "log", "line\n"]);
    }
    let mut command = sandbox.command("bash");
    command.args(["-euo", "pipefail", "-c", "\"$CORK\" export --all | \"$CORK\" --store sqlite:copy.db import"]);
    let ran = run(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.starts_with("imported 2 logs (2 new, 0 continued, 0 unchanged): 6 revisions, "), "{ran:?}");
    let copy = ["--store", "sqlite:copy.db", "--agent", "ada"];
    for command in [&["memory", "list"][..], &["memory", "watch", "--from-rev", "0", "--limit", "3"], &["stats"]] {
        let original = sandbox.ok(&[&["--agent", "ada", "--json"], command].concat());
        assert_eq!(sandbox.ok(&[&copy[..], &["--json"], command].concat()), original, "{command:?}");
    }
    assert_eq!(contents(&sandbox, "sqlite:copy.db"), contents(&sandbox, &url(&sandbox, "cork.db")));
    // Both stores can be written to, and then they differ.
    sandbox.ok(&[&copy[..], &["memory", "set", "name", "Ada"]].concat());
    sandbox.ok(&["doctor", "--store", "sqlite:copy.db"]);
}

#[test]
fn one_agent_or_all_to_a_file() {
    let sandbox = Sandbox::local();
    for agent in ["ada", "grace"] {
        sandbox.ok(&["--agent", agent, "memory", "set", "a", "1"]);
    }
    let one = sandbox.ok(&["export", "--agent", "ada"]);
    let lines: Vec<Value> = one.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!((&lines[0]["export"]["version"], &lines[0]["export"]["store"]), (&json!(1), &json!("sqlite")));
    assert_eq!(lines[1]["space"]["id"], "agent/ada");
    assert_eq!(lines[2]["record"]["body"]["events"][0]["entry_set"]["key"], "a");
    assert_eq!(lines[4]["total"]["spaces"], 1);
    let text = sandbox.ok(&["export", "--all", "-o", "all.jsonl"]);
    assert!(text.starts_with("exported 2 logs, 2 revisions, ") && text.ends_with(" bytes, to all.jsonl"), "{text}");
    sandbox.fails(&["export", "--all", "-o", "all.jsonl"], 2, "all.jsonl already exists\nhint: ");
    let answer = sandbox.json(&["export", "--all", "-o", "all.jsonl", "--force"]);
    assert_eq!((&answer["spaces"], &answer["revisions"], &answer["file"]), (&json!(2), &json!(2), &json!("all.jsonl")));
    assert!(names(sandbox.path()).iter().all(|name| !name.contains("tmp")));
    let error = sandbox.fails(&["export", "--agent", "eve"], 3, "agent/eve not found in the store\nhint: ");
    assert_eq!(error["code"], "not_found");
    sandbox.fails(&["export", "--agent", "eve", "-o", "eve.jsonl"], 3, "agent/eve");
    sandbox.fails(&["export", "-o", "no/such/folder", "--agent", "ada"], 2, "no/such/folder: ");
    sandbox.fails(&["export", "--all", "--store", "sqlite:none.db"], 3, "none.db");
    let names = names(sandbox.path());
    assert!(!names.iter().any(|name| name.contains("none") || name.contains("eve")), "{names:?}");
}

#[test]
fn importing_again_changes_nothing_or_continues() {
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "a", "1"]);
    sandbox.ok(&["export", "-o", "old.jsonl"]);
    sandbox.ok(&["memory", "set", "a", "2"]);
    sandbox.ok(&["export", "-o", "new.jsonl"]);
    let copy = |arguments: &[&'static str]| [&["--store", "sqlite:copy.db"], arguments].concat();
    let total = |answer: &Value| {
        let counts = ["new", "continued", "unchanged", "revisions"].map(|name| answer["total"][name].as_u64().unwrap());
        assert_eq!(answer["problems"], json!([]));
        counts
    };
    let imported = |arguments: &[&'static str]| total(&sandbox.json(&copy(arguments)));
    assert_eq!(imported(&["import", "old.jsonl"]), [1, 0, 0, 1]);
    assert_eq!(imported(&["import", "old.jsonl"]), [0, 0, 1, 0]);
    assert_eq!(imported(&["import", "new.jsonl", "--dry-run"]), [0, 1, 0, 1]);
    assert_eq!(sandbox.ok(&copy(&["memory", "get", "a"])), "1");
    let text = sandbox.ok(&copy(&["import", "new.jsonl", "--dry-run"]));
    assert!(text.starts_with("would import 1 log (0 new, 1 continued, 0 unchanged): 1 revision, "), "{text}");
    assert_eq!(imported(&["import", "new.jsonl"]), [0, 1, 0, 1]);
    assert_eq!(sandbox.ok(&copy(&["memory", "get", "a"])), "2");
    let answer = sandbox.json(&copy(&["import", "new.jsonl"]));
    assert_eq!(
        answer["spaces"],
        json!([{"space": "agent/default", "rev": 2, "outcome": "unchanged", "revisions": 0, "bytes": 0}])
    );
    // An import never brings back an older state.
    let (report, error) = fails_with_report(&sandbox, &copy(&["import", "old.jsonl"]), 4);
    assert_eq!((&error["code"], &error["kind"]), (&json!("ahead"), &json!("conflict")));
    assert_eq!(report["problems"][0]["space"], "agent/default");
    let said = report["problems"][0]["message"].as_str().unwrap();
    assert_eq!(said, "agent/default: the target is ahead, at revision 2; the original ends at 1");
    let ran = sandbox.cork(&copy(&["import", "old.jsonl"]));
    assert_eq!(ran.stdout, "imported 0 logs (0 new, 0 continued, 0 unchanged): 0 revisions, 0 bytes\n");
    let hint = "hint: the target has data that the original does not; use a new store as the target";
    assert_eq!(ran.stderr, format!("error: 1 part of the export was not imported:\n  {said}\n{hint}\n"));
    assert_eq!(sandbox.ok(&copy(&["memory", "get", "a"])), "2");
}

#[test]
fn the_undamaged_spaces_of_an_export_are_imported() {
    let sandbox = Sandbox::local();
    for agent in ["ada", "eve", "grace"] {
        sandbox.ok(&["--agent", agent, "memory", "set", "a", "precious"]);
    }
    let export = sandbox.ok(&["export", "--all"]);
    let write = |name: &str, text: &str| std::fs::write(sandbox.path().join(name), text).unwrap();
    write("changed.jsonl", &export.replacen("precious", "precocious", 2).replacen("precocious", "precious", 1));
    let import = |file: &'static str| vec!["--store", "sqlite:copy.db", "import", file];
    let (report, error) = fails_with_report(&sandbox, &import("changed.jsonl"), 1);
    assert_eq!((&error["code"], &error["kind"]), (&json!("checksum"), &json!("damaged")));
    assert_eq!(
        report["problems"][0]["message"],
        "line 7: the checksum of agent/eve does not match: its lines were changed"
    );
    let names: Vec<_> = report["spaces"].as_array().unwrap().iter().map(|space| &space["space"]).collect();
    assert_eq!(names, ["agent/ada", "agent/grace"]);
    assert_eq!(sandbox.ok(&["--store", "sqlite:copy.db", "--agent", "grace", "memory", "get", "a"]), "precious");
    sandbox.fails(&["--store", "sqlite:copy.db", "--agent", "eve", "memory", "get", "a"], 3, "no entry");
    write("short.jsonl", export.split_at(export.len() / 2).0);
    let (report, error) = fails_with_report(&sandbox, &import("short.jsonl"), 1);
    assert_eq!(error["code"], "truncated");
    assert_eq!(report["total"]["unchanged"], 1);
    write("broken.jsonl", &export.replacen("{\"record\"", "{\"rekord\"", 1));
    let (_, error) = fails_with_report(&sandbox, &import("broken.jsonl"), 1);
    assert_eq!(error["code"], "malformed");
    assert!(error["detail"].as_str().unwrap().contains("\n  line 3: unknown value `rekord`"), "{error}");
    write("newer.jsonl", &export.replacen("\"version\":1", "\"version\":2", 1));
    assert_eq!(sandbox.fails(&import("newer.jsonl"), 1, "is in version 2; this")["code"], "newer_format");
    write("other.jsonl", "{\"name\": \"other\"}\n");
    assert_eq!(sandbox.fails(&import("other.jsonl"), 2, "not a Corkboard export")["code"], "not_an_export");
    sandbox.fails(&import("none.jsonl"), 2, "none.jsonl: No such file");
    sandbox.fails(&import("."), 2, ".: Is a directory");
    sandbox.ok(&["--store", "sqlite:copy.db", "doctor"]);
}

#[test]
fn a_store_is_migrated_and_compared() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 3, 5, 10);
    let text = sandbox.ok(&["migrate", "sqlite:cork.db", "sqlite:copy.db"]);
    assert!(
        text.starts_with("copied 15 revisions, ") && text.ends_with("\nidentical in both stores: 3 logs, 15 revisions"),
        "{text}"
    );
    assert_eq!(contents(&sandbox, "sqlite:copy.db"), contents(&sandbox, "sqlite:cork.db"));
    let text = sandbox.ok(&["migrate", "sqlite:cork.db", "sqlite:copy.db", "--verify-only", "--list"]);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["SPACE", "REVISION", "COPIED", "VERIFIED", "BYTES"]);
    assert_eq!(lines[1][..4], ["agent/agent-000", "5", "0", "5"]);
    assert_eq!(lines[4].join(" "), "identical in both stores: 3 logs, 15 revisions");
    sandbox.ok(&["memory", "set", "a", "1"]);
    sandbox.ok(&["--store", "sqlite:copy.db", "--agent", "own", "memory", "set", "a", "1"]);
    let (report, error) =
        fails_with_report(&sandbox, &["migrate", "sqlite:cork.db", "sqlite:copy.db", "--verify-only"], 7);
    assert_eq!(error["detail"], "the target lacks revisions of 1 log: agent/default");
    assert_eq!((&error["code"], &error["retryable"]), (&json!("behind"), &json!(true)));
    assert_eq!(report["total"]["behind"], 1);
    let report = sandbox.json(&["migrate", "sqlite:cork.db", "sqlite:copy.db"]);
    assert_eq!(report["from"]["kind"], "sqlite");
    assert!(report["to"]["location"].as_str().unwrap().ends_with("copy.db"));
    assert_eq!(report["only_in_target"], json!(["agent/own"]));
    assert_eq!(report["problems"], json!([]));
    let total = &report["total"];
    assert_eq!(
        (&total["spaces"], &total["copied_revisions"], &total["verified_revisions"]),
        (&json!(4), &json!(1), &json!(16))
    );
    let space = &report["spaces"][3];
    assert_eq!(
        (&space["space"], &space["rev"], &space["caught_up"]),
        (&json!("agent/default"), &json!(1), &json!(true))
    );
    assert_eq!(space["checksum"].as_str().unwrap().len(), 64);
    let text = sandbox.ok(&["migrate", "sqlite:cork.db", "sqlite:copy.db"]);
    assert!(text.ends_with("\nonly in the target, left unchanged: 1 log: agent/own"), "{text}");
}

#[test]
fn tokens_are_copied_only_on_request() {
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "a", "1"]);
    for name in ["ada", "grace", "eve"] {
        sandbox.ok(&["token", "create", "--principal", name, "--role", "admin"]);
    }
    let tokens = |store: &str| sandbox.items(&["--store", store, "token", "list"]).as_array().unwrap().len();
    let said = "skipped 3 tokens; copy them with --with-tokens\n";

    // From a file that contains tokens.
    sandbox.ok(&["export", "--all", "-o", "all.jsonl"]);
    for dry_run in [&["--dry-run"][..], &[]] {
        let ran = sandbox.cork(&[&["--store", "sqlite:file.db", "import", "all.jsonl"], dry_run].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, said), "{ran:?}");
        assert!(ran.stdout.contains("import") && ran.stdout.contains(" 1 log (1 new"), "{ran:?}");
    }
    assert_eq!(tokens("sqlite:file.db"), 0);
    assert_eq!(sandbox.ok(&["--store", "sqlite:file.db", "memory", "get", "a"]), "1");
    let report = sandbox.json(&["--store", "sqlite:file.db", "import", "all.jsonl"]);
    assert_eq!((&report["left_out_tokens"], &report["total"]["unchanged"]), (&json!(3), &json!(1)));
    let ran = sandbox.cork(&["--store", "sqlite:file.db", "import", "all.jsonl", "--with-tokens"]);
    assert_eq!((ran.code, ran.stderr.as_str(), tokens("sqlite:file.db")), (0, "", 3), "{ran:?}");

    // From store to store. The copy is complete without tokens, and can have its own.
    let migrate = |more: &[&'static str]| [&["migrate", "sqlite:cork.db", "sqlite:copy.db"], more].concat();
    let ran = sandbox.cork(&migrate(&[]));
    assert_eq!((ran.code, ran.stderr.as_str(), tokens("sqlite:copy.db")), (0, said, 0), "{ran:?}");
    sandbox.ok(&["--store", "sqlite:copy.db", "token", "create", "--principal", "own", "--role", "admin"]);
    for more in [&[][..], &["--verify-only"]] {
        let report = sandbox.json(&migrate(more));
        assert_eq!((&report["left_out_tokens"], &report["total"]["spaces"]), (&json!(3), &json!(1)));
        assert_eq!((&report["only_in_target"], &report["problems"]), (&json!([]), &json!([])));
    }
    let (report, _) = fails_with_report(&sandbox, &migrate(&["--with-tokens"]), 4);
    assert_eq!((&report["left_out_tokens"], &report["problems"][0]["code"]), (&json!(0), &json!("diverged")));
    sandbox.ok(&["migrate", "sqlite:cork.db", "sqlite:whole.db", "--with-tokens"]);
    assert_eq!(tokens("sqlite:whole.db"), 3);
    assert_eq!(contents(&sandbox, "sqlite:whole.db"), contents(&sandbox, "sqlite:cork.db"));
    let report = sandbox.json(&["migrate", "sqlite:cork.db", "sqlite:whole.db", "--verify-only", "--with-tokens"]);
    assert_eq!((&report["left_out_tokens"], &report["total"]["spaces"]), (&json!(0), &json!(2)));

    // An old backup does not bring back revoked tokens.
    sandbox.ok(&["token", "revoke", "K-1", "K-2", "K-3"]);
    assert_eq!(sandbox.json(&["import", "all.jsonl"])["left_out_tokens"], 3);
    assert_eq!(tokens("sqlite:cork.db"), 0);
}

#[test]
fn a_target_with_another_history_is_left_alone() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 2, 2, 10);
    sandbox.ok(&["migrate", "sqlite:cork.db", "sqlite:copy.db"]);
    sandbox.ok(&["--store", "sqlite:copy.db", "--agent", "agent-000", "memory", "set", "a", "here"]);
    sandbox.ok(&["--agent", "agent-000", "memory", "set", "a", "there"]);
    sandbox.ok(&["--agent", "agent-001", "memory", "set", "a", "there"]);
    let (report, error) = fails_with_report(&sandbox, &["migrate", "sqlite:cork.db", "sqlite:copy.db"], 4);
    assert_eq!((&error["code"], &error["kind"]), (&json!("diverged"), &json!("conflict")));
    let said = "agent/agent-000: the target has another history: its revision 3 differs from the original";
    assert_eq!(error["detail"], format!("1 log differs in the target:\n  {said}"));
    assert_eq!(report["problems"], json!([{"space": "agent/agent-000", "code": "diverged", "message": said}]));
    let get = |agent| sandbox.ok(&["--store", "sqlite:copy.db", "--agent", agent, "memory", "get", "a"]);
    assert_eq!((get("agent-000"), get("agent-001")), ("here".into(), "there".into()));
}

#[test]
fn invalid_migrations() {
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "a", "1"]);
    for (from, to, code, said) in [
        ("sqlite:none.db", "sqlite:copy.db", 3, "none.db"),
        ("cork.db", "sqlite:copy.db", 2, "hint: did you mean sqlite:cork.db?"),
        ("sqlite:cork.db", "memory:", 2, "memory: exists only while this command runs"),
        ("memory:", "sqlite:copy.db", 2, "memory: exists only while this command runs"),
        ("sqlite:cork.db", "sqlite:./cork.db", 2, "FROM and TO are the same store"),
        ("sqlite:cork.db", "sqlite:cork.db/copy.db", 2, "cannot write the target: cannot open"),
    ] {
        sandbox.fails(&["migrate", from, to], code, said);
    }
    sandbox.fails(&["migrate", "sqlite:cork.db", "sqlite:none.db", "--verify-only"], 3, "none.db");
    let names = names(sandbox.path());
    assert!(!names.iter().any(|name| name.starts_with("none") || name.starts_with("copy")), "{names:?}");
}

#[test]
fn a_store_is_saved_while_others_write() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 20, 10, 100);
    let script = "for number in {1..1000}; do \"$CORK\" --agent agent-007 memory set a $number || exit 1; done";
    let mut writer = sandbox.command("bash").args(["-c", script]).stdout(Stdio::null()).spawn().unwrap();
    eventually("a write", || sandbox.cork(&["--agent", "agent-007", "memory", "get", "a"]).code == 0);
    let text = sandbox.ok(&["snapshot", "store", "all.jsonl"]);
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(text.starts_with("saved 20 logs, 2") && text.ends_with(" to all.jsonl"), "{text}");
    assert!(names(sandbox.path()).iter().all(|name| !name.contains("tmp")));
    sandbox.fails(&["snapshot", "store", "all.jsonl"], 2, "all.jsonl already exists");
    let answer = sandbox.json(&["--store", "sqlite:copy.db", "import", "all.jsonl"]);
    assert_eq!(answer["total"]["new"], 20);
    sandbox.ok(&["--store", "sqlite:copy.db", "doctor"]);
    let answer = sandbox.json(&["snapshot", "store", "all.jsonl", "--force"]);
    assert_eq!((&answer["spaces"], &answer["file"]), (&json!(20), &json!("all.jsonl")));
    sandbox.fails(&["--store", "sqlite:none.db", "snapshot", "store", "none.jsonl"], 3, "none.db");
}

/// Starts a command repeatedly and kills it at random moments, then lets it end by itself. Returns the number of
/// revisions in the target each time.
fn killed_again_and_again(sandbox: &Sandbox, arguments: &[&str]) -> Vec<u64> {
    let mut random = corkboard_testing::dice();
    let mut seen: Vec<u64> = Vec::new();
    for attempt in 1..=250 {
        // On a busy machine it takes longer to hit one in the middle.
        if attempt > 25 && seen.iter().any(|revisions| *revisions > 0) {
            break;
        }
        let mut command = sandbox.command(CORK);
        let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A random delay, to kill the process at any moment of its life.
        std::thread::sleep(std::time::Duration::from_millis(random.u64(5..40 + 4 * attempt)));
        child.kill().unwrap();
        child.wait().unwrap();
        let database = rusqlite::Connection::open(sandbox.path().join("copy.db")).unwrap();
        seen.push(database.query_row("SELECT count(*) FROM log", [], |row| row.get(0)).unwrap_or(0));
    }
    sandbox.ok(arguments);
    seen
}

#[test]
fn a_migration_killed_repeatedly_continues() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 40, 40, 5_000);
    let seen = killed_again_and_again(&sandbox, &["migrate", "sqlite:cork.db", "sqlite:copy.db"]);
    assert!(seen.is_sorted() && seen.iter().any(|revisions| (1..1600).contains(revisions)), "{seen:?}");
    sandbox.ok(&["migrate", "sqlite:cork.db", "sqlite:copy.db", "--verify-only"]);
    assert!(contents(&sandbox, "sqlite:copy.db") == contents(&sandbox, "sqlite:cork.db"));
}

#[test]
fn an_import_killed_repeatedly_continues() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 40, 40, 5_000);
    sandbox.ok(&["snapshot", "store", "all.jsonl"]);
    let seen = killed_again_and_again(&sandbox, &["--store", "sqlite:copy.db", "import", "all.jsonl"]);
    assert!(seen.is_sorted() && seen.iter().any(|revisions| (1..1600).contains(revisions)), "{seen:?}");
    assert!(contents(&sandbox, "sqlite:copy.db") == contents(&sandbox, "sqlite:cork.db"));
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn ctrl_c_leaves_a_copy_that_can_be_continued() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 2, 2, 10);
    let export = sandbox.ok(&["export", "--all"]);
    let (half, _) = export.split_at(export.find("{\"space\":{\"id\":\"agent/agent-001\"").unwrap());
    let mut command = sandbox.command(CORK);
    command.args(["--store", "sqlite:copy.db", "import"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(half.as_bytes()).unwrap();
    // One space is imported. The import waits for the other, because the pipe stays open.
    let copied = || {
        sandbox.cork(&["--store", "sqlite:copy.db", "--agent", "agent-000", "stats"]).stdout.contains("entries       2")
    };
    eventually("the first space", copied);
    interrupt(&child);
    let ran = finish(child);
    drop(pipe);
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{ran:?}");
    assert_eq!(ran.stderr, "error: interrupted; run the same command to continue\n");
    let ran = sandbox.cork_with_stdin(&["--store", "sqlite:copy.db", "import", "-"], export.as_bytes());
    assert!(ran.stdout.starts_with("imported 2 logs (1 new, 0 continued, 1 unchanged)"), "{ran:?}");
}

#[test]
fn ctrl_c_leaves_no_partial_file() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 20, 100, 10_000);
    let child =
        sandbox.command(CORK).args(["export", "--all", "-o", "all.jsonl"]).stderr(Stdio::piped()).spawn().unwrap();
    let temporary = format!("all.jsonl.{}.tmp", child.id());
    eventually("a part of the file", || {
        std::fs::metadata(sandbox.path().join(&temporary)).is_ok_and(|file| file.len() > 0)
    });
    interrupt(&child);
    let ran = finish(child);
    assert_eq!((ran.code, ran.stderr.as_str()), (130, "error: interrupted; no file was written\n"));
    let names = names(sandbox.path());
    assert!(!names.iter().any(|name| name.starts_with("all")), "{names:?}");
}

/// Feeds an import line by line, with a terminal as its stderr, until the terminal shows output. Then feeds the rest.
const SLOWLY: &str = "
import os, pty, subprocess, sys, time, threading
terminal, inside = pty.openpty()
lines = open(sys.argv[1], 'rb').read().splitlines(True)
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=inside)
os.close(inside)
shown = b''
def read():
    global shown
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            return
reader = threading.Thread(target=read)
reader.start()
started = time.time()
for line in lines:
    child.stdin.write(line)
    child.stdin.flush()
    # Until it is seen, and where there is nothing to see, for long enough.
    if not shown and ('--json' not in sys.argv or time.time() < started + 2):
        time.sleep(0.02)
child.stdin.close()
answer = child.stdout.read()
code = child.wait()
reader.join()
sys.stdout.buffer.write(answer)
sys.stderr.buffer.write(shown)
sys.exit(code)
";

#[test]
fn progress_is_shown_on_a_terminal() {
    let sandbox = Sandbox::local();
    fill(&sandbox, 50, 4, 10);
    sandbox.ok(&["snapshot", "store", "all.jsonl"]);
    let slowly = |arguments: &[&str]| {
        let mut python = sandbox.command("python3");
        python.args(["-c", SLOWLY, "all.jsonl", CORK]).args(arguments).env("TERM", "xterm");
        run(python, b"")
    };
    let ran = slowly(&["--store", "sqlite:copy.db", "import"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("imported 50 logs (50 new"), "{ran:?}");
    assert!(ran.stderr.contains("importing [") && ran.stderr.contains(" of 50 logs, "), "{ran:?}");
    let ran = slowly(&["--store", "sqlite:second.db", "import", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "`--json` should print no progress");
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["total"]["new"], 50);
}
