//! Charges answers to the server's memory budget until their last byte is sent.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use corkboard::{Error, ErrorKind, Head, SpaceId, SpaceLog, StateDocument};
use http_body_util::BodyExt;
use parking_lot::Mutex;

use crate::budget::{Budget, BudgetExceeded, SMALL};
use crate::error::HttpError;

/// Answers up to this size, such as problems and health checks, are sent even if the budget is full.
const TINY: usize = 1024;

/// Charges an answer, or replaces it with a problem if the budget is full. Event streams charge each event themselves.
pub(crate) async fn hold(budget: &Budget, principal: &Arc<str>, is_safe: bool, response: Response) -> Response {
    let bytes = match response.body().size_hint().exact() {
        Some(bytes) if bytes > 0 && response.extensions().get::<Charged>().is_none() => bytes,
        _ => return response,
    };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut charge = budget.charge(principal);
    // A large answer already uses its memory, so it must not wait.
    let charged = if bytes <= SMALL { charge.grow(bytes).await } else { charge.try_grow(bytes) };
    if let Err(full) = charged {
        if bytes <= TINY {
            return response;
        }
        return refused(full, bytes, is_safe).into_response();
    }
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(collected) => Response::from_parts(parts, Body::from(charge.own(collected.to_bytes()))),
        Err(error) => HttpError::broken(error.to_string()).into_response(),
    }
}

fn refused(full: BudgetExceeded, bytes: usize, is_safe: bool) -> HttpError {
    let error = full.for_answer(bytes);
    if is_safe {
        return error;
    }
    let detail = format!("the change may have been made, but {}", error.detail());
    HttpError::new("outcome_unknown", ErrorKind::Unknown, detail)
}

/// Marks an answer whose bytes are already charged.
#[derive(Clone)]
struct Charged;

/// Space states that are being sent. Requests for the same revision share the bytes.
#[derive(Default)]
pub(crate) struct SentStates {
    sent: Mutex<HashMap<SpaceId, SentState>>,
    /// One state is encoded at a time, because its size is unknown until then.
    turn: tokio::sync::Mutex<()>,
}

struct SentState {
    head: Head,
    size: usize,
    bytes: Weak<Bytes>,
}

/// A space's state in the form in which it is sent.
pub(crate) struct StateResponse(Bytes);

impl SentStates {
    /// The state of a space as JSON. It is charged to the first principal that requests it.
    pub(crate) async fn of(
        &self,
        log: &SpaceLog,
        budget: &Budget,
        principal: &Arc<str>,
    ) -> Result<StateResponse, HttpError> {
        let (state, size) = self.find(log).await?;
        if let Some(state) = state {
            return Ok(state);
        }
        // Wait for free budget before the work, not while holding the result in memory.
        budget.charge(principal).grow(size).await.map_err(|full| full.for_answer(size))?;
        let _turn = self.turn.lock().await;
        let (state, size) = self.find(log).await?;
        if let Some(state) = state {
            return Ok(state);
        }
        if !budget.has_room(principal, size) {
            return Err(BudgetExceeded::Busy.for_answer(size));
        }
        let document = log.state().await?;
        let head = document.head;
        let written = tokio::task::spawn_blocking(move || written(&document)).await;
        let json = written.map_err(|error| Error::Panicked { message: error.to_string() })??;
        let (size, mut charge) = (json.len(), budget.charge(principal));
        charge.try_grow(size).map_err(|full| full.for_answer(size))?;
        let bytes = Arc::new(charge.own(json));
        let mut sent = self.sent.lock();
        sent.retain(|_, sent| sent.bytes.strong_count() > 0);
        sent.insert(log.id().clone(), SentState { head, size, bytes: Arc::downgrade(&bytes) });
        Ok(StateResponse::new(bytes))
    }

    /// The state if it is being sent at its current revision; otherwise its size when last sent.
    async fn find(&self, log: &SpaceLog) -> Result<(Option<StateResponse>, usize), HttpError> {
        let head = log.head().await?;
        let sent = self.sent.lock();
        let Some(found) = sent.get(log.id()) else { return Ok((None, 0)) };
        let bytes = found.bytes.upgrade().filter(|_| found.head == head);
        Ok((bytes.map(StateResponse::new), found.size))
    }
}

fn written(document: &StateDocument) -> Result<Bytes, HttpError> {
    // Besides the state, the document contains two heads.
    let capacity = document.state.as_ref().map_or(0, |state| state.get().len()) + 512;
    let mut json = Vec::with_capacity(capacity);
    serde_json::to_writer(&mut json, document).map_err(|error| HttpError::broken(error.to_string()))?;
    Ok(json.into())
}

impl StateResponse {
    fn new(bytes: Arc<Bytes>) -> Self {
        Self(Bytes::from_owner(SharedBytes(bytes)))
    }
}

/// Keeps the bytes shareable while they are being sent.
struct SharedBytes(Arc<Bytes>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl IntoResponse for StateResponse {
    fn into_response(self) -> Response {
        let mut response = ([(CONTENT_TYPE, "application/json")], self.0).into_response();
        response.extensions_mut().insert(Charged);
        response
    }
}
