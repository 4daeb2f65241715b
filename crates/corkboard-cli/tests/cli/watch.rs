//! `cork memory watch` in a separate process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::{CORK, DEADLINE, Sandbox, finish};

struct Watcher {
    child: Child,
    lines: Receiver<String>,
}

impl Watcher {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(CORK);
        command.args(["memory", "watch"]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("the watcher should print a line")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

#[test]
fn another_process_is_seen_as_it_writes() {
    let sandbox = Sandbox::new();
    let watcher = Watcher::start(&sandbox, &["--from-rev", "0", "--limit", "3", "--json"]);
    for (rev, value) in [(1, "one"), (2, "two"), (3, "three")] {
        sandbox.ok(&["--principal", "ada", "memory", "set", "key", value]);
        // Each revision is printed before the next is written.
        let seen = watcher.json();
        assert_eq!((&seen["rev"], &seen["actor"]["principal"]), (&json!(rev), &json!("ada")));
        assert_eq!(seen["events"][0]["entry"]["value"], value);
        for field in ["commit", "at"] {
            assert!(seen[field].is_string(), "{field} in {seen}");
        }
    }
    let ran = finish(watcher.child);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(watcher.lines.recv_timeout(DEADLINE).is_err(), "nothing follows");
}

#[test]
fn without_from_only_new_revisions_are_printed() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "old", "1"]);
    let mut watcher = Watcher::start(&sandbox, &["--limit", "1"]);
    // The time at which the watch starts is unknown, so write until it has seen a revision.
    crate::support::eventually("a revision seen", || {
        sandbox.ok(&["memory", "set", "new", "1"]);
        watcher.child.try_wait().unwrap().is_some()
    });
    let line = watcher.line();
    assert!(line.contains("new") && !line.contains("old"), "{line}");
    assert_eq!(finish(watcher.child).code, 0);
}

#[test]
fn every_kind_of_event_is_described() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "key", "{\"a\": 1}"]);
    sandbox.ok(&["memory", "set", "key", "text\nof lines"]);
    sandbox.ok(&["memory", "append", "key", "more", "--line"]);
    sandbox.ok(&["memory", "remove", "key"]);
    sandbox.ok(&["memory", "note", "add", "a note"]);
    sandbox.ok(&["memory", "note", "remove", "1"]);
    let id = sandbox.ok(&["scope", "create", "task"]);
    sandbox.ok(&["memory", "set", "key", &"x".repeat(100), "--scope", "task"]);
    sandbox.ok(&["memory", "note", "add", "in it", "--scope", "task"]);
    sandbox.ok(&["scope", "merge", "task"]);
    sandbox.ok(&["scope", "dispose", "task"]);
    sandbox.ok(&["snapshot", "save", "file"]);
    sandbox.ok(&["memory", "clear", "--yes"]);
    sandbox.ok(&["snapshot", "restore", "file", "--yes"]);
    sandbox.ok(&["memory", "append", "key", "!", "--idempotency-key", "k"]);
    let told = sandbox.ok(&["memory", "watch", "--from-rev", "0", "--limit", "14"]);
    let long = format!("\"{}…", "x".repeat(59));
    let expected = [
        "set key to {\"a\":1}",
        "changed key to \"text\\nof lines\"",
        "appended to key: \"more\"",
        "removed key",
        "added note 1: \"a note\"",
        "removed note 1",
        &format!("created scope task ({id})"),
        &format!("set key in scope {id} to {long}"),
        &format!("added note 2 in scope {id}: \"in it\""),
        &format!("set key to {long}; added note 3: \"in it\"; merged the notes of scope {id}"),
        "disposed scope task with 1 entry",
        "cleared 1 entry",
        "restored a snapshot of 1 entry",
        "appended to key: \"!\"",
    ];
    for (number, (line, words)) in told.lines().zip(expected).enumerate() {
        // A scope that is created during the watch is shown by name.
        let words = if (7..10).contains(&number) { words.replace(&id, "task") } else { words.into() };
        let (rev, rest) = line.trim_start().split_once("  ").unwrap();
        let (time, rest) = rest.split_once("  ").unwrap();
        assert_eq!((rev, rest), ((number + 1).to_string().as_str(), format!("tester  {words}").as_str()));
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{line}");
    }
    assert_eq!(told.lines().count(), 14);
    assert_eq!(sandbox.ok(&["memory", "watch", "--from-rev", "11", "--limit", "1"]).lines().count(), 1);
}
