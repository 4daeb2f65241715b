//! The end of a board's life: `cork board archive`, `cork board discard`, `cork gc`.

use std::sync::Arc;

use corkboard::boards::NewBoard;
use corkboard::{Corkboard, ManualClock, Options};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::board::Desk;
use crate::support::Sandbox;

/// Creates a board with the given ID that has ended.
fn ended(sandbox: &Sandbox, id: &str) {
    sandbox.ok(&["board", "create", &format!("Plan {id}"), "--id", id]);
    sandbox.ok(&["board", "complete", id]);
}

/// Creates a board without changes for this many days.
fn forsaken(sandbox: &Sandbox, id: &str, days: i64) -> Timestamp {
    let then = Timestamp::from_second(Timestamp::now().as_second() - days * 86_400).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = Options { clock: Arc::new(ManualClock::new(then)), ..Options::default() };
        let url = format!("sqlite:{}", sandbox.database().display());
        let corkboard = Corkboard::open_with(&url, options).await.unwrap();
        let new = NewBoard { name: format!("Plan {id}"), ..NewBoard::default() };
        corkboard.create_board(new).id(id).await.unwrap();
        corkboard.close().await.unwrap();
    });
    then
}

fn fates(sandbox: &Sandbox) -> Vec<(String, String)> {
    let garbage = sandbox.json(&["gc"]);
    let boards = garbage["items"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    boards.iter().map(|board| (text(&board["id"]), text(&board["fate"]))).collect()
}

#[test]
fn a_board_is_archived_kept_and_purged() {
    let desk = Desk::new("Plan");
    let id = desk.board.as_str();
    assert_eq!(desk.sandbox.ok(&["gc"]), "nothing to purge: 1 board is active");
    for command in [["board", "archive"], ["board", "discard"]] {
        let error = desk.fails(&command, 4, "the board is active: complete or cancel it first");
        assert_eq!(error["code"], "board_active");
        assert!(error["hint"].as_str().unwrap().contains("cork board complete"), "{error}");
    }
    desk.ok(&["board", "complete"]);
    let told = desk.sandbox.ok(&["gc"]);
    for said in [id, "ended", "not archived; learnings not extracted yet", "`cork board archive BOARD`"] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(told.ends_with("\n\nnothing to purge: 1 board is kept"), "{told}");

    let archived = desk.json(&["board", "archive", "--retain-days", "2.5"]);
    assert_eq!((&archived["id"], &archived["status"]), (&json!(id), &json!("archived")));
    let until: Timestamp = archived["retain_until"].as_str().unwrap().parse().unwrap();
    let days = until.duration_since(Timestamp::now()).as_secs_f64() / 86_400.0;
    assert!((2.4..=2.5).contains(&days), "{days}");
    assert!(desk.ok(&["board", "archive"]).starts_with(&format!("{id} is archived and kept until at least 20")));
    let shown = desk.json(&["board", "show"]);
    assert_eq!((&shown["status"], &shown["outcome"]), (&json!("archived"), &json!("success")));
    assert_eq!(shown["retain_until"], archived["retain_until"], "the earlier duration should hold");
    assert_eq!(desk.fails(&["task", "add", "more"], 4, "the board is archived")["code"], "board_ended");
    let told = desk.sandbox.ok(&["gc"]);
    for said in [
        "kept",
        "kept until 20",
        "--retain-days DAYS",
        "`cork --board BOARD learn extract`",
        "`cork board discard BOARD`",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(desk.ok(&["board", "show"]).contains(", kept until at least 20"));
    assert_eq!(desk.ok(&["board", "archive", "--retain-days", "0"]), format!("{id} is archived"));
    let garbage = desk.sandbox.json(&["gc"]);
    assert_eq!(garbage["items"][0]["kept_by"], json!([{"type": "learnings"}]));
    assert_eq!(desk.sandbox.ok(&["gc", "--yes"]), "nothing to purge; `cork gc` says why boards are kept");

    let told = desk.ok(&["board", "discard", "--reason", "only a try"]);
    assert_eq!(told, format!("{id} is discarded: `cork gc --yes` purges it"));
    let text = desk.ok(&["board", "show"]);
    assert!(!text.contains("kept until"), "{text}");
    for said in ["archived; outcome: success", "archived   20", "discarded", ": only a try"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let watched = desk.ok(&["board", "watch", "--from-rev", "2"]);
    assert!(watched.contains("archived the board, kept until"), "{watched}");
    assert!(watched.ends_with("discarded the board: only a try"), "{watched}");
    let told = desk.sandbox.ok(&["gc"]);
    assert!(told.ends_with("\n\nnothing purged yet: `cork gc --yes` purges 1 board"), "{told}");
    desk.ok(&["board", "show"]);
    assert_eq!(desk.sandbox.ok(&["gc", "--yes"]), format!("purged {id}\n1 board purged"));
    assert_eq!(desk.fails(&["board", "show"], 3, "board not found")["code"], "no_board");
    assert_eq!(desk.sandbox.ok(&["gc"]), "no boards");
    assert_eq!(desk.sandbox.ok(&["gc", "--yes"]), "no boards");
    assert!(desk.sandbox.ok(&["doctor"]).contains("no damage"));
}

#[test]
fn a_board_is_purged_once_its_learnings_were_extracted() {
    let desk = Desk::new("Plan");
    let because = ["--rationale", "it is hard on memory"];
    desk.ok(&[&["--principal", "ada", "board", "decide", "Which hash?", "argon2id"], &because[..]].concat());
    desk.ok(&["board", "complete"]);
    desk.ok(&["learn", "promote", "D-1", "--core", "house-rules"]);
    desk.ok(&["board", "archive", "--retain-days", "0"]);
    assert_eq!(desk.sandbox.json(&["gc"])["items"][0]["kept_by"], json!([{"type": "learnings"}]));
    desk.ok(&["learn", "extract"]);
    let shown = desk.ok(&["board", "show"]);
    assert!(shown.contains("extracted  1 learning by tester at "), "{shown}");
    assert_eq!(desk.sandbox.ok(&["gc", "--yes"]), format!("purged {}\n1 board purged", desk.board));
    // Its promoted learnings stay.
    assert!(desk.sandbox.ok(&["core", "show", "house-rules"]).contains("argon2id"));
}

#[test]
fn undecided_learnings_are_reported_and_keep_the_board() {
    let desk = Desk::new("Plan");
    for question in ["Which hash?", "Which lock?"] {
        desk.ok(&["board", "decide", question, "that", "--rationale", "it is hard on memory"]);
    }
    desk.ok(&["board", "complete"]);
    desk.ok(&["learn", "extract"]);
    let told = desk.ok(&["board", "archive", "--retain-days", "0"]);
    assert!(told.contains("2 learnings wait for a decision"), "{told}");
    for command in ["learn promote ID", "learn refuse ID"] {
        assert!(told.contains(&format!("cork --board {} {command}", desk.board)), "{told}");
    }
    assert_eq!(desk.json(&["board", "archive"])["open_learnings"], 2);
    let told = desk.sandbox.ok(&["gc"]);
    assert!(told.contains("2 learnings wait for a decision") && told.contains("learn refuse ID"), "{told}");
    desk.sandbox.ok(&["gc", "--yes"]);
    desk.ok(&["learn", "promote", "D-1", "--core", "house-rules"]);
    desk.ok(&["learn", "refuse", "D-2"]);
    assert_eq!(desk.ok(&["board", "archive"]), format!("{} is archived", desk.board));
    assert_eq!(desk.sandbox.ok(&["gc", "--yes"]), format!("purged {}\n1 board purged", desk.board));
}

#[test]
fn only_expired_boards_are_purged() {
    let sandbox = Sandbox::new();
    for id in ["a", "b", "c", "d"] {
        ended(&sandbox, id);
    }
    sandbox.ok(&["board", "archive", "b"]);
    sandbox.ok(&["board", "discard", "c"]);
    sandbox.ok(&["board", "discard", "d"]);
    sandbox.ok(&["board", "create", "Active", "--id", "e"]);
    let since = forsaken(&sandbox, "f", 8);
    let expected = [("a", "ended"), ("b", "keep"), ("c", "purge"), ("d", "purge"), ("f", "idle")];
    assert_eq!(fates(&sandbox), expected.map(|(id, fate)| (id.to_owned(), fate.to_owned())));
    let told = sandbox.ok(&["gc"]);
    let day = since.to_string()[..10].to_owned();
    assert!(told.contains(&format!("active, but nothing has happened since {day}")), "{told}");
    assert!(told.contains("end it with `cork board complete BOARD` or `cork board cancel BOARD`"), "{told}");

    let denied = sandbox.fails(&["--role", "worker", "gc", "--yes"], 6, "may not purge the board");
    assert_eq!(denied["code"], "role_denied");
    assert_eq!(fates(&sandbox).len(), 5);
    let purged = sandbox.json(&["gc", "--yes"]);
    assert_eq!((&purged["dry_run"], &purged["purged"]), (&json!(false), &json!(["c", "d"])));
    assert_eq!(purged["active"], 1);
    let left = [("a", "ended"), ("b", "keep"), ("f", "idle")];
    assert_eq!(fates(&sandbox), left.map(|(id, fate)| (id.to_owned(), fate.to_owned())));
    let error = sandbox.fails(&["board", "delete", "c", "--yes"], 3, "board not found");
    assert_eq!(error["code"], "no_board");
}

#[test]
fn an_unreadable_board_does_not_block_the_others() {
    let mut sandbox = Sandbox::new();
    for id in ["a", "b", "c"] {
        ended(&sandbox, id);
        sandbox.ok(&["board", "discard", id]);
    }
    let damage = "UPDATE log SET body = x'7b' WHERE space = (SELECT id FROM spaces WHERE name = 'board/b')";
    assert_eq!(sandbox.tamper(damage), 3);
    let ran = sandbox.cork(&["gc", "--yes"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.starts_with("purged a\npurged c\n2 boards purged;"), "{ran:?}");
    assert!(ran.stderr.starts_with("error: space board/b is damaged"), "{ran:?}");
    assert_eq!(fates(&sandbox), [("b".to_owned(), "purge".to_owned())]);
}

#[test]
fn a_list_marks_idle_boards_and_hides_archived_ones() {
    let sandbox = Sandbox::new();
    ended(&sandbox, "over");
    sandbox.ok(&["board", "archive", "over"]);
    assert_eq!(sandbox.ok(&["board", "list"]), "not shown: 1 archived board; add --all to show it");
    assert_eq!(sandbox.items(&["board", "list"]), json!([]));
    let since = forsaken(&sandbox, "still", 8);
    sandbox.ok(&["board", "create", "Busy", "--id", "busy"]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let boards = sandbox.items(&[&["board", "list"], arguments].concat());
        boards.as_array().unwrap().iter().map(|board| board["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["busy", "still"]);
    assert_eq!(ids(&["--all"]), ["busy", "over", "still"]);
    assert_eq!(ids(&["--status", "archived"]), ["over"]);
    assert_eq!(ids(&["--status", "active"]), ["busy", "still"]);
    assert_eq!(ids(&["--status", "idle"]), ["still"]);
    let listed = sandbox.items(&["board", "list"]);
    assert_eq!(listed[1]["idle_since"], json!(since));
    assert!(listed[0]["idle_since"].is_null() && listed[0]["summary"]["updated_at"].is_string(), "{listed}");
    let text = sandbox.ok(&["board", "list"]);
    assert!(text.contains(&format!("active, idle since {}", &since.to_string()[..10])), "{text}");
    assert!(text.ends_with("\n\nnot shown: 1 archived board; add --all to show it"), "{text}");
    let text = sandbox.ok(&["board", "list", "--all"]);
    assert!(text.contains("archived; outcome: success") && !text.contains("not shown"), "{text}");
}

#[test]
fn days_are_numbers() {
    let desk = Desk::new("Plan");
    desk.ok(&["board", "complete"]);
    for days in ["-1", "soon", "nan", "inf"] {
        let retain = format!("--retain-days={days}");
        let refused = desk.sandbox.cork(&["--board", &desk.board, "board", "archive", &retain]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("expected a number of days"), "{refused:?}");
    }
    desk.fails(&["board", "archive", "--retain-days", "1e300"], 2, "it must be from 0 to 36500");
    desk.ok(&["board", "archive", "--retain-days", "36500"]);
    assert_eq!(desk.json(&["board", "show"])["rev"], 3);
}
