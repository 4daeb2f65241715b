//! CORS: which web pages of other origins may call the server. Browsers send a preflight request first, and show a page
//! only answers that allow its origin. These pages authenticate with a token: no header here lets them use a cookie.

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::Settings;

/// Methods that a page may use.
const METHODS: &str = "GET, HEAD, PUT, POST, PATCH, DELETE";
/// Request headers that a page may send, besides those that browsers always allow.
const HEADERS: &str = "authorization, content-type, if-match, if-none-match, idempotency-key, last-event-id, \
                       cork-actor, cork-claim, cork-orchestrator, x-request-id, mcp-session-id, \
                       mcp-protocol-version, mcp-method, mcp-name";
/// Response headers that a page may read, besides those that browsers always allow.
const EXPOSED: &str = "etag, cork-rev, x-request-id, idempotency-replayed, ratelimit-limit, ratelimit-remaining, \
                       ratelimit-reset, retry-after, location, mcp-session-id";
/// How long a browser may cache the answer to a preflight request, in seconds.
const MAX_AGE: &str = "3600";

/// Whether the request is a CORS preflight request.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight request. [`show`] adds the allowed origin, as to every answer.
pub(crate) fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The request's `Origin`, if the settings allow it.
pub(crate) fn page(request: &Request, settings: &Settings) -> Option<HeaderValue> {
    let origin = request.headers().get(ORIGIN)?;
    settings.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Lets the page read an answer, including errors.
pub(crate) fn show(response: &mut Response, page: Option<HeaderValue>, settings: &Settings) {
    let headers = response.headers_mut();
    if !settings.origins.is_empty() {
        // A cache must not give one page's answer to another.
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    if let Some(page) = page {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
}
