//! `cork board watch`: lines in a pipe, a screen in a terminal.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::board::Desk;
use crate::support::{CORK, DEADLINE, finish, run};

struct Watcher {
    child: Child,
    lines: Receiver<String>,
}

impl Watcher {
    fn start(desk: &Desk, arguments: &[&str]) -> Self {
        let mut command = desk.sandbox.command(CORK);
        command.args(["board", "watch", &desk.board]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
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

    /// The remaining lines. The process must end by itself.
    fn rest(self) -> Vec<String> {
        let ran = finish(self.child);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        self.lines.iter().collect()
    }
}

#[test]
fn other_processes_are_seen_until_the_board_ends() {
    let desk = Desk::new("Plan");
    let watcher = Watcher::start(&desk, &["--from-rev", "0"]);
    assert!(watcher.line().ends_with("tester  created the board Plan"));
    desk.ok(&["task", "add", "One"]);
    // Each change is printed before the next one is made.
    assert!(watcher.line().ends_with("tester  added T-1 One"));
    desk.ok(&["--principal", "ada", "task", "claim"]);
    assert!(watcher.line().ends_with("ada  started T-1"));
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "all\u{1b}[31m of it"]);
    let line = watcher.line();
    assert!(line.starts_with("     4  20") && line.ends_with("ada  completed T-1: all\\u{1b}[31m of it"), "{line}");
    desk.ok(&["board", "complete"]);
    assert!(watcher.line().ends_with("the board has ended; outcome: success"));
    assert_eq!(watcher.rest(), [] as [&str; 0], "the watcher should end with the board");

    // A watcher that starts after the end prints the outcome.
    assert_eq!(Watcher::start(&desk, &[]).rest(), ["the board has ended; outcome: success"]);
    let again = Watcher::start(&desk, &["--from-rev", "3"]).rest();
    assert_eq!(again.len(), 2, "{again:?}");
}

#[test]
fn programs_get_an_object_for_each_revision() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["board", "cancel"]);
    let revisions = Watcher::start(&desk, &["--from-rev", "1", "--json"]).rest();
    let revisions: Vec<Value> = revisions.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(revisions.len(), 2);
    assert_eq!((&revisions[0]["rev"], &revisions[0]["actor"]["principal"]), (&json!(2), &json!("tester")));
    assert_eq!(revisions[0]["events"][0]["id"], "T-1");
    assert_eq!(revisions[1]["events"].as_array().unwrap().len(), 2, "a revision is never split");
    for field in ["commit", "at"] {
        assert!(revisions[1][field].is_string(), "{field}");
    }
    assert_eq!(Watcher::start(&desk, &["--json"]).rest(), [] as [&str; 0]);
    desk.sandbox.fails(&["board", "watch", &desk.board, "--from-rev", "99"], 2, "99");
    desk.sandbox.fails(&["board", "watch", "nowhere"], 3, "board not found: nowhere");
}

#[test]
fn a_watcher_can_continue_after_the_end() {
    let desk = Desk::new("Plan");
    desk.ok(&["board", "cancel"]);
    let mut watcher = Watcher::start(&desk, &["--forever", "--from-rev", "0"]);
    assert!(watcher.line().contains("created the board"));
    assert!(watcher.line().contains("is cancelled"));
    assert!(watcher.child.try_wait().unwrap().is_none(), "the watcher should wait for more");
    watcher.child.kill().unwrap();
    watcher.child.wait().unwrap();
}

#[test]
fn every_kind_of_event_is_described() {
    let desk = Desk::new("Plan");
    for title in ["One", "Two", "Three"] {
        desk.ok(&["task", "add", title, "--needs-review"]);
    }
    desk.ok(&["board", "edit", "--goal", "better"]);
    desk.ok(&["task", "edit", "T-1", "--priority", "2"]);
    desk.ok(&["task", "add", "Four", "--depends-on", "T-1,T-2"]);
    desk.ok(&["task", "depend", "T-4", "--depends-on", "T-3"]);
    desk.ok(&["choose", "add", "Which?", "--option", "a=T-2", "--option", "b=T-3"]);
    desk.ok(&["choose", "C-1", "a", "--rationale", "shorter"]);
    desk.ok(&["task", "assign", "T-1", "grace", "--review"]);
    desk.ok(&["task", "assign", "T-1", "ada"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-1", "--lease-s", "0.01"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-1", "--wait-s", "20"]);
    desk.ok(&["--principal", "ada", "task", "block", "T-1", "no access"]);
    desk.ok(&["--principal", "ada", "task", "start", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "release", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "claim", "T-1"]);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "done"]);
    desk.ok(&["--principal", "grace", "task", "review", "T-1", "rework", "again"]);
    desk.ok(&["--principal", "ada", "task", "fail", "T-1", "no network"]);
    desk.ok(&["task", "retry"]);
    desk.ok(&["board", "decide", "Which hash?", "argon2id"]);
    desk.ok(&["board", "discover", "no column", "--type", "risk"]);
    desk.json(&["board", "artifact", "src/schema.sql"]);
    desk.ok(&["board", "decide", "Delete?", "yes", "--affects-task", "T-1", "--needs-approval"]);
    desk.ok(&["--principal", "grace", "reject", "D-2", "no"]);
    desk.ok(&["nudge", "Mind the budget", "--to", "ada", "--priority", "low"]);
    desk.ok(&["--principal", "ada", "nudge", "ack", "N-1"]);
    desk.ok(&["board", "pause", "--reason", "lunch"]);
    desk.ok(&["board", "resume"]);
    desk.ok(&["task", "cancel", "T-1", "not needed"]);
    desk.ok(&["board", "cancel", "--reason", "enough"]);
    let text = Watcher::start(&desk, &["--from-rev", "0"]).rest().join("\n");
    for said in [
        "edited the board",
        "grace  rejected D-2: no",
        "sent N-1 to ada (low): Mind the budget",
        "N-1 reached ada",
        "ada  acknowledged N-1",
        "paused the board: lunch",
        "resumed the board",
        "edited T-1",
        "added T-4 Four after T-1, T-2",
        "T-4 waits for T-3",
        "asked C-1 Which?: a or b",
        "chose a for C-1: shorter",
        "T-3 is cancelled because it can no longer start",
        "the review of T-1 is assigned to grace",
        "T-1 is assigned to ada",
        "ada  started T-1",
        "the lease of T-1 expired",
        "is blocked on T-1: no access",
        "continued T-1",
        "released T-1",
        "submitted T-1 for review: done",
        "requested rework of T-1: again",
        "T-1 failed: no network",
        "T-4 is cancelled because of T-1",
        "T-1 will be retried",
        "T-4 is pending again",
        "decided D-1 Which hash?: argon2id",
        "found F-1 (risk) no column",
        "recorded A-1 src/schema.sql",
        "T-1 is cancelled: not needed",
        "the board is cancelled; outcome: failed: enough",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let fork = desk.ok(&["board", "fork", "--id", "fork"]);
    desk.sandbox.ok(&["board", "cancel", &fork]);
    let told = desk.sandbox.ok(&["board", "watch", &fork, "--from-rev", "0"]);
    assert!(told.contains(&format!("forked the board from {} at revision", desk.board)), "{told}");
}

/// What the live view writes to a terminal of that size, and how it ends.
fn on_a_terminal(desk: &Desk, (columns, rows): (u16, u16), steps: &Value) -> Value {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/terminal.py");
    let mut command = desk.sandbox.command("python3");
    command.args([program, &columns.to_string(), &rows.to_string(), &steps.to_string()]);
    command.args([CORK, "board", "watch", &desk.board]);
    let ran = run(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The alternate screen is left, the cursor is visible, and the terminal is back in line mode.
fn assert_restored(seen: &Value) {
    let written = seen["written"].as_str().unwrap();
    let (entered, left) = (written.rfind("\u{1b}[?1049h").unwrap(), written.rfind("\u{1b}[?1049l").unwrap());
    assert!(entered < left && written.rfind("\u{1b}[?25h") > written.rfind("\u{1b}[?25l"), "{written:?}");
    assert_eq!((&seen["code"], &seen["restored"]), (&json!(0), &json!(true)), "{seen}");
}

#[test]
fn a_terminal_shows_the_board_live_and_is_restored() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Write the schema"]);
    desk.ok(&["task", "add", "Write the routes", "--depends-on", "T-1"]);
    let seen = on_a_terminal(
        &desk,
        (100, 30),
        &json!([
            ["expect", "Plan"],
            ["expect", "0 of 2 tasks done, 1 ready, 1 waiting"],
            ["expect", "Write the schema"],
            ["expect", "Last events"],
            // Another process.
            ["run", [CORK, "--board", desk.board, "--principal", "ada", "task", "claim"]],
            ["expect", "1 in progress, 1 waiting"],
            ["expect", "▶ T-1 Write the schema  ada"],
            ["expect", "ada started T-1"],
            ["size", 60, 20],
            ["expect", "ada started T-1"],
            ["send", "\t"],
            ["expect", "By state"],
            ["send", "q"],
        ]),
    );
    assert_restored(&seen);
    assert!(seen["written"].as_str().unwrap().trim_end().ends_with("0 of 2 tasks done, 1 in progress, 1 waiting"));
    // The board is unaffected.
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "done"]);
    // Ctrl-C, SIGTERM, the end of the board.
    let cancel = json!(["run", [CORK, "board", "cancel", desk.board]]);
    for last in [json!(["send", "\u{3}"]), json!(["signal", 15]), cancel] {
        let seen = on_a_terminal(&desk, (80, 24), &json!([["expect", "Last events"], last]));
        assert_restored(&seen);
    }
    let seen = on_a_terminal(&desk, (80, 24), &json!([]));
    assert_eq!(seen["written"], "the board is cancelled; outcome: partial\r\n");
}

#[test]
fn keys_are_read_while_the_terminal_changes_its_size() {
    let desk = Desk::new("Plan");
    let mut steps = vec![json!(["expect", "Last events"])];
    for round in 0..25 {
        steps.push(json!(["size", 60, 20 + round % 2]));
        steps.push(json!(["send", "\t"]));
        steps.push(json!(["expect", "By state"]));
        steps.push(json!(["send", "\t\t"]));
        steps.push(json!(["expect", "Tasks"]));
    }
    steps.extend([json!(["size", 70, 20]), json!(["send", "q"])]);
    assert_restored(&on_a_terminal(&desk, (60, 22), &json!(steps)));
}

#[test]
fn the_smallest_terminal_is_large_enough() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Write the schema"]);
    let seen = on_a_terminal(
        &desk,
        (1, 1),
        &json!([["expect", "┌"], ["size", 20, 5], ["size", 200, 60], ["expect", "Tasks"], ["send", "q"]]),
    );
    assert_restored(&seen);
}
