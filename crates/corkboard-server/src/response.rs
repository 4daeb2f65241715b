//! Responses: JSON with the revision of the space that it is about.

use std::io::Write;

use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::condition::Seen;
use crate::error::HttpError;

/// The header with the space's revision, for every kind of body.
pub(crate) const REV: HeaderName = HeaderName::from_static("cork-rev");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const USUAL_BYTES: usize = 512;

/// The result of most handlers.
pub(crate) type RevResult<T> = Result<RevResponse<T>, HttpError>;

/// JSON with the revision of the space that it is about, in the body and in a header.
pub(crate) struct RevResponse<T> {
    status: StatusCode,
    body: T,
    rev: u64,
    version: Option<u64>,
}

impl<T> RevResponse<T> {
    pub(crate) fn new(body: T, rev: u64) -> Self {
        Self { status: StatusCode::OK, body, rev, version: None }
    }

    /// Sets `ETag` to the version of the item.
    pub(crate) fn version(self, version: u64) -> Self {
        Self { version: Some(version), ..self }
    }

    /// Sends the body unchanged: for a body that already contains the revision, or is not JSON.
    pub(crate) fn whole(self) -> Response
    where
        T: IntoResponse,
    {
        let Self { status, body, rev, version } = self;
        let response = match status {
            StatusCode::NOT_MODIFIED => status.into_response(),
            status => (status, body).into_response(),
        };
        with_headers(response, rev, version)
    }

    pub(crate) fn created(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    /// Answers 304 without a body if the caller has this version.
    pub(crate) fn unless(self, seen: &Seen) -> Self {
        match self.version {
            Some(version) if seen.has(version) => Self { status: StatusCode::NOT_MODIFIED, ..self },
            _ => self,
        }
    }
}

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct ItemsBody<T> {
    pub(crate) items: Vec<T>,
    /// Cursor of the next page; null on the last page.
    pub(crate) next: Option<String>,
}

impl<T> ItemsBody<T> {
    /// A list that is never cut into pages.
    pub(crate) fn all(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), next: None }
    }

    /// Converts each item.
    pub(crate) fn map<U>(self, show: impl FnMut(T) -> U) -> ItemsBody<U> {
        ItemsBody { items: self.items.into_iter().map(show).collect(), next: self.next }
    }
}

impl<T> From<(Vec<T>, Option<String>)> for ItemsBody<T> {
    fn from((items, next): (Vec<T>, Option<String>)) -> Self {
        Self { items, next }
    }
}

/// The ID of what was created.
#[derive(Serialize, ToSchema)]
pub(crate) struct IdBody<T> {
    pub(crate) id: T,
}

/// The version of what was changed: its new `ETag`.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"version": 8, "rev": 8}))]
pub(crate) struct VersionBody {
    pub(crate) version: u64,
}

/// Whether there was something to delete.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"deleted": true, "rev": 9}))]
pub(crate) struct DeletedBody {
    pub(crate) deleted: bool,
}

/// How many items were removed.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"removed": 3, "rev": 9}))]
pub(crate) struct ClearedBody {
    pub(crate) removed: u64,
}

/// A body with the revision of its space.
#[derive(Serialize, ToSchema)]
pub(crate) struct WithRev<T> {
    #[serde(flatten)]
    body: T,
    /// Revision of the space that the answer refers to.
    rev: u64,
}

impl<T: Serialize> IntoResponse for RevResponse<T> {
    fn into_response(self) -> Response {
        let Self { status, body, rev, version } = self;
        if status == StatusCode::NOT_MODIFIED {
            return with_headers(status.into_response(), rev, version);
        }
        let mut json = Vec::with_capacity(USUAL_BYTES);
        let written = serde_json::to_writer(&mut json, &body).map_err(|error| error.to_string());
        // The rest does not depend on the type and is compiled once.
        match written.and_then(|()| with_rev(json, rev)) {
            Ok(json) => with_headers((status, [(CONTENT_TYPE, JSON)], json).into_response(), rev, version),
            Err(reason) => HttpError::broken(reason).into_response(),
        }
    }
}

/// Adds `rev` to a JSON object. This is much faster than `#[serde(flatten)]`.
fn with_rev(mut json: Vec<u8>, rev: u64) -> Result<Vec<u8>, String> {
    if json.pop() != Some(b'}') {
        return Err("the body of a response with a revision must be an object".into());
    }
    let comma = if json.len() > 1 { "," } else { "" };
    write!(json, "{comma}\"rev\":{rev}}}").map_err(|error| error.to_string())?;
    Ok(json)
}

fn with_headers(mut response: Response, rev: u64, version: Option<u64>) -> Response {
    let headers = response.headers_mut();
    headers.insert(REV, HeaderValue::from(rev));
    if let Some(tag) = version.and_then(|version| HeaderValue::from_str(&format!("\"{version}\"")).ok()) {
        headers.insert(ETAG, tag);
    }
    response
}
