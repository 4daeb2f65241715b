//! How `set` reads its argument, and how `get` prints the value.

use serde_json::{Value, json};

use crate::support::Sandbox;

#[test]
fn a_value_is_json_if_it_can_be_and_text_otherwise() {
    let sandbox = Sandbox::new();
    for (argument, printed, value) in [
        ("5", "5", json!(5)),
        ("-5", "-5", json!(-5)),
        ("-0.5", "-0.5", json!(-0.5)),
        ("true", "true", json!(true)),
        ("null", "null", json!(null)),
        ("\"quoted\"", "quoted", json!("quoted")),
        ("[1, 2]", "[1,2]", json!([1, 2])),
        ("{\"b\": 1,\n \"a\": [ ]}", "{\"b\":1,\"a\":[]}", json!({"a": [], "b": 1})),
        ("five", "five", json!("five")),
        ("007", "007", json!("007")),
        ("", "", json!("")),
        ("- a list item", "- a list item", json!("- a list item")),
        ("-very short options", "-very short options", json!("-very short options")),
        ("---", "---", json!("---")),
        ("two\nlines\n", "two\nlines\n", json!("two\nlines\n")),
        ("grün 🌱", "grün 🌱", json!("grün 🌱")),
    ] {
        sandbox.ok(&["memory", "set", "key", argument]);
        assert_eq!(sandbox.ok(&["memory", "get", "key"]), printed);
        assert_eq!(sandbox.json(&["memory", "get", "key"])["value"], value, "{argument}");
    }
}

#[test]
fn numbers_keep_all_their_digits() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "key", "[123456789012345678901234567890, 1.50]"]);
    assert_eq!(sandbox.ok(&["memory", "get", "key"]), "[123456789012345678901234567890,1.50]");
    assert!(sandbox.ok(&["memory", "get", "key", "--json"]).contains("[123456789012345678901234567890,1.50]"));
}

#[test]
fn string_takes_anything_as_text() {
    let sandbox = Sandbox::new();
    for argument in ["5", "true", "{\"a\":1}", "\"quoted\""] {
        sandbox.ok(&["memory", "set", "key", argument, "--string"]);
        assert_eq!(sandbox.json(&["memory", "get", "key"])["value"], json!(argument));
    }
}

#[test]
fn a_dash_reads_stdin_without_its_last_newline() {
    let sandbox = Sandbox::new();
    for (options, stdin, value) in [
        (&[][..], "5\n", json!(5)),
        (&["--string"][..], "5\n", json!("5")),
        (&["--string"][..], "5", json!("5")),
        (&["--string"][..], "line\n\n", json!("line\n")),
        (&["--string"][..], "  kept  ", json!("  kept  ")),
        (&["--string"][..], "", json!("")),
        (&[][..], "{\"a\":\n1}\n", json!({"a": 1})),
        (&[][..], "some text\n", json!("some text")),
    ] {
        let ran = sandbox.cork_with_stdin(&[&["memory", "set", "key", "-"], options].concat(), stdin.as_bytes());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert_eq!(sandbox.json(&["memory", "get", "key"])["value"], value, "{stdin:?}");
    }
    let ran = sandbox.cork_with_stdin(&["memory", "set", "key", "-"], b"\xff\xfe");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("UTF-8"), "{ran:?}");
}

#[test]
fn printed_values_can_be_set_again() {
    let sandbox = Sandbox::new();
    let text = "line\n\n  indented \u{1b}[0m\n";
    assert_eq!(
        sandbox.cork_with_stdin(&["memory", "set", "a", "--string", "-"], format!("{text}\n").as_bytes()).code,
        0
    );
    let printed = sandbox.cork(&["memory", "get", "a"]).stdout;
    assert_eq!(sandbox.cork_with_stdin(&["memory", "set", "b", "--string", "-"], printed.as_bytes()).code, 0);
    assert_eq!(sandbox.json(&["memory", "get", "b"])["value"], json!(text));
}

#[test]
fn a_mistyped_option_is_not_stored() {
    let sandbox = Sandbox::new();
    sandbox.fails(&["memory", "append", "log", "--lin"], 2, "unknown option");
    sandbox.fails(&["memory", "note", "add", "--list"], 2, "unknown option");
    sandbox.fails(&["memory", "set", "key", "value", "--strng"], 2, "--strng");
    sandbox.ok(&["memory", "set", "flag", "--", "--verbose"]);
    assert_eq!(sandbox.ok(&["memory", "get", "flag"]), "--verbose");
}

#[test]
fn metadata_is_kept_and_shown() {
    let sandbox = Sandbox::new();
    #[rustfmt::skip]
    sandbox.ok(&[
        "memory", "set", "key", "value", "--importance", "0.9", "--tag", "a", "--tag", "b", "--kind", "insight",
        "--expires-at", "2999-01-01T00:00:00Z", "--custom", "{\"source\":\"chat\"}", "--author", "ada",
        "--session", "s1", "--at", "2020-01-02T03:04:05Z", "--trust", "outside",
    ]);
    let entry = sandbox.json(&["memory", "get", "key"]);
    assert_eq!(entry["key"], "key");
    assert_eq!(entry["version"], 1);
    assert_eq!(entry["type_name"], "json");
    assert_eq!(
        entry["metadata"],
        json!({
            "importance": 0.9, "tags": ["a", "b"], "kind": "insight", "expires_at": "2999-01-01T00:00:00Z",
            "custom": {"source": "chat"}, "author": "ada", "session": "s1", "at": "2020-01-02T03:04:05Z",
            "trust": "outside",
        })
    );
}

#[test]
fn without_metadata_everything_is_still_shown() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "key", "value"]);
    sandbox.ok(&["--principal", "grace", "memory", "set", "hers", "value"]);
    let mut metadata = sandbox.json(&["memory", "get", "key"])["metadata"].take();
    assert!(metadata["at"].take().is_string());
    assert_eq!(
        metadata,
        json!({
            "importance": 0.5, "tags": [], "kind": "fact", "expires_at": null, "custom": null, "author": "tester",
            "session": null, "at": null, "trust": null,
        })
    );
    assert_eq!(sandbox.json(&["memory", "get", "hers"])["metadata"]["author"], "grace");
}

/// Deeply nested JSON used to be stored as text.
#[test]
fn json_nested_too_deep_is_refused() {
    let sandbox = Sandbox::new();
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    sandbox.ok(&["memory", "set", "deep", &deep(64)]);
    for levels in [65, 200, 100_000] {
        let ran = sandbox.cork_with_stdin(&["memory", "set", "deep", "-"], deep(levels).as_bytes());
        let expected = format!("JSON nesting depth would be {levels}");
        assert!(ran.code != 0 && ran.stderr.contains(&expected), "{levels}: {ran:?}");
    }
    assert_eq!(sandbox.ok(&["memory", "get", "deep"]), deep(64));
    // Invalid JSON is text, however many brackets it has.
    let ran = sandbox.cork_with_stdin(&["memory", "set", "text", "-"], "[".repeat(100_000).as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(sandbox.ok(&["memory", "get", "text"]).len(), 100_000);
}

#[test]
fn a_value_that_begins_like_json_and_is_not_valid_is_stored_as_text_with_a_warning() {
    let sandbox = Sandbox::new();
    for value in ["{\"a\": 1", "[1, 2", "  {a: 1}"] {
        let ran = sandbox.cork(&["memory", "set", "key", value]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.starts_with("warning: stored as text, because the value is not JSON"), "{ran:?}");
        assert_eq!(sandbox.json(&["memory", "get", "key"])["value"], value);
        let ran = sandbox.cork(&["memory", "set", "key", value, "--json"]);
        assert!(ran.stdout.contains("\"warning\":\"stored as text"), "{ran:?}");
        assert_eq!(ran.stderr, "", "{ran:?}");
        sandbox.ok(&["memory", "set", "key", value, "--string"]);
    }
    for value in ["{\"a\": 1}", "[1]", "plain", "a {b"] {
        sandbox.ok(&["memory", "set", "key", value]);
    }
}

#[test]
fn json_answers_contain_empty_lists() {
    let sandbox = Sandbox::new();
    let empty = |document: &Value, lists: &[&str]| {
        for list in lists {
            assert_eq!(document[list], json!([]), "{list} in {document}");
        }
    };
    let notebook = sandbox.json(&["notebook", "show"]);
    empty(&notebook, &["learnings", "snippets", "archived_learnings", "archived_snippets"]);
    empty(&notebook["progress"], &["completed", "in_progress", "remaining"]);
    sandbox.ok(&["core", "add", "team", "Tea, not coffee"]);
    let entries = sandbox.json(&["core", "show", "team"]);
    empty(&entries["items"][0], &["tags"]);
    let board = sandbox.json(&["board", "create", "Plan"]);
    empty(&board, &["drawn", "tasks", "passed_over"]);
    let board = board["id"].as_str().unwrap();
    sandbox.ok(&["--board", board, "task", "add", "Write it"]);
    sandbox.ok(&["--board", board, "nudge", "Faster"]);
    sandbox.ok(&["--board", board, "board", "decide", "Which store?", "SQLite"]);
    let shown = sandbox.json(&["board", "show", board]);
    empty(&shown["tasks"][0], &["depends_on", "setbacks", "blocks", "hindrances"]);
    empty(&shown["nudges"][0], &["delivered", "acknowledged"]);
    empty(&shown["decisions"][0], &["alternatives", "affects_tasks"]);
    let task = sandbox.json(&["--board", board, "task", "show", "T-1"]);
    assert!(task.to_string().contains("\"setbacks\":[]"), "{task}");
}

#[test]
fn sizes_have_the_right_plural() {
    let sandbox = Sandbox::new();
    let block = b"VERBATIM_CONTEXT:\n  ADD:\n    - because r: l => x\n";
    let ran = sandbox.cork_with_stdin(&["notebook", "apply", "-"], block);
    assert!(ran.stdout.contains("l, 1 line, 1 byte (because"), "{ran:?}");
}
