//! Whether the server says how it is, through a real socket.

use corkboard_server::Server;
use tokio::net::TcpListener;

use crate::support::{Running, http, in_memory, settings};

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
    let corkboard = in_memory(corkboard::Options::default());
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
