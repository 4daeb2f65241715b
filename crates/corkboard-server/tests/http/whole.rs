//! Conditions on operations on a whole memory or notebook: if they fail, nothing happens.

use corkboard::{Corkboard, Error, Options, Refusal, ServerAddress};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::support::{ADMIN, Answer, Client, Running, answer, with};

const BOOK: &str = "KEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count as two\n";

async fn update(client: &Client, text: &str) -> u64 {
    let request = client.request(Method::POST, "/v1/agents/ada/notebook/updates").header(CONTENT_TYPE, "text/plain");
    answer(request.body(text.to_owned())).await.ok()["rev"].as_u64().unwrap()
}

async fn named(client: &Client, path: &str, name: &str, body: &Value) -> Answer {
    with(client, Method::POST, path, ("idempotency-key", name), body).await
}

async fn rev_now(client: &Client) -> u64 {
    client.get("/v1/agents/ada/entries").await.ok()["rev"].as_u64().unwrap()
}

async fn set(client: &Client, value: u64) -> u64 {
    client.put("/v1/agents/ada/entries/key", &json!({"value": value})).await.ok()["rev"].as_u64().unwrap()
}

/// The operations, with their bodies.
async fn deeds(client: &Client) -> Vec<(&'static str, Value)> {
    let snapshot = client.post("/v1/agents/ada/snapshot", &json!({})).await.ok();
    vec![
        ("/v1/agents/ada/notebook/restore", json!({"at": 1})),
        ("/v1/agents/ada/notebook/clear", Value::Null),
        ("/v1/agents/ada/notebook/forget", json!({"item": "KL-1"})),
        ("/v1/agents/ada/restore", snapshot),
        ("/v1/agents/ada/forget", json!({"key": "key"})),
        ("/v1/agents/ada/clear", json!({"working": true, "long_term": true})),
    ]
}

#[tokio::test]
async fn an_operation_needs_the_required_revision() {
    let server = Running::start().await;
    let ada = server.admin();
    update(&ada, BOOK).await;
    for (path, body) in deeds(&ada).await {
        let rev = set(&ada, 1).await;
        let stale = ada.post(&format!("{path}?if_rev={}", rev - 1), &body).await;
        stale.problem(409, "rev_conflict");
        assert_eq!(stale.body["current_rev"], rev, "{path}");
        assert_eq!(rev_now(&ada).await, rev, "{path}");
        let done = ada.post(&format!("{path}?if_rev={rev}"), &body).await.ok();
        let (after, now) = (done["rev"].as_u64().unwrap(), rev_now(&ada).await);
        assert!(after >= rev && after == now, "{path}: {done}");
        let tagged = ada.request(Method::POST, path).header("if-match", "\"1\"");
        answer(tagged).await.problem(400, "condition");
        assert_eq!(rev_now(&ada).await, now, "{path}");
    }
    let rev = set(&ada, 2).await;
    ada.delete(&format!("/v1/agents/ada?if_rev={}", rev - 1)).await.problem(409, "rev_conflict");
    assert_eq!(ada.get("/v1/agents/ada/entries/key").await.ok()["value"], 2);
    let deleted = ada.delete(&format!("/v1/agents/ada?if_rev={rev}")).await.ok();
    assert_eq!(deleted, json!({"deleted": true, "rev": rev + 1}));
    ada.delete(&format!("/v1/agents/ada?hard=true&if_rev={rev}")).await.problem(409, "rev_conflict");
    let again = ada.delete(&format!("/v1/agents/ada?hard=true&if_rev={}", rev + 1)).await.ok();
    assert_eq!(again, json!({"deleted": false, "rev": rev + 1}));
    server.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_makes_operations_happen_once() {
    let server = Running::start().await;
    let ada = server.admin();
    let first = update(&ada, BOOK).await;
    update(&ada, "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because it is fixed\n").await;
    let restore = "/v1/agents/ada/notebook/restore";
    let restored = named(&ada, restore, "book-1", &json!({"at": first})).await.ok();
    assert_eq!(restored["changes"].as_array().unwrap().len(), 1, "{restored}");
    let more = update(&ada, BOOK).await;
    assert_eq!(named(&ada, restore, "book-1", &json!({"at": first})).await.ok(), restored);
    named(&ada, restore, "book-1", &json!({"at": first + 1})).await.problem(409, "idempotency_mismatch");
    assert_eq!(rev_now(&ada).await, more);

    let clear = "/v1/agents/ada/notebook/clear";
    let cleared = named(&ada, clear, "book-2", &Value::Null).await.ok();
    assert!(cleared["removed"].as_u64() > Some(0), "{cleared}");
    let more = update(&ada, BOOK).await;
    assert_eq!(named(&ada, clear, "book-2", &Value::Null).await.ok(), cleared);
    assert_eq!(rev_now(&ada).await, more);

    set(&ada, 1).await;
    ada.post("/v1/cores/agent:ada/entries", &json!({"content": "prefers tea"})).await.ok();
    let snapshot = ada.post("/v1/agents/ada/snapshot", &json!({})).await.ok();
    let restored = named(&ada, "/v1/agents/ada/restore", "all-1", &snapshot).await.ok();
    let rev = set(&ada, 2).await;
    ada.post("/v1/cores/agent:ada/entries", &json!({"content": "or coffee"})).await.ok();
    assert_eq!(named(&ada, "/v1/agents/ada/restore", "all-1", &snapshot).await.ok(), restored);
    assert_eq!((rev_now(&ada).await, &ada.get("/v1/agents/ada/entries/key").await.ok()["value"]), (rev, &json!(2)));
    let learned = async || ada.get("/v1/cores/agent:ada/stats").await.ok()["entries"].clone();
    assert_eq!(learned().await, 2);

    let both = json!({"working": true, "long_term": true});
    let cleared = named(&ada, "/v1/agents/ada/clear", "all-2", &both).await.ok();
    assert_eq!(cleared["removed"], 3);
    let rev = set(&ada, 3).await;
    ada.post("/v1/cores/agent:ada/entries", &json!({"content": "water"})).await.ok();
    assert_eq!(named(&ada, "/v1/agents/ada/clear", "all-2", &both).await.ok(), cleared);
    assert_eq!((rev_now(&ada).await, learned().await), (rev, json!(1)));
    server.stop().await;
}

#[tokio::test]
async fn an_unsupported_condition_is_refused_and_nothing_happens() {
    let server = Running::start().await;
    let ada = server.admin();
    let rev = set(&ada, 1).await;
    for path in ["/v1/agents/ada/forget", "/v1/agents/ada/notebook/forget"] {
        named(&ada, path, "x", &json!({"key": "key"})).await.problem(400, "condition");
    }
    let delete = async |path: &str| answer(ada.request(Method::DELETE, path).header("idempotency-key", "x")).await;
    delete("/v1/agents/ada").await.problem(400, "condition");
    delete("/v1/cores/agent:ada").await.problem(400, "condition");
    delete("/v1/boards/b").await.problem(400, "condition");
    let long_term = json!({"working": false, "long_term": true});
    named(&ada, "/v1/agents/ada/clear", "x", &long_term).await.problem(400, "condition");
    ada.post(&format!("/v1/agents/ada/clear?if_rev={rev}"), &long_term).await.problem(400, "condition");
    assert_eq!(rev_now(&ada).await, rev);
    server.stop().await;
}

/// The typed client, which keeps a copy of the memory, has the same conditions.
#[tokio::test]
async fn the_client_has_the_same_conditions() {
    let server = Running::start().await;
    let address = ServerAddress::new(&*server.url).token(ADMIN.to_owned());
    let remote = Corkboard::connect(address, Options::default()).await.unwrap();
    let ada = remote.agent("ada").unwrap();
    let stale = |error: Error| matches!(error, Error::Refused(Refusal::RevConflict { current: 2, .. }));
    ada.working().set("a", &1).await.unwrap();
    ada.working().set("b", &1).await.unwrap();
    assert!(stale(ada.forget("a").if_rev(1).await.unwrap_err()));
    assert!(stale(ada.clear(Default::default()).if_rev(1).await.unwrap_err()));
    assert!(stale(ada.notebook("main").unwrap().clear().if_rev(1).await.unwrap_err()));
    assert!(stale(remote.delete_agent_at("ada", 1).await.unwrap_err()));
    assert_eq!(ada.forget("a").if_rev(2).await.unwrap().removed, 1);
    assert_eq!(ada.clear(Default::default()).if_rev(3).idempotency_key("once").await.unwrap(), 1);
    ada.working().set("c", &1).await.unwrap();
    assert_eq!(ada.clear(Default::default()).if_rev(3).idempotency_key("once").await.unwrap(), 1);
    assert_eq!(ada.working().get::<u64>("c").await.unwrap(), Some(1));
    assert!(remote.delete_agent_at("ada", ada.rev().await.unwrap()).await.unwrap());
    server.stop().await;
}
