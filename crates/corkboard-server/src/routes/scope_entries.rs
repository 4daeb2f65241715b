//! The entries of an agent's scopes.

use corkboard::{ScopeId, Written};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::caller::Caller;
use crate::condition::{Seen, SpaceConditions};
use crate::error::HttpError;
use crate::extract::{Body, Conditions, Path, Query};
use crate::openapi::Problems;
use crate::place::{
    AppendBody, Batch, BatchBody, ChangedBody, EntriesBody, EntriesQuery, EntryBody, FoundBody, Place, Reach,
    RemovedBody,
};
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_scope_entries))
        .routes(routes!(get_scope_entry, put_scope_entry, delete_scope_entry))
        .routes(routes!(append_to_scope_entry))
        .routes(routes!(change_scope_entries))
}

/// Which entry.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntryPath {
    /// Whose memory.
    agent: String,
    /// Which scope: its id.
    scope: ScopeId,
    /// The entry's key.
    key: String,
}

/// Which entries.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntriesPath {
    /// Whose memory.
    agent: String,
    /// Which scope: its id.
    scope: ScopeId,
}

/// How far a read goes.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ReachQuery {
    /// Only the scope's own entries.
    #[serde(default)]
    local: bool,
}

/// List a scope's own entries.
///
/// By key, a page at a time.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes/{scope}/entries",
    tag = "scopes",
    params(EntriesPath, EntriesQuery),
    responses((status = 200, description = "A page", body = WithRev<EntriesBody>), Problems)
)]
async fn list_scope_entries(
    caller: Caller,
    Path(path): Path<EntriesPath>,
    Query(query): Query<EntriesQuery>,
) -> Result<RevResponse<EntriesBody>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.entries(query).await
}

/// Read a scope's entry.
///
/// As the scope sees it: its own, or else its parent's, and so on to the agent's memory itself. `scope` says where it is.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes/{scope}/entries/{key}",
    tag = "scopes",
    params(EntryPath, ReachQuery, Seen),
    responses(
        (status = 200, description = "The entry; `ETag` is its version", body = WithRev<FoundBody>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_scope_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    Query(query): Query<ReachQuery>,
    seen: Seen,
) -> Result<RevResponse<FoundBody>, HttpError> {
    let memory = caller.agent(&path.agent)?;
    let reach = if query.local { Reach::Own } else { Reach::Fallback };
    Place::found((&memory, path.scope), &path.key, reach, &seen).await
}

/// Store a scope's entry.
///
/// It overwrites what is there, unless a condition is named.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/scopes/{scope}/entries/{key}",
    tag = "scopes",
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
async fn put_scope_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
    Body(body): Body<EntryBody>,
) -> Result<RevResponse<Written>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.put(&path.key, body, conditions).await
}

/// Remove a scope's entry.
///
/// Of its own entries: the parent's, if it has one under the key, shows again.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/scopes/{scope}/entries/{key}",
    tag = "scopes",
    params(EntryPath, Conditions),
    responses((status = 200, description = "Whether there was one", body = WithRev<RemovedBody>), Problems)
)]
async fn delete_scope_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
) -> Result<RevResponse<RemovedBody>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.remove(&path.key, conditions).await
}

/// Add text at the end of a text.
///
/// Or start one. Appends of several writers never conflict.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/scopes/{scope}/entries/{key}/append",
    tag = "scopes",
    params(EntryPath, Conditions),
    request_body(content = AppendBody, example = json!({"text": "Tried A: too slow", "separator": "line"})),
    responses(
        (status = 200, description = "It was added", body = WithRev<Written>),
        (status = 201, description = "It is the first", body = WithRev<Written>),
        Problems
    )
)]
async fn append_to_scope_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
    Body(body): Body<AppendBody>,
) -> Result<RevResponse<Written>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.append(&path.key, body, conditions).await
}

/// Change several entries in one revision.
///
/// All of it, or nothing. JSON lines are taken too: each line is one of `entries`.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/scopes/{scope}/entries:batch",
    tag = "scopes",
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
async fn change_scope_entries(
    caller: Caller,
    Path(path): Path<EntriesPath>,
    conditions: SpaceConditions,
    batch: Batch,
) -> Result<RevResponse<ChangedBody>, HttpError> {
    let changes = batch.changes(&caller.corkboard().options().limits)?;
    Place::scope(&caller, &path.agent, path.scope).await?.change(changes, conditions).await
}
