//! `cork core`: knowledge added, found, changed, forgotten, restored.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn a_core_is_made_by_its_first_entry_and_listed() {
    let sandbox = Sandbox::new();
    let none = "there are no memory cores yet; `cork core add CORE TEXT` makes one";
    assert_eq!(sandbox.ok(&["core", "list"]), none);
    assert_eq!(sandbox.ok(&["core", "show", "rules"]), "no such entries");
    assert_eq!(sandbox.json(&["core", "list"]), json!([]), "nothing was made by looking");
    let full = ["core", "add", "rules", "Deploy on Tuesdays", "--tag", "release", "--tag", "ops"];
    let more = ["--importance", "0.75", "--kind", "insight", "--from-board", "b-1", "--item", "D-3", "--author", "ada"];
    assert_eq!(sandbox.ok(&[&full[..], &more[..]].concat()), "E-1");
    let again = sandbox.json(&["core", "add", "rules", "Deploy  on Tuesdays"]);
    assert_eq!(again, json!({"id": "E-1", "how": "merged"}));
    assert_eq!(sandbox.ok(&["core", "add", "rules", "Deploy on Tuesdays "]), "E-1 (says so already)");
    let read = sandbox.cork_with_stdin(&["core", "add", "rules", "-"], b"From a pipe\n");
    assert_eq!((read.code, read.stdout.as_str()), (0, "E-2\n"));
    let listed = sandbox.json(&["core", "list"]);
    assert_eq!((&listed[0]["core"], &listed[0]["summary"]["entries"]), (&json!("rules"), &json!(2)));
    assert!(sandbox.ok(&["core", "list"]).contains("rules"));
    let shown = sandbox.json(&["core", "show", "rules", "e-1"]);
    assert_eq!((&shown["author"], &shown["trust"], &shown["kind"]), (&json!("ada"), &json!("own"), &json!("insight")));
    assert_eq!((&shown["importance"], &shown["tags"]), (&json!(0.75), &json!(["release", "ops"])));
    let origin = &shown["provenance"][0];
    assert_eq!(
        (&origin["board"], &origin["item"], &origin["promoted_by"]),
        (&json!("b-1"), &json!("D-3"), &json!("tester"))
    );
    assert_eq!(shown["provenance"].as_array().unwrap().len(), 2);
    let text = sandbox.ok(&["core", "show", "rules", "E-1"]);
    for said in ["Deploy on Tuesdays", "2 origins:", "ada (own)", "brought in by tester, on board b-1 (D-3)"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn entries_are_shown_by_pages_and_filters() {
    let sandbox = Sandbox::new();
    for (text, tag, trust) in [("one", "a", "own"), ("two", "b", "outside"), ("three", "b", "agent")] {
        sandbox.ok(&["core", "add", "rules", text, "--tag", tag, "--trust", trust]);
    }
    let ids = |arguments: &[&str]| {
        let page = sandbox.json(&[&["core", "show", "rules"], arguments].concat());
        page["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), ["E-1", "E-2", "E-3"]);
    assert_eq!(ids(&["--tag", "b"]), ["E-2", "E-3"]);
    assert_eq!(ids(&["--trust", "outside"]), ["E-2"]);
    assert_eq!(ids(&["--kind", "insight"]), [""; 0]);
    assert_eq!(ids(&["--after", "E-1", "--limit", "1"]), ["E-2"]);
    assert!(sandbox.ok(&["core", "show", "rules", "--limit", "2"]).ends_with("there are more: --after E-2"));
    assert_eq!(sandbox.json(&["core", "show", "rules", "--limit", "2"])["next"], "E-2");
    sandbox.ok(&["core", "forget", "rules", "E-3"]);
    assert_eq!(ids(&[]), ["E-1", "E-2"]);
    assert_eq!(ids(&["--forgotten"]), ["E-3"]);
    assert!(sandbox.ok(&["core", "show", "rules", "--forgotten"]).contains("E-3 (forgotten)"));
}

#[test]
fn an_entry_is_found_forgotten_and_restored() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "Deployments go out on Tuesdays", "--trust", "outside"]);
    let search = ["core", "search", "rules", "when do we deploy?"];
    let hits = sandbox.json(&search);
    assert_eq!((&hits["hits"][0]["id"], &hits["hits"][0]["trust"]), (&json!("E-1"), &json!("outside")));
    assert!(sandbox.ok(&search).contains("outside"), "whoever reads it is told how far it may be trusted");
    assert_eq!(sandbox.ok(&["core", "forget", "rules", "E-1", "--reason", "now on Fridays"]), "E-1 is forgotten");
    assert_eq!(sandbox.ok(&search), "nothing was found");
    let shown = sandbox.ok(&["core", "show", "rules", "E-1"]);
    assert!(shown.contains("by tester: now on Fridays"), "{shown}");
    let error = sandbox.fails(&["core", "edit", "rules", "E-1", "--importance", "1"], 4, "E-1 is forgotten");
    assert_eq!(
        (&error["code"], &error["hint"]),
        (&json!("entry_forgotten"), &json!("`cork core restore CORE E-1` brings it back"))
    );
    assert_eq!(sandbox.ok(&["core", "restore", "rules", "E-1"]), "E-1 is back");
    assert_eq!(sandbox.json(&search)["hits"][0]["id"], "E-1");
    sandbox.ok(&["core", "forget", "rules", "E-1"]);
    let again = sandbox.ok(&["core", "add", "rules", "Deployments go out on Tuesdays"]);
    assert_eq!(again, "E-1 (was forgotten, and is back)");
    let error = sandbox.fails(&["core", "forget", "rules", "E-9"], 3, "no entry E-9 in this core");
    assert_eq!(error["code"], "not_in_core");
    sandbox.fails(&["core", "show", "rules", "E-9"], 3, "no entry E-9 in this core");
    let wrong = sandbox.cork(&["core", "show", "rules", "T-1"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("they read E-1"), "{wrong:?}");
}

#[test]
fn an_entry_is_edited_if_nobody_was_first() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "one", "--tag", "a"]);
    sandbox.ok(&["core", "add", "rules", "two"]);
    let edit = ["core", "edit", "rules", "E-1"];
    let edited = sandbox
        .json(&[&edit[..], &["--content", "uno", "--importance", "1", "--no-tags", "--if-version", "1"]].concat());
    assert_eq!(edited, json!({"id": "E-1", "version": 3}));
    let stale = [&edit[..], &["--content", "eins", "--if-version", "1"]].concat();
    let error = sandbox.fails(&stale, 4, "E-1 is at version 3, not 1");
    assert_eq!((&error["code"], &error["current"]["content"]), (&json!("conflict"), &json!("uno")));
    assert!(error["hint"].as_str().unwrap().contains("--if-version 3"));
    let error = sandbox.fails(&[&edit[..], &["--content", " two"]].concat(), 4, "E-2 says the same");
    assert_eq!((&error["code"], &error["other"]), (&json!("same_text"), &json!("E-2")));
    let error = sandbox.fails(&[&edit[..], &["--kind", "event", "--if-rev", "1"]].concat(), 4, "at revision 3");
    assert_eq!(error["code"], "rev_conflict");
    assert_eq!(sandbox.cork(&edit).code, 2, "an edit without a change");
    let shown = sandbox.json(&["core", "show", "rules", "E-1"]);
    assert_eq!((&shown["content"], shown.get("tags")), (&json!("uno"), None));
    assert_eq!(shown["provenance"][0]["edited_by"], json!(["tester"]));
    sandbox.fails(&["core", "add", "rules", "x", "--importance", "2"], 2, "importance must be");
    sandbox.fails(&["core", "add", "rules", " "], 2, "entry must not be blank");
}

#[test]
fn an_agents_long_term_memory_is_a_core_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "agent:alice", "Ada prefers tea"]);
    sandbox.ok(&["core", "add", "agent:bob", "Ada prefers coffee"]);
    assert_eq!(sandbox.json(&["core", "search", "agent:alice", "prefers"])["hits"].as_array().unwrap().len(), 1);
    let stats = sandbox.json(&["--agent", "alice", "stats"]);
    assert_eq!(stats["total_entries_long_term"], 1);
    let listed = sandbox.json(&["core", "list"]);
    assert_eq!((&listed[0]["core"], &listed[1]["core"]), (&json!("agent:alice"), &json!("agent:bob")));
    let checks = sandbox.json(&["doctor"]);
    let cores = checks["checks"].as_array().unwrap().iter().find(|check| check["check"] == "cores").unwrap();
    assert_eq!((&cores["ok"], &cores["detail"]), (&json!(true), &json!("2 memory cores load")));
}

#[test]
fn the_same_request_adds_one_entry() {
    let sandbox = Sandbox::new();
    let add = ["core", "add", "rules", "one", "--idempotency-key", "k"];
    assert_eq!(sandbox.ok(&add), "E-1");
    sandbox.ok(&["core", "forget", "rules", "E-1"]);
    assert_eq!(sandbox.ok(&add), "E-1");
    assert_eq!(sandbox.json(&["core", "show", "rules", "--forgotten"])["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn a_task_pattern_is_held_to_its_form_and_one_that_cannot_be_read_is_passed_over() {
    let sandbox = Sandbox::new();
    let broken = ["core", "add", "ways", "Release it\n1. Build\n3. Tell", "--tag", "task-pattern"];
    let error = sandbox.fails(&broken, 2, "line 3: it is number 2, not 3");
    assert_eq!(error["code"], "task_pattern");
    assert!(error["message"].as_str().unwrap().contains("\n2. Write it [review] — with its errors\n"), "{error}");
    assert_eq!(
        sandbox.ok(&["core", "add", "ways", "Release the app\n1. Build\n2. Tell", "--tag", "task-pattern"]),
        "E-1"
    );
    assert_eq!(sandbox.ok(&["core", "add", "ways", "How to release\n1. Go", "--tag", "task-pattern"]), "E-2");
    sandbox.fails(&["core", "edit", "ways", "E-1", "--content", "no steps"], 2, "that is no task pattern");
    // As an older program may have left it.
    let sql = "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), '2. Tell', '3. Tell') AS BLOB)";
    rusqlite::Connection::open(sandbox.database()).unwrap().execute(sql, []).unwrap();
    let create = ["board", "create", "Release the app", "--core", "ways", "--pattern", "best"];
    let made = sandbox.cork(&create);
    let warned = "warning: passed over: ways:E-1 is no task pattern: line 3: it is number 2, not 3\n";
    assert_eq!((made.code, made.stderr.as_str()), (0, warned));
    let made = sandbox.json(&create);
    assert_eq!((&made["pattern"], &made["passed_over"][0]["pattern"]), (&json!("ways:E-2"), &json!("ways:E-1")));
}
