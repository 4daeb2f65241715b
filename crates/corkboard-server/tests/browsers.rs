//! What browsers need: pages elsewhere that may call, and people who sign in, through a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what does not hold in a test ends the test"
)]

mod support;

use corkboard::Options;
use corkboard_server::Settings;
use reqwest::header::ORIGIN;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use support::{Answer, PATIENCE, Running, answer, in_memory, settings};

const APP: &str = "https://app.example.org";

/// Somebody without a token, who goes nowhere by themselves.
fn stranger(running: &Running, method: Method, path: &str) -> RequestBuilder {
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    http.request(method, format!("{}{path}", running.url)).timeout(PATIENCE)
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn varies(answer: &Answer) -> bool {
    answer.headers.get_all("vary").iter().any(|value| value.to_str().unwrap().to_ascii_lowercase().contains("origin"))
}

#[tokio::test]
async fn a_page_that_is_named_may_ask_send_and_read() {
    let known = Settings { origins: vec![APP.into()], ..settings() };
    let running = Running::with(in_memory(Options::default()), known).await;
    let asks = |origin: &'static str| {
        let request = stranger(&running, Method::OPTIONS, "/v1/agents/ada/entries/k").header(ORIGIN, origin);
        let request = request.header("access-control-request-method", "PUT");
        answer(request.header("access-control-request-headers", "authorization,content-type,if-match"))
    };
    let asked = asks(APP).await;
    assert_eq!((asked.status, &asked.body), (StatusCode::NO_CONTENT, &Value::Null));
    assert_eq!(header(&asked, "access-control-allow-origin"), APP);
    assert!(varies(&asked) && header(&asked, "access-control-max-age").parse::<u32>().is_ok(), "{asked:?}");
    let has = |list: &str, name: &str| list.split(',').any(|listed| listed.trim().eq_ignore_ascii_case(name));
    for method in ["GET", "PUT", "POST", "PATCH", "DELETE"] {
        assert!(has(header(&asked, "access-control-allow-methods"), method), "{method}");
    }
    let headers = ["Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID"];
    for name in headers.into_iter().chain(["Cork-Actor", "Cork-Claim", "Cork-Orchestrator"]) {
        assert!(has(header(&asked, "access-control-allow-headers"), name), "{name}");
    }
    // Others are refused, and no browser shows them why.
    for origin in ["https://evil.example.org", "null", "https://app.example.org.evil.org"] {
        let refused = asks(origin).await;
        refused.problem(403, "origin");
        assert_eq!(header(&refused, "access-control-allow-origin"), "");
    }
    // What is asked without asking beforehand needs a token, as ever.
    answer(stranger(&running, Method::OPTIONS, "/v1/me")).await.problem(401, "unauthenticated");

    let admin = running.admin();
    let write = admin.request(Method::PUT, "/v1/agents/ada/entries/k").header(ORIGIN, APP);
    let written = answer(write.header("content-type", "application/json").body(r#"{"value": 1}"#)).await;
    let missing = answer(admin.request(Method::GET, "/v1/agents/ada/entries/none").header(ORIGIN, APP)).await;
    let nowhere = answer(admin.request(Method::GET, "/v1/nowhere").header(ORIGIN, APP)).await;
    let unknown = answer(stranger(&running, Method::GET, "/v1/me").header(ORIGIN, APP)).await;
    let statuses = [&written, &missing, &nowhere, &unknown].map(|answer| answer.status.as_u16());
    assert_eq!(statuses, [201, 404, 404, 401]);
    for answer in [written, missing, nowhere, unknown] {
        assert_eq!(header(&answer, "access-control-allow-origin"), APP);
        assert!(varies(&answer) && answer.headers.get("access-control-allow-credentials").is_none(), "{answer:?}");
        for name in ["ETag", "Cork-Rev", "X-Request-Id", "Retry-After", "Location"] {
            assert!(has(header(&answer, "access-control-expose-headers"), name), "{name}");
        }
    }
    running.stop().await;
}
