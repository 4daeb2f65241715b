//! Claims: immediate or waiting, for oneself or for another agent.

use corkboard::tokens::Grants;
use corkboard::{ActorKind, Role};
use reqwest::Method;
use serde_json::json;

use super::{add_task, make_board, rev, somebody, with_grants, with_header};
use crate::support::Running;

#[tokio::test]
async fn a_claim_is_held_by_its_epoch() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    make_board(&boss, "b").await;
    assert_eq!(
        ada.post_nothing("/v1/boards/b/tasks/claim").await.ok(),
        json!({"task": null, "epoch": null, "deadline": null, "attempt": null, "rev": 1})
    );
    add_task(&boss, "b", json!({"title": "one"})).await;
    let first = ada.post_nothing("/v1/boards/b/tasks/claim").await.ok();
    assert_eq!((&first["task"], &first["attempt"], rev(&first)), (&json!("T-1"), &json!(1), 3));
    let held = ada.post("/v1/boards/b/tasks/T-1/heartbeat", &json!({"epoch": first["epoch"]})).await.ok();
    assert_eq!(held["deadline"], first["deadline"]);
    somebody(&server, "lin", Role::Worker)
        .await
        .post("/v1/boards/b/tasks/claim", &json!({"task": "T-1"}))
        .await
        .problem(409, "task_held");

    ada.post("/v1/boards/b/tasks/T-1/status", &json!({"status": "blocked", "reason": "no access"})).await.ok();
    ada.post("/v1/boards/b/tasks/T-1/status", &json!({"status": "completed"})).await.problem(409, "task_move");
    ada.post("/v1/boards/b/tasks/T-1/status", &json!({"status": "lost"})).await.problem(400, "body_json");
    ada.post("/v1/boards/b/tasks/T-1/release", &json!({"epoch": first["epoch"]})).await.ok();
    let second = ada.post("/v1/boards/b/tasks/claim", &json!({"task": "T-1", "lease_s": 60})).await.ok();
    let complete = async |epoch: &serde_json::Value| {
        let body = json!({"summary": "done", "epoch": epoch, "trust": "outside"});
        ada.post("/v1/boards/b/tasks/T-1/complete", &body).await
    };
    complete(&first["epoch"]).await.problem(409, "fenced");
    // The epoch also guards everything else done under the claim.
    let found = json!({"content": "there is no index"});
    let claim = format!("T-1@{}", first["epoch"]);
    let late = with_header(&ada, Method::POST, "/v1/boards/b/discoveries", ("cork-claim", &claim), &found).await;
    late.problem(409, "fenced");
    let claim = format!("T-1@{}", second["epoch"]);
    let held = with_header(&ada, Method::POST, "/v1/boards/b/discoveries", ("cork-claim", &claim), &found).await;
    assert_eq!(held.status.as_u16(), 201, "{}", held.body);
    with_header(&ada, Method::POST, "/v1/boards/b/discoveries", ("cork-claim", "T-1"), &found)
        .await
        .problem(400, "claim");
    assert_eq!(complete(&second["epoch"]).await.ok()["status"], "completed");
    assert_eq!(boss.get("/v1/boards/b/tasks/T-1").await.ok()["result"]["trust"], "outside");
    ada.post("/v1/boards/b/tasks/claim", &json!({"wait_s": -1})).await.problem(400, "out_of_range");
    ada.post("/v1/boards/b/tasks/claim", &json!({"lease_s": 0})).await.problem(400, "out_of_range");
    ada.post("/v1/boards/b/tasks/claim", &json!({"task": "T-9"})).await.problem(404, "not_on_board");
    ada.post("/v1/boards/b/tasks/T-1/heartbeat", &json!({"epoch": 1})).await.problem(409, "fenced");
    server.stop().await;
}

#[tokio::test]
async fn a_waiting_claim_gets_the_next_ready_task() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    make_board(&boss, "b").await;
    let (waiting, body) = (ada.clone(), json!({"wait_s": 50}));
    let waiting = tokio::spawn(async move { waiting.post("/v1/boards/b/tasks/claim", &body).await });
    add_task(&boss, "b", json!({"title": "one"})).await;
    assert_eq!(waiting.await.expect("the worker").ok()["task"], "T-1");
    let nothing = ada.post("/v1/boards/b/tasks/claim", &json!({"wait_s": 0.01})).await.ok();
    assert!(nothing["task"].is_null());
    // A repeat of the request returns the same claim.
    add_task(&boss, "b", json!({"title": "two"})).await;
    add_task(&boss, "b", json!({"title": "three"})).await;
    let claim = async || {
        with_header(&ada, Method::POST, "/v1/boards/b/tasks/claim", ("idempotency-key", "next"), &json!({"wait_s": 5}))
            .await
    };
    assert_eq!(claim().await.ok(), claim().await.ok());
    server.stop().await;
}

#[tokio::test]
async fn only_admins_and_services_claim_for_another() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    for title in ["one", "two", "three"] {
        add_task(&boss, "b", json!({"title": title})).await;
    }
    let for_ada = json!({"agent": "ada"});
    let lin = somebody(&server, "lin", Role::Worker).await;
    lin.post("/v1/boards/b/tasks/claim", &for_ada).await.problem(403, "not_granted");
    boss.post("/v1/boards/b/tasks/claim", &for_ada).await.problem(403, "not_granted");
    let ada = somebody(&server, "ada", Role::Worker).await;
    let service = with_grants(&server, "runner", ActorKind::Service, Role::Worker, Grants::everything()).await;
    for (client, task) in [(&ada, "T-1"), (&service, "T-2"), (&server.admin(), "T-3")] {
        assert_eq!(client.post("/v1/boards/b/tasks/claim", &for_ada).await.ok()["task"], task);
        assert_eq!(boss.get(&format!("/v1/boards/b/tasks/{task}")).await.ok()["claim"]["holder"], "ada");
    }
    service.post("/v1/boards/b/tasks/claim", &json!({"agent": "a\nb"})).await.problem(400, "control_character");
    // Acting for another does not extend a grant.
    let narrow = super::grants(json!({"boards": ["other"]}));
    let narrow = with_grants(&server, "narrow", ActorKind::Service, Role::Worker, narrow).await;
    narrow.post("/v1/boards/b/tasks/claim", &for_ada).await.problem(403, "not_granted");
    server.stop().await;
}

#[tokio::test]
async fn a_reworked_task_goes_back_to_its_holder_at_once_and_while_it_waits() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let grace = somebody(&server, "grace", Role::Human).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "one", "needs_review": true})).await;
    ada.post_nothing("/v1/boards/b/tasks/claim").await.ok();
    let rework = json!({"verdict": "needs_rework", "comment": "no test"});
    for epoch in [2, 3] {
        ada.post("/v1/boards/b/tasks/T-1/complete", &json!({"summary": "done"})).await.ok();
        let (waiting, body) = (ada.clone(), json!({"wait_s": if epoch == 2 { 0 } else { 50 }}));
        let claim = async move { waiting.post("/v1/boards/b/tasks/claim", &body).await };
        let claimed = match epoch {
            2 => {
                grace.post("/v1/boards/b/tasks/T-1/review", &rework).await.ok();
                claim.await.ok()
            }
            _ => {
                let waiting = tokio::spawn(claim);
                grace.post("/v1/boards/b/tasks/T-1/review", &rework).await.ok();
                waiting.await.expect("the worker").ok()
            }
        };
        assert_eq!(
            (&claimed["task"], &claimed["epoch"], &claimed["attempt"]),
            (&json!("T-1"), &json!(epoch), &json!(epoch))
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn a_restarted_worker_reclaims_its_task_by_task_and_epoch() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let ada = somebody(&server, "ada", Role::Worker).await;
    let lin = somebody(&server, "lin", Role::Worker).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "one"})).await;
    let first = ada.post("/v1/boards/b/tasks/claim", &json!({"lease_s": 60})).await.ok();
    let again = json!({"task": "T-1", "epoch": first["epoch"]});
    lin.post("/v1/boards/b/tasks/claim", &again).await.problem(409, "task_held");
    let second = ada.post("/v1/boards/b/tasks/claim", &again).await.ok();
    assert_eq!((&second["task"], &second["epoch"], &second["attempt"]), (&json!("T-1"), &json!(2), &json!(1)));
    assert!(second["deadline"].as_str() > first["deadline"].as_str(), "{first} {second}");
    // The old process is fenced.
    ada.post("/v1/boards/b/tasks/claim", &again).await.problem(409, "fenced");
    ada.post("/v1/boards/b/tasks/T-1/heartbeat", &json!({"epoch": 1})).await.problem(409, "fenced");
    ada.post("/v1/boards/b/tasks/claim", &json!({"epoch": 2})).await.problem(400, "blank");
    ada.post("/v1/boards/b/tasks/T-1/complete", &json!({"summary": "done", "epoch": 2})).await.ok();
    server.stop().await;
}
