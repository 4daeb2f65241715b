//! `cork snapshot`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn save_clear_restore() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1", "--tag", "t"]);
    sandbox.ok(&["memory", "note", "add", "note"]);
    sandbox.ok(&["scope", "create", "task"]);
    sandbox.ok(&["memory", "set", "b", "2", "--scope", "task"]);
    let before = (sandbox.items(&["memory", "list"]), sandbox.items(&["memory", "note", "list"]));
    assert_eq!(
        sandbox.ok(&["snapshot", "save", "backup.json"]),
        "saved agent default at revision 4, 2 entries, to backup.json"
    );
    let names: Vec<_> = std::fs::read_dir(sandbox.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{names:?}");
    sandbox.ok(&["memory", "clear", "--all", "--yes"]);
    sandbox.ok(&["memory", "set", "later", "1"]);
    let action = "this would replace the memory of agent default (1 entry, 0 notes) with the snapshot of";
    sandbox.fails(&["snapshot", "restore", "backup.json"], 2, action);
    assert_eq!(sandbox.ok(&["memory", "list", "--keys"]), "later");
    let restored = sandbox.ok(&["snapshot", "restore", "backup.json", "--yes"]);
    assert_eq!(restored, "restored agent default, 2 entries, at revision 7");
    let values = |list: &serde_json::Value| list[0]["value"].clone();
    let after = (sandbox.items(&["memory", "list"]), sandbox.items(&["memory", "note", "list"]));
    assert_eq!((values(&before.0), &before.1), (values(&after.0), &after.1));
    assert_eq!(sandbox.ok(&["memory", "get", "b", "--scope", "task"]), "2");
}

#[test]
fn a_file_is_not_overwritten_by_default() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    std::fs::write(sandbox.path().join("file"), "precious").unwrap();
    let error = sandbox.fails(&["snapshot", "save", "file"], 2, "file already exists\nhint: ");
    assert_eq!(error["code"], "file_exists");
    assert_eq!(std::fs::read(sandbox.path().join("file")).unwrap(), b"precious");
    assert_eq!(
        sandbox.json(&["snapshot", "save", "file", "--force"]),
        json!({"agent": "default", "rev": 1, "entries": 1, "file": "file"})
    );
    sandbox.ok(&["snapshot", "restore", "file", "--yes"]);
    sandbox.fails(&["snapshot", "save", "no/such/folder"], 2, "no/such/folder: ");
}

/// The file contains everything that an agent knows.
#[test]
fn a_new_file_is_private_and_a_replaced_one_keeps_its_permissions() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let saving = [
        ("save.json", &["snapshot", "save", "save.json"][..]),
        ("save.cork", &["snapshot", "save", "save.cork", "--format", "bytes"]),
        ("export.jsonl", &["export", "--all", "-o", "export.jsonl"]),
    ];
    let mode = |file: &Path| std::fs::symlink_metadata(file).unwrap().permissions().mode() & 0o777;
    for (file, arguments) in saving {
        let file = sandbox.path().join(file);
        let again = [arguments, &["--force"]].concat();
        sandbox.ok(arguments);
        assert_eq!(mode(&file), 0o600, "{arguments:?}");
        for chosen in [0o400, 0o640, 0o600] {
            std::fs::set_permissions(&file, Permissions::from_mode(chosen)).unwrap();
            sandbox.ok(&again);
            assert_eq!(mode(&file), chosen, "{again:?}");
        }
        // A symbolic link is not replaced in place: the file that takes its place is new.
        std::fs::rename(&file, sandbox.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &file).unwrap();
        sandbox.ok(&again);
        assert_eq!(mode(&file), 0o600, "{again:?}");
    }
}

#[test]
fn through_pipes() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let saved = sandbox.ok(&["snapshot", "save", "-"]);
    let parsed: serde_json::Value = serde_json::from_str(&saved).unwrap();
    assert_eq!((&parsed["agent"], &parsed["rev"]), (&json!("default"), &json!(1)));
    sandbox.ok(&["memory", "clear", "--yes"]);
    assert_eq!(sandbox.cork_with_stdin(&["snapshot", "restore", "-"], saved.as_bytes()).code, 2);
    let ran = sandbox.cork_with_stdin(&["snapshot", "restore", "-", "--yes", "--json"], saved.as_bytes());
    assert_eq!(ran.stdout, "{\"agent\":\"default\",\"rev\":3,\"entries\":1}\n");
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "1");
}

#[test]
fn only_a_snapshot_of_this_agent_is_restored() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["--agent", "ada", "memory", "set", "a", "1"]);
    sandbox.ok(&["--agent", "ada", "snapshot", "save", "ada.json"]);
    let error = sandbox.fails(&["snapshot", "restore", "ada.json", "--yes"], 6, "--agent ada");
    assert_eq!((&error["code"], &error["kind"]), (&json!("agent_mismatch"), &json!("denied")));
    for wrong in ["", "{}", "[1, 2", "{\"format\": 1, \"agent\": \"default\"}"] {
        std::fs::write(sandbox.path().join("wrong"), wrong).unwrap();
        let error = sandbox.fails(&["snapshot", "restore", "wrong", "--yes"], 2, "not a memory snapshot");
        assert_eq!(error["code"], "not_a_snapshot");
    }
    std::fs::write(sandbox.path().join("all"), "{\"export\":{\"format\":\"corkboard\"}}\n").unwrap();
    let error =
        sandbox.fails(&["snapshot", "restore", "all", "--yes"], 2, "all is an export, not a snapshot of one agent");
    assert_eq!(error["hint"], "`cork import all` reads it");
    sandbox.fails(&["snapshot", "restore", "none.json", "--yes"], 2, "cannot read none.json: No such file");
    sandbox.fails(&["snapshot", "save", "none/a.json"], 2, "cannot write none/a.json: the folder none does not exist");
}

#[test]
fn a_plain_snapshot_with_long_term_memory_is_not_silent() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    // Working memory alone gives no warning.
    sandbox.ok(&["snapshot", "save", "working.json"]);
    sandbox.ok(&["core", "add", "agent:default", "tea, not coffee"]);
    for (arguments, command) in [
        (&["snapshot", "save", "my backup.json"][..], "snapshot save 'my backup.json' --key-file snapshot.key --force"),
        (
            &["--agent", "default", "snapshot", "save", "b", "--format", "bytes", "--json"],
            "--agent default snapshot save b --json --key-file snapshot.key --force",
        ),
    ] {
        let ran = sandbox.cork(arguments);
        let file = arguments.iter().find(|argument| ["my backup.json", "b"].contains(argument)).unwrap();
        let said = format!(
            "warning: {file} contains long-term memory and is not encrypted. To encrypt it:\n\
            \x20 head -c 32 /dev/urandom > snapshot.key\n  cork {command}\n"
        );
        assert_eq!((ran.code, ran.stderr), (0, said), "{arguments:?}");
    }
    let piped = sandbox.cork(&["snapshot", "save", "-"]);
    assert!(piped.stderr.contains("  cork snapshot save - --key-file snapshot.key\n"), "{piped:?}");
    assert!(piped.stdout.starts_with('{'), "{piped:?}");
    // The suggested command works.
    std::fs::write(sandbox.path().join("snapshot.key"), [7; 32]).unwrap();
    let sealed = sandbox.ok(&["snapshot", "save", "my backup.json", "--key-file", "snapshot.key", "--force"]);
    assert!(sealed.ends_with("to my backup.json, encrypted with a key"), "{sealed}");
}
