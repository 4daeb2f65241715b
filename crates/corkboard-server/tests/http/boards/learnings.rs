//! Learnings of a board are promoted, rejected and rolled back.

use corkboard::{ActorKind, Role};
use serde_json::json;

use super::{grants, make_board, somebody, with_grants};
use crate::support::Running;

#[tokio::test]
async fn a_learning_is_promoted_and_rolled_back() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let qa = somebody(&server, "qa", Role::Reviewer).await;
    make_board(&boss, "b").await;
    for choice in ["argon2id", "scrypt", "bcrypt"] {
        let reason = "it is hard on memory and known";
        let decision = json!({"question": "Which hash?", "choice": choice, "rationale": reason});
        boss.post("/v1/boards/b/decisions", &decision).await.ok();
    }
    let found = boss.get("/v1/boards/b/learnings").await.ok();
    assert_eq!((found["items"].as_array().map(Vec::len), &found["rev"]), (Some(3), &json!(4)));
    let extracted = qa.post_nothing("/v1/boards/b/learnings/extract").await.ok();
    assert_eq!(extracted["items"], found["items"]);

    qa.post_nothing("/v1/boards/b/learnings/D-1/promote").await.problem(400, "no_core");
    boss.post("/v1/boards/b/learnings/D-1/promote", &json!({"core": "rules"})).await.problem(403, "own_learning");
    let promoted =
        qa.post("/v1/boards/b/learnings/D-1/promote", &json!({"core": "rules", "importance": 0.9})).await.ok();
    assert_eq!(
        (&promoted["core"], &promoted["entry"], &promoted["learning"]),
        (&json!("rules"), &json!("E-1"), &json!("D-1"))
    );
    qa.post("/v1/boards/b/learnings/D-3/promote", &json!({"core": "rules", "importance": 7}))
        .await
        .problem(400, "out_of_range");
    qa.post("/v1/boards/b/learnings/D-9/promote", &json!({"core": "rules"})).await.problem(404, "not_on_board");
    qa.post("/v1/boards/b/learnings/x/promote", &json!({"core": "rules"})).await.problem(400, "path");
    qa.post("/v1/boards/b/learnings/D-2/refuse", &json!({"reason": "once"})).await.ok();
    let listed = qa.get("/v1/boards/b/learnings?status=refused&sort=-importance").await.ok();
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["items"][0]["id"]), (1, &json!("D-2")));
    assert_eq!(qa.get("/v1/boards/b/learnings?tag=no-such-tag").await.ok()["items"], json!([]));
    qa.post("/v1/boards/b/learnings/D-2/promote", &json!({"core": "rules"})).await.problem(409, "learning_refused");
    qa.post_nothing("/v1/boards/b/learnings/D-1/refuse").await.problem(409, "learning_promoted");

    let entry = || async {
        server.corkboard.core("rules").expect("a core").get("E-1".parse().expect("an id")).await.expect("read")
    };
    assert!(entry().await.is_some());
    // A token that does not grant the core can neither promote nor roll back.
    let narrow = grants(json!({"boards": ["b"]}));
    let narrow = with_grants(&server, "narrow", ActorKind::Agent, Role::Reviewer, narrow).await;
    narrow.post("/v1/boards/b/learnings/D-3/promote", &json!({"core": "rules"})).await.problem(403, "not_granted");
    narrow.post("/v1/boards/b/learnings/rollback", &json!({"all": true})).await.problem(403, "not_granted");
    qa.post("/v1/boards/b/learnings/rollback", &json!({})).await.problem(400, "which");
    qa.post("/v1/boards/b/learnings/rollback", &json!({"all": true, "learnings": ["D-1"]})).await.problem(400, "which");
    let back = qa.post("/v1/boards/b/learnings/rollback", &json!({"learnings": ["D-1"], "reason": "slow"})).await.ok();
    assert_eq!(back["rolled_back"], json!(["D-1"]));
    assert!(entry().await.is_none());
    assert_eq!(qa.post("/v1/boards/b/learnings/rollback", &json!({"all": true})).await.ok()["rolled_back"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn all_learnings_of_an_author_or_of_a_purged_board_are_rolled_back() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let grace = somebody(&server, "grace", Role::Human).await;
    for (board, core) in [("one", "rules"), ("two", "others")] {
        make_board(&grace, board).await;
        let decision = json!({"question": "Which hash?", "choice": board, "rationale": "it is hard on memory"});
        boss.post(&format!("/v1/boards/{board}/decisions"), &decision).await.ok();
        grace.post(&format!("/v1/boards/{board}/learnings/D-1/promote"), &json!({"core": core})).await.ok();
    }
    grace.delete("/v1/boards/one").await.ok();
    let team = grants(json!({"boards": ["*"], "cores": ["rules"], "agents": ["*"]}));
    let team = with_grants(&server, "team", ActorKind::Human, Role::Human, team).await;
    team.post("/v1/learnings/rollback", &json!({"board": "one"})).await.problem(403, "not_granted");
    let gone = grace.post("/v1/learnings/rollback", &json!({"board": "one", "reason": "wrong"})).await.ok();
    assert_eq!((&gone["cores"][0]["core"], &gone["cores"][0]["removed"]), (&json!("rules"), &json!(1)));
    let gone = grace.post("/v1/learnings/rollback", &json!({"author": "boss"})).await.ok();
    assert_eq!(gone["boards"], json!([{"board": "two", "learnings": ["D-1"]}]));
    grace.post("/v1/learnings/rollback", &json!({"author": "a", "board": "b"})).await.problem(400, "which");
    grace.post("/v1/learnings/rollback", &json!({"writer": "a"})).await.problem(400, "body_json");
    somebody(&server, "ada", Role::Worker)
        .await
        .post("/v1/learnings/rollback", &json!({"author": "boss"}))
        .await
        .problem(403, "role_denied");
    server.stop().await;
}
