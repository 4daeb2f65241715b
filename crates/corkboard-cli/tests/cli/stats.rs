//! `cork stats`.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn one_agent() {
    let sandbox = Sandbox::new();
    assert!(sandbox.ok(&["stats"]).contains("oldest entry  none"));
    sandbox.ok(&["memory", "set", "key", "value"]);
    sandbox.ok(&["memory", "note", "add", "note"]);
    sandbox.ok(&["scope", "create", "task"]);
    let block = b"KEY_LEARNINGS:\n  ADD:\n    - because so: x\n";
    assert_eq!(sandbox.cork_with_stdin(&["notebook", "apply", "-"], block).code, 0);
    let stats = sandbox.json(&["stats"]);
    for (name, value) in [
        ("agent", json!("default")),
        ("total_entries_working", json!(1)),
        ("active_working_scopes", json!(1)),
        ("total_notes", json!(1)),
        ("total_notebooks", json!(1)),
        ("rev", json!(4)),
    ] {
        assert_eq!(stats[name], value, "{name}");
    }
    let text = sandbox.ok(&["stats"]);
    assert!(text.starts_with("agent         default\nrevision      4\nentries       1\n"), "{text}");
    let used = stats["storage_bytes_used"].as_u64().unwrap();
    assert!(used > 14, "the size should exceed that of the entry and the note");
    assert!(text.contains(&format!("storage       {used} bytes of 128.0 MiB (0.0 %)")), "{text}");
    assert!(text.contains("notebooks     1\n"), "{text}");
    assert!(text.contains("long-term     0 entries, 0 forgotten\n"), "{text}");
    sandbox.ok(&["core", "add", "agent:default", "tea, not coffee"]);
    assert!(sandbox.ok(&["stats"]).contains("long-term     1 entry, 0 forgotten\n"));
}

#[test]
fn all_agents_more_than_a_page() {
    let sandbox = Sandbox::new();
    let nothing = "no agents yet\n\nboards        none\nmemory cores  none";
    assert_eq!(sandbox.ok(&["stats", "--all"]), nothing);
    assert_eq!(sandbox.json(&["stats", "--all"])["agents"], json!([]));
    // Through the library, because a thousand processes would take long.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let corkboard = corkboard::Corkboard::open(&format!("sqlite:{}", sandbox.database().display())).await.unwrap();
        let mut writes = Vec::new();
        for number in 0..1001 {
            let memory = corkboard.agent(&format!("agent-{number:04}")).unwrap().working();
            writes.push(tokio::spawn(async move { memory.set("a", &number).await.unwrap() }));
        }
        for write in writes {
            write.await.unwrap();
        }
        corkboard.close().await.unwrap();
    });
    let all = sandbox.json(&["stats", "--all"])["agents"].take();
    let ids: Vec<_> = all.as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    let expected: Vec<_> = (0..1001).map(|number| format!("agent-{number:04}")).collect();
    assert_eq!(ids, expected);
    assert_eq!(all[7]["summary"]["entries"], 1);
    let table = sandbox.ok(&["stats", "--all"]);
    assert_eq!(table.lines().count(), 1002 + 4);
    assert!(table.lines().next().unwrap().starts_with("AGENT "), "{table}");
}

#[test]
fn a_store_is_more_than_its_agents() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "key", "value"]);
    for name in ["one", "two", "three"] {
        sandbox.ok(&["board", "create", name, "--id", name]);
    }
    sandbox.ok(&["board", "cancel", "one"]);
    sandbox.ok(&["core", "add", "acme", "Releases are on Tuesdays"]);
    sandbox.ok(&["core", "add", "acme", "The staging database is reset every night"]);
    sandbox.ok(&["core", "forget", "acme", "E-1"]);
    let all = sandbox.json(&["stats", "--all"]);
    assert_eq!(all["agents"][0]["id"], "default");
    assert_eq!((&all["boards"]["total"], &all["boards"]["idle"]), (&json!(3), &json!(0)));
    assert_eq!(all["boards"]["by_status"], json!({"active": 2, "cancelled": 1}));
    assert_eq!((&all["cores"]["total"], &all["cores"]["entries"]), (&json!(1), &json!(1)));
    assert_eq!(all["cores"]["forgotten"], 1);
    let text = sandbox.ok(&["stats", "--all"]);
    assert!(text.contains("\n\nboards        3: 2 active, 1 cancelled; "), "{text}");
    assert!(text.contains("\nmemory cores  1: 1 entry, 1 forgotten; "), "{text}");
}
