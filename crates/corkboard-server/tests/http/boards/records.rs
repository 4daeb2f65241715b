//! Decisions, discoveries and artifacts.

use corkboard::Role;
use serde_json::{Value, json};

use super::{make_board, rev, somebody};
use crate::support::Running;

#[tokio::test]
async fn records_are_authored_by_the_token_holder() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    make_board(&boss, "b").await;
    let decided = ada.post("/v1/boards/b/decisions", &json!({"question": "Which hash?", "choice": "argon2id"})).await;
    assert_eq!((decided.status.as_u16(), &decided.body), (201, &json!({"id": "D-1", "rev": 2})));
    // The request cannot name another author.
    let posed = json!({"question": "q", "choice": "c", "created_by": "grace"});
    ada.post("/v1/boards/b/decisions", &posed).await.problem(400, "body_json");
    let lin = somebody(&server, "lin", Role::Worker).await;
    let better = json!({"question": "Which hash?", "choice": "scrypt", "rationale": "no new dependency"});
    lin.post("/v1/boards/b/decisions/D-1/supersede", &better).await.problem(403, "not_author");
    let superseded = ada.post("/v1/boards/b/decisions/D-1/supersede", &better).await;
    assert_eq!((superseded.status.as_u16(), &superseded.body["id"]), (201, &json!("D-2")));
    ada.post("/v1/boards/b/decisions/D-1/supersede", &better).await.problem(409, "superseded");
    ada.post("/v1/boards/b/decisions/D-9/supersede", &better).await.problem(404, "not_on_board");
    let listed = boss.get("/v1/boards/b/decisions").await.ok();
    let decision = |place: usize| listed["items"][place].clone();
    assert_eq!((&decision(0)["created_by"], &decision(0)["superseded_by"]), (&json!("ada"), &json!("D-2")));
    assert_eq!((&decision(1)["choice"], rev(&listed)), (&json!("scrypt"), 3));
    assert_eq!(boss.get("/v1/boards/b/decisions?at=1").await.ok()["items"], json!([]));

    let found = json!({"content": "users has no column for tokens", "type": "constraint", "trust": "outside"});
    let found = ada.post("/v1/boards/b/discoveries", &found).await;
    assert_eq!((found.status.as_u16(), &found.body["id"]), (201, &json!("F-1")));
    ada.post("/v1/boards/b/discoveries", &json!({"content": " "})).await.problem(400, "blank");
    ada.post("/v1/boards/b/discoveries", &json!({"content": "x", "type": "rumour"})).await.problem(400, "body_json");
    ada.post("/v1/boards/b/discoveries", &json!({"content": "x", "affects_tasks": ["T-9"]}))
        .await
        .problem(404, "not_on_board");
    let listed = boss.get("/v1/boards/b/discoveries").await.ok();
    let first = &listed["items"][0];
    assert_eq!(
        (&first["created_by"], &first["trust"], &first["type"]),
        (&json!("ada"), &json!("outside"), &json!("constraint"))
    );
    server.stop().await;
}

#[tokio::test]
async fn artifacts_have_versions_and_correct_checksums() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    let record = async |artifact: Value| boss.post("/v1/boards/b/artifacts", &artifact).await;
    let inline = json!({"path": "schema.sql", "type": "code", "content": "create table users (id integer);\n"});
    let first = record(inline).await;
    let checksum = "968a887aca174ac5ff7677ad6717511dff395f1c528856c0c34d6e0cb08e4a9a";
    let expected = json!({"id": "A-1", "version": 1, "rev": 2, "checksum": checksum, "no_checksum": null});
    assert_eq!((first.status.as_u16(), &first.body), (201, &expected));
    let second = record(json!({"path": "./x/../schema.sql", "description": "by reference"})).await.ok();
    assert_eq!((&second["version"], &second["no_checksum"]), (&json!(2), &json!("not_read")));
    record(json!({"path": "schema.sql", "content": "x", "size": 99})).await.problem(400, "artifact_differs");
    record(json!({"path": "schema.sql", "checksum": "no"})).await.problem(400, "checksum");
    record(json!({"path": "big", "content": "x".repeat(70_000)})).await.problem(422, "limit");
    let listed = boss.get("/v1/boards/b/artifacts").await.ok();
    assert_eq!((&listed["items"][0]["size"], &listed["items"][1]["version"]), (&json!(33), &json!(2)));
    // The server never reads its own files.
    let passwords = record(json!({"path": "/etc/passwd"})).await.ok();
    let listed = boss.get("/v1/boards/b/artifacts").await.ok();
    assert_eq!((&passwords["id"], &listed["items"][2]["size"]), (&json!("A-3"), &Value::Null));
    server.stop().await;
}

#[tokio::test]
async fn an_irreversible_decision_is_superseded_only_by_a_person_with_force() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let grace = somebody(&server, "grace", Role::Human).await;
    make_board(&boss, "b").await;
    let decided = json!({"question": "Delete the old data?", "choice": "yes", "reversible": false});
    boss.post("/v1/boards/b/decisions", &decided).await.ok();
    let anew = json!({"question": "Delete the old data?", "choice": "no"});
    let forced = json!({"question": "Delete the old data?", "choice": "no", "force": true});
    boss.post("/v1/boards/b/decisions/D-1/supersede", &anew).await.problem(403, "irreversible");
    boss.post("/v1/boards/b/decisions/D-1/supersede", &forced).await.problem(403, "irreversible");
    grace.post("/v1/boards/b/decisions/D-1/supersede", &anew).await.problem(403, "irreversible");
    assert_eq!(grace.post("/v1/boards/b/decisions/D-1/supersede", &forced).await.ok()["id"], "D-2");
    server.stop().await;
}
