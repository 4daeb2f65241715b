//! What a token grants: boards, their IDs, and the cores that they use.

use corkboard::cores::NewCoreEntry;
use corkboard::{ActorKind, Role};
use serde_json::json;

use super::{grants, make_board, rev, somebody, text, with_grants};
use crate::support::Running;

#[tokio::test]
async fn a_token_creates_only_boards_that_it_grants() {
    let server = Running::start().await;
    let team = grants(json!({"boards": ["team-*", "extra"]}));
    let boss = with_grants(&server, "boss", ActorKind::Agent, Role::Orchestrator, team).await;
    let made = boss.post("/v1/boards", &json!({"name": "Add login"})).await.ok();
    assert!(text(&made["id"]).starts_with("team-add-login-"), "{made}");
    make_board(&boss, "extra").await;
    boss.post("/v1/boards", &json!({"name": "x", "id": "other"})).await.problem(403, "not_granted");
    let forked = boss.post_nothing("/v1/boards/extra/fork").await.ok();
    assert!(text(&forked["id"]).starts_with("team-"), "{forked}");
    boss.post("/v1/boards/extra/fork", &json!({"id": "other"})).await.problem(403, "not_granted");

    // Several names without a wildcard: the server cannot choose one.
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
async fn boards_outside_the_grants_are_neither_read_nor_listed() {
    let server = Running::start().await;
    let admin = server.admin();
    for board in ["team-a", "secret"] {
        make_board(&admin, board).await;
        admin.post_nothing(&format!("/v1/boards/{board}/cancel")).await.ok();
        admin.post_nothing(&format!("/v1/boards/{board}/discard")).await.ok();
    }
    let team = || grants(json!({"boards": ["team-*"]}));
    let grace = with_grants(&server, "grace", ActorKind::Human, Role::Human, team()).await;
    let listed = grace.get("/v1/boards").await.ok();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let garbage = grace.get("/v1/gc").await.ok();
    assert_eq!((garbage["items"].as_array().map(Vec::len), &garbage["active"]), (Some(1), &json!(0)));
    for path in
        ["", "/status", "/tasks", "/graph", "/search?q=login", "/learnings", "/nudges", "/diff", "/tasks/T-1/context"]
    {
        grace.get(&format!("/v1/boards/secret{path}")).await.problem(403, "not_granted");
    }
    grace.delete("/v1/boards/secret").await.problem(403, "not_granted");
    assert_eq!(grace.post_nothing("/v1/gc").await.ok()["purged"], json!(["team-a"]));
    admin.get("/v1/boards/secret").await.ok();
    let revoked = server.client("no-such-secret");
    revoked.get("/v1/boards").await.problem(401, "unauthenticated");
    server.stop().await;
}

#[tokio::test]
async fn a_board_uses_only_cores_that_its_creator_may_read() {
    let server = Running::start().await;
    let rules = server.corkboard.core("rules").expect("a core");
    rules.add(NewCoreEntry::new("Logins need a second factor")).await.expect("an entry");
    let open = |cores: &str| grants(json!({"boards": ["*"], "cores": [cores]}));
    let insider = with_grants(&server, "insider", ActorKind::Agent, Role::Orchestrator, open("rules")).await;
    let outsider = with_grants(&server, "outsider", ActorKind::Agent, Role::Orchestrator, open("other")).await;
    let board = |id: &str| json!({"id": id, "name": "Add login", "cores": ["rules"]});
    outsider.post("/v1/boards", &board("a")).await.problem(403, "not_granted");
    let made = insider.post("/v1/boards", &board("a")).await.ok();
    assert_eq!(made["drawn"], json!(["rules:E-1"]));
    make_board(&outsider, "b").await;
    outsider.patch("/v1/boards/b", &json!({"cores": ["rules"]})).await.problem(403, "not_granted");
    let patterned = json!({"id": "c", "name": "x", "pattern": "rules:E-1"});
    outsider.post("/v1/boards", &patterned).await.problem(403, "not_granted");
    insider.post("/v1/boards", &patterned).await.problem(400, "task_pattern");
    insider.patch("/v1/boards/b", &json!({"cores": ["rules"]})).await.ok();
    // Everyone who works on the board sees the content of its cores.
    let ada = somebody(&server, "ada", Role::Worker).await;
    super::add_task(&insider, "b", json!({"title": "Write the login"})).await;
    let context = ada.get("/v1/boards/b/tasks/T-1/context").await.ok();
    assert!(text(&context["text"]).contains("second factor"), "{context}");
    server.stop().await;
}

#[tokio::test]
async fn promotion_and_rollback_need_a_grant_for_the_core() {
    let server = Running::start().await;
    let open = |cores: &str| grants(json!({"boards": ["*"], "cores": [cores]}));
    let insider = with_grants(&server, "insider", ActorKind::Human, Role::Orchestrator, open("rules")).await;
    let outsider = with_grants(&server, "outsider", ActorKind::Human, Role::Orchestrator, open("other")).await;
    make_board(&insider, "a").await;
    let found = json!({"content": "users has no column", "promote_to_core": "rules"});
    insider.post("/v1/boards/a/discoveries", &found).await.ok();
    let before = rev(&insider.get("/v1/boards/a/status").await.ok());
    let (promote, rollback) = ("/v1/boards/a/learnings/F-1/promote", "/v1/boards/a/learnings/rollback");
    let commands = "/v1/spaces/board/a/commands";
    // The suggested core, a named core, and the same as a command.
    outsider.post_nothing(promote).await.problem(403, "not_granted");
    outsider.post(promote, &json!({"core": "rules"})).await.problem(403, "not_granted");
    let command = json!({"command": {"promote_learning": {"learning": "F-1", "core": null, "changes": {}}}});
    outsider.post(commands, &command).await.problem(403, "not_granted");
    assert_eq!(rev(&insider.get("/v1/boards/a/status").await.ok()), before);
    assert_eq!(insider.post_nothing(promote).await.ok()["core"], "rules");
    let before = rev(&insider.get("/v1/boards/a/status").await.ok());
    for which in [json!({"all": true}), json!({"learnings": ["F-1"]})] {
        outsider.post(rollback, &which).await.problem(403, "not_granted");
    }
    let command = json!({"command": {"roll_back_learnings": {"which": "all", "reason": null}}});
    outsider.post(commands, &command).await.problem(403, "not_granted");
    assert_eq!(rev(&insider.get("/v1/boards/a/status").await.ok()), before);
    assert_eq!(insider.get("/v1/cores/rules/stats").await.ok()["entries"], 1);
    assert_eq!(insider.post(rollback, &json!({"all": true})).await.ok()["rolled_back"], json!(["F-1"]));
    server.stop().await;
}
