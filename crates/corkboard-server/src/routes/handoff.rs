//! Two entries with a meaning of their own: the handoff to the next session, and the jotting of the task at hand.

use std::sync::Arc;

use corkboard::cores::Trust;
use corkboard::{FoundEntry, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, WriteText, Written};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::entries_and_notes::{remove_entry, written};
use crate::caller::Caller;
use crate::condition::{ItemConditions, PutConditions, Seen};
use crate::error::HttpError;
use crate::extract::{Body, Path};
use crate::openapi::Problems;
use crate::response::{DeletedBody, RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(get_handoff, put_handoff)).routes(routes!(
        get_scratchpad,
        put_scratchpad,
        delete_scratchpad
    ))
}

/// A text to be stored.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TextBody {
    /// The text.
    text: String,
    /// How far it may be trusted: `outside` for what came from a web page, a tool or a stranger. Models see it marked so.
    trust: Option<Trust>,
}

/// A text as it is stored.
#[derive(Serialize, ToSchema)]
struct StoredText {
    /// The text.
    text: String,
    /// The revision that last changed it.
    version: u64,
    /// Who wrote it.
    author: Arc<str>,
    /// When.
    at: Timestamp,
    /// How far it may be trusted.
    trust: Trust,
}

/// Read what the last session left.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/handoff",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), Seen),
    responses(
        (status = 200, description = "The text; `ETag` is its version", body = WithRev<StoredText>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_handoff(
    caller: Caller,
    Path(agent): Path<String>,
    seen: Seen,
) -> Result<RevResponse<StoredText>, HttpError> {
    stored(&caller, &agent, SESSION_HANDOFF_KEY, &seen).await
}

/// Leave a note for the next session.
///
/// It replaces the one before.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/handoff",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), PutConditions),
    request_body(content = TextBody, example = json!({"text": "The parser is done; next: the printer."})),
    responses(
        (status = 200, description = "It was replaced", body = WithRev<Written>),
        (status = 201, description = "It is the first", body = WithRev<Written>),
        Problems
    )
)]
async fn put_handoff(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: ItemConditions,
    Body(body): Body<TextBody>,
) -> Result<RevResponse<Written>, HttpError> {
    write(caller.agent(&agent)?.write_handoff(&body.text), &body, conditions).await
}

/// Read the jotting of the task at hand.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scratchpad",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), Seen),
    responses(
        (status = 200, description = "The text; `ETag` is its version", body = WithRev<StoredText>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_scratchpad(
    caller: Caller,
    Path(agent): Path<String>,
    seen: Seen,
) -> Result<RevResponse<StoredText>, HttpError> {
    stored(&caller, &agent, SCRATCHPAD_KEY, &seen).await
}

/// Jot something down in place of what is there.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/scratchpad",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), PutConditions),
    request_body(content = TextBody, example = json!({"text": "Tried A: too slow. Try B."})),
    responses(
        (status = 200, description = "It was replaced", body = WithRev<Written>),
        (status = 201, description = "It is the first", body = WithRev<Written>),
        Problems
    )
)]
async fn put_scratchpad(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: ItemConditions,
    Body(body): Body<TextBody>,
) -> Result<RevResponse<Written>, HttpError> {
    write(caller.agent(&agent)?.write_scratchpad(&body.text), &body, conditions).await
}

/// Remove the jotting of the task at hand.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/scratchpad",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), ItemConditions),
    responses((status = 200, description = "Whether there was one", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_scratchpad(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: ItemConditions,
) -> Result<RevResponse<DeletedBody>, HttpError> {
    remove_entry(&caller.agent(&agent)?.working(), SCRATCHPAD_KEY, conditions).await
}

async fn stored(caller: &Caller, agent: &str, key: &str, seen: &Seen) -> Result<RevResponse<StoredText>, HttpError> {
    let found = caller.agent(agent)?.working().find(key).await?;
    let FoundEntry { entry, rev, .. } = found.ok_or_else(|| HttpError::not_found(format!("there is no {key}")))?;
    let body = StoredText {
        text: entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned(),
        version: entry.version,
        author: entry.author.clone(),
        at: entry.timestamp,
        trust: entry.trust(),
    };
    Ok(RevResponse::new(body, rev).version(entry.version).unless(seen))
}

async fn write(
    write: WriteText,
    body: &TextBody,
    conditions: ItemConditions,
) -> Result<RevResponse<Written>, HttpError> {
    let write = if body.trust == Some(Trust::Outside) { write.from_outside() } else { write };
    Ok(written(write.conditions(conditions).await?))
}
