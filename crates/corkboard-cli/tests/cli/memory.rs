//! Every verb of `cork memory` except `watch`.

use serde_json::{Value, json};

use crate::support::{CORK, Sandbox, eventually, run};

/// An entry with its access count reset.
fn unread(mut entry: Value) -> Value {
    entry["access_count"] = json!(0);
    entry["last_accessed_at"] = json!(null);
    entry
}

#[test]
fn set_and_append_print_versions() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["memory", "set", "a", "1"]), "version 1");
    assert_eq!(sandbox.json(&["memory", "set", "a", "2"]), json!({"key": "a", "version": 2, "is_update": true}));
    assert_eq!(sandbox.ok(&["memory", "append", "log", "one"]), "version 3");
    assert_eq!(
        sandbox.json(&["memory", "append", "log", "two"]),
        json!({"key": "log", "version": 4, "is_update": true})
    );
}

#[test]
fn get_prints_or_is_not_found() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails(&["memory", "get", "nothing"], 3, "agent default has no entry \"nothing\"\nhint: ");
    assert_eq!((&error["code"], &error["kind"]), (&json!("not_found"), &json!("gone")));
    sandbox.ok(&["memory", "set", "a", "1"]);
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "1");
    sandbox.fails(&["memory", "get", "a", "--agent", "other"], 3, "agent other");
    sandbox.fails(&["memory", "get", " "], 2, "key must not be blank");
}

#[test]
fn append_joins_texts_and_starts_lines() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "append", "log", "- one", "--line"]);
    sandbox.ok(&["memory", "append", "log", "- two", "--line"]);
    sandbox.ok(&["memory", "append", "log", "!"]);
    let ran = sandbox.cork_with_stdin(&["memory", "append", "log", "--line", "-"], b"three\nfour\n");
    assert_eq!(ran.code, 0);
    assert_eq!(sandbox.ok(&["memory", "get", "log"]), "- one\n- two!\nthree\nfour");
    sandbox.ok(&["memory", "set", "number", "5"]);
    let error = sandbox.fails(&["memory", "append", "number", "x"], 2, "its value is a number");
    assert_eq!(error["code"], "not_text");
}

#[test]
fn list_filters_clips_and_shows() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["memory", "list"]), "agent default has no entries");
    assert_eq!(sandbox.items(&["memory", "list"]), json!([]));
    assert_eq!(sandbox.ok(&["memory", "list", "--keys"]), "");
    sandbox.ok(&[
        "memory",
        "set",
        "project/plan",
        "{\"goal\": \"x\"}",
        "--tag",
        "now",
        "--tag",
        "big",
        "--importance",
        "1",
    ]);
    sandbox.ok(&["memory", "set", "project/log", &"long text\n".repeat(1000), "--tag", "now"]);
    sandbox.ok(&["memory", "set", "name", "Ada \u{1b}[31m"]);
    let long = format!("project/{}", "key".repeat(50));
    sandbox.ok(&["memory", "set", &long, "x"]);
    assert!(sandbox.ok(&["memory", "list"]).contains(&format!("{long}  x ")), "keys should never be cut");
    sandbox.ok(&["memory", "remove", &long]);
    let mut narrow = sandbox.command(CORK);
    narrow.env("COLUMNS", "120").args(["memory", "list"]);
    let table = run(narrow, b"").stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    let titles: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(titles, ["KEY", "VALUE", "VERSION", "IMPORTANCE", "TAGS", "UPDATED"]);
    assert!(lines[1].starts_with("name ") && lines[1].contains("Ada \\u{1b}[31m"), "{table}");
    assert!(lines[2].contains("long text\\nlong text") && lines[2].contains('…'), "{table}");
    assert!(lines[3].contains("{\"goal\":\"x\"}") && lines[3].contains("now big"), "{table}");
    assert!(lines.iter().all(|line| line.chars().count() <= 120), "{table}");

    let keys = |arguments: &[&str]| sandbox.ok(&[&["memory", "list", "--keys"], arguments].concat());
    assert_eq!(keys(&[]), "name\nproject/log\nproject/plan");
    assert_eq!(keys(&["--prefix", "project/"]), "project/log\nproject/plan");
    assert_eq!(keys(&["--tag", "now", "--tag", "big"]), "project/plan");
    assert_eq!(keys(&["--tag", "no"]), "");
    assert_eq!(sandbox.items(&["memory", "list", "--keys", "--prefix", "n"]), json!(["name"]));
    let first = sandbox.json(&["memory", "list", "--keys", "--limit", "1"]);
    let rest = sandbox.items(&["memory", "list", "--keys", "--cursor", first["next"].as_str().unwrap()]);
    let paged = [first["items"].as_array().unwrap().as_slice(), rest.as_array().unwrap()].concat();
    assert_eq!(json!(paged), sandbox.items(&["memory", "list", "--keys"]));
    sandbox.fails(&["memory", "list", "--cursor", "name"], 2, "invalid cursor");
    assert_eq!(sandbox.ok(&["memory", "list", "--prefix", "zzz"]), "no entries match");
    let listed = sandbox.items(&["memory", "list", "--tag", "big"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0], unread(sandbox.json(&["memory", "get", "project/plan"])));
}

#[test]
fn remove_deletes_an_entry() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    assert_eq!(sandbox.ok(&["memory", "remove", "a"]), "removed a");
    sandbox.fails(&["memory", "remove", "a"], 3, "no entry \"a\"");
    sandbox.ok(&["memory", "set", "a", "1"]);
    sandbox.fails(&["memory", "remove", "a", "--if-version", "1"], 4, "is at version 3, not 1");
    assert_eq!(sandbox.json(&["memory", "remove", "a", "--if-version", "3"]), json!({"key": "a", "removed": true}));
}

#[test]
fn a_stale_writer_gets_the_current_value() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "counter", "41"]);
    sandbox.ok(&["--principal", "grace", "memory", "set", "counter", "42"]);
    let stale = ["memory", "set", "counter", "0", "--if-version", "1"];
    let error = sandbox.fails(
        &stale,
        4,
        "error: \"counter\" is at version 2, not 1\ncurrent value (version 2, by grace): 42\nhint: check the current \
         value, then retry with --if-version 2\n",
    );
    assert_eq!((&error["code"], &error["kind"]), (&json!("conflict"), &json!("conflict")));
    assert_eq!((&error["key"], &error["expected"]), (&json!("counter"), &json!(1)));
    assert_eq!(error["current"], unread(sandbox.json(&["memory", "get", "counter"])));
    sandbox.ok(&["memory", "set", "counter", "43", "--if-version", "2"]);

    sandbox.fails(&["memory", "set", "counter", "1", "--if-version", "0"], 4, "already exists, at version 3");
    let error = sandbox.fails(&["memory", "set", "new", "1", "--if-version", "9"], 4, "does not exist");
    assert_eq!(error["current"], json!(null));
    sandbox.ok(&["memory", "set", "new", "1", "--if-version", "0"]);
    sandbox.fails(&["memory", "append", "new", "x", "--if-version", "1"], 4, "is at version 4, not 1");

    let error = sandbox.fails(
        &["memory", "set", "counter", "1", "--if-rev", "2"],
        4,
        "expected revision 2, but the current revision is 4",
    );
    assert_eq!((&error["expected"], &error["current_rev"]), (&json!(2), &json!(4)));
    assert_eq!(sandbox.ok(&["memory", "set", "counter", "44", "--if-rev", "4"]), "version 5");
}

#[test]
fn a_request_with_a_key_happens_once() {
    let sandbox = Sandbox::new();
    let append = |text| ["memory", "append", "log", text, "--line", "--idempotency-key", "job-17"];
    assert_eq!(sandbox.ok(&append("done")), "version 1");
    assert_eq!(sandbox.ok(&append("done")), "version 1");
    assert_eq!(sandbox.ok(&["memory", "get", "log"]), "done");
    let error = sandbox.fails(&append("other"), 4, "was already used at revision 1 for a different request");
    assert_eq!(error["code"], "idempotency_mismatch");
    let set = ["memory", "set", "a", "1", "--idempotency-key", "job-18"];
    assert_eq!(sandbox.ok(&set), "version 2");
    sandbox.ok(&["memory", "set", "a", "5"]);
    assert_eq!(sandbox.ok(&set), "version 2");
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "5");
}

#[test]
fn an_entry_expires() {
    let sandbox = Sandbox::new();
    sandbox.fails(&["memory", "set", "a", "1", "--expires-at", "2020-01-01T00:00:00Z"], 2, "in the future");
    sandbox.fails(&["memory", "set", "a", "1", "--expiry-days", "0"], 2, "in the future");
    sandbox.fails(&["memory", "set", "a", "1", "--expires-at", "tomorrow"], 2, "RFC 3339");
    let both = ["memory", "set", "a", "1", "--expiry-days", "1", "--expires-at", "2999-01-01T00:00:00Z"];
    sandbox.fails(&both, 2, "cannot be used with");
    sandbox.ok(&["memory", "set", "a", "1", "--expiry-days", "1"]);
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "1");
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(500);
    sandbox.ok(&["memory", "set", "a", "1", "--expires-at", &soon.to_string()]);
    eventually("the expiry", || sandbox.cork(&["memory", "get", "a"]).code == 3);
    assert!(jiff::Timestamp::now() >= soon);
}

#[test]
fn forgotten_content_is_in_no_file() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "secret", "hunter2-horse"]);
    sandbox.ok(&["memory", "remove", "secret"]);
    sandbox.ok(&["memory", "set", "secret", "hunter2-again"]);
    sandbox.ok(&["memory", "note", "add", "hunter2-note"]);
    sandbox.ok(&["memory", "set", "kept", "plain"]);
    sandbox.fails(&["memory", "forget", "secret"], 2, "add --hard");
    sandbox.fails(&["memory", "forget", "--hard"], 2, "required");
    sandbox.fails(&["memory", "forget", "nothing", "--hard", "--yes"], 3, "no entry \"nothing\"");
    assert_eq!(
        sandbox.json(&["memory", "forget", "secret", "--hard", "--yes"]),
        json!({"removed": 1, "revisions": 2, "copies": []})
    );
    let forgotten = sandbox.ok(&["memory", "forget", "--note", "1", "--hard", "--yes"]);
    assert_eq!(forgotten, "erased 1 item; rewrote 1 log revision");
    assert!(!sandbox.files_contain("hunter2") && sandbox.files_contain("plain"));
    assert_eq!(sandbox.ok(&["memory", "forget", "--everything", "--hard", "--yes"]), "agent default is forgotten");
    sandbox.fails(&["memory", "forget", "--everything", "--hard", "--yes"], 3, "has no memory");
    assert!(!sandbox.files_contain("plain"));
}

#[test]
fn notes_are_added_listed_and_removed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["memory", "note", "list"]), "agent default has no notes");
    assert_eq!(sandbox.ok(&["memory", "note", "add", "- prefers short answers"]), "note 1");
    assert_eq!(sandbox.cork_with_stdin(&["memory", "note", "add", "-"], b"two\nlines\n").stdout, "note 2\n");
    assert_eq!(sandbox.json(&["--principal", "ada", "memory", "note", "add", "third"]), json!({"id": 3}));
    let notes = sandbox.items(&["memory", "note", "list"]);
    let texts: Vec<_> = notes.as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["- prefers short answers", "two\nlines", "third"]);
    assert_eq!(notes[2]["author"], "ada");
    let table = sandbox.ok(&["memory", "note", "list"]);
    assert!(table.starts_with("NOTE ") && table.contains("two\\nlines"), "{table}");
    assert_eq!(sandbox.ok(&["memory", "note", "remove", "2"]), "removed note 2");
    sandbox.fails(&["memory", "note", "remove", "2"], 3, "no note 2");
    sandbox.fails(&["memory", "note", "remove", "two"], 2, "invalid value 'two'");
    sandbox.fails(&["memory", "note", "add", " "], 2, "note must not be blank");
}

#[test]
fn clear_needs_confirmation() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    sandbox.ok(&["memory", "note", "add", "n"]);
    sandbox.ok(&["scope", "create", "task"]);
    sandbox.ok(&["memory", "set", "b", "1", "--scope", "task"]);
    let error = sandbox.fails(&["memory", "clear"], 2, "remove 1 entry and 1 note of agent default");
    assert_eq!(error["code"], "not_confirmed");
    sandbox.fails(&["memory", "clear", "--all"], 2, "remove 2 entries and 1 note and 1 scope of agent default");
    sandbox.fails(&["memory", "clear", "--scope", "task"], 2, "1 entry and 0 notes of scope task");
    sandbox.fails(&["memory", "clear", "--scope", "task", "--all", "--yes"], 2, "cannot be used with");
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "1");
    assert_eq!(sandbox.ok(&["memory", "clear", "--yes"]), "cleared 1 entry");
    assert_eq!(sandbox.items(&["memory", "note", "list"]), json!([]));
    assert_eq!(sandbox.ok(&["memory", "get", "b", "--scope", "task"]), "1");
    assert_eq!(sandbox.json(&["memory", "clear", "--scope", "task", "-y"]), json!({"entries": 1}));
    sandbox.ok(&["memory", "clear", "--all", "--yes"]);
    assert_eq!(sandbox.items(&["scope", "list"]), json!([]));
}

/// On a terminal, the command asks.
#[test]
fn clear_asks_at_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let answered = |answer: &str| {
        let mut python = sandbox.command("python3");
        python.args(["-c", TERMINAL, answer, crate::support::CORK, "memory", "clear"]);
        let ran = crate::support::run(python, b"");
        assert!(
            ran.stdout.contains("This will remove 1 entry and 0 notes of agent default. Continue? [y/N]"),
            "{ran:?}"
        );
        ran.code
    };
    for no in ["n", "", "nyes"] {
        assert_eq!(answered(no), 2);
        assert_eq!(sandbox.ok(&["memory", "get", "a"]), "1");
    }
    assert_eq!(answered("yes"), 0);
    sandbox.fails(&["memory", "get", "a"], 3, "no entry");
}

/// Runs a command on a terminal, types the answer, prints the terminal's output and exits with the command's code.
const TERMINAL: &str = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode() + b'\\n')
while True:
    try:
        shown = os.read(terminal, 4096)
    except OSError:
        break
    if not shown:
        break
    os.write(1, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

#[test]
fn agents_do_not_see_each_other() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["--agent", "ada", "memory", "set", "a", "1"]);
    sandbox.ok(&["memory", "set", "a", "2", "--agent", "grace"]);
    let mut command = sandbox.command(crate::support::CORK);
    command.env("CORK_AGENT", "ada").args(["memory", "get", "a"]);
    assert_eq!(crate::support::run(command, b"").stdout, "1\n");
    assert_eq!(sandbox.ok(&["--agent", "grace", "memory", "get", "a"]), "2");
    sandbox.fails(&["--agent", " ", "memory", "get", "a"], 2, "--agent is empty; expected an agent");
}

#[test]
fn every_write_accepts_a_key_and_a_revision() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    for _ in 0..2 {
        assert_eq!(sandbox.ok(&["memory", "note", "add", "once", "--idempotency-key", "n"]), "note 1");
        assert_eq!(sandbox.ok(&["memory", "append", "log", "once", "--idempotency-key", "l"]), "version 3");
        sandbox.ok(&["memory", "remove", "a", "--idempotency-key", "r"]);
    }
    assert_eq!(sandbox.ok(&["memory", "get", "log"]), "once");
    for arguments in [
        &["memory", "note", "add", "x", "--if-rev", "1"][..],
        &["memory", "append", "log", "x", "--if-rev", "1"],
        &["memory", "remove", "log", "--if-rev", "1"],
    ] {
        let error = sandbox.fails(arguments, 4, "expected revision 1, but the current revision is 4");
        assert_eq!(error["code"], "rev_conflict");
    }
}

#[test]
fn control_characters_are_not_sent_to_a_terminal() {
    let sandbox = Sandbox::new();
    let text = "red \u{1b}[31malert\u{7}\n\tline two";
    sandbox.cork_with_stdin(&["memory", "set", "a", "--string", "-"], text.as_bytes());
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), text, "a pipe should get the stored bytes");
    let mut python = sandbox.command("python3");
    python.args(["-c", TERMINAL, "", crate::support::CORK, "memory", "get", "a"]);
    let ran = crate::support::run(python, b"");
    assert!(ran.stdout.contains("red \u{fffd}[31malert\u{fffd}"), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn json_contains_the_access_count() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let read = sandbox.json(&["memory", "get", "a"]);
    assert_eq!(read["access_count"], 1, "{read}");
    assert!(read["last_accessed_at"].is_string(), "{read}");
    let listed = sandbox.items(&["memory", "list"]);
    assert_eq!((&listed[0]["access_count"], &listed[0]["last_accessed_at"]), (&json!(0), &json!(null)));
}

#[test]
fn a_text_is_found_and_erased_in_the_whole_store() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "secret", "it is hunter2"]);
    sandbox.ok(&["memory", "set", "secret", "nothing"]);
    sandbox.ok(&["core", "add", "rules", "never say hunter2"]);
    sandbox.ok(&["core", "add", "rules", "kept rule"]);
    sandbox.ok(&["board", "create", "Find hunter2", "--id", "find"]);
    sandbox.ok(&["--board", "find", "board", "decide", "Which?", "this", "--rationale", "hunter2 said so"]);
    sandbox.fails(&["forget", "hunter2"], 2, "add --hard");
    sandbox.fails(&["forget", "ab", "--hard", "--yes"], 2, "at least 3 characters");
    let found = sandbox.ok(&["forget", "hunter2", "--dry-run"]);
    assert_eq!(
        found,
        "agent/default entry secret (only in history): it is hunter2\n\
         board/find board: Find hunter2\n\
         board/find D-1: hunter2 said so\n\
         core/rules E-1: never say hunter2"
    );
    let unconfirmed = sandbox.cork(&["forget", "hunter2", "--hard"]);
    assert_eq!(unconfirmed.code, 2);
    assert!(unconfirmed.stderr.starts_with(&found), "{unconfirmed:?}");
    assert!(unconfirmed.stderr.contains("error: this would erase the text from 4 items"), "{unconfirmed:?}");
    assert!(sandbox.files_contain("hunter2"));
    let forgotten = sandbox.cork(&["forget", "hunter2", "--hard", "--yes"]);
    assert_eq!((forgotten.code, forgotten.stderr.trim_end()), (0, &*found), "it should say what it erases");
    assert_eq!(forgotten.stdout.trim_end(), "erased the text from 3 items; rewrote 4 log revisions");
    assert!(!sandbox.files_contain("hunter2") && sandbox.files_contain("kept rule"));
    assert_eq!(sandbox.ok(&["forget", "hunter2", "--hard", "--yes"]), "the text was not found");
    assert_eq!(sandbox.json(&["forget", "hunter2", "--dry-run"])["found"], 0);
}

#[test]
fn records_of_boards_and_entries_of_cores_are_erased() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["board", "create", "b", "--id", "find", "--goal", "find it"]);
    sandbox.ok(&["--board", "find", "board", "decide", "Which?", "this", "--rationale", "hunter2 said so"]);
    sandbox.fails(&["--board", "find", "board", "forget", "D-1"], 2, "add --hard");
    sandbox.fails(&["--board", "find", "board", "forget", "D-1", "--hard"], 2, "confirm with --yes");
    sandbox.fails(&["--board", "find", "board", "forget", "D-2", "--hard", "--yes"], 3, "D-2");
    sandbox.fails(&["--board", "find", "board", "forget", "X-2", "--hard", "--yes"], 2, "expected a form like");
    let forgotten = sandbox.json(&["--board", "find", "board", "forget", "D-1", "--hard", "--yes"]);
    assert_eq!(forgotten, json!({"removed": 1, "revisions": 1, "copies": []}));
    sandbox.ok(&["core", "add", "rules", "never say hunter2"]);
    sandbox.fails(&["core", "forget", "rules", "E-1", "--hard", "--reason", "no"], 2, "cannot be used with");
    let forgotten = sandbox.ok(&["core", "forget", "rules", "E-1", "--hard", "--yes"]);
    assert_eq!(forgotten, "erased E-1; rewrote 1 log revision");
    let again = sandbox.ok(&["core", "forget", "rules", "E-1", "--hard", "--yes"]);
    assert_eq!(again, "nothing to erase: E-1 was already forgotten");
    let again = sandbox.ok(&["--board", "find", "board", "forget", "D-1", "--hard", "--yes"]);
    assert_eq!(again, "nothing to erase: D-1 was already forgotten");
    let forgotten = sandbox.ok(&["--board", "find", "board", "forget", "board", "--hard", "--yes"]);
    assert_eq!(forgotten, "erased the board's own texts; rewrote 1 log revision");
    let shown = sandbox.ok(&["--board", "find", "board", "show"]);
    assert!(
        shown.contains("name") && shown.lines().any(|line| line.starts_with("goal") && line.contains("[forgotten]")),
        "{shown}"
    );
    assert!(!sandbox.files_contain("hunter2"));
}
