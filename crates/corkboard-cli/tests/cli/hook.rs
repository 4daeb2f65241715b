//! `cork hook` with the input of every client.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, finish};

/// Longer than a hook takes on a busy machine.
const PATIENT: [&str; 3] = ["hook", "--timeout-s", "100"];

fn hook(sandbox: &Sandbox, input: &Value) -> Ran {
    let ran = sandbox.cork_with_stdin(&PATIENT, input.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// An event of Claude Code in the sandbox's folder.
fn event(sandbox: &Sandbox, name: &str, more: &Value) -> Value {
    let mut event = json!({"session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": sandbox.path(),
        "hook_event_name": name});
    for (name, value) in more.as_object().unwrap() {
        event[name] = value.clone();
    }
    event
}

/// The context at the beginning of a session.
fn context(sandbox: &Sandbox, source: &str) -> String {
    let ran = hook(sandbox, &event(sandbox, "SessionStart", &json!({"source": source})));
    assert_eq!(ran.stderr, "");
    if ran.stdout.is_empty() {
        return String::new();
    }
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

/// A sandbox whose folder is a project, and the name of the project's agent.
fn project(sandbox: Sandbox) -> (Sandbox, String) {
    std::fs::create_dir(sandbox.path().join(".git")).unwrap();
    let agent = sandbox.json(&["stats"])["agent"].as_str().unwrap().to_owned();
    (sandbox, agent)
}

/// Writes to the scratchpad of a conversation, as the assistant does.
fn write(sandbox: &Sandbox, input: &Value) {
    let call = ["--setting", "conversations=shared", "tools", "call", "memory_write", "--conversation", "s-1"];
    sandbox.ok(&[&call[..], &[&input.to_string()]].concat());
}

#[test]
fn a_session_begins_with_the_projects_memory() {
    let (sandbox, agent) = project(Sandbox::new());
    assert_eq!(context(&sandbox, "startup"), "", "an empty memory is not worth a word");
    sandbox.ok(&["memory", "set", "database", "we use PostgreSQL"]);
    sandbox.ok(&["handoff", "write", "next: the tests"]);
    let text = context(&sandbox, "startup");
    let begin = format!("This project's memory, kept by Corkboard under the name {agent}:\n");
    assert!(text.starts_with(&begin), "{text}");
    let (handoff, database) = (text.find("next: the tests").unwrap(), text.find("we use PostgreSQL").unwrap());
    assert!(handoff < database, "{text}");
    // The folder in the event decides, not the one that the client starts the hook in.
    let other = tempfile::tempdir().unwrap();
    let elsewhere = event(&sandbox, "SessionStart", &json!({"cwd": other.path()}));
    assert_eq!(hook(&sandbox, &elsewhere).stdout, "");
}

#[test]
fn every_client_gets_its_own_form() {
    let (sandbox, _) = project(Sandbox::new());
    sandbox.ok(&["memory", "set", "database", "we use PostgreSQL"]);
    let folder = sandbox.path();
    for (client, input, path) in [
        (
            "Gemini CLI",
            json!({"session_id": "s", "cwd": folder, "hook_event_name": "SessionStart", "source": "startup",
                "timestamp": "2026-01-01T00:00:00Z"}),
            "/hookSpecificOutput/additionalContext",
        ),
        (
            "VS Code",
            json!({"sessionId": "s", "cwd": folder, "hookEventName": "SessionStart", "source": "new"}),
            "/hookSpecificOutput/additionalContext",
        ),
        (
            "Cursor",
            json!({"conversation_id": "s", "session_id": "s", "workspace_roots": [folder], "cursor_version": "2",
                "hook_event_name": "sessionStart"}),
            "/additional_context",
        ),
    ] {
        let ran = hook(&sandbox, &input);
        let answer: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{client}: {error} {ran:?}"));
        let text = answer.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{client}: {answer}"));
        assert!(text.contains("we use PostgreSQL"), "{client}: {text}");
        assert_eq!(answer.as_object().unwrap().len(), 1, "{client}");
    }
}

#[test]
fn a_compacted_session_sees_its_scratchpad_again() {
    let (sandbox, _) = project(Sandbox::new());
    sandbox.ok(&["memory", "set", "database", "we use PostgreSQL"]);
    write(&sandbox, &json!({"action": "set", "key": "step", "value": "three of five"}));
    assert!(!context(&sandbox, "startup").contains("three of five"));
    let text = context(&sandbox, "compact");
    assert!(text.contains("we use PostgreSQL") && text.contains("three of five"), "{text}");
}

#[test]
fn an_ended_session_leaves_its_scratchpad_to_the_next() {
    let (sandbox, _) = project(Sandbox::new());
    let end = |id: &str| {
        let ran = hook(&sandbox, &event(&sandbox, "SessionEnd", &json!({"session_id": id, "reason": "exit"})));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    };
    let entry = || sandbox.json(&["memory", "get", "sessions/s-1"]);
    end("s-1");
    assert_eq!(sandbox.cork(&["memory", "get", "sessions/s-1"]).code, 3, "an empty scratchpad is not worth an entry");
    write(&sandbox, &json!({"action": "set", "key": "step", "value": "three of five"}));
    write(&sandbox, &json!({"action": "note", "value": "the cache was cold"}));
    end("s-1");
    let kept = entry();
    assert_eq!(kept["value"], "step: three of five\n- the cache was cold");
    assert!(kept["metadata"]["expires_at"].is_string(), "{kept}");
    end("s-1");
    assert_eq!(entry()["version"], kept["version"], "the same content should not be written again");
    end("s-2");
    let text = context(&sandbox, "startup");
    assert!(text.contains("sessions/s-1: step: three of five"), "{text}");
    // A newer handoff says what matters, and a newer session comes after it.
    sandbox.ok(&["handoff", "write", "next: the tests"]);
    let text = context(&sandbox, "startup");
    assert!(text.contains("next: the tests") && !text.contains("sessions/"), "{text}");
    write(&sandbox, &json!({"action": "set", "key": "step", "value": "four of five"}));
    end("s-1");
    let text = context(&sandbox, "clear");
    assert!(text.contains("next: the tests") && text.contains("four of five"), "{text}");
}

#[test]
fn the_context_is_small() {
    let (sandbox, _) = project(Sandbox::new());
    // A tokenizer would count one token for five or six bytes here. The estimate counts three bytes.
    let long = "several plain words about nothing ".repeat(1000);
    sandbox.ok(&["handoff", "write", &long]);
    for at in 0..5 {
        sandbox.ok(&["memory", "set", &format!("key-{at}"), &long]);
    }
    let text = context(&sandbox, "startup");
    assert!((6_000..7_500).contains(&text.len()), "{}", text.len());
}

#[test]
fn a_hook_never_fails() {
    let sandbox = Sandbox::local();
    let store = sandbox.store();
    let start = event(&sandbox, "SessionStart", &json!({"source": "startup"})).to_string();
    for (arguments, input) in [
        (&["hook"][..], "".as_bytes()),
        (&["hook"], b"garbage"),
        (&["hook"], b"\xff\xfe\x00"),
        (&["hook"], b"[1, 2]"),
        (&["hook"], b"{}"),
        (&["hook"], b"{\"hook_event_name\": [1]}"),
        (&["hook", "--no-such-option"], start.as_bytes()),
        (&["hook", "--agent", ""], start.as_bytes()),
        (&["hook", "--store", "nonsense"], start.as_bytes()),
        (&["hook", "--store", "sqlite:/proc/version", "--timeout-s", "100"], start.as_bytes()),
        (&["hook", "--url", "http://127.0.0.1:1", "--timeout-s", "100"], start.as_bytes()),
        (&["hook", "--store", &store, "--board", "none", "--timeout-s", "100"], start.as_bytes()),
        (&["hook", "--timeout-s", "0"], start.as_bytes()),
    ] {
        let ran = sandbox.cork_with_stdin(arguments, input);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{arguments:?} {ran:?}");
        assert!(!ran.stderr.is_empty(), "{arguments:?}");
    }
    // Other events are none of its business.
    for name in ["PreCompact", "UserPromptSubmit", "preCompact", "Notification"] {
        let ran = hook(&sandbox, &event(&sandbox, name, &json!({})));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{name}");
    }
}

#[test]
fn a_hook_without_a_store_does_nothing() {
    let sandbox = Sandbox::without_store();
    for name in ["SessionStart", "SessionEnd"] {
        let ran = hook(&sandbox, &event(&sandbox, name, &json!({})));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{name}");
        assert!(!sandbox.database().exists());
    }
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for() {
    let sandbox = Sandbox::local();
    let mut command = sandbox.cork_command(&["hook", "--timeout-s", "0.2"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It stays open until the hook has ended.
    let stdin = child.stdin.take();
    let ran = finish(child);
    drop(stdin);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stderr.contains("it took too long"), "{ran:?}");
}
