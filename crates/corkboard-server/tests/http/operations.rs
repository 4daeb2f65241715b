//! Health checks through a real socket.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::{Corkboard, ManualClock, Options};
use corkboard_server::Server;
use corkboard_testing::{Fault, FaultPlan, FaultyStore};
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::{Running, http, in_memory, settings};

#[tokio::test]
async fn health_needs_no_token_and_reports_the_version() {
    let server = Running::start().await;
    let nobody = server.client("nobody");
    for path in ["/healthz", "/readyz"] {
        let health = nobody.get(path).await.ok();
        assert_eq!((&health["status"], &health["version"]), (&"ok".into(), &env!("CARGO_PKG_VERSION").into()));
        assert!(health["now"].as_str().is_some_and(|now| now.parse::<jiff::Timestamp>().is_ok()), "{health}");
    }
    server.admin().get("/metrics").await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_server_whose_store_does_not_answer_is_not_ready() {
    let server = Running::start().await;
    server.corkboard.close().await.unwrap();
    let nobody = server.client("nobody");
    nobody.get("/readyz").await.problem(503, "not_ready");
    nobody.get("/healthz").await.ok();
}

/// The store's address and user name are only for the log. Here, its messages contain "injected".
#[tokio::test]
async fn answers_do_not_contain_the_stores_address() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::shared()), FaultPlan::none()));
    let server = Running::with(Corkboard::with_store(store.clone(), Options::default()), settings()).await;
    let (nobody, admin) = (server.client("nobody"), server.admin());
    admin.put("/v1/agents/ada/entries/k", &json!({"value": 1})).await.ok();
    store.next_appends([Fault::Refuse; 100]);
    let refused = admin.put("/v1/agents/ada/entries/k", &json!({"value": 2})).await;
    refused.problem(503, "unavailable");
    assert_eq!(refused.body["detail"], "the store is not available");
    let call = json!({"input": {"key": "k", "content": "3"}, "context": {"agent": "ada"}});
    let refused = admin.post("/v1/tools/write_memory", &call).await;
    refused.problem(503, "unavailable");
    assert_eq!(refused.body["detail"], "the store is not available");
    store.clear_script();

    store.set_plan(FaultPlan { refuse: 100, ..FaultPlan::none() });
    let not_ready = nobody.get("/readyz").await;
    not_ready.problem(503, "not_ready");
    assert_eq!(not_ready.body["detail"], "the store does not answer");
    for path in ["/v1/agents/bob/entries", "/v1/agents", "/v1/boards/b", "/v1/cores/house/stats"] {
        let refused = admin.get(path).await;
        refused.problem(503, "unavailable");
        assert!(!refused.body.to_string().contains("injected"), "{path}: {}", refused.body);
    }
}

/// A load balancer sends no writes to a server that is not ready, so the server itself must test whether space is free
/// again.
#[tokio::test]
async fn a_server_whose_last_write_failed_is_not_ready_until_one_succeeds() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::shared()), FaultPlan::none()));
    let server = Running::with(Corkboard::with_store(store.clone(), Options::default()), settings()).await;
    let (nobody, admin) = (server.client("nobody"), server.admin());
    admin.put("/v1/agents/ada/entries/k", &json!({"value": 1})).await.ok();
    nobody.get("/readyz").await.ok();

    store.set_full(true);
    nobody.get("/readyz").await.ok();
    let refused = admin.put("/v1/agents/ada/entries/k", &json!({"value": 2})).await;
    refused.problem(503, "unavailable");
    assert_eq!(refused.body["detail"], "the store has no space left; nothing was written");
    for _ in 0..3 {
        let not_ready = nobody.get("/readyz").await;
        not_ready.problem(503, "not_ready");
        let detail = "the last write failed: the store has no space left; nothing was written";
        assert_eq!(not_ready.body["detail"], detail);
    }
    nobody.get("/healthz").await.ok();
    assert_eq!(admin.get("/v1/agents/ada/entries/k").await.ok()["value"], 1);

    store.set_full(false);
    let ready = async {
        while nobody.get("/readyz").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ready).await.expect("it is ready again");
    // The test write is invisible.
    assert_eq!(admin.get("/v1/agents").await.ok()["items"].as_array().unwrap().len(), 1);
    assert!(server.corkboard.check().await.unwrap().is_empty());

    store.set_full(true);
    admin.put("/v1/agents/ada/entries/k", &json!({"value": 3})).await.problem(503, "unavailable");
    nobody.get("/readyz").await.problem(503, "not_ready");
    store.set_full(false);
    admin.put("/v1/agents/ada/entries/k", &json!({"value": 4})).await.ok();
    nobody.get("/readyz").await.ok();
}

/// The warning must not name spaces, because it needs no token (issue 17, item 13).
#[tokio::test]
async fn a_server_with_a_space_ahead_of_the_clock_is_ready_and_warns() {
    let store = Arc::new(MemoryStore::shared());
    let year = Duration::from_secs(365 * 24 * 3600);
    let clock = Arc::new(ManualClock::new(jiff::Timestamp::now() + year));
    let wrong = Corkboard::with_store(store.clone(), Options { clock, ..Options::default() });
    wrong.agent("ada").unwrap().working().set("k", &1).await.unwrap();
    let server = Running::with(Corkboard::with_store(store, Options::default()), settings()).await;
    let nobody = server.client("nobody");
    assert_eq!(nobody.get("/readyz").await.ok()["warnings"], serde_json::json!([]));
    server.admin().get("/v1/agents/ada/entries/k").await.ok();
    let health = nobody.get("/readyz").await.ok();
    let [warning] = &health["warnings"].as_array().unwrap()[..] else { panic!("{health}") };
    let warning = warning.as_str().unwrap();
    assert!(warning.starts_with("1 space is ahead of the clock, by up to 315"), "{warning}");
    assert!(!warning.contains("ada"), "{warning}");
    assert_eq!(nobody.get("/healthz").await.ok()["warnings"], json!([]));
    server.stop().await;
}

/// The socket stays open here, like connections with requests in progress.
#[tokio::test]
async fn a_server_that_is_shutting_down_is_not_ready() {
    let corkboard = in_memory(Options::default());
    let server = Server::new(corkboard, settings());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/readyz", listener.local_addr().unwrap());
    let serving = tokio::spawn(corkboard_server::serve(listener, None, server.clone(), std::future::pending()));
    assert_eq!(http().get(&url).send().await.unwrap().status(), 200);
    server.end_streams();
    let answer = http().get(&url).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    assert!(answer.text().await.unwrap().contains("shutting down"));
    serving.abort();
}
