//! Reads a request's body and charges it to the server's memory budget until the request is answered.

use std::sync::Arc;
use std::time::Instant;

use axum::RequestExt;
use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError};
use parking_lot::Mutex;

use crate::Server;
use crate::budget::{Charge, SMALL};
use crate::error::HttpError;

/// Memory for one parsed JSON value, in addition to its text.
const VALUE: usize = 32;

/// How the body of one request is read. Clones belong to the same request.
#[derive(Clone)]
pub(crate) struct RequestBody {
    server: Server,
    principal: Arc<str>,
    /// Whether the announced length was already taken from the principal's byte rate.
    is_paid: bool,
    held: Arc<Mutex<Vec<Charge>>>,
}

impl RequestBody {
    pub(crate) fn new(server: &Server, principal: Arc<str>, is_paid: bool) -> Self {
        Self { server: server.clone(), principal, is_paid, held: Arc::default() }
    }

    pub(crate) fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    /// Charges more bytes for data made from the body.
    pub(crate) async fn charge(&self, bytes: usize) -> Result<(), HttpError> {
        let mut charge = self.server.budget().charge(&self.principal);
        charge.grow(bytes).await.map_err(|full| full.for_body())?;
        self.held.lock().push(charge);
        Ok(())
    }

    /// Reads the whole body and charges it first. Up to [`SMALL`] bytes are charged as they arrive. A larger body is
    /// charged at once, with its announced length or its maximum. Otherwise many bodies together could use up the
    /// budget, and none could be read to its end.
    pub(crate) async fn read(&self, request: Request) -> Result<Bytes, HttpError> {
        let budget = self.server.budget();
        let announced = request.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let most = announced.unwrap_or(self.server.settings().body_bytes.min(budget.share()));
        let mut body = request.into_limited_body();
        let (mut charge, mut read) = (budget.charge(&self.principal), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(broken_off)?.into_data() else { continue };
            if !self.is_paid {
                let taken = self.server.written().take(&self.principal, data.len() as f64, Instant::now());
                taken.map_err(|seconds| too_many(&self.principal, "sent too many bytes", seconds))?;
            }
            let whole = read.len() + data.len();
            if whole > charge.bytes() {
                let wanted = if whole <= SMALL { whole } else { whole.max(most) };
                charge.grow(wanted - charge.bytes()).await.map_err(|full| full.for_body())?;
                read.reserve_exact(wanted - read.len());
            }
            read.extend_from_slice(&data);
        }
        charge.shrink_to(read.len());
        if read.len() > SMALL {
            // Millions of tiny values take many times the memory of their text.
            let values = read.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
            charge.grow(values.saturating_mul(VALUE)).await.map_err(|full| full.for_body())?;
        }
        self.held.lock().push(charge);
        Ok(read.into())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestBody {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, HttpError> {
        // The guard inserted it.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| HttpError::broken("the route has no request body reader"))
    }
}

pub(crate) fn too_many(who: &str, what: &str, seconds: u64) -> HttpError {
    HttpError::too_many(format!("{who} {what}: retry in {seconds} s"), seconds)
}

/// The error for a body that was cut off or is too large.
fn broken_off(error: axum::Error) -> HttpError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return HttpError::body_too_large("the body is larger than this route accepts");
        }
        cause = error.source();
    }
    HttpError::invalid("body", format!("the body could not be read: {error}"))
}
