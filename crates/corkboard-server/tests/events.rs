//! Streams of events, through a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

mod support;

use serde_json::json;
use support::{Running, worker};

#[tokio::test]
async fn a_token_opens_what_it_says_and_nothing_else() {
    let server = Running::start().await;
    let ada = server.client_with(worker("ada", json!({ "agents": ["ada"] }))).await;
    ada.put("/v1/agents/ada/entries/color", &json!({ "value": "green" })).await.ok();
    assert_eq!(ada.get("/v1/agents/ada/entries/color").await.ok()["value"], "green");
    ada.get("/v1/agents/bob/entries/color").await.problem(403, "not_granted");
    server.client("wrong").get("/v1/agents/ada/entries/color").await.problem(401, "unauthenticated");
    server.stop().await;
}
