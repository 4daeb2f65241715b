//! Two entries with a special role: the handoff to the next session, and the working notes on the current task.

use std::sync::Arc;

use corkboard::cores::Trust;
use corkboard::{FoundEntry, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, WriteText, WrittenEntry};
use jiff::Timestamp;

use super::entries_and_notes::{remove_entry, written};
use crate::condition::{ItemConditions, PutConditions, Seen};
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(get_handoff, put_handoff, get_scratchpad, put_scratchpad, delete_scratchpad).tag("memory")
}

/// A text to store.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TextBody {
    /// Replaces the stored text.
    text: String,
    /// Trust level: `outside` if it came from a web page, a tool or an untrusted person. Prompts mark such text.
    trust: Option<Trust>,
}

/// A stored text.
#[derive(Serialize, ToSchema)]
struct StoredText {
    /// As it was last stored.
    text: String,
    /// Revision that last changed it.
    version: u64,
    /// Author of the text.
    author: Arc<str>,
    /// Time of the last change.
    at: Timestamp,
    /// Trust level of the text.
    trust: Trust,
}

/// Read the handoff from the last session.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/handoff",
    params(("agent" = String, Path, description = "Name of the agent"), Seen),
    responses(
        (status = 200, description = "The text; `ETag` is its version", body = WithRev<StoredText>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_handoff(caller: Caller, Path(agent): Path<String>, seen: Seen) -> RevResult<StoredText> {
    stored(&caller, &agent, SESSION_HANDOFF_KEY, &seen).await
}

/// Store a handoff for the next session.
///
/// Replaces the previous handoff.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/handoff",
    params(("agent" = String, Path, description = "Name of the agent"), PutConditions),
    request_body(content = TextBody, example = json!({"text": "The parser is done; next: the printer."})),
    responses(
        (status = 200, description = "It was replaced", body = WithRev<WrittenEntry>),
        (status = 201, description = "It was created", body = WithRev<WrittenEntry>),
        Problems
    )
)]
async fn put_handoff(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: ItemConditions,
    Body(body): Body<TextBody>,
) -> RevResult<WrittenEntry> {
    write(caller.agent(&agent)?.write_handoff(&body.text), &body, conditions).await
}

/// Read the working notes on the current task.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scratchpad",
    params(("agent" = String, Path, description = "Name of the agent"), Seen),
    responses(
        (status = 200, description = "The text; `ETag` is its version", body = WithRev<StoredText>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_scratchpad(caller: Caller, Path(agent): Path<String>, seen: Seen) -> RevResult<StoredText> {
    stored(&caller, &agent, SCRATCHPAD_KEY, &seen).await
}

/// Replace the working notes on the current task.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/scratchpad",
    params(("agent" = String, Path, description = "Name of the agent"), PutConditions),
    request_body(content = TextBody, example = json!({"text": "Tried A: too slow. Try B."})),
    responses(
        (status = 200, description = "It was replaced", body = WithRev<WrittenEntry>),
        (status = 201, description = "It was created", body = WithRev<WrittenEntry>),
        Problems
    )
)]
async fn put_scratchpad(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: ItemConditions,
    Body(body): Body<TextBody>,
) -> RevResult<WrittenEntry> {
    write(caller.agent(&agent)?.write_scratchpad(&body.text), &body, conditions).await
}

/// Delete the working notes on the current task.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/scratchpad",
    params(("agent" = String, Path, description = "Name of the agent"), ItemConditions),
    responses((status = 200, description = "Whether it existed", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_scratchpad(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: ItemConditions,
) -> RevResult<DeletedBody> {
    remove_entry(&caller.agent(&agent)?.working(), SCRATCHPAD_KEY, conditions).await
}

async fn stored(caller: &Caller, agent: &str, key: &str, seen: &Seen) -> RevResult<StoredText> {
    let found = caller.agent(agent)?.working().find(key).await?;
    let FoundEntry { entry, rev, .. } = found.ok_or_else(|| HttpError::not_found(format!("there is no {key}")))?;
    let body = StoredText {
        text: entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned(),
        version: entry.version,
        author: entry.author.clone(),
        at: entry.at,
        trust: entry.trust(),
    };
    Ok(RevResponse::new(body, rev).version(entry.version).unless(seen))
}

async fn write(write: WriteText, body: &TextBody, conditions: ItemConditions) -> RevResult<WrittenEntry> {
    let write = if body.trust == Some(Trust::Outside) { write.from_outside() } else { write };
    Ok(written(write.conditions(conditions).await?))
}
