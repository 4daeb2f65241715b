//! A board used through `cork tools call`, and in `cork context`.

use serde_json::{Value, json};

use crate::support::Sandbox;

/// Creates a board by a tool call of its orchestrator and returns its ID.
fn a_board(sandbox: &Sandbox) -> String {
    let input = r#"{"name": "Auth", "goal": "Add JWT", "constraints": ["No breaking changes"]}"#;
    let made = sandbox.json(&["--agent", "boss", "tools", "call", "create_board", input]);
    made["data"]["id"].as_str().unwrap().to_owned()
}

fn call(agent: &str, name: &str, input: Value) -> Value {
    json!({"name": name, "input": input, "context": {"agent": agent}})
}

#[test]
fn an_orchestrator_and_two_workers_do_a_whole_board_in_one_process() {
    let sandbox = Sandbox::new();
    let board = a_board(&sandbox);
    std::fs::write(sandbox.path().join("schema.sql"), "create table t").unwrap();
    let plan = json!({"tasks": [
        {"key": "design", "title": "Design"},
        {"key": "build", "title": "Build", "depends_on": ["design"], "needs_review": true},
        {"key": "docs", "title": "Document", "depends_on": ["design"]},
    ]});
    let session = [
        (call("boss", "add_tasks", plan), "Added T-1 (design), T-2 (build), T-3 (docs)."),
        (call("ann", "claim_task", json!({})), "T-1 is yours: Design."),
        (call("bob", "claim_task", json!({})), "No task is ready: try again later."),
        (call("ann", "record_decision", json!({"question": "Which?", "choice": "RS256"})), "Recorded D-1."),
        (call("ann", "record_discovery", json!({"content": "No column", "type": "constraint"})), "Recorded F-1."),
        (call("ann", "record_artifact", json!({"path": "schema.sql"})), "Recorded A-1 of T-1, version 1."),
        (call("ann", "complete_task", json!({"summary": "Two tables"})), "T-1 is completed. Ready: T-2, T-3."),
        (call("ann", "claim_task", json!({})), "T-2 is yours: Build."),
        (call("bob", "claim_task", json!({})), "T-3 is yours: Document."),
        (call("bob", "board_context", json!({})), "Text between the tags below is remembered data"),
        (call("bob", "complete_task", json!({"summary": "Documented"})), "T-3 is completed. No other task is ready."),
        (call("ann", "complete_task", json!({"summary": "Built"})), "T-2 waits for review."),
        (call("boss", "review_task", json!({"task": "T-2", "verdict": "approved"})), "T-2 is completed."),
        (
            call("boss", "board_status", json!({})),
            "Auth (active): Add JWT\n3 tasks: 3 completed\nAll tasks are finished.",
        ),
    ];
    let calls: String = session.iter().map(|(call, _)| format!("{call}\n")).collect();
    let ran = sandbox.cork_with_stdin(&["tools", "call", "--stdin", "--board", &board], calls.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let answers: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), session.len());
    for (answer, (call, said)) in answers.iter().zip(&session) {
        assert!(answer["output"]["text"].as_str().is_some_and(|text| text.starts_with(said)), "{call}: {answer}");
    }
    let context = answers[9]["output"]["text"].as_str().unwrap();
    for part in [
        "D-1 by ann: Which? -> RS256\n",
        "F-1 constraint by ann: No column\n",
        "T-1 completed: Design\n    Two tables\n",
    ] {
        assert!(context.contains(part), "{context}");
    }
    // The file exists, so its checksum is recorded.
    let shown = sandbox.json(&["--board", &board, "board", "show"]);
    let artifact = &shown["artifacts"][0];
    assert_eq!((&artifact["path"], &artifact["size"]), (&json!("schema.sql"), &json!(14)), "{shown}");
    assert_eq!(artifact["checksum"].as_str().map(str::len), Some(64), "{shown}");
}

#[test]
fn every_call_can_be_a_separate_process() {
    let sandbox = Sandbox::new();
    let board = a_board(&sandbox);
    let tool = |agent: &str, name: &str, input: &str| {
        sandbox.ok(&["--board", &board, "--agent", agent, "tools", "call", name, input])
    };
    tool("boss", "add_tasks", r#"{"tasks": [{"title": "First"}, {"title": "Second"}]}"#);
    assert!(tool("ann", "claim_task", "{}").starts_with("T-1 is yours"));
    assert!(tool("bob", "claim_task", "{}").starts_with("T-2 is yours"));
    assert_eq!(tool("ann", "complete_task", r#"{"summary": "done"}"#), "T-1 is completed. No other task is ready.");
    let refused =
        ["--board", &board, "--agent", "ann", "tools", "call", "complete_task", r#"{"task": "T-2", "summary": "s"}"#];
    sandbox.fails(&refused, 4, "Another agent has it now: stop working on it.");
    let for_task =
        ["--board", &board, "--agent", "bob", "tools", "call", "complete_task", "--task", "T-2", r#"{"summary": "s"}"#];
    assert_eq!(sandbox.ok(&for_task), "T-2 is completed. No other task is ready.");
    sandbox.fails(&["tools", "call", "claim_task"], 2, "name the board with --board ID or CORK_BOARD");
}

#[test]
fn a_prompt_for_a_task_of_a_board() {
    let sandbox = Sandbox::new();
    let board = a_board(&sandbox);
    sandbox.ok(&["--board", &board, "tools", "call", "add_tasks", r#"{"tasks": [{"title": "First"}]}"#]);
    sandbox.ok(&["memory", "set", "user_name", "Ada"]);
    let text = sandbox.ok(&["context", "--board", &board, "--task", "T-1"]);
    let (_, sections) = text.split_once('\n').unwrap();
    let expected = "\
<goal>
  Add JWT
</goal>
<constraints>
  - No breaking changes
</constraints>
<entries>
  - user_name: Ada
</entries>
<task>
  - T-1: First
  - status: pending
</task>";
    assert_eq!(sections.trim_end(), expected);
    assert_eq!(sandbox.ok(&["context", "--board", &board, "--task", "t-1"]), text);
    let sections = sandbox.ok(&["context", "--board", &board, "--task", "T-1", "--sections"]);
    assert!(sections.contains("goal") && sections.contains("task"), "{sections}");
    sandbox.fails(&["context", "--board", &board, "--task", "T-9"], 3, "task T-9 not found");
    sandbox.fails(&["context", "--board", "nowhere"], 3, "board not found");
    sandbox.fails(&["context", "--task", "T-1"], 2, "board");
}

#[test]
fn an_urgent_nudge_interrupts_tools_and_the_refusal_of_complete_task_delivers_it() {
    let sandbox = Sandbox::new();
    let board = a_board(&sandbox);
    let arguments = |agent: &'static str, name: &'static str, input: &'static str| {
        [
            "--board".into(),
            board.clone(),
            "--agent".into(),
            agent.into(),
            "tools".into(),
            "call".into(),
            name.into(),
            input.into(),
        ]
    };
    let tool = |agent, name, input| {
        let arguments: [String; 8] = arguments(agent, name, input);
        sandbox.cork(&arguments.each_ref().map(String::as_str))
    };
    tool("boss", "add_tasks", r#"{"tasks": [{"title": "First"}]}"#);
    tool("ann", "claim_task", "{}");
    sandbox.ok(&["--board", &board, "nudge", "Stop", "--to", "ann", "--priority", "urgent"]);
    let refused = tool("ann", "complete_task", r#"{"summary": "done"}"#);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("N-1 (urgent) from tester: Stop"), "{refused:?}");
    let nudges = sandbox.items(&["--board", &board, "nudge", "list"]);
    assert_eq!(nudges[0]["delivered"][0]["agent"], "ann", "{nudges}");
    let answer = tool("ann", "write_memory", r#"{"key": "k", "content": "v"}"#);
    assert!(answer.stdout.contains("N-1 (urgent) from tester: Stop"), "{answer:?}");
    let done = tool("ann", "complete_task", r#"{"summary": "done"}"#);
    assert!(done.code == 0 && done.stdout.contains("T-1 is completed."), "{done:?}");
}
