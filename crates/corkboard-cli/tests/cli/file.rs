//! `--store file:PATH` on the command line, as people use it.

use std::process::Stdio;

use serde_json::json;

use crate::support::{CORK, Sandbox, eventually};

#[test]
fn a_store_of_files_from_end_to_end() {
    let sandbox = Sandbox::local();
    let store = |arguments: &[&str]| sandbox.ok(&[&["--store", "file:memory"], arguments].concat());
    store(&["memory", "set", "user_name", "Grace"]);
    store(&["memory", "append", "log", "started", "--line"]);
    store(&["--agent", "Ada L.", "memory", "note", "add", "prefers short answers"]);
    assert_eq!(store(&["memory", "get", "user_name"]), "Grace");
    assert!(store(&["memory", "list"]).contains("started"));
    let watched = store(&["memory", "watch", "--from-rev", "0", "--limit", "2"]);
    assert!(watched.contains("set user_name to \"Grace\"") && watched.contains("set log"), "{watched}");
    let scope = store(&["scope", "create", "task"]);
    store(&["memory", "set", "branch", "main", "--scope", &scope]);
    store(&["snapshot", "save", "backup.json"]);
    store(&["memory", "clear", "--yes"]);
    store(&["snapshot", "restore", "backup.json", "--yes"]);
    assert_eq!(store(&["memory", "get", "user_name"]), "Grace");
    let agents = store(&["stats", "--all"]);
    assert!(agents.contains("Ada L.") && agents.contains("default"), "{agents}");
    let report = store(&["doctor"]);
    for part in
        ["✓ the file store opens", "of disk space is free", "a durable write takes", "no damage", "2 agents load"]
    {
        assert!(report.contains(part), "{part} in {report}");
    }
    let log = std::fs::read_to_string(sandbox.path().join("memory/agent/default/log.jsonl")).unwrap();
    assert!(log.lines().nth(1).unwrap().contains("\"value\":\"Grace\""), "{log}");
}

#[test]
fn a_second_process_learns_who_holds_the_store_and_where_damage_is() {
    let sandbox = Sandbox::local();
    let store = ["--store", "file:memory"];
    sandbox.ok(&[&store[..], &["memory", "set", "a", "1"]].concat());
    let mut command = sandbox.command(CORK);
    command.args(store).args(["memory", "watch"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = command.spawn().unwrap();
    let lock = sandbox.path().join("memory/corkboard.lock");
    let said = format!("process {}", holder.id());
    eventually("the lock", || std::fs::read_to_string(&lock).unwrap().contains(&said));
    let error = sandbox.fails(&[&store[..], &["memory", "get", "a"]].concat(), 7, &format!("locked by {said}"));
    assert_eq!(error["code"], "locked");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let log = sandbox.path().join("memory/agent/default/log.jsonl");
    std::fs::write(&log, std::fs::read_to_string(&log).unwrap().replace("\"value\":1", "\"value\":2")).unwrap();
    let error = sandbox.fails(&[&store[..], &["memory", "get", "a"]].concat(), 1, "log.jsonl, line 2: its checksum");
    assert_eq!((&error["code"], &error["kind"]), (&json!("corrupt"), &json!("damaged")));
    let ran = sandbox.cork(&[&store[..], &["doctor"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("✗ the store is damaged: ") && ran.stdout.contains("line 2"), "{ran:?}");
}
