//! Text from outside is marked wherever it is shown, and a nudge that was not shown was not delivered.

use serde_json::json;

use crate::board::Desk;

#[test]
fn text_from_outside_is_marked_wherever_it_is_shown() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Read"]);
    desk.ok(&["task", "add", "Judge", "--depends-on", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "claim"]);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "zq result", "--next-step", "zq next", "--outside"]);
    desk.ok(&["board", "decide", "zq which?", "zq this", "--outside"]);
    desk.ok(&["board", "discover", "zq found", "--outside"]);
    desk.json(&["board", "artifact", "zq.html", "--description", "zq page", "--outside"]);
    desk.ok(&["--agent", "ada", "handoff", "write", "zq handoff\nzq more", "--outside"]);
    desk.ok(&["--agent", "ada", "memory", "note", "add", "zq note", "--outside"]);
    desk.ok(&["--agent", "ada", "memory", "set", "page", "zq page", "--outside"]);
    for args in [
        &["task", "show", "T-1"][..],
        &["task", "list"],
        &["task", "context", "T-2"],
        &["board", "search", "zq"],
        &["--agent", "ada", "context", "--task", "T-2", "--query", "zq"],
        &["--agent", "ada", "handoff"],
        &["--agent", "ada", "memory", "note", "list"],
        &["--agent", "ada", "memory", "list"],
        &["--agent", "ada", "memory", "search", "zq"],
    ] {
        let text = desk.ok(args);
        let said: Vec<&str> = text.lines().filter(|line| line.contains("zq")).collect();
        assert!(!said.is_empty(), "{args:?}: {text}");
        for line in said {
            assert!(line.split("zq").next().unwrap().contains("[outside] "), "{args:?}: {line}");
        }
    }
    assert_eq!(desk.json(&["task", "show", "T-1"])["result"]["trust"], "outside");
    assert_eq!(desk.json(&["--agent", "ada", "handoff"])["trust"], "outside");
    assert_eq!(desk.items(&["--agent", "ada", "memory", "note", "list"])[0]["trust"], "outside");
    desk.ok(&["board", "cancel"]);
    let told = desk.ok(&["board", "watch", "--from-rev", "0"]);
    for line in told.lines().filter(|line| line.contains("zq")) {
        assert!(line.split("zq").next().unwrap().contains("[outside] "), "{line}");
    }
    assert_eq!(told.matches("[outside] ").count(), 4, "{told}");
    // A new handoff is the agent's own text, unless it is marked again.
    desk.ok(&["--agent", "ada", "handoff", "write", "ours"]);
    assert_eq!(desk.json(&["--agent", "ada", "handoff"]), json!({"handoff": "ours"}));
}

#[test]
fn a_nudge_whose_text_was_not_shown_is_not_delivered() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Read"]);
    desk.ok(&["nudge", "Mind the budget", "--to", "ada"]);
    let reached = || desk.items(&["nudge", "list"])[0]["delivered"].as_array().map_or(0, Vec::len);
    for args in [
        &["--agent", "ada", "--role", "worker", "context", "--sections"][..],
        &["--agent", "ada", "--role", "worker", "context", "--sections", "--json"],
        &["--principal", "ada", "--role", "worker", "task", "context", "T-1", "--sections"],
        &["--principal", "ada", "--role", "worker", "task", "context", "T-1", "--sections", "--json"],
    ] {
        assert!(desk.ok(args).contains("nudges"), "{args:?}");
        assert_eq!(reached(), 0, "{args:?}");
    }
    assert!(desk.ok(&["--agent", "ada", "--role", "worker", "context"]).contains("Mind the budget"));
    assert_eq!(reached(), 1);
}

#[test]
fn sending_work_back_needs_a_reason() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Write", "--needs-review"]);
    desk.ok(&["--principal", "ada", "task", "claim"]);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "done"]);
    for verdict in ["rework", "reject"] {
        for args in
            [&["review", "T-1", verdict][..], &["review", "T-1", verdict, ""], &["review", "T-1", verdict, " \u{200b}"]]
        {
            assert_eq!(desk.fails(args, 2, "comment")["code"], "blank", "{args:?}");
            assert_eq!(desk.ok(&["task", "list", "--view", "needs_review", "--ids"]), "T-1");
        }
    }
    assert_eq!(desk.ok(&["review", "T-1", "approve"]), "T-1 is completed");
}
