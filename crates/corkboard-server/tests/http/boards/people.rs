//! Nudges and approvals.

use corkboard::Role;
use serde_json::json;

use super::{add_task, make_board, somebody};
use crate::support::Running;

#[tokio::test]
async fn a_nudge_is_delivered_to_its_target() {
    let server = Running::start().await;
    let grace = somebody(&server, "grace", Role::Human).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    let lin = somebody(&server, "lin", Role::Worker).await;
    make_board(&grace, "b").await;
    let said = grace.post("/v1/boards/b/nudges", &json!({"to": "ada", "message": "Use staging"})).await;
    assert_eq!((said.status.as_u16(), &said.body), (201, &json!({"id": "N-1", "rev": 2})));
    grace.post("/v1/boards/b/nudges", &json!({"message": "Hurry", "priority": "urgent"})).await.ok();
    grace.post("/v1/boards/b/nudges", &json!({"target": {"agent": ""}, "message": "x"})).await.problem(400, "blank");
    for to in [json!(["ada"]), json!({"agent": "ada", "all": true}), json!({"group": "ada"}), json!(1)] {
        grace.post("/v1/boards/b/nudges", &json!({"to": to, "message": "x"})).await.problem(400, "body_json");
    }
    let message = async |client: &crate::support::Client, agent: &str| {
        let preview = client.get(&format!("/v1/boards/b/nudges?agent={agent}")).await.ok();
        let told = client.post("/v1/boards/b/nudges/receive", &json!({"agent": agent})).await.ok();
        assert_eq!(preview["items"].as_array().map(Vec::len), told["items"].as_array().map(Vec::len));
        told["items"].as_array().expect("nudges").iter().map(|nudge| super::text(&nudge["message"])).collect::<Vec<_>>()
    };
    // Reading the list, or a preview of another agent's nudges, delivers nothing.
    assert_eq!(ada.get("/v1/boards/b/nudges?agent=ada").await.ok()["items"][0]["id"], "N-2");
    assert_eq!(lin.get("/v1/boards/b/nudges").await.ok()["items"][0]["delivered"], json!([]));
    assert_eq!(lin.get("/v1/boards/b/nudges").await.ok()["items"][1]["delivered"], json!([]));
    assert_eq!(message(&ada, "ada").await, ["Hurry", "Use staging"]);
    assert_eq!(message(&lin, "lin").await, ["Hurry"]);
    lin.get("/v1/boards/b/nudges?agent=ada").await.problem(403, "not_granted");
    lin.post("/v1/boards/b/nudges/receive", &json!({"agent": "ada"})).await.problem(403, "not_granted");
    let proof = grace.get("/v1/boards/b/nudges").await.ok();
    assert_eq!(proof["items"][0]["delivered"][0]["agent"], "ada");
    assert_eq!((&proof["items"][0]["to"], &proof["items"][1]["to"]), (&json!({"agent": "ada"}), &json!("all")));
    assert_eq!(proof["items"][1]["delivered"].as_array().map(Vec::len), Some(2));
    assert_eq!(ada.post_nothing("/v1/boards/b/nudges/N-1/ack").await.ok()["acknowledged"], json!(["N-1"]));
    assert_eq!(ada.post_nothing("/v1/boards/b/nudges/N-1/ack").await.ok()["acknowledged"], json!([]));
    lin.post_nothing("/v1/boards/b/nudges/N-1/ack").await.problem(403, "not_for_you");
    lin.post_nothing("/v1/boards/b/nudges/N-9/ack").await.problem(404, "not_on_board");
    assert_eq!(message(&ada, "ada").await, ["Hurry"]);
    assert_eq!(message(&server.admin(), "ada").await, ["Hurry"]);
    server.stop().await;
}

#[tokio::test]
async fn a_context_delivers_and_a_preview_does_not() {
    let server = Running::start().await;
    let grace = somebody(&server, "grace", Role::Human).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    make_board(&grace, "b").await;
    add_task(&grace, "b", json!({"title": "Design the schema"})).await;
    grace.post("/v1/boards/b/nudges", &json!({"to": "ada", "message": "Use staging"})).await.ok();
    let delivered = async || grace.get("/v1/boards/b/nudges").await.ok()["items"][0]["delivered"] != json!([]);
    let preview = ada.get("/v1/boards/b/tasks/T-1/context").await.ok();
    assert!(super::text(&preview["text"]).contains("Use staging") && !delivered().await);
    let (context, request) = ("/v1/agents/ada/context", json!({"board": "b", "task": "T-1"}));
    let preview = ada.post(&format!("{context}?preview=true"), &request).await.ok();
    assert!(super::text(&preview["text"]).contains("Use staging") && !delivered().await);
    let read = ada.post("/v1/boards/b/tasks/T-1/context", &json!({"budget": 2000})).await;
    assert_eq!(super::header(&read, "cork-rev"), Some("3"));
    let read = read.ok();
    assert!(super::text(&read["text"]).contains("Design the schema") && delivered().await);
    assert_eq!((&read["budget"], &read["rev"]), (&json!(2000), &json!(3)));
    grace.post("/v1/boards/b/nudges", &json!({"to": "ada", "message": "Use production"})).await.ok();
    assert!(super::text(&ada.post(context, &request).await.ok()["text"]).contains("Use production"));
    assert_eq!(grace.get("/v1/boards/b/nudges/N-2").await.ok()["delivered"][0]["agent"], "ada");
    ada.get("/v1/boards/b/tasks/T-1/context?budget=127").await.problem(400, "out_of_range");
    ada.get("/v1/boards/b/tasks/T-9/context").await.problem(404, "not_on_board");
    ada.post_nothing("/v1/boards/b/tasks/T-9/context").await.problem(404, "not_on_board");
    server.stop().await;
}

#[tokio::test]
async fn a_decision_waits_for_a_person() {
    let server = Running::start().await;
    let grace = somebody(&server, "grace", Role::Human).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    make_board(&grace, "b").await;
    add_task(&grace, "b", json!({"title": "Drop it"})).await;
    let risky =
        json!({"question": "Drop the old table?", "choice": "yes", "affects_tasks": ["T-1"], "needs_approval": true});
    ada.post("/v1/boards/b/decisions", &risky).await.ok();
    ada.post("/v1/boards/b/tasks/claim", &json!({"task": "T-1"})).await.problem(409, "not_ready");
    ada.post_nothing("/v1/boards/b/decisions/D-1/approve").await.problem(403, "role_denied");
    let approved =
        grace.post("/v1/boards/b/decisions/D-1/approve", &json!({"comment": "there is a backup"})).await.ok();
    assert_eq!(approved, json!({"id": "AP-1", "rev": 4}));
    ada.post("/v1/boards/b/tasks/claim", &json!({"task": "T-1"})).await.ok();
    assert_eq!(grace.post_nothing("/v1/boards/b/decisions/D-1/reject").await.ok()["id"], "AP-2");
    grace.post_nothing("/v1/boards/b/decisions/D-9/reject").await.problem(404, "not_on_board");
    let signed = grace.get("/v1/boards/b/approvals").await.ok();
    assert_eq!(signed["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(grace.get("/v1/boards/b/decisions").await.ok()["items"][0]["verdict"], "rejected");
    server.stop().await;
}
