//! An agent's entries.

use corkboard::{EntryDocument, Written};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::caller::Caller;
use crate::condition::{Seen, SpaceConditions};
use crate::error::HttpError;
use crate::extract::{Body, Conditions, Path, Query};
use crate::openapi::Problems;
use crate::place::{
    AppendBody, Batch, BatchBody, ChangedBody, EntriesBody, EntriesQuery, EntryBody, Place, RemovedBody,
};
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_entries))
        .routes(routes!(get_entry, put_entry, delete_entry))
        .routes(routes!(append_to_entry))
        .routes(routes!(change_entries))
}

/// Which entry.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntryPath {
    /// Whose memory.
    agent: String,
    /// The entry's key.
    key: String,
}

/// Which entries.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntriesPath {
    /// Whose memory.
    agent: String,
}

/// List an agent's entries.
///
/// By key, a page at a time.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/entries",
    tag = "entries",
    params(EntriesPath, EntriesQuery),
    responses((status = 200, description = "A page", body = WithRev<EntriesBody>), Problems)
)]
async fn list_entries(
    caller: Caller,
    Path(path): Path<EntriesPath>,
    Query(query): Query<EntriesQuery>,
) -> Result<RevResponse<EntriesBody>, HttpError> {
    Place::memory(&caller, &path.agent)?.entries(query).await
}

/// Read an entry.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath, Seen),
    responses(
        (status = 200, description = "The entry; `ETag` is its version", body = WithRev<EntryDocument>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    seen: Seen,
) -> Result<RevResponse<EntryDocument>, HttpError> {
    Place::memory(&caller, &path.agent)?.entry(&path.key, &seen).await
}

/// Store an entry.
///
/// It overwrites what is there, unless a condition is named.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath, Conditions),
    request_body(
        content = EntryBody,
        example = json!({"value": {"city": "Paris"}, "metadata": {"importance": 0.8, "tags": ["user"], "kind": "fact"}})
    ),
    responses(
        (status = 200, description = "It was replaced", body = WithRev<Written>),
        (status = 201, description = "It is new", body = WithRev<Written>),
        Problems
    )
)]
async fn put_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
    Body(body): Body<EntryBody>,
) -> Result<RevResponse<Written>, HttpError> {
    Place::memory(&caller, &path.agent)?.put(&path.key, body, conditions).await
}

/// Remove an entry.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath, Conditions),
    responses((status = 200, description = "Whether there was one", body = WithRev<RemovedBody>), Problems)
)]
async fn delete_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
) -> Result<RevResponse<RemovedBody>, HttpError> {
    Place::memory(&caller, &path.agent)?.remove(&path.key, conditions).await
}

/// Add text at the end of a text.
///
/// Or start one. Appends of several writers never conflict.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/entries/{key}/append",
    tag = "entries",
    params(EntryPath, Conditions),
    request_body(content = AppendBody, example = json!({"text": "Tried A: too slow", "separator": "line"})),
    responses(
        (status = 200, description = "It was added", body = WithRev<Written>),
        (status = 201, description = "It is the first", body = WithRev<Written>),
        Problems
    )
)]
async fn append_to_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
    Body(body): Body<AppendBody>,
) -> Result<RevResponse<Written>, HttpError> {
    Place::memory(&caller, &path.agent)?.append(&path.key, body, conditions).await
}

/// Change several entries in one revision.
///
/// All of it, or nothing. JSON lines are taken too: each line is one of `entries`.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/entries:batch",
    tag = "entries",
    params(EntriesPath, SpaceConditions),
    request_body(content(
        (BatchBody = "application/json", example = json!({"entries": [
            {"key": "plan", "value": ["draft", "review"]},
            {"key": "log", "append": "began", "separator": "line"},
            {"key": "old", "remove": true}
        ]})),
        (String = "application/x-ndjson", example = "{\"key\": \"plan\", \"value\": 1}\n{\"key\": \"old\", \"remove\": true}\n")
    )),
    responses((status = 200, description = "All of it was done", body = WithRev<ChangedBody>), Problems)
)]
async fn change_entries(
    caller: Caller,
    Path(path): Path<EntriesPath>,
    conditions: SpaceConditions,
    batch: Batch,
) -> Result<RevResponse<ChangedBody>, HttpError> {
    let changes = batch.changes(&caller.corkboard().options().limits)?;
    Place::memory(&caller, &path.agent)?.change(changes, conditions).await
}
