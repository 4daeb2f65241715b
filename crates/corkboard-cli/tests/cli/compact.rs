//! `cork compact`, and what `stats` and `doctor` say about logs.

use serde_json::{Value, json};

use crate::support::Sandbox;

/// Writes revisions 1 to 30 of the default agent.
fn thirty_writes(sandbox: &Sandbox) {
    for number in 1..=30 {
        sandbox.ok(&["memory", "set", "key", &number.to_string()]);
    }
}

fn log(sandbox: &Sandbox) -> Value {
    sandbox.json(&["stats"])["log"].take()
}

#[test]
fn history_is_trimmed_and_the_memory_stays() {
    let sandbox = Sandbox::new();
    thirty_writes(&sandbox);
    let before = log(&sandbox);
    assert_eq!((&before["oldest"], &before["revisions"], &before["estimated"]), (&json!(1), &json!(30), &json!(false)));
    let activity = sandbox.json(&["activity"]);
    let compact = ["compact", "--before-rev", "21", "--space", "agent/default"];
    // A dry run reports the same as the real run and changes nothing.
    let plan = sandbox.json(&[&compact[..], &["--dry-run"]].concat());
    assert_eq!((&plan["dry_run"], &plan["revisions"]), (&json!(true), &json!(20)), "{plan}");
    assert_eq!(log(&sandbox), before);
    let text = sandbox.ok(&[&compact[..], &["--dry-run"]].concat());
    assert!(text.contains("would remove 20 revisions from 1 log"), "{text}");
    let done = sandbox.json(&compact);
    assert_eq!((&done["spaces"], &done["dry_run"]), (&plan["spaces"], &json!(false)), "{done}");
    assert_eq!(done["spaces"][0]["oldest"], 21, "{done}");
    let after = log(&sandbox);
    assert_eq!((&after["oldest"], &after["revisions"]), (&json!(21), &json!(10)), "{after}");
    let freed = before["bytes"].as_u64().unwrap() - after["bytes"].as_u64().unwrap();
    assert_eq!(done["bytes"], freed, "{done}");
    // The memory is there, the trimmed history is not.
    assert_eq!(sandbox.ok(&["memory", "get", "key"]), "30");
    assert_eq!(sandbox.json(&["activity"]), activity);
    let error = sandbox.fails(&["memory", "watch", "--from-rev", "5"], 3, "revisions before 21");
    assert_eq!(error["code"], "compacted", "{error}");
    assert_eq!(sandbox.ok(&["compact", "--before-rev", "21"]), "nothing to trim");
    // The newest revision always stays.
    assert_eq!(sandbox.json(&["compact", "--before-rev", "1000"])["revisions"], 9);
    assert_eq!(log(&sandbox)["oldest"], 30);
    sandbox.ok(&["memory", "set", "key", "31"]);
    assert_eq!(log(&sandbox)["revisions"], 2);
}

#[test]
fn a_disabled_space_does_not_block_the_others() {
    let sandbox = Sandbox::local();
    thirty_writes(&sandbox);
    let board = sandbox.ok(&["board", "create", "plan"]);
    sandbox.ok(&["--board", &board, "task", "add", "one"]);
    let disabled = ["--setting", "features.working_memory=false", "compact", "--before-rev", "2"];
    let ran = sandbox.cork(&disabled);
    assert!(ran.code == 6 && ran.stderr.contains("working memory is disabled"), "{ran:?}");
    assert!(ran.stdout.contains("removed 1 revision from 1 log"), "{ran:?}");
    assert_eq!(log(&sandbox)["oldest"], 1);
    let error = sandbox.fails(&["--board", &board, "board", "watch", "--from-rev", "0"], 3, "revisions before 2");
    assert_eq!(error["code"], "compacted", "{error}");
}

#[test]
fn history_is_trimmed_by_age() {
    // On a store, where one clock is compared with itself. A client only estimates its server's clock.
    let sandbox = Sandbox::local();
    thirty_writes(&sandbox);
    sandbox.ok(&["--agent", "other", "memory", "set", "key", "value"]);
    assert_eq!(sandbox.json(&["compact", "--older-than", "30d"])["spaces"], json!([]));
    let done = sandbox.json(&["compact", "--older-than", "0s"]);
    assert_eq!((&done["revisions"], &done["spaces"][0]["space"]), (&json!(29), &json!("agent/default")), "{done}");
    // Both conditions must hold.
    sandbox.ok(&["memory", "set", "key", "31"]);
    assert_eq!(sandbox.json(&["compact", "--older-than", "30d", "--before-rev", "31"])["revisions"], 0);
}

#[test]
fn a_folder_of_logs_is_trimmed_too() {
    // On a store of files. The sandbox's server uses SQLite.
    let sandbox = Sandbox::local();
    let on_files = |arguments: &[&str]| {
        [&["--store", "file:logs"], arguments].concat().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let ok = |arguments: &[&str]| {
        let arguments = on_files(arguments);
        sandbox.ok(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for number in 0..5 {
        ok(&["memory", "set", "key", &number.to_string()]);
    }
    assert!(ok(&["compact", "--before-rev", "4"]).contains("removed 3 revisions from 1 log"));
    assert_eq!(ok(&["memory", "get", "key"]), "4");
    assert!(ok(&["stats"]).contains("2 revisions"));
}

#[test]
fn invalid_arguments_are_refused() {
    let sandbox = Sandbox::new();
    for (arguments, said) in [
        (&["compact"][..], "<--older-than <AGE>|--before-rev <REV>>"),
        (&["compact", "--older-than", "soon"], "30d or 12h"),
        (&["compact", "--older-than", "1d", "--space", "default"], "agent/default"),
        (&["compact", "--older-than", "1d", "--space", "tokens/all"], "expected a form like"),
    ] {
        let ran = sandbox.cork(arguments);
        assert_eq!(ran.code, 2, "{arguments:?} {ran:?}");
        assert!(ran.stderr.contains(said), "{arguments:?} {ran:?}");
    }
    thirty_writes(&sandbox);
    let error = sandbox.fails(&["--role", "worker", "compact", "--before-rev", "5"], 6, "trim history");
    assert_eq!(error["code"], "role_denied", "{error}");
    assert_eq!(log(&sandbox)["revisions"], 30);
}

#[test]
fn logs_are_compared_with_states() {
    let sandbox = Sandbox::new();
    thirty_writes(&sandbox);
    let board = sandbox.json(&["board", "create", "Plan"])["id"].as_str().unwrap().to_owned();
    let all = sandbox.json(&["stats", "--all"]);
    let sizes = all["sizes"].as_array().unwrap();
    let of = |space: &str| sizes.iter().find(|size| size["space"] == space).unwrap_or_else(|| panic!("{space}: {all}"));
    assert_eq!(of("agent/default")["log"]["revisions"], 30);
    assert!(of("agent/default")["log"]["bytes"].as_u64() > of("agent/default")["state_bytes"].as_u64(), "{all}");
    assert_eq!(of(&format!("board/{board}"))["log"]["revisions"], 1);
    let text = sandbox.ok(&["stats", "--all"]);
    assert!(text.contains(" in 31 revisions, states ") && text.contains("cork compact"), "{text}");
    let ran = sandbox.cork(&["doctor"]);
    assert!(ran.stdout.contains("✓ logs take ") && ran.stdout.contains("agent/default: log "), "{ran:?}");
}
