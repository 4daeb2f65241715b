//! The steps before every route: logging, limits on size and time, and authentication. The answer is compressed if the
//! client accepts that.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::observe::RequestLog;
use crate::{Server, Settings, compress, cross_origin, guard, request_limits};

/// Browsers use only https for a year.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

pub(crate) async fn pass(State(server): State<Server>, request: Request, next: Next) -> Response {
    // Otherwise pipelined requests are answered in one turn, and other connections wait for all of them.
    tokio::task::yield_now().await;
    let observed = RequestLog::new(&request);
    let (page, accepted) = (cross_origin::page(&request, server.settings()), compress::accepted(&request));
    let answered = request_limits::limit(&server, request, |request| guard::guard(&server, request, next));
    let mut response = answered.instrument(observed.span()).await;
    cross_origin::show(&mut response, page, server.settings());
    protect(&mut response, server.settings());
    compress::compress(server.budget(), observed.answered(&server, response), accepted).await
}

/// Adds security headers: browsers must not guess the content type and, with TLS, must use only https.
pub(crate) fn protect(response: &mut Response, settings: &Settings) {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if settings.is_tls {
        headers.insert(STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
    }
}
