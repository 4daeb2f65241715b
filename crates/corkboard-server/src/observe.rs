//! Logs and counts every request: what it was, how it ended, and how long it took.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::Response;
use tracing::Span;

use crate::Server;
use crate::error::ProblemCode;

/// The header with a request's ID, in requests and answers. The log contains the same ID.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of an ID that the client chose.
const LONGEST_ID: usize = 128;

/// Methods that are counted by name. All others are counted together, because clients can invent any number of them.
static METHODS: [Method; 7] =
    [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH, Method::HEAD, Method::OPTIONS];

/// Response extension with the refused caller, if the token was valid.
#[derive(Debug, Clone)]
pub(crate) struct Principal(pub(crate) Arc<str>);

pub(crate) struct RequestLog {
    began: Instant,
    id: String,
    method: &'static str,
    /// The route, not the path: paths contain names, so there would be as many as there are entries.
    route: Option<MatchedPath>,
    span: Span,
}

impl RequestLog {
    pub(crate) fn new(request: &Request) -> Self {
        let began = Instant::now();
        let known = METHODS.iter().find(|method| *method == request.method());
        let method = known.map_or("other", Method::as_str);
        let route = request.extensions().get::<MatchedPath>().cloned();
        let id = request_id(request);
        // The highest level, so that every log line has the ID. Other fields are logged with the outcome, because a
        // span's fields are formatted for every request. The ID needs no escaping.
        let span = tracing::error_span!("request", %id);
        Self { began, id, method, route, span }
    }

    /// Log lines within this span carry the request's ID.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(crate) fn answered(self, server: &Server, mut response: Response) -> Response {
        let (status, took) = (response.status().as_u16(), self.began.elapsed());
        if let Ok(id) = HeaderValue::try_from(self.id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        let (method, route) = (self.method, self.route.as_ref().map_or("none", MatchedPath::as_str));
        let meter = server.meters().of(method, route, status);
        meter.requests.increment(1);
        meter.seconds.record(took.as_secs_f64());
        let took_ms = took.as_secs_f64() * 1000.0;
        let _entered = self.span.enter();
        let code = response.extensions().get::<ProblemCode>().map(|ProblemCode(code)| code.as_str());
        let principal = response.extensions().get::<Principal>().map(|Principal(principal)| &**principal);
        match status {
            500.. => tracing::error!(method, route, status, took_ms, code, principal, "failed"),
            400.. => tracing::info!(method, route, status, took_ms, code, principal, "refused"),
            _ => tracing::debug!(method, route, status, took_ms, "answered"),
        }
        response
    }
}

/// The client's ID if it is safe to log, otherwise a new one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        (1..=LONGEST_ID).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    given.filter(is_plain).map_or_else(|| uuid::Uuid::new_v4().to_string(), Into::into)
}
