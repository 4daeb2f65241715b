//! Entries and notes of agents, scopes and conversations, through a real socket.

use corkboard::{Limits, Options};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{ADMIN, Client, Running, answer, in_memory, rev, settings, with, worker};

/// The three places with the same routes: an agent's memory, a scope and a conversation.
async fn places(client: &Client) -> [String; 3] {
    let scope = client.post("/v1/agents/ada/scopes", &json!({"name": "task"})).await.ok();
    let scope = scope["id"].as_str().unwrap();
    [
        "/v1/agents/ada".to_owned(),
        format!("/v1/agents/ada/scopes/{scope}"),
        "/v1/agents/ada/conversations/c%2F1".to_owned(),
    ]
}

#[tokio::test]
async fn an_entry_is_written_read_changed_and_removed_in_every_place() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        let path = format!("{place}/entries/user");
        ada.get(&path).await.problem(404, "not_found");
        let metadata = json!({
            "importance": 0.75, "tags": ["person"], "kind": "preference", "expiry_days": 3, "custom": {"source": "call"},
            "author": "bob", "session": "s-1", "at": "2026-01-02T03:04:05Z", "trust": "outside"
        });
        let created = ada.put(&path, &json!({"value": {"name": "Ada"}, "metadata": metadata})).await;
        assert_eq!(created.status, 201, "{place}");
        let version = created.body["version"].as_u64().unwrap();
        assert_eq!(created.headers[ETAG], format!("\"{version}\""));
        assert_eq!((rev(&created.body), &created.body["is_update"]), (version, &json!(false)));

        let found = ada.get(&path).await;
        assert_eq!(found.headers[ETAG], format!("\"{version}\""));
        let found = found.ok();
        assert_eq!((&found["key"], &found["value"]), (&json!("user"), &json!({"name": "Ada"})));
        for name in ["importance", "tags", "kind", "custom", "author", "session", "at", "trust"] {
            assert_eq!(found["metadata"][name], metadata[name], "{place} {name}");
        }
        assert!(found["metadata"]["expires_at"].is_string(), "{found}");

        let replaced = ada.put(&path, &json!({"value": null})).await;
        assert_eq!((replaced.status.as_u16(), &replaced.body["is_update"]), (200, &json!(true)));
        assert_eq!(ada.get(&path).await.ok()["value"], Value::Null);
        assert_eq!(ada.delete(&path).await.ok()["deleted"], true);
        let again = ada.delete(&path).await.ok();
        assert_eq!(again["deleted"], false);
        assert!(rev(&again) > version);
        ada.get(&path).await.problem(404, "not_found");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_failed_condition_writes_nothing_and_returns_the_current_entry() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        let path = format!("{place}/entries/plan");
        let one = json!({"value": 1});
        let first = with(&ada, Method::PUT, &path, ("if-none-match", "*"), &one).await.ok();
        let refused = with(&ada, Method::PUT, &path, ("if-none-match", "*"), &json!({"value": 2})).await;
        refused.problem(412, "conflict");
        assert_eq!(refused.body["current"]["value"], 1, "{place}");
        let tag = format!("\"{}\"", first["version"]);
        with(&ada, Method::PUT, &path, ("if-match", &tag), &json!({"value": 3})).await.ok();
        with(&ada, Method::PUT, &path, ("if-match", &tag), &json!({"value": 4})).await.problem(412, "conflict");
        with(&ada, Method::DELETE, &path, ("if-match", &tag), &Value::Null).await.problem(412, "conflict");
        let append = format!("{path}/append");
        with(&ada, Method::POST, &append, ("if-match", &tag), &json!({"text": "x"})).await.problem(412, "conflict");
        for wrong in ["42", "\"x\"", "W/\"1\"", "\"1\", \"2\"", "*"] {
            with(&ada, Method::PUT, &path, ("if-match", wrong), &one).await.problem(400, "if_match");
        }
        with(&ada, Method::PUT, &path, ("if-none-match", "\"1\""), &one).await.problem(400, "if_none_match");

        let current = rev(&ada.get(&path).await.ok());
        let stale = ada.put(&format!("{path}?if_rev={}", current - 1), &one).await;
        stale.problem(409, "rev_conflict");
        assert_eq!(stale.body["current_rev"], current);
        ada.put(&format!("{path}?if_rev=x"), &one).await.problem(400, "query");
        assert_eq!(ada.get(&path).await.ok()["value"], 3, "{place}");
        ada.put(&format!("{path}?if_rev={current}"), &json!({"value": 5})).await.ok();
        assert_eq!(ada.get(&path).await.ok()["value"], 5);
    }
    server.stop().await;
}

/// Many requests with keys from one principal used to evict the keys of all others (issue 17, item 9).
#[tokio::test]
async fn the_idempotency_keys_of_others_cannot_be_evicted() {
    let limits = Limits { idempotency_keys: 20, ..Limits::default() };
    let server = Running::with(in_memory(Options { limits, ..Options::default() }), settings()).await;
    let ada = server.client_with(worker("ada", json!({"agents": ["shared"]}))).await;
    let mallory = server.client_with(worker("mallory", json!({"agents": ["shared"]}))).await;
    let (append, text) = ("/v1/agents/shared/entries/log/append", json!({"text": "x"}));
    let key = ("idempotency-key", "ada's");
    let first = with(&ada, Method::POST, append, key, &text).await.ok();
    for number in 0..50 {
        let key = format!("nothing {number}");
        let path = "/v1/agents/shared/entries/none";
        with(&mallory, Method::DELETE, path, ("idempotency-key", &key), &Value::Null).await.ok();
    }
    let unmoved = rev(&ada.get("/v1/agents/shared/entries/log").await.ok());
    assert_eq!(unmoved, rev(&first), "a request without changes creates no revision");
    for number in 0..50 {
        let (key, body) = (format!("note {number}"), json!({"text": "spam"}));
        with(&mallory, Method::POST, "/v1/agents/shared/notes", ("idempotency-key", &key), &body).await.ok();
    }
    assert_eq!(with(&ada, Method::POST, append, key, &text).await.ok(), first);
    assert_eq!(ada.get("/v1/agents/shared/entries/log").await.ok()["value"], "x");
    server.stop().await;
}

/// JSON nested 100,000 levels deep used to be stored (issue 17, item 11). Tests every route that takes a value.
#[tokio::test]
async fn json_nested_100_000_levels_deep_is_refused_on_every_route() {
    let server = Running::start().await;
    let ada = server.admin();
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let send = async |method: Method, path: &str, kind: &str, body: String| {
        answer(ada.request(method, path).header(CONTENT_TYPE, kind).body(body)).await
    };
    for (number, place) in places(&ada).await.into_iter().enumerate() {
        // A scope falls back to its memory, so each place uses a different key.
        let path = format!("{place}/entries/deep{number}");
        let too_deep = format!("{{\"value\":{}}}", deep(100_000));
        let refused = send(Method::PUT, &path, "application/json", too_deep).await;
        refused.problem(422, "limit");
        let told = json!({"limit": "json_depth", "used": 100_000, "allowed": 64});
        for field in ["limit", "used", "allowed"] {
            assert_eq!(refused.body[field], told[field], "{place}: {}", refused.body);
        }
        let custom = format!("{{\"value\":1,\"metadata\":{{\"custom\":{{\"a\":{}}}}}}}", deep(100_000));
        let refused = send(Method::PUT, &path, "application/json", custom).await;
        assert!(refused.status.is_client_error(), "{place}: {}", refused.status);
        ada.get(&path).await.problem(404, "not_found");
        let most = format!("{{\"value\":{}}}", deep(64));
        send(Method::PUT, &path, "application/json", most).await.ok();
        assert_eq!(ada.get(&path).await.ok()["value"].to_string(), deep(64));
    }
    let value = deep(100_000);
    let set = format!(
        "{{\"command\":{{\"set\":{{\"scope\":\"00000000-0000-0000-0000-000000000000\",\"key\":\"deep\",\"value\":{value},\
         \"type_name\":\"json\",\"metadata\":{{}},\"if_version\":null}}}}}}"
    );
    send(Method::POST, "/v1/spaces/agent/ada/commands", "application/json", set).await.problem(422, "limit");
    let batch = format!("{{\"entries\":[{{\"key\":\"deep\",\"value\":{value}}}]}}");
    let path = "/v1/agents/ada/entries:batch";
    send(Method::POST, path, "application/json", batch).await.problem(422, "limit");
    let line = format!("{{\"key\":\"a\",\"value\":1}}\n{{\"key\":\"deep\",\"value\":{value}}}\n");
    send(Method::POST, path, "application/x-ndjson", line).await.problem(422, "limit");
    let snapshot = ada.post("/v1/agents/ada/snapshot", &json!({})).await.ok().to_string();
    let snapshot = snapshot.replace(&deep(64), &value);
    assert!(snapshot.len() > 200_000);
    send(Method::POST, "/v1/agents/ada/restore", "application/json", snapshot).await.problem(422, "limit");
    // As the input of a tool, it is not even parsed.
    let call = format!("{{\"input\":{{\"key\":\"deep\",\"content\":{value}}},\"context\":{{\"agent\":\"ada\"}}}}");
    let refused = send(Method::POST, "/v1/tools/write_memory", "application/json", call).await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    server.stop().await;
}

#[tokio::test]
async fn a_known_version_is_answered_without_a_body() {
    let server = Running::start().await;
    let ada = server.admin();
    let texts = ["/v1/agents/ada/handoff".to_owned(), "/v1/agents/ada/scratchpad".to_owned()];
    let entries = places(&ada).await.map(|place| format!("{place}/entries/plan"));
    for path in entries.iter().chain(&texts) {
        let body = if texts.contains(path) { json!({"text": "x"}) } else { json!({"value": "x"}) };
        let version = ada.put(path, &body).await.ok()["version"].clone();
        for tag in [format!("\"{version}\""), format!("W/\"{version}\""), format!("\"0\", \"{version}\"")] {
            let same = answer(ada.request(Method::GET, path).header(IF_NONE_MATCH, &tag)).await;
            assert_eq!((same.status.as_u16(), &same.body), (304, &Value::Null), "{path} {tag}");
            assert_eq!(same.headers[ETAG], format!("\"{version}\""));
        }
        let other = answer(ada.request(Method::GET, path).header(IF_NONE_MATCH, "\"0\"")).await;
        assert_eq!(other.status, 200, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_answer_and_has_no_further_effect() {
    let server = Running::start().await;
    let ada = server.admin();
    for (number, place) in places(&ada).await.into_iter().enumerate() {
        // The memory and its scopes are one space, so a key identifies one request in all of them.
        let keys = ["append", "note", "put", "remove"].map(|name| format!("{name} {number}"));
        let [append_key, note_key, put_key, remove_key] = keys.each_ref().map(|key| ("idempotency-key", key.as_str()));
        let append = format!("{place}/entries/log/append");
        let text = json!({"text": "x"});
        let first = with(&ada, Method::POST, &append, append_key, &text).await.ok();
        assert_eq!(with(&ada, Method::POST, &append, append_key, &text).await.ok(), first);
        assert_eq!(ada.get(&format!("{place}/entries/log")).await.ok()["value"], "x", "{place}");
        let other = with(&ada, Method::POST, &append, append_key, &json!({"text": "y"})).await;
        other.problem(409, "idempotency_mismatch");

        let notes = format!("{place}/notes");
        let note = json!({"text": "a note"});
        let first = with(&ada, Method::POST, &notes, note_key, &note).await.ok();
        assert_eq!(with(&ada, Method::POST, &notes, note_key, &note).await.ok(), first);
        assert_eq!(ada.get(&notes).await.ok()["items"].as_array().unwrap().len(), 1, "{place}");

        let entry = format!("{place}/entries/plan");
        let first = with(&ada, Method::PUT, &entry, put_key, &json!({"value": 1})).await;
        assert_eq!(first.status, 201);
        ada.put(&entry, &json!({"value": 2})).await.ok();
        with(&ada, Method::PUT, &entry, put_key, &json!({"value": 1})).await.ok();
        assert_eq!(ada.get(&entry).await.ok()["value"], 2, "{place}");
        let removed = with(&ada, Method::DELETE, &entry, remove_key, &Value::Null).await.ok();
        ada.put(&entry, &json!({"value": 3})).await.ok();
        assert_eq!(with(&ada, Method::DELETE, &entry, remove_key, &Value::Null).await.ok(), removed);
        assert_eq!(ada.get(&entry).await.ok()["value"], 3, "{place}");
    }
    server.stop().await;
}

#[tokio::test]
async fn text_is_appended_and_anything_else_is_refused() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        let append = format!("{place}/entries/log/append");
        assert_eq!(ada.post(&append, &json!({"text": "one"})).await.status, 201);
        assert_eq!(ada.post(&append, &json!({"text": "two", "separator": "line"})).await.status, 200);
        ada.post(&append, &json!({"text": "!", "separator": "none"})).await.ok();
        assert_eq!(ada.get(&format!("{place}/entries/log")).await.ok()["value"], "one\ntwo!", "{place}");
        ada.post(&append, &json!({"text": 1})).await.problem(400, "body_json");
        ada.post(&append, &json!({"text": "x", "seperator": "line"})).await.problem(400, "body_json");
        ada.put(&format!("{place}/entries/number"), &json!({"value": 7})).await.ok();
        ada.post(&format!("{place}/entries/number/append"), &json!({"text": "x"})).await.problem(400, "not_text");
    }
    server.stop().await;
}

/// Percent-encodes everything except letters and digits.
fn encoded(key: &str) -> String {
    key.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[tokio::test]
async fn a_key_can_contain_any_printable_character() {
    let server = Running::start().await;
    let ada = server.admin();
    let keys = [
        "a/b",
        "/",
        "a//b/",
        "%",
        "%2F",
        "100%",
        "ключ",
        "🔑 key",
        "a?b#c",
        "a b+c",
        ":batch",
        "\"quoted\"",
        "…/append",
    ];
    for place in places(&ada).await {
        for key in keys {
            let path = format!("{place}/entries/{}", encoded(key));
            assert_eq!(ada.put(&path, &json!({"value": key})).await.status, 201, "{place} {key}");
            let found = ada.get(&path).await.ok();
            assert_eq!((&found["key"], &found["value"]), (&json!(key), &json!(key)), "{place}");
            ada.post(&format!("{path}/append"), &json!({"text": "!"})).await.ok();
        }
        let listed = ada.get(&format!("{place}/entries")).await.ok();
        assert_eq!(listed["items"].as_array().unwrap().len(), keys.len(), "{place}");
        for key in keys {
            assert_eq!(ada.delete(&format!("{place}/entries/{}", encoded(key))).await.ok()["deleted"], true, "{key}");
        }
        for (key, code) in [("a%0Ab", "control_character"), ("%00", "control_character"), ("%20", "blank")] {
            ada.put(&format!("{place}/entries/{key}"), &json!({"value": 1})).await.problem(400, code);
        }
        ada.put(&format!("{place}/entries/%FF"), &json!({"value": 1})).await.problem(400, "path");
        ada.put(&format!("{place}/entries/{}", "k".repeat(600)), &json!({"value": 1})).await.problem(422, "limit");
    }
    server.stop().await;
}

/// Sends raw bytes, because HTTP clients rewrite paths with the key `..`.
async fn raw(server: &Running, method: &str, path: &str, body: &str) -> String {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        ADMIN,
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn dots_are_ordinary_keys() {
    let server = Running::start().await;
    let ada = server.admin();
    for (key, path) in
        [("..", ".."), ("..", "%2e%2E"), (".", "."), ("../../bob/entries/x", "..%2F..%2Fbob%2Fentries%2Fx")]
    {
        let path = format!("/v1/agents/ada/entries/{path}");
        let put = raw(&server, "PUT", &path, &json!({"value": key}).to_string()).await;
        assert!(put.starts_with("HTTP/1.1 20"), "{key} {put}");
        let got = raw(&server, "GET", &path, "").await;
        assert!(got.contains(&format!("\"value\":{}", json!(key))), "{key} {got}");
    }
    let listed = ada.get("/v1/agents/ada/entries?prefix=..").await.ok();
    assert_eq!(listed["items"][0]["key"], "..");
    assert_eq!(ada.get("/v1/agents").await.ok()["items"].as_array().unwrap().len(), 1);
    // Clients that cannot send the path can remove the entry in a batch.
    let batch = json!({"entries": [{"key": "..", "remove": true}]});
    ada.post("/v1/agents/ada/entries:batch", &batch).await.ok();
    assert_eq!(ada.get("/v1/agents/ada/entries?prefix=..").await.ok()["items"][0]["key"], "../../bob/entries/x");
    server.stop().await;
}

#[tokio::test]
async fn entries_are_listed_by_page_prefix_tag_and_kind() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        for number in 0..25 {
            let kind = if number % 2 == 0 { "fact" } else { "event" };
            let tags = if number % 5 == 0 { json!(["five"]) } else { json!([]) };
            let body = json!({"value": number, "metadata": {"kind": kind, "tags": tags}});
            ada.put(&format!("{place}/entries/k%2F{number:02}"), &body).await.ok();
        }
        ada.put(&format!("{place}/entries/other"), &json!({"value": 1})).await.ok();
        let (mut keys, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = ada.get(&format!("{place}/entries?prefix=k%2F&limit=10{cursor}")).await.ok();
            assert!(rev(&page) > 0);
            keys.extend(page["items"].as_array().unwrap().iter().map(|entry| entry["key"].clone()));
            pages += 1;
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let expected: Vec<Value> = (0..25).map(|number| json!(format!("k/{number:02}"))).collect();
        assert_eq!((keys, pages), (expected, 3), "{place}");
        let count = async |query: &str| {
            ada.get(&format!("{place}/entries?{query}")).await.ok()["items"].as_array().unwrap().len()
        };
        assert_eq!(count("tag=five").await, 5, "{place}");
        assert_eq!(count("kind=event").await, 12);
        assert_eq!(count("kind=event&tag=five").await, 2);
        assert_eq!(count("prefix=k%2F0").await, 10);
        assert_eq!(count("prefix=nothing").await, 0);
        assert_eq!(count("limit=1").await, 1);
        for (query, code) in [
            ("cursor=%21", "cursor"),
            ("cursor=_w", "cursor"),
            ("limit=x", "query"),
            ("kind=dream", "query"),
            ("tags=x", "query"),
        ] {
            ada.get(&format!("{place}/entries?{query}")).await.problem(400, code);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_batch_is_atomic_and_creates_one_revision() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        let path = format!("{place}/entries:batch");
        ada.put(&format!("{place}/entries/old"), &json!({"value": "x"})).await.ok();
        ada.put(&format!("{place}/entries/draft"), &json!({"value": "a plan"})).await.ok();
        let done = ada
            .post(
                &path,
                &json!({"entries": [
                    {"key": "nothing", "value": null},
                    {"key": "tagged", "value": 1, "metadata": {"tags": ["t"]}, "if_version": 0},
                    {"key": "log", "append": "began", "separator": "line"},
                    {"key": "old", "remove": true},
                    {"key": "draft", "rename_to": "plan"},
                    {"key": "plan", "append": ", agreed"}
                ]}),
            )
            .await
            .ok();
        assert_eq!((&done["changes"], &done["version"]), (&json!(6), &done["rev"]));
        let listed = ada.get(&format!("{place}/entries")).await.ok();
        let found: Vec<_> =
            listed["items"].as_array().unwrap().iter().map(|entry| (&entry["key"], &entry["value"])).collect();
        let values = json!({"log": "began", "nothing": null, "plan": "a plan, agreed", "tagged": 1});
        assert_eq!(found.len(), 4, "{place} {listed}");
        for (key, value) in found {
            assert_eq!(&values[key.as_str().unwrap()], value, "{place}");
        }
        for entry in listed["items"].as_array().unwrap() {
            assert_eq!(entry["version"], done["version"], "{place}");
        }

        // As JSON lines.
        let lines = "{\"key\": \"a\", \"value\": 1}\n\n{\"key\": \"b\", \"value\": [2]}\r\n";
        let send = |lines: &str, kind: &str| {
            ada.request(Method::POST, &path).header(CONTENT_TYPE, kind).body(lines.to_owned())
        };
        assert_eq!(answer(send(lines, "application/x-ndjson; charset=utf-8")).await.ok()["changes"], 2);
        assert_eq!(ada.get(&format!("{place}/entries/b")).await.ok()["value"], json!([2]));
        let broken = answer(send("{\"key\": \"c\", \"value\": 1}\n{\"key\": \"d\"", "application/x-ndjson")).await;
        broken.problem(400, "body_json");
        assert_eq!(broken.body["line"], 2);
        answer(send(lines, "text/plain")).await.problem(415, "content_type");

        let before = rev(&ada.get(&format!("{place}/entries")).await.ok());
        let refused = [
            (json!([{"key": "c", "value": 1}, {"key": "a", "value": 2, "if_version": 0}]), 409, "conflict"),
            (json!([{"key": "c", "value": 1}, {"key": "", "value": 2}]), 400, "blank"),
            (json!([{"key": "c", "value": 1}, {"key": "gone", "rename_to": "x"}]), 404, "no_entry"),
            (json!([{"key": "c", "value": 1}, {"key": "a", "rename_to": "b"}]), 409, "conflict"),
            (json!([{"key": "c", "value": 1, "append": "x"}]), 400, "batch"),
            (json!([{"key": "c"}]), 400, "batch"),
            (json!([{"key": "c", "remove": true, "metadata": {}}]), 400, "batch"),
            (json!([{"key": "c", "value": 1, "separator": "line"}]), 400, "batch"),
            (json!([{"key": "c", "value": 1, "metadata": {"importance": 2}}]), 400, "out_of_range"),
            (json!([{"key": "c", "value": 1, "colour": "red"}]), 400, "body_json"),
        ];
        for (entries, status, code) in refused {
            ada.post(&path, &json!({"entries": entries})).await.problem(status, code);
        }
        with(&ada, Method::POST, &path, ("if-match", "\"1\""), &json!({"entries": []})).await.problem(400, "condition");
        ada.post(&format!("{path}?if_rev=0"), &json!({"entries": [{"key": "c", "value": 1}]}))
            .await
            .problem(409, "rev_conflict");
        ada.get(&format!("{place}/entries/c")).await.problem(404, "not_found");
        assert_eq!(rev(&ada.get(&format!("{place}/entries")).await.ok()), before, "{place}");
    }
    server.stop().await;
}

#[tokio::test]
async fn notes_are_added_listed_and_removed_in_every_place() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        let path = format!("{place}/notes");
        let mut ids = Vec::new();
        for number in 0..5 {
            let added = ada.post(&path, &json!({"text": format!("note {number}")})).await;
            assert_eq!(added.status, 201);
            ids.push(added.body["id"].as_u64().unwrap());
        }
        ada.post(&path, &json!({"text": "from a page", "trust": "outside"})).await.ok();
        let first = ada.get(&format!("{path}?limit=3")).await.ok();
        assert_eq!(first["items"][0]["text"], "note 0");
        let next = first["next"].as_str().unwrap();
        let second = ada.get(&format!("{path}?limit=3&cursor={next}")).await.ok();
        assert_eq!((&second["items"][0]["text"], &second["items"][2]["trust"]), (&json!("note 3"), &json!("outside")));
        assert_eq!(second["next"], Value::Null);
        assert_eq!(ada.delete(&format!("{path}/{}", ids[1])).await.ok()["deleted"], true);
        assert_eq!(ada.delete(&format!("{path}/{}", ids[1])).await.ok()["deleted"], false);
        assert_eq!(ada.get(&path).await.ok()["items"].as_array().unwrap().len(), 5, "{place}");
        ada.post(&path, &json!({"text": " "})).await.problem(400, "blank");
        ada.post(&path, &json!({"txt": "x"})).await.problem(400, "body_json");
        ada.delete(&format!("{path}/x")).await.problem(400, "path");
        ada.get(&format!("{path}?cursor=eA")).await.problem(400, "cursor");
        ada.delete(&format!("{path}/{}?if_rev=0", ids[0])).await.problem(409, "rev_conflict");
        let tagged = answer(ada.request(Method::DELETE, &format!("{path}/{}", ids[0])).header(IF_MATCH, "\"1\"")).await;
        tagged.problem(400, "condition");
    }
    server.stop().await;
}

#[tokio::test]
async fn invalid_entries_are_refused_and_write_nothing() {
    let server = Running::start().await;
    let ada = server.admin();
    let path = "/v1/agents/ada/entries/x";
    let bad = [
        (json!({}), 400, "body_json"),
        (json!({"value": 1, "colour": "red"}), 400, "body_json"),
        (json!({"value": 1, "metadata": {"colour": "red"}}), 400, "body_json"),
        (json!({"value": 1, "metadata": {"importance": 1.5}}), 400, "out_of_range"),
        (json!({"value": 1, "metadata": {"kind": "dream"}}), 400, "body_json"),
        (json!({"value": 1, "metadata": {"expires_at": "2001-01-01T00:00:00Z"}}), 400, "expiry"),
        (json!({"value": "x".repeat(2 * 1024 * 1024)}), 422, "limit"),
    ];
    for (body, status, code) in bad {
        ada.put(path, &body).await.problem(status, code);
    }
    let send = |body: &'static str, kind: &str| ada.request(Method::PUT, path).header(CONTENT_TYPE, kind).body(body);
    answer(send("{\"value\":", "application/json")).await.problem(400, "body_json");
    answer(send("{\"value\": 1}", "text/plain")).await.problem(415, "content_type");
    answer(ada.request(Method::PUT, path).header(CONTENT_TYPE, "application/json").body(vec![b' '; 9 * 1024 * 1024]))
        .await
        .problem(413, "body_too_large");
    ada.get(path).await.problem(404, "not_found");
    ada.get(&format!("/v1/agents/{}/entries/x", "a".repeat(600))).await.problem(422, "limit");
    ada.get("/v1/agents/%20/entries/x").await.problem(400, "blank");
    assert_eq!(ada.get("/v1/agents").await.ok()["items"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn an_entry_reports_its_access_count() {
    let server = Running::start().await;
    let ada = server.admin();
    for place in places(&ada).await {
        let path = format!("{place}/entries/user");
        ada.put(&path, &json!({"value": 1})).await;
        let listed = || async { ada.get(&format!("{place}/entries")).await.ok()["items"][0].clone() };
        let unread = listed().await;
        assert_eq!((&unread["access_count"], &unread["last_accessed_at"]), (&json!(0), &json!(null)), "{place}");
        assert_eq!(ada.get(&path).await.ok()["access_count"], 1, "{place}");
        let read = ada.get(&path).await.ok();
        assert_eq!(read["access_count"], 2, "{place}");
        assert!(read["last_accessed_at"].is_string(), "{place} {read}");
        assert_eq!(listed().await["access_count"], 2, "{place}");
    }
    server.stop().await;
}

#[tokio::test]
async fn entries_are_filtered_and_sorted_and_a_cursor_survives_its_entry() {
    let server = Running::start().await;
    let admin = server.admin();
    for (day, key, importance, tag) in [(1, "b", 0.9, "x"), (2, "a", 0.5, "x"), (3, "d", 0.1, "y"), (4, "c", 0.7, "x")]
    {
        // The clock may give two writes the same time.
        let at = format!("2026-01-0{day}T12:00:00Z");
        let metadata = json!({"importance": importance, "tags": [tag], "at": at});
        admin.put(&format!("/v1/agents/ada/entries/{key}"), &json!({"value": 1, "metadata": metadata})).await.ok();
    }
    let page = async |query: &str| {
        let page = admin.get(&format!("/v1/agents/ada/entries?{query}")).await.ok();
        let keys = page["items"].as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap().to_owned());
        (keys.collect::<Vec<_>>(), page["next"].as_str().map(ToOwned::to_owned))
    };
    assert_eq!(page("sort=importance").await.0, ["d", "a", "c", "b"]);
    assert_eq!(page("sort=-importance&tag=x").await.0, ["b", "c", "a"]);
    assert_eq!(page("sort=-at").await.0, ["c", "d", "a", "b"]);
    let third = admin.get("/v1/agents/ada/entries/d").await.ok();
    let since = third["metadata"]["at"].as_str().unwrap();
    assert_eq!(page(&format!("updated_since={since}")).await.0, ["c", "d"]);
    assert_eq!(page(&format!("updated_since={since}&tag=x&sort=at")).await.0, ["c"]);
    for (order, rest) in [("tag=x&sort=-importance&limit=1", ["c", "a"]), ("limit=1", ["c", "d"])] {
        let (first, next) = page(order).await;
        admin.delete(&format!("/v1/agents/ada/entries/{}", first[0])).await.ok();
        let (second, after) = page(&format!("{order}&cursor={}", next.unwrap())).await;
        let (third, _) = page(&format!("{order}&cursor={}", after.unwrap())).await;
        assert_eq!([second, third].concat(), rest, "{order} without {first:?}");
    }
    server.stop().await;
}
