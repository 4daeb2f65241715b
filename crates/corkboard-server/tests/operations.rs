//! Whether the server says how it is, through a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

mod support;

use std::collections::HashSet;

use corkboard_server::Server;
use serde_json::Value;
use support::{Running, http, settings};
use tokio::net::TcpListener;

#[tokio::test]
async fn health_needs_no_token_and_tells_the_version() {
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

/// The socket stays open here, as it does for connections that are still under way.
#[tokio::test]
async fn a_server_that_is_about_to_end_is_not_ready() {
    let corkboard = support::in_memory(corkboard::Options::default());
    let server = Server::new(corkboard, settings());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/readyz", listener.local_addr().unwrap());
    let serving = tokio::spawn(corkboard_server::serve(listener, None, server.clone(), std::future::pending()));
    assert_eq!(http().get(&url).send().await.unwrap().status(), 200);
    server.end_streams();
    let answer = http().get(&url).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    assert!(answer.text().await.unwrap().contains("about to end"));
    serving.abort();
}

#[tokio::test]
async fn the_description_has_what_the_standard_asks_for() {
    let server = Running::start().await;
    let description = server.admin().get("/openapi.json").await.ok();
    server.stop().await;
    assert_eq!(description["openapi"], "3.1.0");
    let tags: Vec<&str> = names(&description["tags"]).collect();
    let mut ids = HashSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "two are called as {what} is");
            assert!(
                operation["tags"].as_array().unwrap().iter().all(|tag| tags.contains(&tag.as_str().unwrap())),
                "{what}"
            );
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert_ne!(response["description"].as_str().unwrap_or_default(), "", "{what}: {status}");
            }
            let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let given: Vec<&str> = names(&operation["parameters"]).collect();
            assert!(named.clone().all(|name| given.contains(&name)), "{what} takes {given:?}");
        }
    }
    assert!(ids.len() > 150, "{}", ids.len());
}

fn names(of: &Value) -> impl Iterator<Item = &str> {
    of.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str())
}
