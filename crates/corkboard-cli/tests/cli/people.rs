//! `cork nudge`, `cork approve`, `cork reject`, `cork review`, `cork board pause`: people on a board.

use serde_json::{Value, json};

use crate::board::Desk;

#[test]
fn a_nudge_reaches_its_target_and_that_is_shown() {
    let desk = Desk::new("board");
    desk.ok(&["task", "add", "Design"]);
    assert_eq!(desk.ok(&["nudge", "list"]), format!("nobody said anything on board {}", desk.board));
    assert_eq!(desk.ok(&["nudge", "Use\nstaging", "--to", "ada", "--priority", "urgent", "--as", "grace"]), "N-1");
    assert_eq!(desk.json(&["nudge", "Freeze at noon", "--for", "3600"]), json!({"id": "N-2"}));
    desk.ok(&["nudge", "Add tasks", "--to-orchestrator"]);
    let worker = |arguments: &[&str]| desk.ok(&[&["--as", "ada", "--role", "worker"], arguments].concat());
    assert!(!desk.ok(&["task", "context", "T-1", "--as", "grace"]).contains("N-1"), "only its target is told");
    let context = worker(&["task", "context", "T-1"]);
    assert!(context.contains("- N-1 urgent, heed and acknowledge, said by grace: Use\n    staging"), "{context}");
    let told = worker(&["nudge", "check"]);
    assert_eq!(told, "N-1 (urgent) from grace: Use\\nstaging\nN-2 (normal) from tester: Freeze at noon");
    assert_eq!(worker(&["nudge", "ack", "N-1", "N-2"]), "acknowledged N-1, N-2");
    assert_eq!(worker(&["nudge", "ack", "N-1"]), "that was acknowledged before");
    assert_eq!(worker(&["nudge", "check"]), "nobody tells you anything new");
    let listed = desk.json(&["nudge", "list"]);
    assert_eq!(
        (&listed[0]["delivered"][0]["agent"], &listed[0]["acknowledged"][0]["agent"]),
        (&json!("ada"), &json!("ada"))
    );
    assert!(listed[1]["expires_at"].is_string() && listed[2]["delivered"].is_null(), "{listed}");
    assert!(desk.ok(&["nudge", "list"]).contains("the orchestrator"));
    let error = desk.fails(&["nudge", "ack", "N-3", "--as", "ada"], 6, "N-3 is not for you");
    assert_eq!(error["code"], "not_for_you");
    desk.fails(&["nudge", "ack", "N-9"], 3, "there is no nudge N-9");
    desk.fails(&["nudge", "hm", "--as", "ada", "--role", "worker"], 6, "ada is a worker and may not nudge");
    desk.fails(&["nudge", "  "], 2, "message must not be blank");
    desk.fails(&["nudge", "soon", "--for", "0"], 2, "must lie in the future");
    let log = desk.ok(&["board", "diff", "1"]);
    assert!(log.contains("N-1 reached ada.") && log.contains("ada acknowledged N-1."), "{log}");
}

#[test]
fn an_agents_context_is_read_by_the_agent_unless_another_is_named() {
    let desk = Desk::new("board");
    desk.ok(&["task", "add", "Design"]);
    for (message, to) in [("Use staging", "ada"), ("Go home", "tester"), ("Call me", "grace")] {
        desk.ok(&["nudge", message, "--to", to, "--as", "boss"]);
    }
    desk.ok(&["nudge", "Freeze at noon", "--as", "boss"]);
    let delivered = |nudge: usize| desk.json(&["nudge", "list"])[nudge]["delivered"].clone();

    let context = desk.ok(&["context", "--agent", "ada"]);
    assert!(context.contains("- N-1 normal, heed and acknowledge, said by boss: Use staging"), "{context}");
    assert!(!context.contains("Go home") && !context.contains("Call me"), "{context}");
    assert_eq!(delivered(0)[0]["agent"], "ada");
    assert_eq!((delivered(1), delivered(2), delivered(3)), (json!(null), json!(null), json!(null)));

    // What is said to all who work on the board, to the agent as one of them.
    let context = desk.ok(&["context", "--agent", "ada", "--role", "worker", "--task", "T-1"]);
    assert!(context.contains("Use staging") && context.contains("Freeze at noon"), "{context}");
    assert_eq!(delivered(3)[0]["agent"], "ada");

    let context = desk.ok(&["context", "--agent", "ada", "--as", "grace"]);
    assert!(context.contains("Call me") && !context.contains("Use staging"), "{context}");
    assert_eq!((&delivered(2)[0]["agent"], delivered(1)), (&json!("grace"), json!(null)));

    desk.ok(&["nudge", "ack", "N-1", "--as", "ada"]);
    assert!(!desk.ok(&["context", "--agent", "ada"]).contains("Use staging"), "until it is acknowledged");

    // Each delivery is in the name of who read.
    desk.ok(&["board", "cancel"]);
    let log = desk.ok(&["board", "watch", "--from-rev", "0", "--json"]);
    let revisions = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let proofs = revisions.filter(|revision| revision["events"][0].get("nudge_delivered").is_some());
    let readers: Vec<Value> = proofs.map(|revision| revision["actor"].clone()).collect();
    let expected = [("ada", "agent", "admin"), ("ada", "agent", "worker"), ("grace", "human", "admin")];
    let expected = expected.map(|(name, kind, role)| json!({"principal": name, "kind": kind, "role": role}));
    assert_eq!(readers, expected, "{log}");
}

#[test]
fn a_decision_waits_for_approval_and_its_task_with_it() {
    let desk = Desk::new("board");
    desk.ok(&["task", "add", "Delete the logs"]);
    let decide = ["board", "decide", "Delete them?", "yes", "--needs-approval", "--as", "ada"];
    let ran = desk.with_stdin(&decide, "");
    assert_eq!(ran.code, 2, "what waits is to be named: {ran:?}");
    desk.ok(&[&decide[..], &["--affects", "T-1"]].concat());
    let error = desk.fails(&["task", "claim", "T-1", "--as", "ada"], 4, "D-1 is not approved");
    assert_eq!(error["code"], "not_ready");
    assert!(desk.ok(&["task", "list"]).contains("D-1 is not approved"));
    desk.fails(&["approve", "D-1", "--as", "ada", "--role", "worker"], 6, "may not approve or reject a decision");
    desk.fails(&["approve", "D-1", "--as", "ada", "--role", "orchestrator"], 6, "may not approve or reject");
    assert_eq!(desk.ok(&["reject", "D-1", "keep them", "--as", "grace"]), "D-1 is rejected");
    assert!(desk.ok(&["board", "show"]).contains("rejected"));
    let approved = desk.json(&["approve", "D-1", "--as", "grace", "--role", "human"]);
    assert_eq!(approved, json!({"id": "AP-2", "decision": "D-1", "verdict": "approved"}));
    desk.ok(&["task", "claim", "T-1", "--as", "ada"]);
    let approvals = desk.json(&["board", "show"])["approvals"].clone();
    assert_eq!((&approvals[0]["by"], &approvals[0]["comment"]), (&json!("grace"), &json!("keep them")));
    // Whoever runs the board supersedes what another decided.
    let supersede = ["board", "decide", "Delete them?", "no", "--supersedes", "D-1"];
    desk.fails(&[&supersede[..], &["--as", "bob", "--role", "worker"]].concat(), 6, "D-1 was made by ada");
    assert_eq!(desk.ok(&[&supersede[..], &["--as", "grace"]].concat()), "D-2");
    desk.fails(&["approve", "D-1"], 4, "D-1 was superseded by D-2");
}

#[test]
fn a_task_is_reviewed_by_the_short_way_too() {
    let desk = Desk::new("board");
    desk.ok(&["task", "add", "Design", "--review"]);
    desk.ok(&["task", "claim", "T-1", "--as", "ada"]);
    desk.ok(&["task", "complete", "T-1", "done", "--as", "ada"]);
    desk.fails(
        &["review", "T-1", "approve", "--as", "ada", "--role", "worker"],
        6,
        "ada is a worker and may not review",
    );
    assert_eq!(desk.ok(&["review", "T-1", "rework", "no tests", "--as", "grace"]), "T-1 is in_progress");
    desk.ok(&["task", "complete", "T-1", "done", "--as", "ada"]);
    assert_eq!(desk.ok(&["review", "T-1", "approve", "--as", "rita", "--role", "reviewer"]), "T-1 is completed");
}

#[test]
fn a_paused_board_begins_nothing() {
    let desk = Desk::new("board");
    desk.ok(&["task", "add", "Design"]);
    desk.ok(&["task", "add", "Build"]);
    desk.ok(&["task", "claim", "T-1", "--as", "ada"]);
    desk.fails(&["board", "pause", "--role", "worker"], 6, "may not pause or resume the board");
    assert_eq!(desk.ok(&["board", "pause", "--comment", "look first"]), format!("{} is paused", desk.board));
    assert!(desk.ok(&["board", "show"]).contains("paused"));
    let error = desk.fails(&["task", "claim", "--as", "bob"], 4, "tester paused the board");
    assert_eq!((&error["code"], &error["hint"]), (&json!("paused"), &json!("`cork board resume` lets it go on")));
    desk.ok(&["task", "complete", "T-1", "done", "--as", "ada"]);
    assert_eq!(desk.ok(&["board", "resume"]), format!("{} goes on", desk.board));
    desk.ok(&["task", "claim", "--as", "bob"]);
}
