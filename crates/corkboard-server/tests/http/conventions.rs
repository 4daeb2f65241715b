//! Conventions of all routes. docs/http.md has a section on each.

use corkboard_server::{Rate, Settings};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Running, answer, in_memory, settings, with};

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(|value| value.to_str().unwrap())
}

/// A task's answer shows what it waits for, which changes without a new version of the task.
#[tokio::test]
async fn a_task_that_looks_the_same_is_not_sent_again() {
    let server = Running::start().await;
    let boss = server.admin();
    boss.post("/v1/boards", &json!({"id": "b", "name": "Login"})).await.ok();
    boss.post("/v1/boards/b/tasks", &json!({"title": "Design"})).await.ok();
    boss.post("/v1/boards/b/tasks", &json!({"title": "Build", "depends_on": ["T-1"]})).await.ok();
    let path = "/v1/boards/b/tasks/T-2";
    let waiting = boss.get(path).await;
    let tag = header(&waiting, "etag").unwrap().to_owned();
    let again = async |tag: &str| answer(boss.request(Method::GET, path).header("if-none-match", tag)).await;
    let same = again(&tag).await;
    assert_eq!((same.status.as_u16(), header(&same, "etag")), (304, Some(&*tag)));
    boss.post("/v1/boards/b/tasks/claim", &json!({"task": "T-1"})).await.ok();
    boss.post("/v1/boards/b/tasks/T-1/complete", &json!({"summary": "done"})).await.ok();
    let changed = again(&tag).await;
    assert_eq!((changed.status.as_u16(), &changed.body["hindrances"]), (200, &json!([])));
    assert_eq!(changed.body["version"], waiting.body["version"]);
    assert_ne!(header(&changed, "etag"), Some(&*tag));
    // A write needs only the version.
    with(&boss, Method::PATCH, path, ("if-match", &tag), &json!({"title": "Make"})).await.ok();
    with(&boss, Method::PATCH, path, ("if-match", &tag), &json!({"title": "x"})).await.problem(412, "conflict");
    // A core's entry shows nothing else.
    boss.post("/v1/cores/rules/entries", &json!({"content": "Test first"})).await.ok();
    let entry = answer(boss.request(Method::GET, "/v1/cores/rules/entries/E-1").header("if-none-match", "\"1\"")).await;
    assert_eq!(entry.status.as_u16(), 304);
    server.stop().await;
}

#[tokio::test]
async fn a_version_mismatch_in_a_header_is_a_failed_precondition() {
    let server = Running::start().await;
    let boss = server.admin();
    boss.put("/v1/agents/ada/entries/plan", &json!({"value": "draft"})).await.ok();
    boss.post("/v1/boards", &json!({"id": "b", "name": "Login"})).await.ok();
    boss.post("/v1/boards/b/tasks", &json!({"title": "Design"})).await.ok();
    boss.post("/v1/cores/rules/entries", &json!({"content": "Test first"})).await.ok();
    let put = (Method::PUT, "/v1/agents/ada/entries/plan", json!({"value": "x"}));
    for (method, path, body) in [
        put.clone(),
        (Method::DELETE, put.1, Value::Null),
        (Method::PATCH, "/v1/boards/b", json!({"name": "x"})),
        (Method::PATCH, "/v1/boards/b/tasks/T-1", json!({"title": "x"})),
        (Method::PATCH, "/v1/cores/rules/entries/E-1", json!({"content": "x"})),
    ] {
        let now = boss.get(path).await;
        // A task's tag ends with a hash of what its answer shows besides the task.
        let version = |answer: &Answer| {
            let tag = header(answer, "etag").unwrap().trim_matches('"').to_owned();
            tag.split('-').next().unwrap().to_owned()
        };
        let stale = with(&boss, method, path, ("if-match", "\"999\""), &body).await;
        stale.problem(412, "conflict");
        assert_eq!(version(&stale), version(&now), "{path}");
        assert_eq!(stale.body["expected"], 999, "{path}");
        assert_eq!(stale.body["current"]["version"].to_string(), version(&now), "{path}: {}", stale.body);
        assert_eq!(header(&boss.get(path).await, "etag"), header(&now, "etag"), "{path}");
    }
    let taken = with(&boss, put.0.clone(), put.1, ("if-none-match", "*"), &put.2).await;
    taken.problem(412, "conflict");
    assert_eq!((header(&taken, "etag"), &taken.body["current"]["value"]), (Some("\"1\""), &json!("draft")));
    // A missing item has no current version to return.
    let missing = with(&boss, put.0, "/v1/agents/ada/entries/none", ("if-match", "\"1\""), &put.2).await;
    missing.problem(412, "conflict");
    assert_eq!((header(&missing, "etag"), &missing.body["current"]), (None, &Value::Null));
    // A mismatch named in a body or parameter is a conflict: 412 is only for HTTP's own headers.
    let batch = json!({"entries": [{"key": "plan", "value": 1, "if_version": 999}]});
    boss.post("/v1/agents/ada/entries:batch", &batch).await.problem(409, "conflict");
    boss.put("/v1/agents/ada/entries/plan?if_rev=999", &json!({"value": 1})).await.problem(409, "rev_conflict");
    server.stop().await;
}

#[tokio::test]
async fn answers_report_the_remaining_rate() {
    let requests = Rate { burst: 3.0, per_second: 0.001 };
    let server = Running::with(in_memory(Default::default()), Settings { requests, ..settings() }).await;
    let boss = server.admin();
    for left in ["2", "1", "0"] {
        let told = boss.get("/v1/agents/ada/entries/none").await;
        told.problem(404, "not_found");
        let found = (header(&told, "ratelimit-limit"), header(&told, "ratelimit-remaining"));
        assert_eq!(found, (Some("3"), Some(left)));
        assert_eq!(header(&told, "retry-after"), None);
    }
    let refused = boss.get("/v1/me").await;
    refused.problem(429, "too_many_requests");
    assert_eq!(header(&refused, "ratelimit-remaining"), Some("0"));
    let seconds = |name: &str| header(&refused, name).unwrap().parse::<u64>().unwrap();
    assert!((1..=1000).contains(&seconds("retry-after")), "{:?}", refused.headers);
    assert!((2000..=3000).contains(&seconds("ratelimit-reset")), "{:?}", refused.headers);
    // Public routes have no rate limit, because they have no principal.
    let public = answer(server.stranger(Method::GET, "/healthz")).await;
    assert_eq!((public.status.as_u16(), header(&public, "ratelimit-limit")), (200, None));
    server.stop().await;
}

#[tokio::test]
async fn an_almost_correct_path_or_method_gets_a_suggestion() {
    let server = Running::start().await;
    let boss = server.admin();
    for (path, right) in [
        ("/v1/boards/", ": /v1/boards"),
        ("/v1/v1/boards", "write /v1 once: /v1/boards"),
        ("/boards", "start the path with /v1: /v1/boards"),
        ("/v1/agents/ada/entries/a/b", "(%2F): /v1/agents/ada/entries/a%2Fb"),
        ("/v1/nothing", "see /docs for all routes"),
    ] {
        let unknown = boss.get(path).await;
        unknown.problem(404, "unknown_route");
        assert!(unknown.body["detail"].as_str().unwrap().ends_with(right), "{}", unknown.body);
    }
    let wrong = answer(boss.request(Method::PATCH, "/v1/agents/ada/entries/a")).await;
    wrong.problem(405, "method");
    let mut allowed: Vec<&str> = header(&wrong, "allow").unwrap().split(',').map(str::trim).collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["DELETE", "GET", "HEAD", "PUT"]);
    let detail = wrong.body["detail"].as_str().unwrap();
    assert!(detail.ends_with("does not accept PATCH: use DELETE, GET, PUT"), "{detail}");
    server.stop().await;
}

/// docs/http.md lists the events of each operation on a board.
#[test]
fn every_event_of_a_board_is_documented() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let http = std::fs::read_to_string(root.join("../../docs/http.md")).unwrap();
    let (_, section) = http.split_once("\n### Events of a board\n").unwrap();
    let (section, _) = section.split_once("\n### ").unwrap();
    let said: std::collections::BTreeSet<&str> = section.split('`').skip(1).step_by(2).collect();
    let described: Value = serde_json::from_slice(&std::fs::read(root.join("openapi.json")).unwrap()).unwrap();
    let variants = described["components"]["schemas"]["BoardEvent"]["oneOf"].as_array().unwrap();
    let events: Vec<&str> = variants
        .iter()
        .map(|variant| {
            let name = variant["$ref"].as_str().unwrap().trim_start_matches('#');
            described.pointer(name).unwrap()["properties"]["type"]["enum"][0].as_str().unwrap()
        })
        .collect();
    let paths = described["paths"].as_object().unwrap().iter();
    let of_boards = paths.filter(|(path, _)| path.starts_with("/v1/boards"));
    let operations = of_boards.flat_map(|(_, item)| item.as_object().unwrap().values());
    let operations: Vec<&str> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    for event in &events {
        assert!(said.contains(event), "{event} is missing");
    }
    for name in said.iter().filter(|name| name.contains('_')) {
        assert!(events.contains(name) || operations.contains(name), "{name} is neither an event nor an operation");
    }
}
