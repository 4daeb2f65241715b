//! Answers: JSON with the revision that it speaks of.

use std::io::Write;

use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::condition::Seen;
use crate::error::HttpError;

/// The header that carries the space's revision, whatever the body is.
pub(crate) const REV: HeaderName = HeaderName::from_static("cork-rev");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Most answers have no more.
const USUAL_BYTES: usize = 512;

/// An answer.
pub(crate) struct RevResponse<T> {
    status: StatusCode,
    body: T,
    rev: u64,
    version: Option<u64>,
}

impl<T> RevResponse<T> {
    /// What a space says at a revision.
    pub(crate) fn new(body: T, rev: u64) -> Self {
        Self { status: StatusCode::OK, body, rev, version: None }
    }

    /// With the version of the one thing that it is about, as `ETag`.
    pub(crate) fn version(self, version: u64) -> Self {
        Self { version: Some(version), ..self }
    }

    /// As it is: the body says its revision itself, or is no JSON.
    pub(crate) fn whole(self) -> Whole<T> {
        Whole(self)
    }

    /// With "201 Created".
    pub(crate) fn created(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    /// With "304 Not Modified" and no body, if the caller has that version.
    pub(crate) fn unless(self, seen: &Seen) -> Self {
        match self.version {
            Some(version) if seen.has(version) => Self { status: StatusCode::NOT_MODIFIED, ..self },
            _ => self,
        }
    }
}

/// The body with its revision: what an [`RevResponse`] is, and how it is described.
#[derive(Serialize, ToSchema)]
pub(crate) struct WithRev<T> {
    #[serde(flatten)]
    body: T,
    /// The revision of the space that it speaks of.
    rev: u64,
}

impl<T: Serialize> WithRev<T> {
    /// As JSON. To have serde flatten the one into the other takes longer than all the rest of the writing.
    fn written(&self) -> Result<Vec<u8>, String> {
        let mut json = Vec::with_capacity(USUAL_BYTES);
        serde_json::to_writer(&mut json, &self.body).map_err(|error| error.to_string())?;
        if json.pop() != Some(b'}') {
            return Err("only objects have room for a revision".into());
        }
        let comma = if json.len() > 1 { "," } else { "" };
        write!(json, "{comma}\"rev\":{}}}", self.rev).map_err(|error| error.to_string())?;
        Ok(json)
    }
}

impl<T: Serialize> IntoResponse for WithRev<T> {
    fn into_response(self) -> Response {
        match self.written() {
            Ok(json) => ([(CONTENT_TYPE, JSON)], json).into_response(),
            Err(reason) => HttpError::broken(reason).into_response(),
        }
    }
}

/// An answer whose body says its revision itself, or is no JSON.
pub(crate) struct Whole<T>(RevResponse<T>);

impl<T: Serialize> IntoResponse for RevResponse<T> {
    fn into_response(self) -> Response {
        let Self { status, body, rev, version } = self;
        RevResponse { status, body: WithRev { body, rev }, rev, version }.whole().into_response()
    }
}

impl<T: IntoResponse> IntoResponse for Whole<T> {
    fn into_response(self) -> Response {
        let RevResponse { status, body, rev, version } = self.0;
        let mut response = match status {
            StatusCode::NOT_MODIFIED => status.into_response(),
            status => (status, body).into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(REV, HeaderValue::from(rev));
        if let Some(tag) = version.and_then(|version| HeaderValue::from_str(&format!("\"{version}\"")).ok()) {
            headers.insert(ETAG, tag);
        }
        response
    }
}
