//! `cork task` and `cork choose`: every verb, and every refusal that a worker can get.

use serde_json::{Value, json};

use crate::board::Desk;

/// The status of a task, from `cork task show`.
fn status(desk: &Desk, task: &str) -> String {
    desk.json(&["task", "show", task])["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_task_passes_through_its_states() {
    let desk = Desk::new("Plan");
    assert_eq!(
        desk.json(&["task", "add", "Write the schema", "-d", "all tables", "--needs-review"]),
        json!({"id": "T-1"})
    );
    assert_eq!(desk.ok(&["task", "add", "Write the routes", "--depends-on", "T-1"]), "T-2");
    assert_eq!(desk.ok(&["task", "assign", "T-1", "ada"]), "T-1 is assigned to ada");
    assert_eq!(desk.ok(&["--principal", "ada", "task", "start", "T-1"]), "T-1 is in progress");
    assert_eq!(desk.ok(&["--principal", "ada", "task", "block", "T-1", "no access"]), "T-1 is blocked");
    assert!(desk.ok(&["task", "list", "--view", "blocked"]).contains("no access"));
    assert_eq!(desk.ok(&["--principal", "ada", "task", "start", "T-1"]), "T-1 is in progress");
    assert!(desk.ok(&["--principal", "ada", "task", "heartbeat", "T-1"]).starts_with("T-1 is yours until 20"));
    assert_eq!(desk.ok(&["--principal", "ada", "task", "release", "T-1"]), "T-1 is pending");
    let claim = desk.json(&["--principal", "bob", "task", "claim", "--lease-s", "60"]);
    assert_eq!((&claim["task"], &claim["epoch"], &claim["attempt"]), (&json!("T-1"), &json!(2), &json!(2)));
    assert!(claim["deadline"].is_string());
    let done =
        ["--principal", "bob", "task", "complete", "T-1", "four tables", "--next-step", "index them", "--epoch", "2"];
    assert_eq!(desk.json(&done), json!({"id": "T-1", "status": "review"}));
    assert_eq!(desk.ok(&["task", "list", "--view", "needs_review", "--ids"]), "T-1");
    assert_eq!(desk.ok(&["task", "assign", "T-1", "grace", "--review"]), "the review of T-1 is assigned to grace");
    let rework = ["--principal", "grace", "task", "review", "T-1", "rework", "one is missing"];
    assert_eq!(desk.ok(&rework), "T-1 is in progress");
    desk.ok(&["--principal", "bob", "task", "complete", "T-1", "five tables"]);
    assert_eq!(desk.ok(&["--principal", "grace", "task", "review", "T-1", "approve"]), "T-1 is completed");
    assert_eq!(desk.ok(&["task", "list", "--view", "ready", "--ids"]), "T-2");

    let shown = desk.json(&["task", "show", "t-1"]);
    assert_eq!((&shown["result"]["summary"], &shown["blocks"]), (&json!("five tables"), &json!(["T-2"])));
    let text = desk.ok(&["task", "show", "T-1"]);
    for said in ["Write the schema", "completed", "approved by grace", "five tables", "all tables", "blocks"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(desk.items(&["task", "list", "--assigned-to", "bob"]).as_array().unwrap().len(), 1);
}

#[test]
fn failures_are_retried_and_affect_dependents() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Flaky", "--retry-limit", "1"]);
    desk.ok(&["task", "add", "Below", "--depends-on", "T-1"]);
    desk.ok(&["task", "add", "Clean up", "--depends-on", "T-1", "--trigger-rule", "all_done"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-1"]);
    assert_eq!(
        desk.ok(&["--principal", "ada", "task", "fail", "T-1", "no network"]),
        "T-1 is pending",
        "tried again by itself"
    );
    desk.ok(&["--principal", "ada", "task", "claim", "T-1"]);
    assert_eq!(desk.ok(&["--principal", "ada", "task", "fail", "T-1", "no network"]), "T-1 is failed");
    assert_eq!(status(&desk, "T-2"), "cancelled");
    assert_eq!(desk.ok(&["task", "list", "--view", "ready", "--ids"]), "T-3");
    let listed = desk.ok(&["task", "list", "--status", "failed,cancelled"]);
    assert!(listed.contains("no network") && listed.contains("upstream failed (T-1)"), "{listed}");
    assert_eq!(desk.json(&["task", "retry", "T-1"]), json!({"pending": ["T-1", "T-2"]}));
    assert_eq!(desk.ok(&["task", "retry"]), "no task has failed");
    assert_eq!(desk.ok(&["task", "cancel", "T-3", "not needed"]), "T-3 is cancelled");
    assert!(desk.ok(&["task", "list"]).contains("not needed"));
}

#[test]
fn a_late_worker_gets_a_clear_refusal() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["task", "add", "Two", "--depends-on", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "claim"]);
    let held = desk.fails(&["--principal", "bob", "task", "claim", "T-1"], 4, "T-1 is held by ada until ");
    assert_eq!((&held["code"], &held["holder"]), (&json!("task_held"), &json!("ada")));
    let ready = desk.fails(&["--principal", "bob", "task", "claim", "T-2"], 4, "T-2 waits for T-1");
    assert_eq!((&ready["code"], &ready["hindrances"][0]["depends_on"]), (&json!("not_ready"), &json!(["T-1"])));
    let fenced = desk.fails(&["--principal", "bob", "task", "complete", "T-1", "mine"], 4, "ada holds T-1 at epoch ");
    assert_eq!((&fenced["code"], &fenced["epoch"]), (&json!("fenced"), &json!(1)));
    desk.fails(&["--principal", "ada", "task", "complete", "T-1", "mine", "--epoch", "7"], 4, "fenced");
    let nothing = desk.fails(&["--principal", "bob", "task", "claim"], 3, "no task is ready");
    assert_eq!(nothing["code"], "nothing_ready");
    assert!(nothing["hint"].as_str().unwrap().contains("--view blocked"), "{nothing}");
    desk.fails(&["--principal", "bob", "task", "claim", "--wait-s", "0.1"], 3, "within 0.1 s");
    let moved = desk.fails(&["task", "review", "T-1", "approve"], 4, "T-1 is not in review: it is in progress");
    assert_eq!((&moved["code"], &moved["to"]), (&json!("not_this_way"), &json!("completed")));
    assert!(moved["hint"].as_str().unwrap().contains("cork task complete T-1"), "{moved}");
    let moved = desk.fails(&["task", "review", "T-2", "approve"], 4, "T-2 is not in review: it is pending");
    assert_eq!((&moved["code"], &moved["allowed"]), (&json!("task_move"), &json!(["assigned", "cancelled"])));
    let cycle = desk.fails(&["task", "depend", "T-1", "--depends-on", "T-2"], 4, "can change only before work begins");
    assert_eq!(cycle["code"], "already_begun");
    desk.ok(&["task", "release", "T-1"]);
    let cycle = desk.fails(&["task", "depend", "T-1", "--depends-on", "T-2"], 2, "T-1 -> T-2 -> T-1");
    assert_eq!((&cycle["code"], &cycle["path"]), (&json!("cycle"), &json!(["T-1", "T-2", "T-1"])));
    assert_eq!(desk.fails(&["task", "show", "T-9"], 3, "task T-9 not found")["code"], "not_on_board");
    desk.fails(&["task", "claim", "--lease-s", "0"], 2, "a lease of 0 s");
    desk.fails(&["--role", "observer", "task", "add", "x"], 6, "may not change anything");
    for wrong in
        [&["task", "show", "D-1"][..], &["task", "show", "7"], &["task", "claim", "--wait-s", "-1"], &["task", "add"]]
    {
        let ran = desk.sandbox.cork(&[&["--board", &desk.board], wrong].concat());
        assert_eq!(ran.code, 2, "{wrong:?} {ran:?}");
    }
}

#[test]
fn changes_accept_conditions_and_keys() {
    let desk = Desk::new("Plan");
    let add = ["task", "add", "Once", "--idempotency-key", "k"];
    assert_eq!((desk.ok(&add), desk.ok(&add)), ("T-1".into(), "T-1".into()));
    assert_eq!(desk.items(&["task", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(desk.json(&["task", "edit", "T-1", "--priority", "-3", "--if-version", "2"])["version"], 3);
    let error =
        desk.fails(&["task", "edit", "T-1", "--title", "No", "--if-version", "2"], 4, "T-1 is at version 3, not 2");
    assert_eq!((&error["code"], &error["current"]["priority"]), (&json!("conflict"), &json!(-3)));
    desk.fails(&["task", "add", "No", "--if-rev", "1"], 4, "the current revision is 3");
    desk.ok(&[
        "task",
        "edit",
        "T-1",
        "--title",
        "New",
        "--needs-review",
        "true",
        "--trigger-rule",
        "none_failed",
        "--estimate-minutes",
        "5",
    ]);
    let shown = desk.json(&["task", "show", "T-1"]);
    assert_eq!((&shown["title"], &shown["needs_review"]), (&json!("New"), &json!(true)));
    assert_eq!((&shown["trigger_rule"], &shown["estimate_minutes"]), (&json!("none_failed"), &json!(5)));
    let claim = ["--principal", "ada", "task", "claim", "--idempotency-key", "c"];
    assert_eq!((desk.ok(&claim), desk.ok(&claim)), ("T-1".into(), "T-1".into()), "a repeat should get the lost answer");
}

#[test]
fn a_task_that_waited_for_a_failure_mentions_no_branch() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Ship it"]);
    desk.ok(&["task", "add", "Say what went wrong", "--depends-on", "T-1", "--trigger-rule", "one_failed"]);
    desk.ok(&["task", "claim", "T-1"]);
    desk.ok(&["task", "complete", "T-1", "shipped"]);
    let shown = desk.ok(&["task", "list"]);
    assert!(shown.contains("can no longer start") && !shown.contains("branch"), "{shown}");
    desk.ok(&["board", "complete"]);
    let log = desk.ok(&["board", "watch", "--from-rev", "0"]);
    assert!(log.contains("T-2 is cancelled because it can no longer start"), "{log}");
}

#[test]
fn a_batch_is_added_completely_or_not_at_all() {
    let desk = Desk::new("Plan");
    let batch = r#"{"key": "schema", "title": "Write the schema", "priority": 1}
{"key": "a", "title": "With jose", "depends_on": ["schema"]}
{"key": "b", "title": "By hand", "depends_on": ["schema"]}
{"title": "Join", "depends_on": ["a", "b"], "needs_review": true}
{"question": "Which library?", "options": [{"name": "jose", "tasks": ["a"]}, {"name": "hand", "tasks": ["b"]}]}
"#;
    // Some editors start a file with a byte order mark.
    let added = desk.with_stdin(&["task", "add", "--from", "-"], &format!("\u{feff}{batch}"));
    assert_eq!((added.code, added.stdout.as_str()), (0, "T-1\nT-2\nT-3\nT-4\nC-1\n"), "{added:?}");
    std::fs::write(
        desk.sandbox.path().join("more.json"),
        "\u{feff}[{\"title\": \"After all\", \"depends_on\": [\"T-4\"]}]",
    )
    .unwrap();
    assert_eq!(desk.json(&["task", "add", "--from", "more.json"]), json!({"tasks": ["T-5"], "choices": []}));
    for (batch, code, said) in [
        (
            r#"[{"title": "A", "key": "a", "depends_on": ["b"]}, {"title": "B", "key": "b", "depends_on": ["a"]}]"#,
            "cycle",
            "a -> b -> a",
        ),
        (r#"[{"title": "A"}, {"title": "B", "depends_on": ["nobody"]}]"#, "unknown_member", "nobody"),
        (r#"[{"title": "A", "key": "x"}, {"title": "B", "key": "x"}]"#, "duplicate_member", "\"x\""),
        (
            r#"[{"title": "A"}, {"title": "B", "dependson": []}]"#,
            "bad_batch",
            "item 2: unknown field \"dependson\" of a task",
        ),
        (r#"[{"title": "A"}, {"title": " "}]"#, "blank", "blank"),
        ("{\"title\": \"A\"}\n{", "bad_batch", "line 2 is not JSON"),
    ] {
        let ran = desk.with_stdin(&["task", "add", "--from", "-", "--json"], batch);
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!((ran.code, &error["code"]), (2, &json!(code)), "{batch}: {error}");
        assert!(error["detail"].as_str().unwrap().contains(said), "{error}");
    }
    desk.fails(&["task", "add", "--from", "missing.json"], 2, "cannot read missing.json");
    assert_eq!(desk.json(&["board", "show"])["rev"], 3, "a refused batch should add nothing");
}

#[test]
fn a_branch_is_chosen() {
    let desk = Desk::new("Plan");
    assert_eq!(desk.ok(&["choose", "list"]), format!("board {} has no choices", desk.board));
    for title in ["With jose", "By hand", "Its tests"] {
        desk.ok(&["task", "add", title]);
    }
    desk.ok(&["task", "depend", "T-3", "--depends-on", "T-2"]);
    let added = desk.json(&["choose", "add", "Which library?", "--option", "jose=T-1", "--option", "hand=T-2"]);
    assert_eq!(added, json!({"id": "C-1"}));
    assert_eq!(desk.items(&["task", "list", "--view", "ready"]), json!([]), "no branch should start before the choice");
    assert!(desk.ok(&["task", "list"]).contains("waits for C-1"));
    let error = desk.fails(&["choose", "C-1", "joes"], 2, "has no option \"joes\"; its options are jose, hand");
    assert_eq!((&error["code"], &error["options"]), (&json!("no_branch"), &json!(["jose", "hand"])));
    let chosen = desk.json(&["--principal", "grace", "choose", "C-1", "jose", "--rationale", "maintained"]);
    assert_eq!(chosen, json!({"id": "C-1", "chosen": "jose", "cancelled": ["T-2", "T-3"]}));
    assert_eq!(desk.fails(&["choose", "C-1", "hand"], 4, "C-1 was already decided: jose")["code"], "already_chosen");
    assert_eq!(desk.items(&["choose", "list"])[0]["chosen_by"], "grace");
    assert!(desk.ok(&["choose", "list"]).contains("jose (by grace)"));
    assert_eq!(desk.ok(&["task", "list", "--view", "ready", "--ids"]), "T-1");
    desk.fails(&["choose", "C-7", "x"], 3, "choice C-7 not found");
    desk.fails(&["choose", "add", "One?", "--option", "a=T-1"], 2, "choice");
    for wrong in [&["choose"][..], &["choose", "C-1"], &["choose", "add", "Q", "--option", "a"]] {
        let ran = desk.sandbox.cork(&[&["--board", &desk.board], wrong].concat());
        assert_eq!(ran.code, 2, "{wrong:?} {ran:?}");
    }
}

#[test]
fn a_worker_sees_the_context_of_its_task() {
    let desk = Desk::new("Plan");
    desk.ok(&["board", "edit", "--goal", "Users sign in", "--constraint", "no JWT"]);
    desk.ok(&["task", "add", "Write the schema"]);
    desk.ok(&["task", "add", "Write the routes", "--depends-on", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "claim"]);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "tables users and sessions"]);
    desk.ok(&["board", "decide", "Which hash?", "argon2id"]);
    let text = desk.ok(&["task", "context", "T-2", "--budget", "2000"]);
    for said in ["Users sign in", "no JWT", "Write the routes", "tables users and sessions", "argon2id"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let window = desk.json(&["task", "context", "T-2", "--budget", "2000"]);
    assert!(window["tokens"].as_u64().unwrap() <= 2000, "{window}");
    assert!(desk.ok(&["task", "context", "T-2", "--sections"]).contains("SECTION"));
    desk.fails(&["task", "context", "T-9"], 3, "task T-9 not found");
    desk.fails(&["task", "context", "T-2", "--budget", "1"], 2, "budget is 1; it must be from 128");
    // An agent's own context window shows it, too.
    assert!(desk.ok(&["context", "--task", "T-2"]).contains("tables users and sessions"));
    assert!(desk.ok(&["context"]).contains("Users sign in"));
    desk.sandbox.fails(&["context", "--task", "T-2"], 2, "no board selected");
}

#[test]
fn tools_use_the_named_board() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Write the schema"]);
    desk.ok(&["--agent", "ada", "tools", "call", "claim_task"]);
    assert_eq!(desk.json(&["task", "show", "T-1"])["assigned_to"], "ada");
    let done = ["--agent", "ada", "tools", "call", "complete_task", r#"{"summary": "four tables"}"#, "--task", "T-1"];
    desk.ok(&done);
    assert_eq!(desk.json(&["task", "show", "T-1"])["result"]["summary"], "four tables");
    assert!(desk.sandbox.ok(&["tools", "list", "--set", "worker"]).contains("claim_task (worker)"));
    let found = desk.json(&["board", "search", "which tables are there?"]);
    assert_eq!(found["hits"][0]["id"], "T-1", "{found}");
    assert!(desk.ok(&["board", "search", "schema"]).contains("Write the schema"));
    assert_eq!(desk.ok(&["board", "search", "zebra"]), "no matches");
}

#[test]
fn stored_text_cannot_harm_a_terminal() {
    let desk = Desk::new("Plan");
    let hostile = "red \u{1b}[31m bell \u{7} line\nbreak \u{202e}turned";
    desk.fails(&["task", "add", hostile], 2, "control or invisible characters");
    desk.ok(&["task", "add", "Harmless", "-d", hostile]);
    desk.ok(&["task", "add", "Turned \u{202e}around"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "block", "T-1", hostile]);
    desk.ok(&["board", "discover", hostile]);
    for command in [
        &["task", "list"][..],
        &["board", "show"],
        &["board", "graph"],
        &["board", "graph", "--format", "dot"],
        &["board", "diff", "0"],
    ] {
        let text = desk.ok(command);
        let harm = |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
        assert!(!text.contains(harm), "{command:?}: {text:?}");
    }
    // A refusal that quotes the text escapes it, too.
    desk.ok(&["board", "cancel", "--reason", hostile]);
    let shown = desk.ok(&["board", "show"]);
    assert!(shown.contains("\\u{1b}[31m") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn lists_are_short_and_fit_the_terminal() {
    let desk = Desk::new("Plan");
    let long = "a very long title that does not fit ".repeat(10);
    let batch: String = (0..60).map(|number| format!("{{\"title\": \"{number} {}\"}}\n", long.trim())).collect();
    assert_eq!(desk.with_stdin(&["task", "add", "--from", "-"], &batch).code, 0);
    let mut command = desk.sandbox.command(crate::support::CORK);
    command.args(["--board", &desk.board, "task", "list"]).env("COLUMNS", "80");
    let listed = crate::support::run(command, b"").stdout;
    assert_eq!(listed.lines().count(), 61);
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let shown = desk.ok(&["board", "show"]);
    assert!(shown.contains("… and 10 more: `cork task list` shows all"), "{shown}");
}

#[test]
fn a_dependency_can_be_removed() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Schema"]);
    desk.ok(&["task", "add", "Routes", "--depends-on", "T-1"]);
    assert_eq!(desk.ok(&["task", "list", "--view", "ready", "--ids"]), "T-1");
    assert_eq!(desk.ok(&["task", "depend", "T-2", "--depends-on", "T-1", "--remove"]), "T-2 no longer waits for T-1");
    assert_eq!(desk.ok(&["task", "list", "--view", "ready", "--ids"]), "T-1\nT-2");
    let again = desk.json(&["task", "depend", "T-2", "--depends-on", "T-1", "--remove"]);
    assert_eq!(again, json!({"id": "T-2", "depends_on": "T-1", "removed": false}));
    let shown = [desk.json(&["task", "show", "T-1"]), desk.json(&["task", "show", "T-2"])];
    assert_eq!((&shown[0]["blocks"], &shown[1]["depends_on"]), (&json!([]), &json!([])));
    assert!(desk.ok(&["board", "diff", "3"]).contains("T-2 no longer waits for T-1."));
    // A task that was cancelled because of a failure can start once the dependency is removed.
    desk.ok(&["task", "add", "Release", "--depends-on", "T-2"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-2"]);
    desk.ok(&["--principal", "ada", "task", "fail", "T-2", "no access"]);
    assert_eq!(status(&desk, "T-3"), "cancelled");
    desk.ok(&["task", "depend", "T-3", "--depends-on", "T-2", "--remove"]);
    assert_eq!(status(&desk, "T-3"), "pending");
    desk.ok(&["task", "depend", "T-3", "--depends-on", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "done"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-3"]);
    let begun = ["task", "depend", "T-3", "--depends-on", "T-1", "--remove"];
    assert_eq!(desk.fails(&begun, 4, "its dependencies can change only before work begins")["code"], "already_begun");
}

#[test]
fn cancelling_a_task_lists_all_affected_tasks_and_the_reason() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["task", "add", "Two", "--depends-on", "T-1"]);
    desk.ok(&["task", "add", "Three", "--depends-on", "T-2"]);
    desk.ok(&["task", "add", "Four", "--depends-on", "T-3"]);
    assert_eq!(desk.ok(&["task", "cancel", "T-4"]), "T-4 is cancelled");
    let cancelled = desk.ok(&["task", "cancel", "T-1"]);
    assert_eq!(cancelled, "T-1 is cancelled, and so are T-2, T-3, which depend on it");
    let listed = desk.ok(&["task", "list"]);
    assert!(listed.contains("upstream cancelled (T-1)") && !listed.contains("failed"), "{listed}");
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["task", "add", "Two", "--depends-on", "T-1"]);
    let cancelled = desk.json(&["task", "cancel", "T-1", "not needed"]);
    assert_eq!(cancelled, json!({"id": "T-1", "status": "cancelled", "cancelled": ["T-1", "T-2"]}));
    assert_eq!(
        desk.json(&["task", "show", "T-2"])["cancellation"],
        json!({"cause": "upstream_cancelled", "caused_by": "T-1", "reason": null})
    );
    desk.ok(&["board", "cancel"]);
    let log = desk.ok(&["board", "watch", "--from-rev", "0"]);
    assert!(log.contains("T-2 is cancelled because T-1 was cancelled"), "{log}");
}

#[test]
fn a_worker_claims_its_reworked_task_and_its_unfinished_one_after_a_restart() {
    let desk = Desk::new("Plan");
    let nothing = desk.fails(&["--principal", "ada", "task", "claim"], 3, "no task is ready");
    assert_eq!(nothing["hint"], "the board has no tasks; add one with `cork task add TITLE`");
    desk.ok(&["task", "add", "One", "--needs-review"]);
    let claimed = desk.json(&["--principal", "ada", "task", "claim"]);
    assert_eq!(claimed["epoch"], 1);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "done"]);
    let nothing = desk.fails(&["--principal", "ada", "task", "claim"], 3, "no task is ready");
    assert_eq!(nothing["hint"], "wait for one with --wait-s SECONDS; `cork task list` shows all tasks");
    desk.ok(&["task", "review", "T-1", "rework", "no test"]);
    let reworked = desk.json(&["--principal", "ada", "task", "claim", "--wait-s", "60"]);
    assert_eq!((&reworked["task"], &reworked["epoch"], &reworked["attempt"]), (&json!("T-1"), &json!(2), &json!(2)));
    // Killed and restarted under the same name.
    let restarted = desk.json(&["--principal", "ada", "task", "claim", "T-1", "--epoch", "2"]);
    assert_eq!((&restarted["task"], &restarted["epoch"], &restarted["attempt"]), (&json!("T-1"), &json!(3), &json!(2)));
    let fenced = desk.fails(
        &["--principal", "ada", "task", "complete", "T-1", "old", "--epoch", "2"],
        4,
        "ada holds T-1 at epoch ",
    );
    assert_eq!(fenced["code"], "fenced");
    desk.fails(&["--principal", "ada", "task", "claim", "T-1", "--epoch", "2"], 4, "fenced");
    assert_eq!(
        desk.ok(&["--principal", "ada", "task", "complete", "T-1", "tested", "--epoch", "3"]),
        "T-1 is in review"
    );
    let ran = desk.sandbox.cork(&["--board", &desk.board, "task", "claim", "--epoch", "3"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn only_the_reviewer_or_a_person_reviews_and_only_a_person_forces() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One", "--needs-review"]);
    let boss = ["--principal", "boss", "--role", "orchestrator"];
    desk.ok(&[&boss[..], &["task", "claim"]].concat());
    desk.ok(&[&boss[..], &["task", "complete", "T-1", "done"]].concat());
    let own =
        desk.fails(&[&boss[..], &["review", "T-1", "approve"]].concat(), 6, "agents cannot approve their own tasks");
    assert_eq!(own["code"], "own_task");
    desk.ok(&["task", "assign", "T-1", "qa", "--review"]);
    let other = desk.fails(&["--principal", "otto", "--role", "reviewer", "review", "T-1", "approve"], 6, "qa");
    assert_eq!((&other["code"], &other["reviewer"]), (&json!("not_reviewer"), &json!("qa")));
    assert_eq!(desk.ok(&["--principal", "qa", "--role", "reviewer", "review", "T-1", "approve"]), "T-1 is completed");

    desk.ok(&[&boss[..], &["board", "decide", "Drop it?", "yes", "--irreversible"]].concat());
    let anew = ["board", "decide", "Drop it?", "no", "--supersedes", "D-1"];
    let refused = desk.fails(&anew, 6, "irreversible");
    assert_eq!(refused["code"], "irreversible");
    assert_eq!(refused["hint"], "add --force to supersede D-1");
    let forced = [&anew[..], &["--force"]].concat();
    desk.fails(&[&boss[..], &forced].concat(), 6, "irreversible");
    assert_eq!(desk.ok(&forced), "D-2");
}
