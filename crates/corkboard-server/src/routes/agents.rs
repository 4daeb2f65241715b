//! Agents: who they are, and what is done to a memory as a whole.

use axum::Json;
use axum::response::Response;
use corkboard::notebook::NotebookItemId;
use corkboard::{AgentId, AgentSummary, ClearOptions, Error, Forgotten, MemoryStats, NoteId, SpaceKind};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::condition::{RevCondition, SpaceConditions};
use crate::cursor::{Cursor, MOST, page, size};
use crate::error::HttpError;
use crate::extract::{Body, OptionalBody, Path, Query};
use crate::openapi::Problems;
use crate::response::{ClearedBody, DeletedBody, ItemsBody, RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_agents))
        .routes(routes!(delete_agent))
        .routes(routes!(get_agent_stats))
        .routes(routes!(clear_agent))
        .routes(routes!(forget_agent_values))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AgentsQuery {
    /// Where to go on: `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// How many at most; 100 if it is not said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Delete it for good: leave nothing of it in the store's files. It may take long.
    #[serde(default)]
    hard: bool,
}

/// What is to be cleared.
#[derive(Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct ClearBody {
    /// Working memory: entries, notes and notebooks, and all scopes with theirs.
    working: bool,
    /// Long-term memory.
    long_term: bool,
}

impl Default for ClearBody {
    fn default() -> Self {
        let ClearOptions { working, long_term } = ClearOptions::default();
        Self { working, long_term }
    }
}

/// What is to be forgotten for good: exactly one of `key`, `note` and `notebook`.
#[derive(Deserialize, ToSchema)]
#[schema(as = AgentForgetBody)]
#[serde(deny_unknown_fields)]
struct ForgetBody {
    /// All values that this key has or ever had, in every scope.
    key: Option<String>,
    /// This note, and every other that says the same.
    note: Option<NoteId>,
    /// All that this notebook has or ever had.
    notebook: Option<String>,
    /// Of that notebook only this.
    item: Option<NotebookItemId>,
}

/// List agents.
///
/// In the order of their names: those that the token opens and that have something in their memory, or once had.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "agents",
    params(AgentsQuery),
    responses((status = 200, description = "A page", body = ItemsBody<AgentSummary>), Problems)
)]
async fn list_agents(
    caller: Caller,
    Query(query): Query<AgentsQuery>,
) -> Result<Json<ItemsBody<AgentSummary>>, HttpError> {
    let corkboard = caller.corkboard();
    let after = query.cursor.map(|cursor| cursor.name()).transpose()?;
    let mut after = after.map(|name| AgentId::new(&name, &corkboard.options().limits)).transpose()?;
    let mut seen = Vec::new();
    // One more than the page has, so that it knows whether it is the last.
    while seen.len() <= size(query.limit) {
        let listed = corkboard.agents(after.as_ref(), MOST).await?;
        let is_last = listed.len() < MOST;
        after = listed.last().map(|listed| listed.id.clone());
        seen.extend(listed.into_iter().filter(|listed| caller.sees(SpaceKind::Agent, listed.id.as_str())));
        if is_last {
            break;
        }
    }
    let page = page(seen.into_iter(), query.limit, |agent: &AgentSummary| Cursor::after(agent.id.as_str()));
    Ok(Json(page.into()))
}

/// Delete an agent's memory.
///
/// With its log, and with its long-term memory. `if_rev` is the revision of its working memory.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}",
    tag = "agents",
    params(("agent" = String, Path, description = "Whose memory"), DeleteQuery, RevCondition),
    responses((status = 200, description = "Whether there was one", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_agent(
    caller: Caller,
    Path(agent): Path<String>,
    Query(DeleteQuery { hard }): Query<DeleteQuery>,
    RevCondition { if_rev }: RevCondition,
) -> Result<RevResponse<DeletedBody>, HttpError> {
    let (memory, corkboard) = (caller.agent(&agent)?, caller.corkboard());
    let deleted = match (if_rev, hard) {
        (Some(rev), true) => corkboard.forget_agent_at(&agent, rev).await?,
        (Some(rev), false) => corkboard.delete_agent_at(&agent, rev).await?,
        (None, true) => corkboard.forget_agent(&agent).await?,
        (None, false) => corkboard.delete_agent(&agent).await?,
    };
    let rev = match memory.rev().await {
        // What cannot be read can be deleted.
        Err(Error::FeatureDisabled { .. }) => 0,
        rev => rev?,
    };
    Ok(RevResponse::new(DeletedBody { deleted }, rev))
}

/// Count what an agent remembers.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/stats",
    tag = "agents",
    params(("agent" = String, Path, description = "Whose memory")),
    responses((status = 200, description = "The counts", body = MemoryStats), Problems)
)]
async fn get_agent_stats(caller: Caller, Path(agent): Path<String>) -> Result<Response, HttpError> {
    let stats = caller.agent(&agent)?.stats().await?;
    let rev = stats.rev;
    Ok(RevResponse::new(Json(stats), rev).whole())
}

/// Clear an agent's memory.
///
/// There is no way back but a snapshot. Nothing said: working memory, not long-term memory. `if_rev` is the revision of working
/// memory: long-term memory alone is cleared under conditions by `/v1/cores/agent:{agent}/clear`.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/clear",
    tag = "agents",
    params(("agent" = String, Path, description = "Whose memory"), SpaceConditions),
    request_body(content = Option<ClearBody>, example = json!({"working": true, "long_term": false})),
    responses((status = 200, description = "It is empty: how many entries were removed", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_agent(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: SpaceConditions,
    OptionalBody(ClearBody { working, long_term }): OptionalBody<ClearBody>,
) -> Result<RevResponse<ClearedBody>, HttpError> {
    if !working {
        conditions.nothing("conditions are about working memory, which is not to be cleared")?;
    }
    let memory = caller.agent(&agent)?;
    let (rev, removed) = memory.clear(ClearOptions { working, long_term }).conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(ClearedBody { removed }, rev))
}

/// Forget something for good.
///
/// It is removed, and taken out of the log, the snapshot and the store's files. The revisions stay, without it. It goes
/// through the whole log and may take long.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/forget",
    tag = "agents",
    params(("agent" = String, Path, description = "Whose memory"), RevCondition),
    request_body(content = ForgetBody, example = json!({"key": "password"})),
    responses((status = 200, description = "It is gone", body = WithRev<Forgotten>), Problems)
)]
async fn forget_agent_values(
    caller: Caller,
    Path(agent): Path<String>,
    RevCondition { if_rev }: RevCondition,
    Body(body): Body<ForgetBody>,
) -> Result<RevResponse<Forgotten>, HttpError> {
    let memory = caller.agent(&agent)?;
    let forget = match body {
        ForgetBody { key: Some(key), note: None, notebook: None, item: None } => memory.forget(&key),
        ForgetBody { key: None, note: Some(note), notebook: None, item: None } => memory.forget_note(note),
        ForgetBody { key: None, note: None, notebook: Some(notebook), item } => {
            memory.notebook(&notebook)?.forget(item)
        }
        _ => {
            return Err(HttpError::invalid(
                "forget",
                "give exactly one of key, note and notebook (with or without item)",
            ));
        }
    };
    let forgotten = if let Some(rev) = if_rev { forget.if_rev(rev).await? } else { forget.await? };
    Ok(RevResponse::new(forgotten, memory.rev().await?))
}
