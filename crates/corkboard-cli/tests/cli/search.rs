//! `cork memory search`.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn search_ranks_entries_and_notes() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["memory", "search", "deploy"]), "no matches");
    assert_eq!(sandbox.json(&["memory", "search", "deploy"]), json!({"hits": []}));
    let text = "Deployments go out on Tuesdays\nafter the tests \u{1b}[31m";
    sandbox.ok(&["memory", "set", "release", text, "--importance", "0.9", "--tag", "ops"]);
    sandbox.ok(&["memory", "set", "plan", r#"{"goal": "add login", "steps": ["schema", "deploy the routes"]}"#]);
    sandbox.ok(&["memory", "note", "add", "prefers short answers"]);
    let scope = sandbox.json(&["scope", "create", "task-1"])["id"].as_str().unwrap().to_owned();
    sandbox.ok(&["memory", "set", "branch", "deploys from feature/login", "--scope", &scope]);

    let table = sandbox.ok(&["memory", "search", "When do we deploy on Tuesday?"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["FOUND", "SNIPPET", "SCORE", "UPDATED"]);
    assert!(lines[1].starts_with("release ") && lines[1].contains("Tuesdays after the tests [31m"), "{table}");
    assert!(lines.iter().any(|line| line.starts_with("branch (task-1) ")), "{table}");
    assert!(sandbox.ok(&["memory", "search", "answers"]).contains("note 1 "));

    let found = sandbox.json(&["memory", "search", "tuesday deployment", "--limit", "1"]);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{found}");
    let hit = &hits[0];
    assert_eq!((&hit["key"], &hit["importance"], &hit["tags"]), (&json!("release"), &json!(0.9), &json!(["ops"])));
    assert_eq!((&hit["version"], &hit["author"]), (&json!(1), &json!("tester")));
    assert!(hit["score"].as_f64().unwrap() > 0.0 && hit["at"].is_string() && hit["scope"].is_null(), "{hit}");
    let note = &sandbox.json(&["memory", "search", "short"])["hits"][0];
    assert_eq!((&note["note"], &note["key"]), (&json!(1), &json!(null)));
    assert_eq!(note["snippet"], "prefers short answers");
    let scoped = &sandbox.json(&["memory", "search", "feature"])["hits"][0];
    assert_eq!(scoped["scope"], json!({"id": scope, "name": "task-1"}));
    assert_eq!(sandbox.json(&["memory", "search", "deploy", "--agent", "other"]), json!({"hits": []}));
}

#[test]
fn a_query_must_not_be_blank() {
    let sandbox = Sandbox::new();
    for blank in ["", "  ", "\n\t"] {
        assert_eq!(sandbox.fails(&["memory", "search", blank], 2, "query must not be blank")["code"], "blank");
    }
    let long = "word ".repeat(4000);
    let error = sandbox.fails(&["memory", "search", &long], 5, "limit reached: query bytes would be 20000");
    assert_eq!((&error["code"], &error["allowed"]), (&json!("limit"), &json!(16384)));
    sandbox.fails(&["memory", "search", "x", "--limit", "many"], 2, "invalid value 'many'");
}
