//! No request is worked on for ever, and none is begun that brings more than is allowed.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use corkboard::ErrorKind;

use crate::Server;
use crate::error::{BODY_TOO_LARGE, HttpError};

/// What somebody who waits for news or for a task may take besides: no route waits longer.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Lets a request through for as long as it may take. An answer that goes on and on, as events do, has begun by then.
pub(crate) async fn limit<A: Future<Output = Response>>(
    server: &Server,
    mut request: Request,
    answer: impl FnOnce(Request) -> A,
) -> Response {
    let settings = server.settings();
    let (bytes, allowed) = (request.body().size_hint().lower(), settings.body_bytes);
    if bytes > allowed as u64 {
        let detail = format!("the body has {bytes} bytes, and {allowed} are allowed");
        return HttpError::invalid(BODY_TOO_LARGE, detail).status(StatusCode::PAYLOAD_TOO_LARGE).into_response();
    }
    // Whoever does not say how much it will be is stopped when it is too much.
    DefaultBodyLimit::max(allowed).apply(&mut request);
    let waits = if is_meant_to_wait(&request) { LONGEST_WAIT } else { Duration::ZERO };
    let method = request.method().clone();
    match tokio::time::timeout(settings.request_timeout + waits, answer(request)).await {
        Ok(response) => response,
        Err(_) => late(&method, settings.request_timeout).into_response(),
    }
}

/// Whether somebody asked to be kept waiting: for a log to grow, or for a task.
fn is_meant_to_wait(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let asks = |query: &str| query.split('&').any(|pair| pair.starts_with("wait_s="));
    request.uri().query().is_some_and(asks) || route.ends_with("/claim")
}

fn late(method: &Method, limit: Duration) -> HttpError {
    let took = format!("this took longer than {} s", limit.as_secs_f64());
    if method.is_safe() {
        return HttpError::new("timeout", ErrorKind::Unavailable, took);
    }
    // What was begun goes on.
    HttpError::new("outcome_unknown", ErrorKind::Unknown, format!("{took}: it may or may not happen yet"))
}
