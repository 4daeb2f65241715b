//! `cork import --from mcp-memory`: the file of the MCP reference memory server, here and on a server.

use serde_json::json;

use crate::support::Sandbox;

const FILE: &str = concat!(
    r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","likes tea"]}"#,
    "\n",
    r#"{"type":"entity","name":"Acme","entityType":"company","observations":[]}"#,
    "\n",
    r#"{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}"#
);

fn check(sandbox: &Sandbox) {
    let import = ["import", "--from", "mcp-memory", "-"];
    let ran = sandbox.cork_with_stdin(&import, FILE.as_bytes());
    let imported = "imported 2 entities, 1 observation and 1 relation into the memory of default\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, imported), "{}", ran.stderr);
    let graph = json!({
        "entities": [
            {"name": "Ada", "entityType": "person", "observations": ["likes tea"]},
            {"name": "Acme", "entityType": "company", "observations": []}
        ],
        "relations": [{"from": "Ada", "to": "Acme", "relationType": "works_at"}]
    });
    assert_eq!(sandbox.json(&["tools", "call", "read_graph", "{}"])["data"], graph);
    let ran = sandbox.cork_with_stdin(&[&import[..], &["--json"]].concat(), FILE.as_bytes());
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer, json!({"agent": "default", "entities": 0, "observations": 0, "relations": 0}));
    assert_eq!(sandbox.json(&["core", "show", "agent:default", "E-1"])["trust"], "agent");
    assert!(sandbox.ok(&["tools", "list", "--set", "reference"]).starts_with("create_entities (reference)\n"));
}

#[test]
fn the_file_of_the_reference_server_is_imported() {
    check(&Sandbox::local());
}

#[test]
fn a_server_takes_the_file_too() {
    check(&Sandbox::remote());
}

#[test]
fn a_file_with_broken_lines_is_not_imported() {
    let sandbox = Sandbox::without_store();
    let file = sandbox.path().join("memory.jsonl");
    std::fs::write(&file, format!("{FILE}\n{{\"type\":\"entity\"}}\n\n{{oops")).unwrap();
    let path = file.to_str().unwrap();
    let said = "nothing was imported: ";
    let error = sandbox.fails(&["import", "--from", "mcp-memory", path], 2, said);
    let message = error["detail"].as_str().unwrap();
    let told = "has 2 lines without an entity or a relation:\n  line 4: missing field `name`\n  line 6 is not JSON";
    assert!(message.ends_with(told), "{message}");
    assert!(!sandbox.database().exists(), "no store was created");
    sandbox.fails(&["import", "--from", "mcp-memory", path, "--with-tokens"], 2, "cannot be used with");
    sandbox.fails(&["import", "--from", "mcp-memory", "no-such-file"], 2, "no-such-file");
}
