//! Every route of memory cores through a real socket, for permitted and other callers.

use corkboard::{ActorKind, Role, TokenRequest};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Running, answer, next_millisecond, with, worker};

fn reviewer(principal: &str, grants: Value) -> TokenRequest {
    TokenRequest { role: Role::Reviewer, ..worker(principal, grants) }
}

#[tokio::test]
async fn entries_are_added_read_found_changed_forgotten_and_restored() {
    let running = Running::start().await;
    let admin = running.admin();
    let house = "/v1/cores/house%20rules";

    let added = admin
        .post(&format!("{house}/entries"), &json!({"content": "Deployments go out on Tuesdays", "tags": ["release"]}))
        .await;
    assert_eq!(added.status, 201);
    assert_eq!(added.body, json!({"id": "E-1", "entries": [{"id": "E-1", "how": "new"}], "rev": 1}));
    let many = json!({"entries": [{"content": "Deployments  go out on Tuesdays", "importance": 0.75},
                                  {"content": "Test first", "kind": "insight", "trust": "outside"}]});
    let many = admin.post(&format!("{house}/entries"), &many).await.ok();
    assert_eq!(many["entries"], json!([{"id": "E-1", "how": "merged"}, {"id": "E-2", "how": "new"}]));

    let read = admin.get(&format!("{house}/entries/E-1")).await;
    assert_eq!(read.headers["etag"], "\"2\"");
    let entry = read.ok();
    assert_eq!((&entry["content"], &entry["importance"]), (&json!("Deployments go out on Tuesdays"), &json!(0.75)));
    assert_eq!((&entry["provenance"][0]["author"], &entry["rev"]), (&json!("admin"), &json!(2)));

    let found = admin.get(&format!("{house}/search?q=when%20do%20we%20deploy")).await.ok();
    assert_eq!((&found["hits"][0]["id"], &found["rev"]), (&json!("E-1"), &json!(2)));

    let edit = json!({"content": "Deployments go out on Fridays"});
    let path = format!("{house}/entries/E-1");
    let stale = with(&admin, Method::PATCH, &path, ("if-match", "\"1\""), &edit).await;
    stale.problem(412, "conflict");
    assert_eq!(stale.body["current"]["content"], "Deployments go out on Tuesdays");
    let edited = with(&admin, Method::PATCH, &path, ("if-match", "\"2\""), &edit).await.ok();
    assert_eq!(edited, json!({"version": 3, "rev": 3}));

    let forgotten = admin.post(&format!("{path}/forget"), &json!({"reason": "we ship daily"})).await.ok();
    assert_eq!(forgotten["version"], 4);
    let again = admin.post(&format!("{path}/forget"), &json!({})).await.ok();
    assert_eq!(again["version"], 4, "an entry that is already forgotten does not change");
    admin.patch(&path, &json!({"importance": 1})).await.problem(409, "entry_forgotten");
    let listed = async |query: &str| ids(&admin, &format!("{house}/entries?{query}")).await;
    assert_eq!(listed("").await, ["E-2"]);
    assert_eq!(listed("forgotten=only").await, ["E-1"]);
    assert_eq!(listed("forgotten=include").await, ["E-1", "E-2"]);
    assert_eq!(listed("forgotten=include&kind=insight").await, ["E-2"]);
    assert_eq!(listed("forgotten=include&tag=release").await, ["E-1"]);
    assert_eq!(listed("trust=outside").await, ["E-2"]);
    assert_eq!(listed("trust=agent").await, [""; 0]);
    admin.post(&format!("{path}/restore"), &json!({})).await.ok();
    let page = admin.get(&format!("{house}/entries?limit=1")).await.ok();
    assert_eq!(page["items"][0]["id"], "E-1");
    let next = page["next"].as_str().unwrap();
    assert_eq!(listed(&format!("limit=1&cursor={next}")).await, ["E-2"]);

    let stats = admin.get(&format!("{house}/stats")).await.ok();
    assert_eq!((&stats["entries"], &stats["forgotten"]), (&json!(2), &json!(0)));
    running.stop().await;
}

#[tokio::test]
async fn entries_are_filtered_and_sorted_and_a_cursor_survives_its_entry() {
    let running = Running::start().await;
    let admin = running.admin();
    for (content, importance) in [("one", 0.5), ("two", 0.9), ("three", 0.1)] {
        admin.post("/v1/cores/house/entries", &json!({"content": content, "importance": importance})).await.ok();
        next_millisecond().await;
    }
    admin.patch("/v1/cores/house/entries/E-1", &json!({"content": "one, changed"})).await.ok();
    let listed = async |query: &str| ids(&admin, &format!("/v1/cores/house/entries?{query}")).await;
    assert_eq!(listed("sort=importance").await, ["E-3", "E-1", "E-2"]);
    assert_eq!(listed("sort=-importance").await, ["E-2", "E-1", "E-3"]);
    assert_eq!(listed("sort=-updated_at").await, ["E-1", "E-3", "E-2"]);
    assert_eq!(listed("sort=-created_at").await, ["E-3", "E-2", "E-1"]);
    let changed = admin.get("/v1/cores/house/entries/E-1").await.ok();
    assert_eq!((&changed["created_by"], &changed["trust"]), (&json!("admin"), &json!("own")));
    let since = changed["updated_at"].as_str().unwrap();
    assert_eq!(listed(&format!("updated_since={since}")).await, ["E-1"]);
    for order in ["sort=importance&limit=1", "limit=1"] {
        let page = admin.get(&format!("/v1/cores/house/entries?{order}")).await.ok();
        let (first, next) = (page["items"][0]["id"].as_str().unwrap(), page["next"].as_str().unwrap());
        admin.post(&format!("/v1/cores/house/entries/{first}/forget"), &json!({})).await.ok();
        let rest = listed(&format!("{order}&cursor={next}")).await;
        assert_eq!(rest, [if first == "E-3" { "E-1" } else { "E-2" }], "{order}");
    }
    running.stop().await;
}

/// The IDs of a page of entries.
async fn ids(client: &Client, path: &str) -> Vec<String> {
    let page = client.get(path).await.ok();
    page["items"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_core_is_withdrawn_from_cleared_copied_replaced_and_deleted() {
    let running = Running::start().await;
    let admin = running.admin();
    let entries = json!({"entries": [{"content": "one", "author": "mallory"}, {"content": "two"}]});
    admin.post("/v1/cores/house/entries", &entries).await.ok();
    let image = admin.get("/v1/cores/house/image").await.ok();

    let withdrawn = json!({"of": {"author": {"name": "mallory"}}});
    let withdrawn = admin.post("/v1/cores/house/withdraw", &withdrawn).await.ok();
    assert_eq!(withdrawn, json!({"removed": 1, "kept": 0, "forgotten": 0, "rev": 2}));
    assert_eq!(admin.post("/v1/cores/house/clear", &json!({})).await.ok(), json!({"removed": 1, "rev": 3}));
    let replaced = admin.post("/v1/cores/house/replace", &image).await.ok();
    assert_eq!(replaced, json!({"entries": 2, "rev": 4}));
    assert_eq!(ids(&admin, "/v1/cores/house/entries").await, ["E-1", "E-2"]);
    let twice = json!({"entries": [image["entries"][0], image["entries"][0]], "last": "E-2"});
    admin.post("/v1/cores/house/replace", &twice).await.problem(400, "core_contradicts");

    admin.post("/v1/cores/agent:ada/entries", &json!({"content": "prefers short answers"})).await.ok();
    let cores = admin.get("/v1/cores").await.ok();
    let names = cores["items"].as_array().unwrap().iter().map(|core| core["id"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["agent:ada", "house"]);
    let page = admin.get("/v1/cores?limit=1").await.ok();
    assert_eq!(page["next"], "agent:ada");
    let page = admin.get("/v1/cores?limit=1&cursor=agent:ada").await.ok();
    assert_eq!((&page["items"][0]["id"], &page["next"]), (&json!("house"), &Value::Null));

    assert_eq!(admin.delete("/v1/cores/house").await.ok(), json!({"deleted": true, "rev": 5}));
    assert_eq!(admin.delete("/v1/cores/house?hard=true").await.ok(), json!({"deleted": false, "rev": 5}));
    assert_eq!(admin.delete("/v1/cores/agent:ada?hard=true").await.ok(), json!({"deleted": true, "rev": 2}));
    running.stop().await;
}

#[tokio::test]
async fn idempotency_keys_and_conditions_work() {
    let running = Running::start().await;
    let admin = running.admin();
    let (path, body) = ("/v1/cores/house/entries", json!({"content": "once"}));
    let key = ("idempotency-key", "k-1");
    let first = with(&admin, Method::POST, path, key, &body).await.ok();
    assert_eq!(with(&admin, Method::POST, path, key, &body).await.ok(), first);
    let other = with(&admin, Method::POST, path, key, &json!({"content": "other"})).await;
    other.problem(409, "idempotency_mismatch");
    admin.post(&format!("{path}?if_rev=7"), &json!({"content": "x"})).await.problem(409, "rev_conflict");
    let whole = with(&admin, Method::POST, path, ("if-match", "\"1\""), &json!({"content": "x"})).await;
    whole.problem(400, "condition");
    running.stop().await;
}

#[tokio::test]
async fn invalid_requests_are_refused_and_write_nothing() {
    let running = Running::start().await;
    let admin = running.admin();
    let entries = "/v1/cores/house/entries";
    admin.post(entries, &json!({"content": " "})).await.problem(400, "blank");
    admin.post(entries, &json!({"entries": []})).await.problem(400, "nothing");
    admin.post(entries, &json!({"entries": [{"content": "good"}, {"content": ""}]})).await.problem(400, "blank");
    admin.post(entries, &json!({"content": "x", "importance": 7})).await.problem(400, "out_of_range");
    let unknown = admin.post(entries, &json!({"content": "x", "colour": "red"})).await;
    unknown.problem(400, "body_json");
    assert!(unknown.body["detail"].as_str().unwrap().contains("colour"), "{}", unknown.body);
    let text = admin.request(Method::POST, entries).header("content-type", "text/plain").body("{}");
    answer(text).await.problem(415, "content_type");
    admin.get("/v1/cores/house/entries/E-1").await.problem(404, "not_found");
    admin.get("/v1/cores/house/entries/T-1").await.problem(400, "path");
    admin.get("/v1/cores/house/entries?cursor=x").await.problem(400, "cursor");
    admin.get("/v1/cores/house/entries?forgotten=maybe").await.problem(400, "query");
    admin.patch("/v1/cores/house/entries/E-1", &json!({"importance": 1})).await.problem(404, "not_in_core");
    admin.get("/v1/cores/house/search?q=%20").await.problem(400, "blank");
    admin.get("/v1/cores/house/search").await.problem(400, "query");
    admin.get("/v1/cores/%00/stats").await.problem(400, "control_character");
    admin.get("/v1/cores/agent:/stats").await.problem(400, "blank");
    assert_eq!(admin.get("/v1/cores").await.ok()["items"], json!([]));
    running.stop().await;
}

#[tokio::test]
async fn reading_a_core_needs_a_grant_and_writing_also_a_role() {
    let running = Running::start().await;
    running.admin().post("/v1/cores/house/entries", &json!({"content": "one"})).await.ok();
    running.admin().post("/v1/cores/secret/entries", &json!({"content": "two"})).await.ok();
    running.admin().post("/v1/cores/agent:bob/entries", &json!({"content": "bobs"})).await.ok();

    let ada = running.client_with(worker("ada", json!({"agents": ["ada"], "cores": ["hou*"]}))).await;
    assert_eq!(ids(&ada, "/v1/cores/house/entries").await, ["E-1"]);
    ada.post("/v1/cores/house/entries", &json!({"content": "x"})).await.problem(403, "role_denied");
    let own = ada.post("/v1/cores/agent:ada/entries", &json!({"content": "her own"})).await.ok();
    assert_eq!(own["id"], "E-1");
    let names = ada.get("/v1/cores").await.ok();
    let names: Vec<_> = names["items"].as_array().unwrap().iter().map(|core| core["id"].clone()).collect();
    assert_eq!(names, [json!("agent:ada"), json!("house")], "only granted cores are listed");
    for core in ["secret", "agent:bob"] {
        let path = |rest: &str| format!("/v1/cores/{core}{rest}");
        for rest in ["/entries", "/entries/E-1", "/search?q=two", "/stats", "/image"] {
            ada.get(&path(rest)).await.problem(403, "not_granted");
        }
        ada.post(&path("/entries"), &json!({"content": "x"})).await.problem(403, "not_granted");
        ada.delete(&path("")).await.problem(403, "not_granted");
    }

    let rita = running.client_with(reviewer("rita", json!({"cores": ["*"]}))).await;
    rita.post("/v1/cores/house/entries", &json!({"content": "reviewed"})).await.ok();
    let vouch = json!({"trust": "own"});
    rita.patch("/v1/cores/house/entries/E-2", &vouch).await.problem(403, "role_denied");
    rita.delete("/v1/cores/house").await.problem(403, "role_denied");
    rita.get("/v1/cores/agent:bob/entries").await.problem(403, "not_granted");
    let hugo = TokenRequest { kind: ActorKind::Human, role: Role::Human, ..reviewer("hugo", json!({"cores": ["*"]})) };
    let hugo = running.client_with(hugo).await;
    hugo.patch("/v1/cores/house/entries/E-2", &vouch).await.ok();
    let vouched = rita.get("/v1/cores/house/entries/E-2").await.ok();
    assert_eq!(vouched["vouched"]["by"], "hugo");
    running.stop().await;
}

#[tokio::test]
async fn records_entries_and_texts_are_forgotten_for_good() {
    let running = Running::start().await;
    let admin = running.admin();
    let rule = json!({"content": "never say hunter2"});
    admin.post("/v1/cores/rules/entries", &rule).await;
    let forgotten = admin.post("/v1/cores/rules/forget", &json!({"id": "E-1"})).await.ok();
    assert_eq!((&forgotten["removed"], &forgotten["revisions"]), (&json!(1), &json!(1)));
    admin.get("/v1/cores/rules/entries/E-1").await.problem(404, "not_found");
    admin.post("/v1/cores/rules/entries", &rule).await;
    admin.post("/v1/boards", &json!({"name": "Find it", "id": "find"})).await;
    let decision = json!({"question": "Which?", "choice": "this", "rationale": "hunter2 said so"});
    admin.post("/v1/boards/find/decisions", &decision).await;
    let text = |dry_run: bool| json!({"text": "hunter2", "dry_run": dry_run});
    let found = admin.post("/v1/forget", &text(true)).await.ok();
    assert_eq!((&found["found"], &found["removed"]), (&json!(2), &json!(0)));
    assert_eq!(
        found["items"][0],
        json!({"space": "board/find", "item": "D-1", "snippet": "hunter2 said so", "place": "current"})
    );
    let forgotten = admin.post("/v1/boards/find/forget", &json!({"id": "D-1"})).await.ok();
    assert_eq!((&forgotten["removed"], &forgotten["copies"]), (&json!(1), &json!([])));
    assert_eq!(admin.get("/v1/boards/find/decisions/D-1").await.ok()["rationale"], "[forgotten]");
    assert_eq!(admin.post("/v1/forget", &text(false)).await.ok()["removed"], 1);
    assert_eq!(admin.post("/v1/forget", &text(true)).await.ok()["found"], 0);
    admin.post("/v1/forget", &json!({"text": "ab"})).await.problem(400, "text_too_short");
    admin.post("/v1/boards/find/forget", &json!({"id": "D-9"})).await.problem(404, "not_on_board");
}
