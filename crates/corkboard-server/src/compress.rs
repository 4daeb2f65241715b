//! Compresses answers for clients that send `Accept-Encoding`. Most do not, and their answers take no extra work.

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

/// Smaller answers are sent uncompressed: compressing them costs more than it saves.
const COMPRESSED_FROM: u64 = 1024;
/// Memory for compressing one answer, held until it is sent.
const COMPRESSOR: usize = 384 * 1024;
/// The budget principal that is charged for that memory.
const COMPRESSION: &str = "compression";

/// The encodings that the client accepts, if the request names any.
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
        // Without memory for the compressor, the answer is sent uncompressed.
        return response;
    }
    let mut request = Request::new(Body::empty());
    request.headers_mut().insert(ACCEPT_ENCODING, accepted);
    let mut answer = Some(response);
    let answered = service_fn(move |_| std::future::ready(Ok::<_, Infallible>(answer.take().unwrap_or_default())));
    // Events must not wait in the compressor's buffer.
    let worthwhile = SizeAbove::new(COMPRESSED_FROM).and(NotForContentType::SSE);
    let Ok(response) = Compression::new(answered).compress_when(worthwhile).oneshot(request).await;
    if !response.headers().contains_key(CONTENT_ENCODING) {
        return response.map(Body::new);
    }
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held_until_sent = &charge;
            frame
        }))
    })
}
