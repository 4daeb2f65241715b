//! Invalid bodies: every problem names the position, and nothing is written.

use corkboard::Options;
use corkboard_server::Settings;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::support::{Answer, Client, Running, answer, in_memory, settings};

async fn send(client: &Client, method: Method, path: &str, body: &str) -> Answer {
    let request = client.request(method, path).header(CONTENT_TYPE, "application/json");
    answer(request.body(body.to_owned())).await
}

fn detail(answer: &Answer) -> &str {
    answer.body["detail"].as_str().unwrap()
}

/// The root scope's ID, the same in every memory.
const ROOT: &str = "00000000-0000-0000-0000-000000000000";

/// An invalid body, and the beginning of its problem's message.
type Wrong = (Method, &'static str, &'static str, &'static str);

const WRONG: [Wrong; 20] = [
    (Method::PUT, "/v1/agents/ada/entries/key", "{\"value\": tru", "the body is not JSON (line 1, column 13)"),
    (Method::PUT, "/v1/agents/ada/entries/key", "", "the body is empty; send a JSON object"),
    (Method::PUT, "/v1/agents/ada/entries/key", "{}", "missing field `value`"),
    (Method::PUT, "/v1/agents/ada/entries/key", "\"text\"", "expected a JSON object, found the string \"text\""),
    (Method::PUT, "/v1/agents/ada/entries/key", r#"["v"]"#, "expected a JSON object, found an array"),
    (
        Method::PUT,
        "/v1/agents/ada/entries/key",
        r#"{"value": 1, "metadata": []}"#,
        "metadata: expected a JSON object, found an array",
    ),
    (Method::POST, "/v1/agents/ada/clear", "[]", "expected a JSON object, found an array"),
    (Method::POST, "/v1/agents/ada/clear", "null", "expected a JSON object, found null"),
    (
        Method::PUT,
        "/v1/agents/ada/entries/key",
        r#"{"value": 1, "metadata": {"tags": 3}}"#,
        "metadata.tags: expected an array, found 3",
    ),
    (
        Method::PUT,
        "/v1/agents/ada/entries/key",
        r#"{"value": 1, "metadata": {"colour": 3}}"#,
        "metadata: unknown field `colour`",
    ),
    (Method::POST, "/v1/agents/ada/entries/key/append", r#"{"text": 1}"#, "text: expected a string, found 1"),
    (
        Method::POST,
        "/v1/agents/ada/entries:batch",
        r#"{"entries": [{"key": "a", "value": 1}, {"key": 2}]}"#,
        "entries[1].key: expected a string, found 2",
    ),
    (
        Method::POST,
        "/v1/agents/ada/clear",
        r#"{"working": "yes"}"#,
        "working: expected a boolean, found the string \"yes\"",
    ),
    (
        Method::POST,
        "/v1/agents/ada/notes",
        r#"{"text": "x", "trust": "blind"}"#,
        "trust: unknown value `blind`: must be one of ",
    ),
    (Method::POST, "/v1/boards/b/tasks", r#"{"title": 3}"#, "title: expected a string, found 3"),
    (
        Method::POST,
        "/v1/boards/b/tasks",
        r#"{"tasks": [{"title": "x"}, {"title": "y", "priority": "high"}]}"#,
        "tasks[1].priority: expected a whole number, found the string \"high\"",
    ),
    (
        Method::POST,
        "/v1/boards/b/tasks",
        r#"{"title": "x", "prio": 1}"#,
        "prio: unknown field; must be one of `key`, `title`",
    ),
    (
        Method::POST,
        "/v1/boards/b/decisions",
        r#"{"question": "Which?", "choice": "this", "affects_tasks": ["nine"]}"#,
        "affects_tasks[0]: ",
    ),
    (
        Method::POST,
        "/v1/cores/house/entries",
        r#"{"entries": [{"content": "x", "tags": "release"}]}"#,
        "entries[0].tags: expected an array, found the string \"release\"",
    ),
    (Method::POST, "/v1/cores/house/replace", r#"{"entries": [], "last": "E-0", "lst": 1}"#, "lst: unknown field"),
];

#[tokio::test]
async fn problems_name_the_position_of_the_error() {
    let server = Running::start().await;
    let admin = server.admin();
    admin.post("/v1/boards", &json!({"id": "b", "name": "Add login"})).await.ok();
    for (method, path, body, expected) in WRONG {
        let wrong = send(&admin, method, path, body).await;
        wrong.problem(400, "body_json");
        let said = detail(&wrong);
        let said = said.strip_prefix("line 1, column ").map_or(said, |said| said.split_once(": ").unwrap().1);
        assert!(said.starts_with(expected), "{path} {body}: {}", wrong.body);
        assert_eq!((&wrong.body["kind"], &wrong.body["title"]), (&json!("invalid"), &json!("The request is invalid")));
    }
    assert_eq!(admin.get("/v1/agents/ada/entries").await.ok()["rev"], 0);
    assert_eq!(admin.get("/v1/boards/b").await.ok()["rev"], 1);
    assert_eq!(admin.get("/v1/cores/house/stats").await.ok()["rev"], 0);

    // Errors in a batch of lines name the line and the field.
    let lines = "{\"key\": \"a\", \"value\": 1}\n{\"key\": \"b\", \"colour\": 1}\n";
    let batch =
        admin.request(Method::POST, "/v1/agents/ada/entries:batch").header(CONTENT_TYPE, "application/x-ndjson");
    let wrong = answer(batch.body(lines)).await;
    wrong.problem(400, "body_json");
    assert!(detail(&wrong).starts_with("line 2, column 21: unknown field `colour`"), "{}", wrong.body);
    assert_eq!(wrong.body["line"], 2);
    server.stop().await;
}

#[tokio::test]
async fn unknown_fields_of_commands_are_refused() {
    let server = Running::start().await;
    let admin = server.admin();
    let set = json!({"scope": ROOT, "key": "color", "value": {"any": 1}, "type_name": "json", "metadata": {}, "if_version": 0});
    let with = |name: &str| {
        let mut set = set.clone();
        set[name] = json!(1);
        json!({"command": {"set": set}})
    };
    let nested = json!({"tasks": [{"title": "x", "prio": 1}], "choices": []});
    let create = json!({"create_with_tasks": {"board": {"name": "n", "goal": "g", "colour": 1}, "tasks": []}});
    let entry = json!({"add": {"entries": [{"content": "x", "colour": "red"}]}});
    for (space, document, expected) in [
        ("agent/ada", with("if_versoin"), "command.set.if_versoin: unknown field"),
        ("agent/ada", json!({"command": "clear_all", "if_rve": 1}), "unknown field `if_rve`"),
        (
            "agent/ada",
            json!({"command": {"clear": {"scope": ROOT, "if_rev": 1}}}),
            "command.clear.if_rev: unknown field",
        ),
        ("board/b", json!({"command": {"add_tasks": nested}}), "command.add_tasks.tasks[0].prio: unknown field"),
        ("board/b", json!({"command": create}), "command.create_with_tasks.board.colour: unknown field"),
        ("core/house", json!({"command": entry}), "command.add.entries[0]: unknown field `colour`"),
        ("agent/ada", json!({"command": {"dance": {}}}), "command: unknown variant `dance`"),
        ("agent/ada", json!(["clear_all"]), "invalid type: array, expected a JSON object"),
        (
            "agent/ada",
            json!({"command": {"clear": [ROOT]}}),
            "command.clear: invalid type: array, expected a JSON object",
        ),
        (
            "board/b",
            json!({"command": {"create": ["n", "g"]}}),
            "command.create: invalid type: array, expected a JSON object",
        ),
        ("agent/ada", json!({"command": {"clear": {"scope": "all"}}}), "command.clear.scope: UUID parsing failed"),
    ] {
        let wrong = admin.post(&format!("/v1/spaces/{space}/commands"), &document).await;
        wrong.problem(400, "command");
        assert!(detail(&wrong).starts_with(&format!("invalid command: {expected}")), "{}", wrong.body);
    }
    for space in ["agent/ada", "board/b", "core/house"] {
        let head = admin.get(&format!("/v1/spaces/{space}/head")).await.ok();
        assert_eq!(head["head"]["rev"], 0, "{space}: {head}");
    }
    let good = admin.post("/v1/spaces/agent/ada/commands", &json!({"command": {"set": set}, "if_rev": 0})).await.ok();
    assert_eq!(good["rev"], 1);
    assert_eq!(admin.get("/v1/agents/ada/entries/color").await.ok()["value"], json!({"any": 1}));
    server.stop().await;
}

#[tokio::test]
async fn every_route_with_a_body_refuses_a_large_one() {
    let small = Settings { body_bytes: 1024, ..settings() };
    let server = Running::with(in_memory(Options::default()), small).await;
    let admin = server.admin();
    let body = json!({"command": "clear_all", "more": "x".repeat(2048)}).to_string();
    for path in [
        "/v1/spaces/agent/ada/commands",
        "/v1/agents/ada/notes",
        "/v1/agents/ada/clear",
        "/v1/agents/ada/entries:batch",
        "/v1/agents/ada/restore",
    ] {
        send(&admin, Method::POST, path, &body).await.problem(413, "body_too_large");
    }
    let text = admin.request(Method::POST, "/v1/agents/ada/notebook/updates").header(CONTENT_TYPE, "text/plain");
    answer(text.body(body)).await.problem(413, "body_too_large");
    server.stop().await;
}
