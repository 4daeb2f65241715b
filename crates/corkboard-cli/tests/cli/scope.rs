//! `cork scope`, and `--scope` everywhere.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn a_scope_falls_back_and_keeps_its_own_entries() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "name", "Ada"]);
    let id = sandbox.ok(&["scope", "create", "task-1"]);
    assert_eq!(id.len(), 36);
    assert_eq!(sandbox.ok(&["memory", "get", "name", "--scope", &id]), "Ada");
    sandbox.fails(
        &["memory", "get", "name", "--scope", &id, "--local"],
        3,
        "scope task-1 of agent default has no entry",
    );
    sandbox.ok(&["memory", "set", "name", "Grace", "--scope", &id]);
    assert_eq!(sandbox.ok(&["memory", "get", "name", "--scope", &id, "--local"]), "Grace");
    assert_eq!(sandbox.json(&["memory", "get", "name", "--scope", &id, "--local"])["version"], 3);
    assert_eq!(sandbox.ok(&["memory", "get", "name"]), "Ada");
    assert_eq!(sandbox.ok(&["memory", "get", "name", "--scope", "root"]), "Ada");
    sandbox.ok(&["memory", "append", "log", "x", "--scope", &id]);
    assert_eq!(sandbox.ok(&["memory", "list", "--keys", "--scope", &id]), "log\nname");
    sandbox.ok(&["memory", "remove", "name", "--scope", &id]);
    assert_eq!(sandbox.ok(&["memory", "get", "name", "--scope", &id]), "Ada");
    sandbox.fails(&["memory", "remove", "name", "--scope", &id], 3, "no entry");
}

#[test]
fn scopes_are_created_listed_and_shown() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["scope", "list"]), "agent default has no scopes besides its root");
    let created = sandbox.json(&["scope", "create", "task-1"]);
    assert_eq!(created["name"], "task-1");
    let id = created["id"].as_str().unwrap();
    let child = sandbox.ok(&["scope", "create", "attempt", "--parent", id]);
    sandbox.ok(&["memory", "set", "a", "1", "--scope", &child]);
    sandbox.ok(&["memory", "note", "add", "hm", "--scope", &child]);
    let listed = sandbox.items(&["scope", "list"]);
    assert_eq!(listed[0]["id"], id);
    assert_eq!(listed[1]["parent"], id);
    assert_eq!((&listed[1]["entries"], &listed[1]["notes"]), (&json!(1), &json!(1)));
    let table = sandbox.ok(&["scope", "list"]);
    assert!(table.lines().nth(2).unwrap().starts_with(&format!("{child}  attempt  task-1")), "{table}");
    let shown = sandbox.ok(&["scope", "show", &child]);
    for part in ["name     attempt", "parent   task-1", "KEY ", "NOTE ", "hm"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let shown = sandbox.json(&["scope", "show", "attempt"]);
    assert_eq!(shown["entries"][0]["key"], "a");
    assert_eq!(shown["notes"][0]["text"], "hm");
    sandbox.fails(&["scope", "create", " "], 2, "scope name must not be blank");
    sandbox.fails(&["scope", "create", "x", "--parent", "nobody"], 3, "scope \"nobody\" not found");
}

#[test]
fn merge_copies_to_the_parent() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "old"]);
    sandbox.ok(&["scope", "create", "task"]);
    sandbox.ok(&["memory", "set", "a", "new", "--scope", "task"]);
    sandbox.ok(&["memory", "set", "b", "new", "--scope", "task"]);
    assert_eq!(sandbox.ok(&["scope", "merge", "task", "--overwrite", "false"]), "merged 1 entry of scope task");
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "old");
    assert_eq!(sandbox.ok(&["memory", "get", "b"]), "new");
    assert_eq!(sandbox.json(&["scope", "merge", "task"])["entries"], 2);
    assert_eq!(sandbox.ok(&["memory", "get", "a"]), "new");
    sandbox.fails(&["scope", "merge", "root"], 3, "scope \"root\" not found");
}

#[test]
fn dispose_includes_descendants() {
    let sandbox = Sandbox::new();
    let id = sandbox.ok(&["scope", "create", "task"]);
    let child = sandbox.ok(&["scope", "create", "attempt", "--parent", "task"]);
    sandbox.ok(&["memory", "set", "a", "1", "--scope", &id]);
    assert_eq!(
        sandbox.ok(&["scope", "dispose", &id]),
        "disposed scope task and its 1 entry; what was merged stays in the parent"
    );
    for gone in [&id, &child] {
        sandbox.fails(&["scope", "dispose", gone], 3, "not found");
        sandbox.fails(&["memory", "set", "a", "1", "--scope", gone], 3, "not found");
    }
}

#[test]
fn an_id_may_be_abbreviated_if_unambiguous() {
    let sandbox = Sandbox::new();
    let one = sandbox.ok(&["scope", "create", "one"]);
    assert_eq!(sandbox.json(&["scope", "show", &one[..4]])["id"], one.as_str());
    assert_eq!(sandbox.json(&["scope", "show", &one[..8].to_uppercase()])["id"], one.as_str());
    sandbox.fails(&["scope", "show", &one[..3]], 3, "at least 4 characters");
    sandbox.fails(&["scope", "show", "ffff-ffff"], 3, "`cork scope list`");
    let two = sandbox.ok(&["scope", "create", "two"]);
    let common = one.chars().zip(two.chars()).take_while(|(a, b)| a == b).count();
    assert!(common >= 4, "IDs that start with the time should share a prefix");
    let error = sandbox.fails(&["memory", "list", "--scope", &one[..4]], 2, "it matches these scopes");
    assert_eq!(error["code"], "ambiguous_scope");
    for candidate in [&one, &two] {
        assert!(error["detail"].as_str().unwrap().contains(candidate.as_str()), "{error}");
    }
    assert_eq!(sandbox.json(&["scope", "show", &two[..=common]])["id"], two.as_str());
    sandbox.ok(&["scope", "create", "one"]);
    sandbox.fails(&["scope", "show", "one"], 2, "it matches these scopes");
}

#[test]
fn no_scope_is_called_root() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails(&["scope", "create", "root"], 2, "is reserved");
    assert_eq!(error["code"], "reserved");
}
