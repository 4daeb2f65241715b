//! What a token opens: boards, their ids, and the cores that they draw on.

use corkboard::cores::NewCoreEntry;
use corkboard::{ActorKind, Role};
use serde_json::json;

use crate::support::Running;
use crate::{grants, make_board, post_nothing, somebody, text, with_grants};

#[tokio::test]
async fn a_token_makes_the_boards_that_it_opens() {
    let server = Running::start().await;
    let team = grants(json!({"boards": ["team-*", "extra"]}));
    let boss = with_grants(&server, "boss", ActorKind::Agent, Role::Orchestrator, team).await;
    let made = boss.post("/v1/boards", &json!({"name": "Add login"})).await.ok();
    assert!(text(&made["id"]).starts_with("team-add-login-"), "{made}");
    make_board(&boss, "extra").await;
    boss.post("/v1/boards", &json!({"name": "x", "id": "other"})).await.problem(403, "not_granted");
    let forked = post_nothing(&boss, "/v1/boards/extra/fork").await.ok();
    assert!(text(&forked["id"]).starts_with("team-"), "{forked}");
    boss.post("/v1/boards/extra/fork", &json!({"id": "other"})).await.problem(403, "not_granted");

    // Names alone: there is no telling which is meant.
    let named = grants(json!({"boards": ["one", "two"]}));
    let named = with_grants(&server, "named", ActorKind::Agent, Role::Orchestrator, named).await;
    let refused = named.post("/v1/boards", &json!({"name": "x"})).await;
    refused.problem(403, "not_granted");
    assert!(text(&refused.body["detail"]).contains("one, two"), "{}", refused.body);
    make_board(&named, "one").await;
    let none = with_grants(&server, "none", ActorKind::Agent, Role::Orchestrator, grants(json!({}))).await;
    none.post("/v1/boards", &json!({"name": "x"})).await.problem(403, "not_granted");
    server.stop().await;
}

#[tokio::test]
async fn what_a_token_does_not_open_is_neither_read_nor_listed() {
    let server = Running::start().await;
    let admin = server.admin();
    for board in ["team-a", "secret"] {
        make_board(&admin, board).await;
        post_nothing(&admin, &format!("/v1/boards/{board}/cancel")).await.ok();
        post_nothing(&admin, &format!("/v1/boards/{board}/discard")).await.ok();
    }
    let team = || grants(json!({"boards": ["team-*"]}));
    let grace = with_grants(&server, "grace", ActorKind::Human, Role::Human, team()).await;
    let listed = grace.get("/v1/boards").await.ok();
    assert_eq!(listed["boards"].as_array().map(Vec::len), Some(1));
    let garbage = grace.get("/v1/gc").await.ok();
    assert_eq!((garbage["boards"].as_array().map(Vec::len), &garbage["active"]), (Some(1), &json!(0)));
    for path in
        ["", "/status", "/tasks", "/graph", "/search?q=login", "/learnings", "/nudges", "/diff", "/tasks/T-1/context"]
    {
        grace.get(&format!("/v1/boards/secret{path}")).await.problem(403, "not_granted");
    }
    grace.delete("/v1/boards/secret").await.problem(403, "not_granted");
    assert_eq!(post_nothing(&grace, "/v1/gc").await.ok()["purged"], json!(["team-a"]));
    admin.get("/v1/boards/secret").await.ok();
    let revoked = server.client("no-such-secret");
    revoked.get("/v1/boards").await.problem(401, "unauthenticated");
    server.stop().await;
}

#[tokio::test]
async fn a_board_draws_only_on_cores_that_its_maker_may_read() {
    let server = Running::start().await;
    let rules = server.corkboard.core("rules").expect("a core");
    rules.add(NewCoreEntry::new("Logins need a second factor")).await.expect("an entry");
    let open = |cores: &str| grants(json!({"boards": ["*"], "cores": [cores]}));
    let insider = with_grants(&server, "insider", ActorKind::Agent, Role::Orchestrator, open("rules")).await;
    let outsider = with_grants(&server, "outsider", ActorKind::Agent, Role::Orchestrator, open("other")).await;
    let board = |id: &str| json!({"id": id, "name": "Add login", "memory_core_refs": ["rules"]});
    outsider.post("/v1/boards", &board("a")).await.problem(403, "not_granted");
    let made = insider.post("/v1/boards", &board("a")).await.ok();
    assert_eq!(made["drawn"], json!(["rules:E-1"]));
    make_board(&outsider, "b").await;
    outsider.patch("/v1/boards/b", &json!({"memory_core_refs": ["rules"]})).await.problem(403, "not_granted");
    let patterned = json!({"id": "c", "name": "x", "pattern": "rules:E-1"});
    outsider.post("/v1/boards", &patterned).await.problem(403, "not_granted");
    insider.post("/v1/boards", &patterned).await.problem(400, "task_pattern");
    insider.patch("/v1/boards/b", &json!({"memory_core_refs": ["rules"]})).await.ok();
    // Whoever works on the board is told what it draws on.
    let ada = somebody(&server, "ada", Role::Worker).await;
    crate::add_task(&insider, "b", json!({"title": "Write the login"})).await;
    let context = ada.get("/v1/boards/b/tasks/T-1/context").await.ok();
    assert!(text(&context["text"]).contains("second factor"), "{context}");
    server.stop().await;
}
