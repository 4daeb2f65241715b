//! Errors as HTTP responses: problem documents (RFC 9457).

use axum::Json;
use axum::extract::path::ErrorKind as PathErrorKind;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::header::{CONTENT_TYPE, ETAG, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use corkboard::store::StoreError;
use corkboard::tools::ToolError;
use corkboard::{Error, ErrorKind, Problem, Refusal, json_error};

use crate::openapi;

/// The code for a body that is not JSON, or JSON of the wrong shape.
pub(crate) const BODY_JSON: &str = "body_json";

/// Response extension with the problem's code, for the log.
#[derive(Debug, Clone)]
pub(crate) struct ProblemCode(pub(crate) String);

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct HttpError {
    problem: Box<Problem>,
    retry_after: Option<u64>,
    /// After a version conflict, the item's current version; 0 if the item does not exist.
    found_version: Option<u64>,
}

/// Response extension that marks a version conflict.
#[derive(Debug, Clone)]
struct VersionConflict {
    problem: Box<Problem>,
    found: u64,
}

impl HttpError {
    pub(crate) fn new(code: &str, kind: ErrorKind, detail: impl Into<String>) -> Self {
        Problem::new(code, kind, detail).into()
    }

    /// A body that is too large.
    pub(crate) fn body_too_large(detail: impl Into<String>) -> Self {
        Self::invalid("body_too_large", detail).status(StatusCode::PAYLOAD_TOO_LARGE)
    }

    pub(crate) fn invalid(code: &str, detail: impl Into<String>) -> Self {
        Self::new(code, ErrorKind::Invalid, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new("not_found", ErrorKind::Gone, detail)
    }

    /// A defect of the server.
    pub(crate) fn broken(detail: impl Into<String>) -> Self {
        Self::new("broken", ErrorKind::Damaged, detail)
    }

    pub(crate) fn denied(code: &str, detail: impl Into<String>) -> Self {
        Self::new(code, ErrorKind::Denied, detail)
    }

    /// The request has no valid token.
    pub(crate) fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::denied("unauthenticated", detail).status(StatusCode::UNAUTHORIZED)
    }

    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.problem.status == StatusCode::UNAUTHORIZED.as_u16()
    }

    pub(crate) fn code(&self) -> ProblemCode {
        ProblemCode(self.problem.code.clone())
    }

    pub(crate) fn detail(&self) -> &str {
        &self.problem.detail
    }

    pub(crate) fn status(self, status: StatusCode) -> Self {
        let problem = Box::new(self.problem.with_status(status.as_u16()));
        Self { problem, ..self }
    }

    /// Adds a field with details to the problem.
    pub(crate) fn with(mut self, name: &str, value: Option<serde_json::Value>) -> Self {
        if let Some(value) = value {
            self.problem.details.insert(name.into(), value);
        }
        self
    }

    /// Appends advice to the message.
    pub(crate) fn advise(mut self, advice: &str) -> Self {
        self.problem.detail = format!("{}. {advice}", self.problem.detail);
        self
    }

    /// The problem, to embed in another response.
    pub(crate) fn into_problem(self) -> Problem {
        *self.problem
    }

    /// The caller exceeded a rate limit and may retry after this many seconds.
    pub(crate) fn too_many(detail: String, seconds: u64) -> Self {
        let error = Self::new("too_many_requests", ErrorKind::Unavailable, detail);
        error.status(StatusCode::TOO_MANY_REQUESTS).retry_after(seconds)
    }

    /// Sets `Retry-After`.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let code = self.code();
        debug_assert!(openapi::has_code(&code.0), "{} is missing from openapi.json: run `make openapi`", code.0);
        let conflict = self.found_version.map(|found| VersionConflict { problem: self.problem.clone(), found });
        let mut response = (status, Json(self.problem)).into_response();
        response.extensions_mut().insert(code);
        if let Some(conflict) = conflict {
            response.extensions_mut().insert(conflict);
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"corkboard\""));
        }
        let busy = status == StatusCode::SERVICE_UNAVAILABLE;
        if let Some(seconds) = self.retry_after.or(busy.then_some(1)) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Turns a version conflict into 412 with the current version as `ETag`. For requests that named the version in a
/// header.
pub(crate) fn precondition_failed(response: Response) -> Response {
    let Some(VersionConflict { problem, found }) = response.extensions().get().cloned() else { return response };
    let error = HttpError::from(problem.with_status(StatusCode::PRECONDITION_FAILED.as_u16()));
    let mut response = error.into_response();
    if let Some(tag) = HeaderValue::try_from(format!("\"{found}\"")).ok().filter(|_| found > 0) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

impl From<Problem> for HttpError {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), retry_after: None, found_version: None }
    }
}

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        let found_version = match &error {
            Error::Refused(refusal) => found_version(refusal),
            _ => None,
        };
        Self { found_version, ..discreet(Problem::from(&error), &error).into() }
    }
}

fn found_version(refusal: &Refusal) -> Option<u64> {
    Some(match refusal {
        Refusal::Conflict { current, .. } => current.as_ref().map_or(0, |entry| entry.version),
        Refusal::NotebookConflict { current, .. } => *current,
        Refusal::TaskConflict { current, .. } => current.version,
        Refusal::BoardConflict { current, .. } => current.version,
        Refusal::CoreConflict { current, .. } => current.version,
        _ => return None,
    })
}

impl From<ToolError> for HttpError {
    fn from(error: ToolError) -> Self {
        if let ToolError::Interrupted { error, nudges } = error {
            let mut error = Self::from(*error);
            error.problem.detail = format!("{nudges}\n\n{}", error.problem.detail);
            return error;
        }
        let problem = Problem::from(&error);
        let problem = match &error {
            ToolError::Memory(error) | ToolError::Advised { error, .. } => discreet(problem, error),
            _ => problem,
        };
        problem.into()
    }
}

/// Replaces error messages of the store, which can contain its address and user name. The full message goes to the log.
fn discreet(problem: Problem, error: &Error) -> Problem {
    let detail = match error {
        Error::Store(StoreError::Unavailable(_) | StoreError::Url { .. }) => Some("the store is not available"),
        Error::Store(StoreError::NoSpace(_)) => Some("the store has no space left; nothing was written"),
        Error::Store(StoreError::OutcomeUnknown(_)) => Some("the outcome is unknown: the store did not answer"),
        Error::Store(StoreError::Failed(_)) => Some("the store has stopped after an error"),
        _ => None,
    };
    match error.kind() {
        ErrorKind::Damaged | ErrorKind::Unknown => tracing::error!(%error, "a request failed"),
        _ if detail.is_some() => tracing::warn!(%error, "a request failed"),
        _ => {}
    }
    match detail {
        Some(detail) => Problem { detail: detail.into(), ..problem },
        None => problem,
    }
}

impl From<Refusal> for HttpError {
    fn from(refusal: Refusal) -> Self {
        Error::from(refusal).into()
    }
}

impl From<PathRejection> for HttpError {
    fn from(rejection: PathRejection) -> Self {
        let kind = match &rejection {
            PathRejection::FailedToDeserializePathParams(failure) => Some(failure.kind()),
            _ => None,
        };
        let detail = match kind {
            Some(PathErrorKind::DeserializeError { key, value, message }) => {
                let why = if message.starts_with("UUID") { "expected a UUID" } else { message.as_str() };
                format!("invalid {key} {value:?} in the path: {}", json_error::in_words(why))
            }
            Some(PathErrorKind::ParseErrorAtKey { key, value, .. }) => {
                format!("invalid {key} {value:?} in the path: expected a whole number")
            }
            _ => {
                let text = rejection.body_text();
                text.strip_prefix("Invalid URL: ").unwrap_or(&text).to_owned()
            }
        };
        Self::invalid("path", detail)
    }
}

impl From<QueryRejection> for HttpError {
    fn from(rejection: QueryRejection) -> Self {
        let text = rejection.body_text();
        let said = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        let detail = match (said.strip_prefix("missing field `"), said.split_once(": ")) {
            (Some(name), _) => format!("missing parameter {}", name.trim_end_matches('`')),
            (None, Some(("date", _))) => "invalid parameter date: expected a date like 2026-11-19".into(),
            (None, Some((name @ ("updated_since" | "older_than"), _))) => {
                format!("invalid parameter {name}: expected an RFC 3339 time like 2026-11-19T09:30:00Z")
            }
            (None, Some((name, why))) => format!("invalid parameter {name}: {}", json_error::in_words(why)),
            (None, None) => format!("invalid query: {}", json_error::in_words(said)),
        };
        Self::invalid("query", detail)
    }
}
