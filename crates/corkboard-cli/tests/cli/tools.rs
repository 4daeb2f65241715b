//! `cork tools`, `handoff`, `activity`.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{CORK, Sandbox, finish};

/// Calls, one per line.
fn lines(calls: &[Value]) -> String {
    calls.iter().map(|call| format!("{call}\n")).collect()
}

fn answers(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_tools_are_listed_for_people_and_for_providers() {
    let sandbox = Sandbox::new();
    let listed = sandbox.ok(&["tools", "list"]);
    for tool in ["memory_read (scratchpad)", "search_memory (memory)", "write_session_handoff (memory)"] {
        assert!(listed.contains(tool), "{listed}");
    }
    let names = |arguments: &[&str], name: &dyn Fn(&Value) -> Value| -> Vec<Value> {
        let text = sandbox.ok(&[&["tools", "list"], arguments].concat());
        let tools: Value = serde_json::from_str(&text).unwrap();
        tools.get("items").unwrap_or(&tools).as_array().unwrap().iter().map(name).collect()
    };
    let memory =
        ["search_memory", "read_memory", "write_memory", "delete_memory", "write_session_handoff", "scratch_note"]
            .map(Value::from);
    let only = ["--set", "memory", "--format"];
    assert_eq!(names(&[&only[..], &["openai"]].concat(), &|tool| tool["function"]["name"].clone()), memory);
    assert_eq!(names(&[&only[..], &["anthropic"]].concat(), &|tool| tool["name"].clone()), memory);
    assert_eq!(names(&[&only[..], &["openai_responses"]].concat(), &|tool| tool["name"].clone()), memory);
    assert_eq!(names(&["--json", "--set", "memory"], &|tool| tool["name"].clone()), memory);
    assert_eq!(sandbox.cork(&["tools", "list", "--set", "nothing"]).code, 2);
    assert_eq!(sandbox.cork(&["tools", "list", "--format", "xml"]).code, 2);
}

#[test]
fn a_tool_is_called_by_hand() {
    let sandbox = Sandbox::new();
    let input = r#"{"key": "plan", "content": "ship on Friday"}"#;
    assert_eq!(sandbox.ok(&["tools", "call", "write_memory", input]), "Stored plan.");
    assert_eq!(sandbox.ok(&["memory", "get", "plan"]), "ship on Friday");
    assert_eq!(
        sandbox.json(&["memory", "get", "plan"])["metadata"]["author"],
        "default",
        "the agent should be the author"
    );
    let found = sandbox.json(&["tools", "call", "search_memory", r#"{"query": "when do we ship?"}"#]);
    assert_eq!(found["data"]["hits"][0]["key"], "plan");
    let read = ["tools", "call", "memory_read", "--conversation", "c"];
    assert_eq!(sandbox.ok(&read), "The scratchpad is empty.");

    let cases = [
        (vec!["write_memory", "{}"], 2, "missing field `key`"),
        (vec!["write_memory", r#"["k", "c", null, null]"#], 2, "expected a JSON object, found an array"),
        (vec!["write_memory", "{"], 2, "not JSON"),
        (vec!["memory_read"], 2, "--conversation"),
        (vec!["dream"], 3, "unknown tool"),
        (vec!["--role", "observer", "write_memory", input], 6, "observer"),
    ];
    for (arguments, code, said) in cases {
        let ran = sandbox.cork(&[vec!["tools", "call"], arguments.clone()].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn many_calls_in_one_process_share_a_scratchpad() {
    let sandbox = Sandbox::new();
    let calls = [
        json!({"id": 1, "name": "memory_write", "input": {"action": "set", "key": "name", "value": "Ada"}}),
        json!({"id": "two", "name": "memory_read", "input": {"key": "name"}}),
        json!({"name": "memory_read", "context": {"conversation": "another"}}),
        json!({"name": "memory_write", "input": {"action": "foo"}}),
        json!({"name": "write_memory", "input": {"key": "k", "content": "v"}, "context": {"agent": "other"}}),
        json!("no call"),
        json!({"name": "memory_read", "input": {"key": "name"}}),
        json!([null, "write_memory", {"key": "array", "content": "v"}, {}]),
        json!({"name": "write_memory", "input": {"key": "array", "content": "v"}, "context": ["other"]}),
    ];
    let ran = sandbox.cork_with_stdin(&["tools", "call", "--stdin", "--conversation", "c"], lines(&calls).as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("4 of 9 calls failed"), "{}", ran.stderr);
    let answers = answers(&ran.stdout);
    assert_eq!(
        answers.iter().map(|answer| answer["problem"].is_null()).collect::<Vec<_>>(),
        [true, true, true, false, true, false, true, false, false]
    );
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(1), &json!("two")));
    assert_eq!((&answers[1]["output"]["text"], &answers[6]["output"]["text"]), (&json!("Ada"), &json!("Ada")));
    assert_eq!(answers[2]["output"]["text"], "The scratchpad is empty.");
    assert_eq!(answers[3]["problem"]["code"], "invalid_input");
    for no_call in [5, 7, 8] {
        assert_eq!(answers[no_call]["problem"]["code"], "invalid_line");
        let said = answers[no_call]["problem"]["detail"].as_str().unwrap();
        assert!(said.contains("expected a JSON object"), "{said}");
    }
    let other = sandbox.json(&["--agent", "other", "memory", "get", "k"]);
    assert_eq!((&other["value"], &other["metadata"]["author"]), (&json!("v"), &json!("other")));
}

/// The user searches the mistake in a file, not in a single line.
#[test]
fn a_line_that_is_not_a_call_is_reported_with_its_number() {
    let sandbox = Sandbox::new();
    let call = r#"{"name": "write_memory", "input": {"key": "k", "content": "v"}}"#;
    let ran =
        sandbox.cork_with_stdin(&["tools", "call", "--stdin"], format!("\u{feff}{call}\n\nnonsense\n").as_bytes());
    let answers = answers(&ran.stdout);
    assert_eq!(answers[0]["output"]["text"], "Stored k.", "a byte order mark should be skipped: {ran:?}");
    assert_eq!(answers[1]["problem"]["detail"], "line 3 is not JSON");
    let ran = sandbox.cork_with_stdin(
        &["tools", "call", "write_memory", "-"],
        "\u{feff}{\"key\": \"k\", \"content\": \"w\"}".as_bytes(),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    sandbox.fails(
        &["tools", "call", "memory", r#"{"command": "view", "path": "/etc"}"#],
        2,
        "error: Path must start with",
    );
}

#[test]
fn processes_that_append_to_one_key_lose_nothing() {
    const PROCESSES: usize = 4;
    const EACH: usize = 50;
    let sandbox = Sandbox::new();
    let running: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let calls: Vec<Value> = (0..EACH)
                .map(|index| {
                    let input = json!({"key": "log", "content": format!("{process}/{index}"), "mode": "append"});
                    json!({"name": "write_memory", "input": input})
                })
                .collect();
            let file = sandbox.path().join(format!("calls-{process}"));
            std::fs::write(&file, lines(&calls)).unwrap();
            let mut command = sandbox.command(CORK);
            command.args(["tools", "call", "--stdin"]).stdin(std::fs::File::open(file).unwrap());
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for process in running {
        let ran = finish(process);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    }
    let log = sandbox.ok(&["memory", "get", "log"]);
    let mut kept: Vec<&str> = log.lines().collect();
    kept.sort_unstable();
    kept.dedup();
    assert_eq!(kept.len(), PROCESSES * EACH);
}

#[test]
fn a_handoff_is_written_shown_and_removed() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["handoff"]), "agent default has no handoff");
    assert_eq!(sandbox.json(&["handoff"]), json!({"handoff": null}));
    sandbox.ok(&["handoff", "write", "first"]);
    let piped = sandbox.cork_with_stdin(&["handoff", "write", "-"], b"run step 3\nthen tell Ada\n");
    assert_eq!(piped.code, 0, "{piped:?}");
    assert_eq!(sandbox.ok(&["handoff", "show"]), "run step 3\nthen tell Ada");
    assert_eq!(sandbox.cork(&["handoff", "write", " "]).code, 2);
    sandbox.ok(&["handoff", "clear"]);
    assert_eq!(sandbox.json(&["handoff"]), json!({"handoff": null}));
    assert_eq!(sandbox.ok(&["handoff", "clear"]), "there was no handoff");
}

#[test]
fn activity_has_a_line_for_every_write_of_a_day() {
    let sandbox = Sandbox::new();
    assert!(sandbox.ok(&["activity"]).starts_with("nothing was written on 2"));
    assert_eq!(sandbox.ok(&["activity", "--days"]), "nothing has been written yet");
    sandbox.ok(&["memory", "set", "plan", "a"]);
    sandbox.ok(&["memory", "note", "add", "n"]);
    sandbox.ok(&["tools", "call", "write_memory", r#"{"key": "plan", "content": "b"}"#]);
    // Midnight may pass during the test.
    let days = sandbox.items(&["activity", "--days"]);
    let days = days.as_array().unwrap();
    let lines: Vec<Value> = days
        .iter()
        .flat_map(|day| sandbox.json(&["activity", day["date"].as_str().unwrap()])["lines"].as_array().unwrap().clone())
        .collect();
    let texts: Vec<&str> = lines.iter().map(|line| &line["text"].as_str().unwrap()["00:00:00 ".len()..]).collect();
    assert_eq!(texts, ["tester set plan", "tester added note 1", "default replaced plan"]);
    assert_eq!(lines[2]["action"], "replaced");
    assert!(sandbox.ok(&["activity", "yesterday"]).contains("written") || days.len() == 2);
    assert_eq!(sandbox.cork(&["activity", "someday"]).code, 2);
}
