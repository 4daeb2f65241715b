//! Web pages elsewhere that may call the server. Browsers ask before they send, and show a page only answers that name it
//! (CORS). Such pages come with a token: nothing is said that would let them use a reader's cookie.

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::Settings;

/// What a page may send.
const METHODS: &str = "GET, HEAD, PUT, POST, PATCH, DELETE";
/// What it may say besides what any page may.
const HEADERS: &str = "authorization, content-type, if-match, if-none-match, idempotency-key, last-event-id, cork-actor, \
                       cork-claim, cork-orchestrator, x-request-id";
/// What it may read besides what any page may.
const EXPOSED: &str = "etag, cork-rev, x-request-id, idempotency-replayed, ratelimit-limit, ratelimit-remaining, \
                       ratelimit-reset, retry-after, location";
/// For how many seconds a browser need not ask again.
const MAX_AGE: &str = "3600";

/// Whether a browser asks if a page may send something.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// It may. Which page that is, every answer says.
pub(crate) fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The page elsewhere that a request comes from, if it is one that may call.
pub(crate) fn page(request: &Request, settings: &Settings) -> Option<HeaderValue> {
    let origin = request.headers().get(ORIGIN)?;
    settings.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Lets the page read an answer, a refusal as well.
pub(crate) fn show(response: &mut Response, page: Option<HeaderValue>, settings: &Settings) {
    let headers = response.headers_mut();
    if !settings.origins.is_empty() {
        // What one page was answered must not be given to another out of a cache.
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    if let Some(page) = page {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
}
