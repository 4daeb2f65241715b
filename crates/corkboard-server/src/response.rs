//! Responses: JSON with the revision of the space that it is about.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
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
    tag: Option<Tag>,
}

/// The entity tag of an answer: `"42"`, or `"42-1f3b5c70"`.
#[derive(Clone, Copy)]
struct Tag {
    version: u64,
    /// A hash of an answer that can change without a new version of its item.
    hash: Option<u64>,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hash {
            Some(hash) => write!(f, "{}-{hash:x}", self.version),
            None => write!(f, "{}", self.version),
        }
    }
}

impl<T> RevResponse<T> {
    pub(crate) fn new(body: T, rev: u64) -> Self {
        Self { status: StatusCode::OK, body, rev, tag: None }
    }

    /// Sets `ETag` to the version of the item.
    pub(crate) fn version(self, version: u64) -> Self {
        Self { tag: Some(Tag { version, hash: None }), ..self }
    }

    /// Sends the body unchanged: for a body that already contains the revision, or is not JSON.
    pub(crate) fn whole(self) -> Response
    where
        T: IntoResponse,
    {
        let Self { status, body, rev, tag } = self;
        let response = match status {
            StatusCode::NOT_MODIFIED => status.into_response(),
            status => (status, body).into_response(),
        };
        with_headers(response, rev, tag)
    }

    pub(crate) fn created(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    /// Sets `ETag` to the version of the item and a hash of the body, which also shows what follows from other items.
    pub(crate) fn version_with_hash(self, version: u64) -> Self
    where
        T: Serialize,
    {
        let mut hasher = DefaultHasher::new();
        serde_json::to_vec(&self.body).unwrap_or_default().hash(&mut hasher);
        Self { tag: Some(Tag { version, hash: Some(hasher.finish()) }), ..self }
    }

    /// Answers 304 without a body if the caller has the same answer.
    pub(crate) fn unless(self, seen: &Seen) -> Self {
        match self.tag {
            Some(tag) if seen.has(&tag.to_string()) => Self { status: StatusCode::NOT_MODIFIED, ..self },
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
        let Self { status, body, rev, tag } = self;
        if status == StatusCode::NOT_MODIFIED {
            return with_headers(status.into_response(), rev, tag);
        }
        let mut json = Vec::with_capacity(USUAL_BYTES);
        let written = serde_json::to_writer(&mut json, &body).map_err(|error| error.to_string());
        // The rest does not depend on the type and is compiled once.
        match written.and_then(|()| with_rev(json, rev)) {
            Ok(json) => with_headers((status, [(CONTENT_TYPE, JSON)], json).into_response(), rev, tag),
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

fn with_headers(mut response: Response, rev: u64, tag: Option<Tag>) -> Response {
    let headers = response.headers_mut();
    headers.insert(REV, HeaderValue::from(rev));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&format!("\"{tag}\"")).ok()) {
        headers.insert(ETAG, tag);
    }
    response
}
