//! What a request was, how it ended and how long it took: in the log and in the metrics.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::Server;

/// The header that names a request in the log, in what comes and in what is answered.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// No longer id is taken from outside.
const LONGEST_ID: usize = 128;

/// Methods that are counted under their own names. There are as many others as a caller cares to make up.
static METHODS: [Method; 7] =
    [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH, Method::HEAD, Method::OPTIONS];

/// Lets a request through, and says what came of it.
pub(crate) async fn observe(State(server): State<Server>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let known = METHODS.iter().find(|method| *method == request.method());
    let method: &'static str = known.map_or("other", Method::as_str);
    // The route, not the path: paths hold names, and there are as many as there are entries.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let id = request_id(&request);
    // Of the highest level, so that whatever is logged has it.
    let span = tracing::error_span!("request", id, method, route);
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let meter = server.meters().of(method, route, status);
    meter.requests.increment(1);
    meter.seconds.record(took.as_secs_f64());
    let took_ms = took.as_secs_f64() * 1000.0;
    let _entered = span.enter();
    match status {
        500.. => tracing::error!(status, took_ms, "failed"),
        400.. => tracing::info!(status, took_ms, "refused"),
        _ => tracing::debug!(status, took_ms, "answered"),
    }
    response
}

/// The caller's name for the request if it can be logged as it is, or one of ours.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        (1..=LONGEST_ID).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    given.filter(is_plain).map_or_else(|| uuid::Uuid::new_v4().to_string(), Into::into)
}
