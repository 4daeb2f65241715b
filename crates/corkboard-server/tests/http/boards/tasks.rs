//! Tasks are added, read and edited.

use corkboard::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{add_task, header, make_board, rev, somebody, text, with_header};
use crate::support::{Client, Running};

async fn ids(client: &Client, query: &str) -> Vec<String> {
    let listed = client.get(&format!("/v1/boards/b/tasks{query}")).await.ok();
    listed["items"].as_array().expect("tasks").iter().map(|task| text(&task["id"])).collect()
}

#[tokio::test]
async fn tasks_are_added_one_by_one_and_as_a_plan() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    let one = boss.post("/v1/boards/b/tasks", &json!({"title": "Design", "priority": 10})).await;
    assert_eq!((one.status.as_u16(), header(&one, "etag")), (201, Some("\"2\"")));
    assert_eq!(one.body, json!({"id": "T-1", "tasks": ["T-1"], "choices": [], "rev": 2}));
    let plan = json!({
        "tasks": [
            {"key": "cookies", "title": "Sessions in cookies", "depends_on": ["T-1"]},
            {"key": "tokens", "title": "Sessions in tokens", "depends_on": ["T-1"]},
            {"title": "Measure", "depends_on": ["cookies", "tokens"], "trigger_rule": "one_success"},
        ],
        "choices": [{"question": "Where?", "options": [
            {"name": "cookie", "tasks": ["cookies"]}, {"name": "token", "tasks": ["tokens"]}]}],
    });
    let key = ("idempotency-key", "plan");
    let added = with_header(&boss, Method::POST, "/v1/boards/b/tasks", key, &plan).await;
    let again = with_header(&boss, Method::POST, "/v1/boards/b/tasks", key, &plan).await;
    assert_eq!(added.body, json!({"id": null, "tasks": ["T-2", "T-3", "T-4"], "choices": ["C-1"], "rev": 3}));
    assert_eq!(again.body, added.body);

    let bad = async |body: Value| boss.post("/v1/boards/b/tasks", &body).await;
    bad(json!({"title": ""})).await.problem(400, "blank");
    bad(json!({"title": "x", "depend_on": ["T-1"]})).await.problem(400, "body_json");
    bad(json!({"tasks": [{"title": "x", "prio": 1}]})).await.problem(400, "body_json");
    bad(json!({"tasks": [{"title": "x"}], "more": 1})).await.problem(400, "body_json");
    bad(json!({"title": "x", "depends_on": ["T-99"]})).await.problem(404, "not_on_board");
    bad(json!({"title": "x", "depends_on": ["nobody"]})).await.problem(400, "unknown_member");
    let round = json!({"tasks": [{"key": "a", "title": "a", "depends_on": ["b"]}, {"key": "b", "title": "b", "depends_on": ["a"]}]});
    bad(round).await.problem(400, "cycle");
    bad(json!([])).await.problem(400, "body_json");
    let unlabelled = boss.request(Method::POST, "/v1/boards/b/tasks").body("{}").send().await.expect("an answer");
    assert_eq!(unlabelled.status().as_u16(), 415);
    assert_eq!(ids(&boss, "").await, ["T-1", "T-2", "T-3", "T-4"]);
    server.stop().await;
}

#[tokio::test]
async fn tasks_are_listed_by_view_and_state() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    for task in [
        json!({"title": "one"}),
        json!({"title": "two", "priority": 5, "needs_review": true}),
        json!({"title": "three", "depends_on": ["T-1"]}),
    ] {
        add_task(&boss, "b", task).await;
    }
    assert_eq!(ids(&boss, "?view=ready").await, ["T-2", "T-1"]);
    assert_eq!(ids(&boss, "?view=blocked").await, ["T-3"]);
    assert_eq!(boss.post("/v1/boards/b/tasks/claim", &json!({})).await.ok()["task"], "T-2");
    assert_eq!(ids(&boss, "?view=in_progress").await, ["T-2"]);
    boss.post("/v1/boards/b/tasks/T-2/complete", &json!({"summary": "done"})).await.ok();
    assert_eq!(ids(&boss, "?view=needs_review").await, ["T-2"]);
    assert_eq!(ids(&boss, "?status=pending").await, ["T-1", "T-3"]);
    assert_eq!(ids(&boss, "?status=pending,review").await, ["T-1", "T-2", "T-3"]);
    assert_eq!(ids(&boss, "?view=blocked&status=pending,review").await, ["T-3"]);
    boss.get("/v1/boards/b/tasks?status=pending,lost").await.problem(400, "query");
    assert_eq!(ids(&boss, "?at=3").await, ["T-1", "T-2"]);
    boss.get("/v1/boards/b/tasks?view=lost").await.problem(400, "query");
    let one = boss.get("/v1/boards/b/tasks/T-3").await;
    assert!(header(&one, "etag").unwrap().starts_with("\"4-"), "{:?}", one.headers);
    let one = one.ok();
    assert_eq!((&one["title"], &one["depends_on"], rev(&one)), (&json!("three"), &json!(["T-1"]), 6));
    assert_eq!(boss.get("/v1/boards/b/tasks/T-1").await.ok()["blocks"], json!(["T-3"]));
    boss.get("/v1/boards/b/tasks/T-9").await.problem(404, "not_on_board");
    boss.get("/v1/boards/b/tasks/9").await.problem(400, "path");
    boss.get("/v1/boards/x/tasks").await.problem(404, "no_board");
    server.stop().await;
}

#[tokio::test]
async fn a_task_is_edited_and_gets_dependencies() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "one"})).await;
    add_task(&boss, "b", json!({"title": "two"})).await;
    let edit = async |version: &str, body: Value| {
        with_header(&boss, Method::PATCH, "/v1/boards/b/tasks/T-1", ("if-match", version), &body).await
    };
    let edited = edit("\"2\"", json!({"priority": 7})).await;
    assert_eq!((header(&edited, "etag"), rev(&edited.body)), (Some("\"4\""), 4));
    let stale = edit("\"2\"", json!({"priority": 8})).await;
    stale.problem(412, "conflict");
    edit("\"4\"", json!({"titel": "x"})).await.problem(400, "body_json");
    boss.patch("/v1/boards/b/tasks/T-9", &json!({"priority": 1})).await.problem(404, "not_on_board");
    assert_eq!(boss.get("/v1/boards/b/tasks/T-1").await.ok()["priority"], 7);

    let wait = async |task: &str, on: &str| {
        boss.post(&format!("/v1/boards/b/tasks/{task}/dependencies"), &json!({"depends_on": on})).await
    };
    assert_eq!(rev(&wait("T-2", "T-1").await.ok()), 5);
    wait("T-1", "T-2").await.problem(400, "cycle");
    wait("T-1", "T-9").await.problem(404, "not_on_board");
    wait("T-1", "nine").await.problem(400, "body_json");
    let dependency = |on: &str| format!("/v1/boards/b/tasks/T-2/dependencies?depends_on={on}");
    let removed = boss.delete(&dependency("T-1")).await.ok();
    assert_eq!((&removed["deleted"], rev(&removed)), (&json!(true), 6));
    assert_eq!(boss.get("/v1/boards/b/tasks?view=ready").await.ok()["items"].as_array().unwrap().len(), 2);
    assert_eq!(boss.delete(&dependency("T-1")).await.ok()["deleted"], false);
    boss.delete(&dependency("T-9")).await.problem(404, "not_on_board");
    boss.delete("/v1/boards/b/tasks/T-2/dependencies").await.problem(400, "query");
    // Items without a version do not support the header, which is refused rather than ignored.
    let refused =
        with_header(&boss, Method::POST, "/v1/boards/b/tasks/T-1/cancel", ("if-match", "\"4\""), &json!({})).await;
    refused.problem(400, "condition");
    server.stop().await;
}

#[tokio::test]
async fn tasks_are_assigned_reviewed_cancelled_and_retried() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let qa = somebody(&server, "qa", Role::Reviewer).await;
    let dev = somebody(&server, "dev", Role::Worker).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "one", "needs_review": true})).await;
    add_task(&boss, "b", json!({"title": "two", "depends_on": ["T-1"]})).await;
    boss.post("/v1/boards/b/tasks/T-1/assign", &json!({"agent": "dev"})).await.ok();
    boss.post("/v1/boards/b/tasks/T-1/assign", &json!({"agent": ""})).await.problem(400, "blank");
    boss.post("/v1/boards/b/tasks/T-1/assign_review", &json!({"agent": "qa"})).await.ok();
    dev.post("/v1/boards/b/tasks/T-1/status", &json!({"status": "in_progress"})).await.ok();
    let done = dev.post("/v1/boards/b/tasks/T-1/complete", &json!({"summary": "three routes"})).await.ok();
    assert_eq!(done["status"], "review");
    qa.post("/v1/boards/b/tasks/T-1/review", &json!({"status": "needs_rework"})).await.problem(400, "blank");
    qa.post("/v1/boards/b/tasks/T-1/review", &json!({"verdict": "fine"})).await.problem(400, "body_json");
    let back =
        qa.post("/v1/boards/b/tasks/T-1/review", &json!({"verdict": "needs_rework", "comment": "no test"})).await.ok();
    assert_eq!(back["status"], "in_progress");
    let failed = dev.post("/v1/boards/b/tasks/T-1/fail", &json!({"reason": "no way"})).await.ok();
    assert_eq!(failed["status"], "failed");
    assert_eq!(boss.post_nothing("/v1/boards/b/retry_failed").await.ok()["tasks"], json!(["T-1", "T-2"]));
    let cancelled = boss.post("/v1/boards/b/tasks/T-1/cancel", &json!({"reason": "later"})).await.ok();
    assert_eq!(cancelled["tasks"], json!(["T-1", "T-2"]), "all cancelled tasks");
    let second = boss.get("/v1/boards/b/tasks/T-2").await.ok();
    assert_eq!(second["cancellation"], json!({"cause": "upstream_cancelled", "caused_by": "T-1", "reason": null}));
    boss.post_nothing("/v1/boards/b/tasks/T-1/retry").await.problem(409, "task_move");
    boss.post_nothing("/v1/boards/b/tasks/T-9/retry").await.problem(404, "not_on_board");
    add_task(&boss, "b", json!({"title": "three"})).await;
    dev.post("/v1/boards/b/tasks/claim", &json!({"task": "T-3"})).await.ok();
    dev.post("/v1/boards/b/tasks/T-3/fail", &json!({"reason": "timeout"})).await.ok();
    assert_eq!(boss.post_nothing("/v1/boards/b/tasks/T-3/retry").await.ok()["tasks"], json!(["T-3"]));
    server.stop().await;
}

#[tokio::test]
async fn choices_are_added_and_decided() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "cookies"})).await;
    add_task(&boss, "b", json!({"title": "tokens"})).await;
    let options = json!([{"name": "cookie", "tasks": ["T-1"]}, {"name": "token", "tasks": ["T-2"]}]);
    let added = boss.post("/v1/boards/b/choices", &json!({"question": "Where?", "options": options})).await;
    assert_eq!((added.status.as_u16(), &added.body), (201, &json!({"id": "C-1", "rev": 4})));
    boss.post("/v1/boards/b/choices", &json!({"question": "Where?", "options": []})).await.problem(400, "bad_choice");
    boss.post("/v1/boards/b/choices", &json!({"question": "Where?"})).await.problem(400, "body_json");
    boss.post("/v1/boards/b/choices/C-1/choose", &json!({"option": "pigeon"})).await.problem(400, "no_branch");
    boss.post("/v1/boards/b/choices/C-9/choose", &json!({"option": "cookie"})).await.problem(404, "not_on_board");
    let chosen = boss
        .post("/v1/boards/b/choices/C-1/choose", &json!({"option": "cookie", "rationale": "one origin"}))
        .await
        .ok();
    assert_eq!((&chosen["tasks"], rev(&chosen)), (&json!(["T-2"]), 5));
    boss.post("/v1/boards/b/choices/C-1/choose", &json!({"option": "token"})).await.problem(409, "already_chosen");
    let listed = boss.get("/v1/boards/b/choices").await.ok();
    assert_eq!((&listed["items"][0]["chosen"], &listed["items"][0]["chosen_by"]), (&json!("cookie"), &json!("boss")));
    assert!(boss.get("/v1/boards/b/choices?at=4").await.ok()["items"][0]["chosen"].is_null());
    server.stop().await;
}

#[tokio::test]
async fn a_review_is_given_by_its_reviewer_or_a_person_and_never_by_the_agent_that_did_the_task() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let qa = somebody(&server, "qa", Role::Reviewer).await;
    let grace = somebody(&server, "grace", Role::Human).await;
    make_board(&boss, "b").await;
    let approve = json!({"verdict": "approved"});
    for task in ["T-1", "T-2"] {
        add_task(&boss, "b", json!({"title": "one", "needs_review": true})).await;
        boss.post("/v1/boards/b/tasks/claim", &json!({"task": task})).await.ok();
        boss.post(&format!("/v1/boards/b/tasks/{task}/complete"), &json!({"summary": "done"})).await.ok();
        boss.post(&format!("/v1/boards/b/tasks/{task}/review"), &approve).await.problem(403, "own_task");
        boss.post(&format!("/v1/boards/b/tasks/{task}/status"), &json!({"status": "completed"}))
            .await
            .problem(403, "own_task");
        boss.post(&format!("/v1/boards/b/tasks/{task}/assign_review"), &json!({"agent": "qa"})).await.ok();
    }
    let other = somebody(&server, "other", Role::Reviewer).await;
    let refused = other.post("/v1/boards/b/tasks/T-1/review", &approve).await;
    refused.problem(403, "not_reviewer");
    assert_eq!((&refused.body["task"], &refused.body["reviewer"]), (&json!("T-1"), &json!("qa")));
    assert_eq!(qa.post("/v1/boards/b/tasks/T-1/review", &approve).await.ok()["status"], "completed");
    assert_eq!(grace.post("/v1/boards/b/tasks/T-2/review", &approve).await.ok()["status"], "completed");
    server.stop().await;
}

#[tokio::test]
async fn numbers_inside_a_batch_have_ranges() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    for (name, number, maximum) in
        [("retry_limit", 1_001, 1_000), ("retry_backoff_s", -1, 86_400), ("estimate_minutes", 525_601, 525_600)]
    {
        let plan = json!({"tasks": [{"title": "x"}, {"title": "y", name: number}]});
        let refused = boss.post("/v1/boards/b/tasks", &plan).await;
        assert_eq!(
            (&refused.body["parameter"], &refused.body["value"], &refused.body["maximum"]),
            (&json!(name), &json!(number), &json!(maximum))
        );
        refused.problem(400, "out_of_range");
    }
    assert_eq!(ids(&boss, "").await, [""; 0]);
    boss.get("/v1/boards/b/tasks/T-1/context?budget=10000001").await.problem(400, "out_of_range");
}
