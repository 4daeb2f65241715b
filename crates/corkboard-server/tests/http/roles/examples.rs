//! Checks the examples of the description against a server: it accepts the bodies, and its answers fit their schemas.

use std::collections::BTreeMap;

use boon::{Compiler, Draft, Schemas};
use corkboard::{Actor, ActorKind, Role};
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::expected::Sends;
use super::fixture::Fixture;
use super::operation::{Case, cases};
use super::start;
use crate::support::Answer;

const DESCRIPTION: &str = "http://localhost/openapi.json";
/// The examples of answers by schema.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples.json");

/// Maximum lengths of a text and a list in an example.
const TEXT: usize = 120;
const ITEMS: usize = 3;

/// Sends every body from the description, and validates every answer.
#[tokio::test]
async fn examples_of_bodies_are_accepted_and_answers_fit_their_schemas() {
    let server = start().await;
    let (admin, actor) = (server.admin(), Actor::new("admin", ActorKind::Human, Role::Admin));
    let description = admin.get("/openapi.json").await.ok();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.add_resource(DESCRIPTION, description.clone()).expect("the description");
    let (mut fixture, mut wrong, mut sent, mut answered) = (Fixture::new(&server.corkboard).await, Vec::new(), 0, 0);
    for case in cases(&server).await {
        for case in with_each_example(&case) {
            fixture = fixture.renewed().await;
            let answer = case.send(Some((&admin, &actor)), &fixture).await;
            sent += usize::from(case.object().is_some());
            let is_read = !["body_json", "content_type", "out_of_range", "command"]
                .iter()
                .any(|code| answer.body["code"] == *code);
            if !is_read || answer.status.is_server_error() {
                wrong.push(format!("{case}: {} {}", answer.status, answer.body));
            }
            let Some((pointer, _)) = answer_schema(&case, &answer) else { continue };
            let schema = compiler.compile(&format!("{DESCRIPTION}#{pointer}"), &mut schemas).expect("a schema");
            if let Err(error) = schemas.validate(&answer.body, schema) {
                wrong.push(format!("{case}: {error}\n  in {}", answer.body));
            }
            answered += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sent > 100 && answered > 120, "{sent} bodies were sent, {answered} answers checked");
    server.stop().await;
}

/// Edits leave out the fields that they do not change.
#[tokio::test]
async fn events_of_edits_fit_their_schemas() {
    let server = start().await;
    let admin = server.admin();
    let description = admin.get("/openapi.json").await.ok();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.add_resource(DESCRIPTION, description).expect("the description");
    let page = compiler.compile(&format!("{DESCRIPTION}#/components/schemas/RevisionPage"), &mut schemas).unwrap();
    admin.post("/v1/boards", &json!({"id": "edited", "name": "Edited"})).await.ok();
    admin.patch("/v1/boards/edited", &json!({"goal": "Ship it"})).await.ok();
    admin.post("/v1/boards/edited/tasks", &json!({"title": "One"})).await.ok();
    admin.patch("/v1/boards/edited/tasks/T-1", &json!({"priority": 5})).await.ok();
    admin.post("/v1/cores/edited/entries", &json!({"content": "One"})).await.ok();
    admin.patch("/v1/cores/edited/entries/E-1", &json!({"importance": 0.9})).await.ok();
    for (path, count) in [("/v1/boards/edited/events", 4), ("/v1/cores/edited/events", 2)] {
        let events = admin.get(path).await.ok();
        assert_eq!(events["items"].as_array().map(Vec::len), Some(count));
        if let Err(error) = schemas.validate(&events, page) {
            panic!("{error}\n  in {events}");
        }
    }
    server.stop().await;
}

/// `make examples` records the examples again. Examples without a matching answer stay unchanged.
#[tokio::test]
async fn every_example_of_an_answer_is_that_of_a_schema() {
    let kept: BTreeMap<String, Value> = serde_json::from_str(&std::fs::read_to_string(EXAMPLES).unwrap()).unwrap();
    let described = serde_json::to_value(corkboard_server::description()).unwrap();
    let is_known = |name: &String| described["components"]["schemas"].get(name).is_some();
    let unknown: Vec<_> = kept.keys().filter(|name| !is_known(name)).collect();
    let is_writing = std::env::var_os("CORK_WRITE_FIXTURES").is_some();
    assert!(unknown.is_empty() || is_writing, "examples of no schema: {unknown:?}");
    if !is_writing {
        return;
    }
    let mut found = BTreeMap::new();
    let mut index = 0;
    loop {
        // Each on a new server, so that revisions are those of a new store.
        let server = start().await;
        let Some(case) = cases(&server).await.into_iter().nth(index) else { break };
        index += 1;
        // Bodies that replace the example test special cases.
        if matches!(case.expected.sends, Sends::Json(_)) {
            continue;
        }
        let fixture = Fixture::new(&server.corkboard).await;
        let (admin, actor) = (server.admin(), Actor::new("admin", ActorKind::Human, Role::Admin));
        let answer = case.send(Some((&admin, &actor)), &fixture).await;
        let Some((_, name)) = answer_schema(&case, &answer) else { continue };
        let content = &case.operation["responses"][answer.status.as_str()]["content"]["application/json"];
        let has_own = described["components"]["schemas"][&name].get("example").is_some();
        if !has_own && (content.get("example").is_none() || kept.get(&name) == content.get("example")) {
            // Keep the longest answer, which shows most.
            let example = steady("", answer.body);
            let size = |example: &Value| example.to_string().len();
            let known = found.get(&name).map_or(0, size);
            if size(&example) > known {
                found.insert(name, example);
            }
        }
    }
    let kept = kept.into_iter().filter(|(name, _)| is_known(name));
    let all: BTreeMap<String, Value> = kept.chain(found).collect();
    let lines: Vec<String> = all.iter().map(|(name, example)| format!("  {}: {example}", json!(name))).collect();
    std::fs::write(EXAMPLES, format!("{{\n{}\n}}\n", lines.join(",\n"))).unwrap();
}

/// The case with each example body of the description.
fn with_each_example<'s>(case: &Case<'s>) -> Vec<Case<'s>> {
    let examples = case.operation["requestBody"]["content"]["application/json"]["examples"].as_object();
    let further = examples.into_iter().flatten().skip(1).map(|(_, example)| case.saying(&example["value"].to_string()));
    std::iter::once(case.clone()).chain(further).collect()
}

/// The position and name of the schema of a successful answer.
fn answer_schema(case: &Case<'_>, answer: &Answer) -> Option<(String, String)> {
    if !answer.status.is_success() || answer.body.is_null() {
        return None;
    }
    let schema = &case.operation["responses"][answer.status.as_str()]["content"]["application/json"]["schema"];
    let pointer = schema["$ref"].as_str()?.strip_prefix('#')?;
    Some((pointer.to_owned(), pointer.rsplit('/').next()?.to_owned()))
}

/// Replaces values that differ between runs, and shortens long ones.
fn steady(field: &str, value: Value) -> Value {
    match value {
        Value::String(_) if field == "secret" => json!("cork_…"),
        Value::String(text) if text.contains('T') && text.parse::<Timestamp>().is_ok() => json!("2026-01-05T09:30:00Z"),
        Value::String(text) if text.parse::<Date>().is_ok() => json!("2026-01-05"),
        Value::String(text) if text.starts_with("add-login-") => json!("add-login-1a2b3c4d"),
        Value::String(text) if is_uuid(&text) => json!("4a4fe99f-8692-47c9-b10a-6398c99d1453"),
        Value::String(text) if text.chars().count() > TEXT => {
            json!(text.chars().take(TEXT).collect::<String>() + "…")
        }
        Value::Array(items) => items.into_iter().take(ITEMS).map(|item| steady(field, item)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name.clone(), steady(&name, value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
