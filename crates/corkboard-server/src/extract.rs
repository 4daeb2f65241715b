//! Extractors whose rejections are problems.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use corkboard::{Strict, json_error};
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::error::{BODY_JSON, HttpError};
use crate::parameters::{BodyRanges, body_ranges};
use crate::request_body::RequestBody;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let ranges = body_ranges(&request);
        let JsonBytes(bytes) = JsonBytes::from_request(request, state).await?;
        Ok(Self(in_range(from_json(&bytes), &bytes, ranges)?))
    }
}

/// A JSON body as bytes, for handlers that parse it themselves.
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

/// Parses a body. Invalid JSON, JSON of the wrong shape and unknown fields are problems with the same code, which name
/// the position.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, HttpError> {
    if bytes.trim_ascii().is_empty() {
        return Err(HttpError::invalid(BODY_JSON, "the body is empty; send a JSON object"));
    }
    let read = serde_json::from_slice::<Strict<T>>(bytes);
    read.map(|Strict(body)| body)
        .map_err(|error| HttpError::invalid(BODY_JSON, json_error::describe("the body", bytes, &error)))
}

/// Checks the numbers of a body first: one that is out of range can be the reason why it could not be parsed.
pub(crate) fn in_range<T>(
    read: Result<T, HttpError>,
    json: &[u8],
    ranges: Option<&BodyRanges>,
) -> Result<T, HttpError> {
    ranges.map_or(Ok(()), |ranges| ranges.check(json))?;
    read
}

fn is_json(headers: &HeaderMap) -> Result<bool, HttpError> {
    let content_type = text(headers, CONTENT_TYPE.as_str())?.unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Ok(essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")))
}

fn no_json() -> HttpError {
    let detail = "the body must be JSON: send Content-Type: application/json";
    HttpError::invalid("content_type", detail).status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// A JSON body whose fields are all optional. The body may be omitted, but must not be `null`.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let (is_json, ranges) = (is_json(request.headers())?, body_ranges(&request));
        let Raw(bytes) = Raw::from_request(request, state).await?;
        match is_json {
            _ if bytes.is_empty() => Ok(Self(T::default())),
            true => Ok(Self(in_range(from_json(&bytes), &bytes, ranges)?)),
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
        // The token may have ended while the body arrived.
        if let Some(caller) = caller {
            caller.check_token().await?;
        }
        Ok(Self(bytes))
    }
}

/// A plain text body.
pub(crate) struct Text(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let content_type = text(request.headers(), CONTENT_TYPE.as_str())?;
        if !content_type.is_none_or(|content_type| content_type.trim_start().to_ascii_lowercase().starts_with("text/"))
        {
            let detail = "the body must be plain text: send Content-Type: text/plain";
            return Err(HttpError::invalid("content_type", detail).status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let Raw(bytes) = Raw::from_request(request, state).await?;
        let text = String::from_utf8(bytes.into())
            .map_err(|_| HttpError::invalid("body_text", "the body is not valid UTF-8"))?;
        Ok(Self(text))
    }
}

/// The path's parameters, percent-decoded.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let axum::extract::Path(path) = axum::extract::Path::from_request_parts(parts, state).await?;
        Ok(Self(path))
    }
}

/// The query's parameters.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let axum::extract::Query(query) = axum::extract::Query::from_request_parts(parts, state).await?;
        Ok(Self(query))
    }
}

/// A header as text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, HttpError> {
    let value = single(headers, name)?.map(HeaderValue::to_str);
    value
        .transpose()
        .map_err(|_| HttpError::invalid("header", format!("the header {name} contains characters other than ASCII")))
}

/// A header that may be sent only once: of two values, a proxy and this server could each use a different one.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, HttpError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(HttpError::invalid("header", format!("send the header {name} only once"))),
        (value, None) => Ok(value),
    }
}
