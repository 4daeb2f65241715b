//! Limits the time and the body size of every request.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request};
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use corkboard::ErrorKind;

use crate::Server;
use crate::error::HttpError;

/// Extra time for requests that wait for an event or a task. No route waits longer.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Runs a request with its time limit. The limit ends when the answer begins, so event streams are not cut off.
pub(crate) async fn limit<A: Future<Output = Response>>(
    server: &Server,
    mut request: Request,
    answer: impl FnOnce(Request) -> A,
) -> Response {
    let settings = server.settings();
    let (bytes, allowed) = (request.body().size_hint().lower(), settings.body_bytes);
    if bytes > allowed as u64 {
        let detail = format!("the body has {bytes} bytes; the maximum is {allowed} (body_bytes)");
        return HttpError::body_too_large(detail).into_response();
    }
    // A body without an announced length is cut off when it exceeds the limit.
    DefaultBodyLimit::max(allowed).apply(&mut request);
    let waits = if is_meant_to_wait(&request) { LONGEST_WAIT } else { Duration::ZERO };
    let method = request.method().clone();
    match tokio::time::timeout(settings.request_timeout + waits, answer(request)).await {
        Ok(response) => response,
        Err(_) => late(&method, settings.request_timeout).into_response(),
    }
}

/// Whether the request may wait for the log to grow (`wait_s`) or for a task (`claim`).
fn is_meant_to_wait(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let asks = |query: &str| query.split('&').any(|pair| pair.starts_with("wait_s="));
    request.uri().query().is_some_and(asks) || route.ends_with("/claim")
}

fn late(method: &Method, limit: Duration) -> HttpError {
    let took = format!("the request took longer than {} s", limit.as_secs_f64());
    if method.is_safe() {
        return HttpError::new("timeout", ErrorKind::Unavailable, took);
    }
    // The command still runs to its end.
    HttpError::new("outcome_unknown", ErrorKind::Unknown, format!("{took}; it may still take effect"))
}
