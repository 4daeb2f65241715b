//! What a request says, with problems for what it says wrongly.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use corkboard::{Core, Strict};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::error::{BODY_JSON, HttpError};
use crate::request_body::RequestBody;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let JsonBytes(bytes) = JsonBytes::from_request(request, state).await?;
        Ok(Self(from_json(&bytes)?))
    }
}

/// A JSON body as it was sent, for those who read it themselves.
pub(crate) struct JsonBytes(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let is_json = is_json(request.headers())?;
        let Raw(bytes) = Raw::from_request(request, state).await?;
        match is_json {
            true => Ok(Self(bytes)),
            false => Err(no_json()),
        }
    }
}

/// What bytes of a body say. No JSON, JSON of another shape, and a field that nobody knows are problems of the same kind, which
/// say where they are.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, HttpError> {
    let read = serde_json::from_slice::<Strict<T>>(bytes);
    read.map(|Strict(body)| body).map_err(|error| HttpError::invalid(BODY_JSON, error.to_string()))
}

fn is_json(headers: &HeaderMap) -> Result<bool, HttpError> {
    let content_type = text(headers, CONTENT_TYPE.as_str())?.unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Ok(essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")))
}

fn no_json() -> HttpError {
    let detail = "the body is JSON: Content-Type: application/json";
    HttpError::invalid("content_type", detail).status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// A JSON body of which everything may be left out, and so all of it. What is there is an object, and not null.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let is_json = is_json(request.headers())?;
        let Raw(bytes) = Raw::from_request(request, state).await?;
        match is_json {
            _ if bytes.is_empty() => Ok(Self(T::default())),
            true => Ok(Self(from_json(&bytes)?)),
            false => Err(no_json()),
        }
    }
}

/// A body of any bytes.
pub(crate) struct Raw(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let caller = request.extensions().get::<Caller>().cloned();
        let (mut parts, body) = request.into_parts();
        let request_body = RequestBody::from_request_parts(&mut parts, state).await?;
        let bytes = request_body.read(Request::from_parts(parts, body)).await?;
        // The body may have taken long to arrive.
        if let Some(caller) = caller {
            caller.check_token().await?;
        }
        Ok(Self(bytes))
    }
}

/// A plain text.
pub(crate) struct Text(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let content_type = text(request.headers(), CONTENT_TYPE.as_str())?;
        if !content_type.is_none_or(|content_type| content_type.trim_start().to_ascii_lowercase().starts_with("text/"))
        {
            let detail = "the body is a text: Content-Type: text/plain";
            return Err(HttpError::invalid("content_type", detail).status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let Raw(bytes) = Raw::from_request(request, state).await?;
        let text =
            String::from_utf8(bytes.into()).map_err(|_| HttpError::invalid("body_text", "the text is not UTF-8"))?;
        Ok(Self(text))
    }
}

/// What the path names, percent-decoded.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let axum::extract::Path(path) = axum::extract::Path::from_request_parts(parts, state).await?;
        Ok(Self(path))
    }
}

/// What stands after the question mark.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let axum::extract::Query(query) = axum::extract::Query::from_request_parts(parts, state).await?;
        Ok(Self(query))
    }
}

/// What must hold for a write to happen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    /// `If-Match`: the item's version; `If-None-Match: *` is 0, which stands for "must not exist".
    pub(crate) if_version: Option<u64>,
    /// `?if_rev=`: the space's revision.
    pub(crate) if_rev: Option<u64>,
    /// `Idempotency-Key`.
    pub(crate) idempotency_key: Option<String>,
}

impl Conditions {
    /// The core as a whole, with these conditions on what is written to it.
    pub(crate) fn on_whole_core(self, core: &Core) -> Result<Core, HttpError> {
        match self.if_version {
            Some(_) => {
                Err(HttpError::invalid("if_match", "there is no one item whose version could be compared: give if_rev"))
            }
            None => Ok(self.on_core(core)),
        }
    }

    /// The core, with these conditions on what is written to an entry of it.
    pub(crate) fn on_core(self, core: &Core) -> Core {
        let mut core = core.clone();
        if let Some(version) = self.if_version {
            core = core.if_version(version);
        }
        if let Some(rev) = self.if_rev {
            core = core.if_rev(rev);
        }
        if let Some(key) = self.idempotency_key {
            core = core.idempotency_key(key);
        }
        core
    }
}

#[derive(Deserialize)]
struct IfRev {
    if_rev: Option<u64>,
}

impl<S: Send + Sync> FromRequestParts<S> for Conditions {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let Query(IfRev { if_rev }) = Query::from_request_parts(parts, state).await?;
        let if_version = if_version(&parts.headers)?;
        let idempotency_key = text(&parts.headers, "idempotency-key")?.map(Into::into);
        Ok(Self { if_version, if_rev, idempotency_key })
    }
}

fn if_version(headers: &HeaderMap) -> Result<Option<u64>, HttpError> {
    let if_match = text(headers, IF_MATCH.as_str())?;
    let if_none_match = text(headers, IF_NONE_MATCH.as_str())?;
    match (if_match, if_none_match) {
        (None, None) => Ok(None),
        (None, Some("*")) => Ok(Some(0)),
        (Some(tag), None) => {
            let version = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).and_then(|tag| tag.parse().ok());
            let wrong =
                || HttpError::invalid("if_match", "If-Match takes one version in quotes, as ETag gives it: \"42\"");
            version.map(Some).ok_or_else(wrong)
        }
        (None, Some(_)) => Err(HttpError::invalid("if_none_match", "If-None-Match takes * here: it must not exist")),
        (Some(_), Some(_)) => Err(HttpError::invalid("if_match", "give If-Match or If-None-Match, not both")),
    }
}

/// A header as text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, HttpError> {
    let value = single(headers, name)?.map(HeaderValue::to_str);
    value.transpose().map_err(|_| HttpError::invalid("header", format!("the header {name} is no text")))
}

/// A header that may be sent once: with two, a proxy and this server could each believe another one.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, HttpError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(HttpError::invalid("header", format!("the header {name} is sent more than once"))),
        (value, None) => Ok(value),
    }
}
