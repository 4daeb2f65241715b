//! Answers made smaller for those who ask for it. Most programs do not, and then nothing is looked at.

use std::convert::Infallible;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use axum::response::Response;
use http_body_util::BodyExt;
use tower::{ServiceExt, service_fn};
use tower_http::compression::Compression;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::budget::Budget;

/// What is smaller is sent as it is: to compress it costs more than it saves.
const COMPRESSED_FROM: u64 = 1024;
/// The memory that compressing one answer takes until it is sent.
const COMPRESSOR: usize = 384 * 1024;
/// Who is charged for that.
const COMPRESSION: &str = "compression";

/// How the caller of a request takes the answer, if anything is said about it.
pub(crate) fn accepted(request: &Request) -> Option<HeaderValue> {
    request.headers().get(ACCEPT_ENCODING).cloned()
}

pub(crate) async fn compress(budget: &Budget, response: Response, accepted: Option<HeaderValue>) -> Response {
    let Some(accepted) = accepted else { return response };
    if response.body().size_hint().upper().is_some_and(|bytes| bytes <= COMPRESSED_FROM) {
        return response;
    }
    let mut charge = budget.charge(&COMPRESSION.into());
    if charge.try_grow(COMPRESSOR).is_err() {
        // Without memory to compress it, it is sent as it is.
        return response;
    }
    let mut request = Request::new(Body::empty());
    request.headers_mut().insert(ACCEPT_ENCODING, accepted);
    let mut answer = Some(response);
    let answered = service_fn(move |_| std::future::ready(Ok::<_, Infallible>(answer.take().unwrap_or_default())));
    // What is told as it happens must not wait until there is enough to compress.
    let worthwhile = SizeAbove::new(COMPRESSED_FROM).and(NotForContentType::SSE);
    let Ok(response) = Compression::new(answered).compress_when(worthwhile).oneshot(request).await;
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return response.map(Body::new);
    }
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _until_the_end = &charge;
            frame
        }))
    })
}
