//! An agent's entries.

use corkboard::{Content, EntryDocument, EntryMetadata, Key};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Server;
use crate::answer::{Answer, WithRev};
use crate::caller::Caller;
use crate::extract::{Body, Conditions, Path};
use crate::failure::Failure;
use crate::openapi::Problems;

pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(get_entry, put_entry, delete_entry))
}

/// Which entry.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntryPath {
    /// Whose memory.
    agent: String,
    /// The entry's key, percent-encoded.
    key: String,
}

/// What is to be stored.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EntryBody {
    /// Any JSON value.
    value: Content,
    /// What is to be known about it.
    #[serde(default)]
    metadata: EntryMetadata,
}

/// What a write did.
#[derive(Serialize, ToSchema)]
struct WrittenBody {
    /// The entry's version now.
    version: u64,
    /// Whether the key existed before.
    is_update: bool,
}

/// What a removal did.
#[derive(Serialize, ToSchema)]
struct RemovedBody {
    /// Whether there was an entry.
    removed: bool,
}

/// Read an entry.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath),
    responses((status = 200, body = WithRev<EntryDocument>), Problems)
)]
async fn get_entry(caller: Caller, Path(path): Path<EntryPath>) -> Result<Answer<EntryDocument>, Failure> {
    let view = caller.agent(&path.agent)?.view().await?;
    let key = Key::new(&path.key, view.limits())?;
    let entry = view.entry(&key).ok_or_else(|| Failure::not_found(format!("there is no entry {:?}", path.key)))?;
    Ok(Answer::new(EntryDocument::new(&key, entry), view.rev()).version(entry.version))
}

/// Store an entry.
#[utoipa::path(
    put,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath),
    request_body = EntryBody,
    responses((status = 200, body = WithRev<WrittenBody>), Problems)
)]
async fn put_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
    Body(body): Body<EntryBody>,
) -> Result<Answer<WrittenBody>, Failure> {
    let memory = caller.agent(&path.agent)?.working();
    let mut set = memory.set(&path.key, &body.value).metadata(body.metadata).type_name("json");
    if let Some(version) = conditions.if_version {
        set = set.if_version(version);
    }
    if let Some(rev) = conditions.if_rev {
        set = set.if_rev(rev);
    }
    if let Some(key) = conditions.idempotency_key {
        set = set.idempotency_key(key);
    }
    let written = set.await?;
    let body = WrittenBody { version: written.version, is_update: written.is_update };
    Ok(Answer::new(body, written.version).version(written.version))
}

/// Remove an entry.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath),
    responses((status = 200, body = WithRev<RemovedBody>), Problems)
)]
async fn delete_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: Conditions,
) -> Result<Answer<RemovedBody>, Failure> {
    let agent = caller.agent(&path.agent)?;
    let memory = agent.working();
    let mut remove = memory.remove(&path.key);
    if let Some(version) = conditions.if_version {
        remove = remove.if_version(version);
    }
    if let Some(rev) = conditions.if_rev {
        remove = remove.if_rev(rev);
    }
    if let Some(key) = conditions.idempotency_key {
        remove = remove.idempotency_key(key);
    }
    let removed = remove.await?;
    Ok(Answer::new(RemovedBody { removed }, agent.rev().await?))
}
