//! The other routes of agents: scopes, conversations, notebooks, search, context and snapshots. `roles` tests
//! permissions.

use data_encoding::BASE64;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::support::{ADMIN, Answer, Client, Running, answer, rev, with, worker};

const NIL: &str = "00000000-0000-0000-0000-000000000000";

async fn text(client: &Client, path: &str, text: &str) -> Answer {
    answer(client.request(Method::POST, path).header(CONTENT_TYPE, "text/plain").body(text.to_owned())).await
}

#[tokio::test]
async fn the_list_contains_only_agents_that_the_token_grants() {
    let server = Running::start().await;
    let admin = server.admin();
    for agent in ["ada", "bob", "team-1", "team-2", "team-3"] {
        admin.put(&format!("/v1/agents/{agent}/entries/x"), &json!({"value": 1})).await.ok();
    }
    let names = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap().to_owned()).collect()
    };
    let team = server.client_with(worker("lead", json!({"agents": ["team-*"]}))).await;
    assert_eq!(names(&team.get("/v1/agents").await.ok()), ["team-1", "team-2", "team-3"]);
    let first = admin.get("/v1/agents?limit=2").await.ok();
    assert_eq!(names(&first), ["ada", "bob"]);
    assert_eq!(first["items"][0]["rev"], 1);
    let next = first["next"].as_str().unwrap();
    let second = admin.get(&format!("/v1/agents?limit=3&cursor={next}")).await.ok();
    assert_eq!((names(&second).len(), &second["next"]), (3, &Value::Null));
    admin.get("/v1/agents?cursor=*").await.problem(400, "cursor");
    admin.get("/v1/agents?limit=-1").await.problem(400, "out_of_range");
    let nobody = server.client_with(worker("eve", json!({}))).await;
    assert_eq!(nobody.get("/v1/agents").await.ok()["items"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_scope_falls_back_is_merged_cleared_and_disposed() {
    let server = Running::start().await;
    let ada = server.admin();
    ada.put("/v1/agents/ada/entries/color", &json!({"value": "green"})).await.ok();
    let made = ada.post("/v1/agents/ada/scopes", &json!({"name": "task"})).await;
    assert_eq!((made.status.as_u16(), &made.body["name"]), (201, &json!("task")));
    let id = made.body["id"].as_str().unwrap().to_owned();
    let scope = format!("/v1/agents/ada/scopes/{id}");
    let child = ada.post("/v1/agents/ada/scopes", &json!({"name": "step", "parent": id})).await.ok();
    let child = format!("/v1/agents/ada/scopes/{}", child["id"].as_str().unwrap());
    let found = ada.get(&format!("{child}/entries/color")).await.ok();
    assert_eq!((&found["value"], &found["scope"]), (&json!("green"), &json!(NIL)));
    ada.get(&format!("{child}/entries/color?local=true")).await.problem(404, "not_found");
    ada.put(&format!("{scope}/entries/color"), &json!({"value": "red"})).await.ok();
    ada.put(&format!("{scope}/entries/size"), &json!({"value": 1})).await.ok();
    ada.post(&format!("{scope}/notes"), &json!({"text": "a note"})).await.ok();
    let found = ada.get(&format!("{child}/entries/color")).await.ok();
    assert_eq!((&found["value"], &found["scope"]), (&json!("red"), &json!(id)));
    assert_eq!(ada.get("/v1/agents/ada/entries/color").await.ok()["value"], "green");
    let shown = ada.get(&scope).await.ok();
    assert_eq!((&shown["entries"], &shown["notes"], &shown["durability"]), (&json!(2), &json!(1), &json!("durable")));
    assert_eq!(ada.get("/v1/agents/ada/scopes").await.ok()["items"].as_array().unwrap().len(), 2);

    let merge = format!("{scope}/merge");
    ada.post(&format!("{merge}?if_rev=1"), &json!({})).await.problem(409, "rev_conflict");
    assert_eq!(ada.post(&merge, &json!({})).await.ok()["merged"], 1);
    assert_eq!(ada.get("/v1/agents/ada/entries/color").await.ok()["value"], "green");
    assert_eq!(ada.post(&merge, &json!({"overwrite": true})).await.ok()["merged"], 2);
    assert_eq!(ada.get("/v1/agents/ada/entries/color").await.ok()["value"], "red");
    assert_eq!(ada.get("/v1/agents/ada/notes").await.ok()["items"].as_array().unwrap().len(), 1);
    ada.post(&merge, &json!({"force": true})).await.problem(400, "body_json");

    assert_eq!(ada.post_nothing(&format!("{scope}/clear")).await.ok()["removed"], 2);
    assert_eq!(ada.get(&format!("{scope}/entries")).await.ok()["items"], json!([]));
    let before = rev(&ada.get(&scope).await.ok());
    let gone = ada.delete(&scope).await.ok();
    assert_eq!((&gone["removed"], rev(&gone)), (&json!(0), before + 1));
    for path in [&scope, &child, &format!("{scope}/entries"), &format!("{scope}/notes"), &format!("{scope}/entries/x")]
    {
        ada.get(path).await.problem(404, "not_found");
    }
    ada.delete(&scope).await.problem(404, "not_found");
    ada.put(&format!("{scope}/entries/x"), &json!({"value": 1})).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn invalid_scopes_are_refused() {
    let server = Running::start().await;
    let ada = server.admin();
    ada.get("/v1/agents/ada/scopes/x").await.problem(400, "path");
    ada.get(&format!("/v1/agents/ada/scopes/{NIL}")).await.problem(404, "not_found");
    ada.post("/v1/agents/ada/scopes", &json!({"name": " "})).await.problem(400, "blank");
    let elsewhere = json!({"name": "x", "parent": "6f1e9f0a-3f5d-4a6e-9d53-0c6b1d8f2a11"});
    ada.post("/v1/agents/ada/scopes", &elsewhere).await.problem(404, "not_found");
    let named = ("idempotency-key", "one");
    let first = with(&ada, Method::POST, "/v1/agents/ada/scopes", named, &json!({"name": "s"})).await.ok();
    assert_eq!(with(&ada, Method::POST, "/v1/agents/ada/scopes", named, &json!({"name": "s"})).await.ok(), first);
    assert_eq!(ada.get("/v1/agents/ada/scopes").await.ok()["items"].as_array().unwrap().len(), 1);
    // Another agent's scope is not found.
    let scope = first["id"].as_str().unwrap();
    ada.get(&format!("/v1/agents/bob/scopes/{scope}/entries")).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_conversation_begins_with_a_write_and_is_separate_from_the_memory() {
    let server = Running::start().await;
    let ada = server.admin();
    let talk = "/v1/agents/ada/conversations/c-1";
    let empty = ada.get(talk).await.ok();
    assert_eq!(empty, json!({"entries": {}, "notes": [], "rev": 0}));
    assert_eq!(ada.get("/v1/agents/ada/conversations").await.ok()["items"], json!([]));
    ada.put("/v1/agents/ada/entries/color", &json!({"value": "green"})).await.ok();
    ada.get(&format!("{talk}/entries/color")).await.problem(404, "not_found");
    ada.put(&format!("{talk}/entries/goal"), &json!({"value": "ship"})).await.ok();
    ada.post(&format!("{talk}/notes"), &json!({"text": "short"})).await.ok();
    let shown = ada.get(talk).await.ok();
    assert_eq!((&shown["entries"], &shown["notes"]), (&json!({"goal": "ship"}), &json!(["short"])));
    assert_eq!(rev(&shown), 2, "an entry, a note");
    let listed = ada.get("/v1/agents/ada/conversations").await.ok();
    assert_eq!((&listed["items"][0]["id"], &listed["items"][0]["entries"]), (&json!("c-1"), &json!(1)));
    assert_eq!(rev(&listed), 1, "the agent's own memory has one revision");
    assert_eq!(ada.post_nothing(&format!("{talk}/clear")).await.ok()["removed"], 1);
    assert_eq!(ada.delete(talk).await.ok()["deleted"], true);
    assert_eq!(ada.delete(talk).await.ok()["deleted"], false);
    answer(ada.request(Method::DELETE, talk).header("idempotency-key", "x")).await.problem(400, "condition");
    ada.get("/v1/agents/ada/conversations/%07").await.problem(400, "control_character");
    server.stop().await;
}

#[tokio::test]
async fn handoff_and_scratchpad_are_entries_with_separate_routes() {
    let server = Running::start().await;
    let ada = server.admin();
    for (path, key) in [("/v1/agents/ada/handoff", "session-handoff"), ("/v1/agents/ada/scratchpad", "scratchpad")] {
        ada.get(path).await.problem(404, "not_found");
        assert_eq!(ada.put(path, &json!({"text": "one"})).await.status, 201);
        let second = ada.put(path, &json!({"text": "two", "trust": "outside"})).await;
        assert_eq!(second.status, 200);
        let shown = ada.get(path).await.ok();
        assert_eq!((&shown["text"], &shown["trust"]), (&json!("two"), &json!("outside")));
        assert_eq!(shown["version"], second.body["version"]);
        assert_eq!(ada.get(&format!("/v1/agents/ada/entries/{key}")).await.ok()["value"], "two");
        with(&ada, Method::PUT, path, ("if-match", "\"1\""), &json!({"text": "x"})).await.problem(412, "conflict");
        with(&ada, Method::PUT, path, ("if-none-match", "*"), &json!({"text": "x"})).await.problem(412, "conflict");
        with(&ada, Method::PUT, path, ("idempotency-key", "a"), &json!({"text": "x"})).await.problem(400, "condition");
        ada.put(&format!("{path}?if_rev=0"), &json!({"text": "x"})).await.problem(409, "rev_conflict");
        ada.put(path, &json!({"txt": "x"})).await.problem(400, "body_json");
        let tag = format!("\"{}\"", second.body["version"]);
        with(&ada, Method::PUT, path, ("if-match", &tag), &json!({"text": "three"})).await.ok();
        assert_eq!(ada.get(path).await.ok()["text"], "three");
    }
    assert_eq!(ada.delete("/v1/agents/ada/scratchpad").await.ok()["deleted"], true);
    ada.get("/v1/agents/ada/scratchpad").await.problem(404, "not_found");
    ada.delete("/v1/agents/ada/handoff").await.problem(405, "method");
    server.stop().await;
}

const UPDATE: &str = "CURRENT_PROGRESS:\n  In Progress:\n    - write the parser\nKEY_LEARNINGS:\n  ADD:\n    - because it bit us: \
                      tabs count as two\n";

#[tokio::test]
async fn a_notebook_is_updated_by_texts_and_rolled_back() {
    let server = Running::start().await;
    let ada = server.admin();
    let book = "/v1/agents/ada/notebook";
    assert_eq!(ada.get(book).await.ok()["version"], 0);
    let applied = text(&ada, &format!("{book}/updates"), UPDATE).await.ok();
    assert_eq!((&applied["learnings"], &applied["changed"]), (&json!(["KL-1"]), &json!(true)));
    let first = rev(&applied);
    let shown = ada.get(book).await;
    assert_eq!(shown.headers["etag"], format!("\"{first}\""));
    let shown = shown.ok();
    assert_eq!(shown["learnings"][0]["text"], "tabs count as two");
    let same = answer(ada.request(Method::GET, book).header("if-none-match", format!("\"{first}\""))).await;
    assert_eq!(same.status, 304);
    let as_text = ada.get(&format!("{book}?format=text")).await.ok();
    assert!(as_text.as_str().unwrap().contains("    - write the parser\n"), "{as_text}");

    let archive = "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because it is fixed\n";
    let archived = text(&ada, &format!("{book}/updates"), archive).await.ok();
    assert_eq!(ada.get(book).await.ok()["learnings"], json!([]));
    assert_eq!(ada.get(&format!("{book}?at={first}")).await.ok()["learnings"][0]["id"], "KL-1");
    let history = ada.get(&format!("{book}/history")).await.ok();
    assert_eq!(history["items"].as_array().unwrap().len(), 2);
    assert_eq!(history["items"][0]["author"], "admin");
    ada.get(&format!("{book}/diff?from={first}&to={}", rev(&archived))).await.ok();
    let restored = ada.post(&format!("{book}/restore"), &json!({"at": first})).await.ok();
    assert!(rev(&restored) > rev(&archived));
    assert_eq!(ada.get(book).await.ok()["learnings"][0]["id"], "KL-1");

    let other = text(&ada, &format!("{book}/updates?name=other"), UPDATE).await.ok();
    assert_eq!(other["learnings"], json!(["KL-1"]));
    let listed = ada.get("/v1/agents/ada/notebooks").await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    assert_eq!(ada.post_nothing(&format!("{book}/clear?name=other")).await.ok()["removed"], 1);
    assert_eq!(ada.post(&format!("{book}/forget"), &json!({"item": "KL-1"})).await.ok()["removed"], 1);
    assert_eq!(ada.get(book).await.ok()["learnings"], json!([]));
    ada.post_nothing(&format!("{book}/forget")).await.ok();
    assert_eq!(ada.get(book).await.ok()["progress"], json!({"completed": [], "in_progress": [], "remaining": []}));

    let prompt = ada.get(&format!("{book}/prompt?task=Write%20the%20parser&budget=2000")).await.ok();
    assert!(prompt["data"].as_str().unwrap().contains("Write the parser"), "{prompt}");
    assert!(prompt["tokens"].as_u64().unwrap() <= 2000);
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_text_is_refused_with_line_numbers_and_changes_nothing() {
    let server = Running::start().await;
    let ada = server.admin();
    let updates = "/v1/agents/ada/notebook/updates";
    let wrong = text(&ada, updates, "KEY_LEARNINGS:\n  ADD:\n    - no reason here\n").await;
    wrong.problem(400, "notebook_problems");
    assert_eq!(wrong.body["problems"][0]["line"], 3);
    let unknown = "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-7 because it is old\n";
    let refused = text(&ada, updates, unknown).await;
    refused.problem(400, "notebook_problems");
    assert_eq!(refused.body["problems"][0]["line"], 3);
    let skipped = text(&ada, &format!("{updates}?ignore_unknown=true"), unknown).await.ok();
    assert_eq!((&skipped["skipped"], &skipped["changed"]), (&json!(["KL-7"]), &json!(false)));
    ada.post(updates, &json!({"text": UPDATE})).await.problem(415, "content_type");
    let bytes = ada.request(Method::POST, updates).header(CONTENT_TYPE, "text/plain").body(vec![0xff, 0xfe]);
    answer(bytes).await.problem(400, "body_text");
    let stale = ada.request(Method::POST, updates).header(CONTENT_TYPE, "text/plain").header("if-match", "\"9\"");
    answer(stale.body(UPDATE)).await.problem(412, "notebook_conflict");
    let stale = ada.request(Method::POST, &format!("{updates}?if_rev=9")).header(CONTENT_TYPE, "text/plain");
    answer(stale.body(UPDATE)).await.problem(409, "rev_conflict");
    assert_eq!(ada.get("/v1/agents/ada/notebook").await.ok()["version"], 0);
    let named = || ada.request(Method::POST, updates).header(CONTENT_TYPE, "text/plain").header("idempotency-key", "n");
    let first = answer(named().body(UPDATE)).await.ok();
    assert_eq!(answer(named().body(UPDATE)).await.ok(), first);
    ada.get("/v1/agents/ada/notebook?at=99").await.problem(400, "future_revision");
    ada.get("/v1/agents/ada/notebook?name=%00").await.problem(400, "control_character");
    ada.get("/v1/agents/ada/notebook?format=xml").await.problem(400, "query");
    ada.get("/v1/agents/ada/notebook/diff?from=1").await.problem(400, "query");
    ada.get("/v1/agents/ada/notebook/prompt?budget=10").await.problem(400, "out_of_range");
    ada.post("/v1/agents/ada/notebook/restore", &json!({"at": 99})).await.problem(400, "future_revision");
    ada.post("/v1/agents/ada/notebook/forget", &json!({"item": "X-1"})).await.problem(400, "body_json");
    server.stop().await;
}

#[tokio::test]
async fn entries_and_notes_are_found_shown_and_counted() {
    let server = Running::start().await;
    let ada = server.admin();
    let deploy = json!({"value": "Deployments go out on Tuesdays", "metadata": {"tags": ["ops"]}});
    ada.put("/v1/agents/ada/entries/deploy", &deploy).await.ok();
    ada.post("/v1/agents/ada/notes", &json!({"text": "Tuesday is market day"})).await.ok();
    let found = ada.get("/v1/agents/ada/search?q=When%20do%20we%20deploy%3F&limit=5").await.ok();
    assert_eq!((&found["hits"][0]["key"], rev(&found)), (&json!("deploy"), 2));
    assert!(found["hits"][0]["score"].as_f64().unwrap() > 0.0 && found["hits"][0]["snippet"].is_string(), "{found}");
    assert_eq!(ada.get("/v1/agents/ada/search?q=tuesday&limit=1").await.ok()["hits"].as_array().unwrap().len(), 1);
    ada.get("/v1/agents/ada/search?q=%20").await.problem(400, "blank");
    ada.get("/v1/agents/ada/search").await.problem(400, "query");
    ada.get(&format!("/v1/agents/ada/search?q={}", "x".repeat(20_000))).await.problem(422, "limit");

    let window = ada.post("/v1/agents/ada/context", &json!({"budget": 2000, "query": "deploy"})).await.ok();
    assert!(window["text"].as_str().unwrap().contains("deploy: Deployments go out on Tuesdays"), "{window}");
    assert_eq!(rev(&window), 2);
    assert_eq!(ada.post_nothing("/v1/agents/ada/context?preview=true").await.ok()["text"], window["text"]);
    ada.post("/v1/agents/ada/context", &json!({"budget": 127})).await.problem(400, "out_of_range");
    ada.post("/v1/agents/ada/context", &json!({"task": "T-1"})).await.problem(400, "task_without_board");
    ada.post("/v1/agents/ada/context", &json!({"board": "nowhere"})).await.problem(404, "no_board");
    ada.post("/v1/agents/ada/context", &json!({"colour": "red"})).await.problem(400, "body_json");

    let stats = ada.get("/v1/agents/ada/stats").await.ok();
    assert_eq!((&stats["total_entries_working"], &stats["total_notes"], rev(&stats)), (&json!(1), &json!(1), 2));
    let today = ada.get("/v1/agents/ada/activity").await.ok();
    assert_eq!((&today["writes"], &today["lines"][1]["action"]), (&json!(2), &json!("noted")));
    let days = ada.get("/v1/agents/ada/activity/days").await.ok();
    assert_eq!(days["items"], json!([{"date": today["date"], "writes": 2}]));
    assert_eq!(ada.get("/v1/agents/ada/activity?date=2001-01-01").await.ok()["writes"], 0);
    let wrong = ada.get("/v1/agents/ada/activity?date=yesterday").await;
    wrong.problem(400, "query");
    assert_eq!(wrong.body["detail"], "invalid parameter date: expected a date like 2026-11-19");
    let wrong = ada.get("/v1/agents/ada/entries?updated_since=yesterday").await;
    let expected = "invalid parameter updated_since: expected an RFC 3339 time like 2026-11-19T09:30:00Z";
    assert_eq!(wrong.body["detail"], expected);
    server.stop().await;
}

#[tokio::test]
async fn a_context_window_with_a_board_needs_a_token_for_the_board() {
    let server = Running::start().await;
    let ada = server.client_with(worker("ada", json!({"agents": ["ada"]}))).await;
    let refused = ada.post("/v1/agents/ada/context", &json!({"board": "secret"})).await;
    refused.problem(403, "not_granted");
    server.stop().await;
}

#[tokio::test]
async fn a_snapshot_is_exported_and_restored_in_every_form() {
    let server = Running::start().await;
    let ada = server.admin();
    let (snapshot, restore) = ("/v1/agents/ada/snapshot", "/v1/agents/ada/restore");
    ada.put("/v1/agents/ada/entries/color", &json!({"value": "green"})).await.ok();
    let plain = ada.post_nothing(snapshot).await.ok();
    assert_eq!((&plain["agent"], rev(&plain)), (&json!("ada"), 1));
    let bytes = async |body: Value| {
        let sent = ada.request(Method::POST, snapshot).header(CONTENT_TYPE, "application/json").body(body.to_string());
        let got = sent.send().await.unwrap();
        assert_eq!(
            (got.status().as_u16(), &got.headers()[CONTENT_TYPE]),
            (200, &"application/octet-stream".parse().unwrap())
        );
        got.bytes().await.unwrap()
    };
    let unsealed = bytes(json!({"format": "bytes"})).await;
    let sealed = BASE64.encode(&bytes(json!({"passphrase": "open sesame"})).await);
    let key = BASE64.encode(&[7; 32]);
    let locked = BASE64.encode(&bytes(json!({"key": key})).await);

    let spoil = async || ada.put("/v1/agents/ada/entries/color", &json!({"value": "red"})).await.ok();
    let color = async || ada.get("/v1/agents/ada/entries/color").await.ok()["value"].clone();
    spoil().await;
    ada.post(restore, &plain).await.ok();
    assert_eq!(color().await, "green");
    spoil().await;
    let sent =
        ada.request(Method::POST, restore).header(CONTENT_TYPE, "application/octet-stream").body(unsealed.clone());
    let restored = answer(sent).await.ok();
    assert_eq!((color().await, &restored["restored"]), (json!("green"), &json!(true)));
    for opened in [json!({"sealed": sealed, "passphrase": "open sesame"}), json!({"sealed": locked, "key": key})] {
        spoil().await;
        ada.post(restore, &opened).await.ok();
        assert_eq!(color().await, "green");
    }
    spoil().await;
    let mut damaged = unsealed.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    let mut newer = plain.clone();
    newer["format"] = json!(9999);
    let refused = [
        (json!({"sealed": sealed, "passphrase": "wrong"}), 403, "snapshot_wrong_key"),
        (json!({"sealed": sealed}), 403, "snapshot_needs_key"),
        (json!({"sealed": BASE64.encode(&unsealed), "passphrase": "x"}), 400, "snapshot_not_sealed"),
        (json!({"sealed": BASE64.encode(&damaged)}), 400, "snapshot_damaged"),
        (json!({"sealed": "***"}), 400, "base64"),
        (json!({"sealed": sealed, "passphrase": "x", "key": key}), 400, "snapshot_key"),
        (json!({"nothing": 1}), 400, "not_a_snapshot"),
        (newer, 400, "newer_format"),
    ];
    for (body, status, code) in refused {
        ada.post(restore, &body).await.problem(status, code);
    }
    ada.post("/v1/agents/bob/restore", &plain).await.problem(403, "agent_mismatch");
    ada.post(snapshot, &json!({"format": "json", "passphrase": "x"})).await.problem(400, "snapshot_form");
    ada.post(snapshot, &json!({"key": "short"})).await.problem(400, "snapshot_key");
    ada.post(snapshot, &json!({"passphrase": ""})).await.problem(400, "empty_passphrase");
    assert_eq!(color().await, "red");
    server.stop().await;
}

#[tokio::test]
async fn a_memory_is_cleared_forgotten_and_deleted() {
    let server = Running::start().await;
    let ada = server.admin();
    let entry = "/v1/agents/ada/entries/password";
    ada.put(entry, &json!({"value": "hunter2"})).await.ok();
    let note = ada.post("/v1/agents/ada/notes", &json!({"text": "hunter2 is the password"})).await.ok();
    let forget = "/v1/agents/ada/forget";
    let forgotten = ada.post(forget, &json!({"key": "password"})).await.ok();
    assert_eq!((&forgotten["removed"], forgotten["revisions"].as_u64() > Some(0)), (&json!(1), true), "{forgotten}");
    assert_eq!(ada.post(forget, &json!({"note": note["id"]})).await.ok()["removed"], 1);
    text(&ada, "/v1/agents/ada/notebook/updates", UPDATE).await.ok();
    ada.post(forget, &json!({"notebook": "main", "item": "KL-1"})).await.ok();
    let log = ada.get("/v1/spaces/agent/ada/log").await.ok().to_string();
    assert!(!log.contains("hunter2") && !log.contains("tabs count") && log.contains("write the parser"), "{log}");
    for body in [json!({}), json!({"key": "a", "note": 1}), json!({"item": "KL-1"})] {
        ada.post(forget, &body).await.problem(400, "forget");
    }
    answer(ada.request(Method::POST, forget).header("if-match", "\"1\"")).await.problem(400, "condition");

    ada.put("/v1/agents/ada/entries/a", &json!({"value": 1})).await.ok();
    let clear = "/v1/agents/ada/clear";
    ada.post_nothing(&format!("{clear}?if_rev=1")).await.problem(409, "rev_conflict");
    assert_eq!(ada.post(clear, &json!({"working": false, "long_term": true})).await.ok()["removed"], 0);
    assert_eq!(ada.post_nothing(clear).await.ok()["removed"], 1);
    assert_eq!(ada.get("/v1/agents/ada/entries").await.ok()["items"], json!([]));
    ada.post(clear, &json!({"everything": true})).await.problem(400, "body_json");

    let rev = ada.get("/v1/agents/ada/entries").await.ok()["rev"].as_u64().unwrap();
    assert_eq!(ada.delete("/v1/agents/ada").await.ok(), json!({"deleted": true, "rev": rev + 1}));
    assert_eq!(ada.delete("/v1/agents/ada?hard=true").await.ok(), json!({"deleted": false, "rev": rev + 1}));
    assert_eq!(ada.get("/v1/agents").await.ok()["items"], json!([]));
    server.stop().await;
}

/// The examples of docs/http.md, except the one that sets the environment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documents_examples_work() {
    let document = include_str!("../../../../docs/http.md");
    let section =
        document.split("\n## ").find(|section| section.starts_with("Agents\n")).expect("a section about agents");
    let blocks = section.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let script: String = blocks.filter(|block| !block.starts_with("export ")).collect();
    assert!(script.matches("curl ").count() >= 20, "{script}");
    let server = Running::start().await;
    let folder = tempfile::tempdir().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(folder.path());
    shell.env("CORK_URL", &server.url).env("CORK_TOKEN", ADMIN).env("NO_PROXY", "*");
    let ran = tokio::task::spawn_blocking(move || shell.output()).await.unwrap().unwrap();
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{error}");
    assert!(out.contains("\"hits\":[{\"note\":1") && out.contains("    - write the parser\n"), "{out}");
    server.stop().await;
}
