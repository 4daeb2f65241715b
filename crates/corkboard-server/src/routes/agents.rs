//! List agents, and count, clear, forget or delete an agent's memory.

use axum::Json;
use axum::response::Response;
use corkboard::notebook::NotebookItemId;
use corkboard::{AgentId, AgentSummary, ClearOptions, Error, Forgotten, MemoryStats, NoteId, SpaceId, SpaceKind};

use crate::condition::{RevCondition, SpaceConditions};
use crate::cursor::{Cursor, MOST, size, visible_page};
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(list_agents, delete_agent, get_agent_stats, clear_agent, forget_agent_values).tag("agents")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AgentsQuery {
    /// Where to continue: `next` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// Maximum number of agents [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Also erase all traces from the store's files. This may take a long time.
    #[serde(default)]
    hard: bool,
}

/// Which parts of a memory to clear.
#[derive(Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct ClearBody {
    /// Working memory: entries, notes and notebooks, including those of all scopes.
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

/// What to forget permanently: exactly one of `key`, `note` and `notebook`.
#[derive(Deserialize, ToSchema)]
#[schema(as = AgentForgetBody)]
#[serde(deny_unknown_fields)]
struct ForgetBody {
    /// Forget all current and past values of this key, in every scope.
    key: Option<String>,
    /// Forget this note, and every other note with the same text.
    note: Option<NoteId>,
    /// Forget everything that this notebook contains or ever contained.
    notebook: Option<String>,
    /// Forget only this item of the notebook.
    item: Option<NotebookItemId>,
}

/// List agents.
///
/// Lists agents in order of name. Includes only those that the token has access to and that have or had something in
/// their memory.
#[utoipa::path(
    get,
    path = "/v1/agents",
    params(AgentsQuery),
    responses((status = 200, description = "A page", body = ItemsBody<AgentSummary>), Problems)
)]
async fn list_agents(
    caller: Caller,
    Query(query): Query<AgentsQuery>,
) -> Result<Json<ItemsBody<AgentSummary>>, HttpError> {
    let corkboard = caller.corkboard();
    let after = query.cursor.map(|cursor| cursor.name()).transpose()?;
    if let Some(name) = &after {
        AgentId::check(name, &corkboard.options().limits)?;
    }
    let list = |after: Option<String>| async move {
        let after = after.and_then(|name| SpaceId::of(SpaceKind::Agent, &name).as_agent());
        corkboard.agents(after.as_ref(), MOST).await
    };
    let name: fn(&AgentSummary) -> &str = |listed| listed.id.as_str();
    let is_visible = |name: &str| caller.sees(SpaceKind::Agent, name);
    let (items, next) = visible_page(size(query.limit), after, list, name, is_visible).await?;
    Ok(Json(ItemsBody { items, next: next.map(|name| Cursor::after(&name)) }))
}

/// Delete an agent's memory.
///
/// Also deletes its log and its long-term memory. `if_rev` is the revision of its working memory.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}",
    params(("agent" = String, Path, description = "Name of the agent"), DeleteQuery, RevCondition),
    responses((status = 200, description = "Whether it existed", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_agent(
    caller: Caller,
    Path(agent): Path<String>,
    Query(DeleteQuery { hard }): Query<DeleteQuery>,
    RevCondition { if_rev }: RevCondition,
) -> RevResult<DeletedBody> {
    let (memory, corkboard) = (caller.agent(&agent)?, caller.corkboard());
    let delete = match if_rev {
        Some(rev) => corkboard.delete_agent_at(&agent, rev),
        None => corkboard.delete_agent(&agent),
    };
    let deleted = if hard { delete.hard().await? } else { delete.await? };
    let rev = match memory.rev().await {
        // A space that cannot be read can still be deleted.
        Err(Error::FeatureDisabled { .. }) => 0,
        rev => rev?,
    };
    Ok(RevResponse::new(DeletedBody { deleted }, rev))
}

/// Get an agent's memory statistics.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/stats",
    params(("agent" = String, Path, description = "Name of the agent")),
    responses((status = 200, description = "The statistics", body = MemoryStats), Problems)
)]
async fn get_agent_stats(caller: Caller, Path(agent): Path<String>) -> Result<Response, HttpError> {
    let stats = caller.agent(&agent)?.stats().await?;
    let rev = stats.rev;
    Ok(RevResponse::new(Json(stats), rev).whole())
}

/// Clear an agent's memory.
///
/// This cannot be undone, except with a snapshot. By default, it clears working memory and keeps long-term memory.
/// `if_rev` is the revision of working memory. To clear only long-term memory under conditions, use `POST
/// /v1/cores/agent:{agent}/clear`.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/clear",
    params(("agent" = String, Path, description = "Name of the agent"), SpaceConditions),
    request_body(content = Option<ClearBody>, example = json!({"working": true, "long_term": false})),
    responses((status = 200, description = "Number of removed entries", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_agent(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: SpaceConditions,
    OptionalBody(ClearBody { working, long_term }): OptionalBody<ClearBody>,
) -> RevResult<ClearedBody> {
    if !working {
        conditions.nothing("conditions apply to working memory, but this request clears only long-term memory")?;
    }
    let memory = caller.agent(&agent)?;
    let (rev, removed) = memory.clear(ClearOptions { working, long_term }).conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(ClearedBody { removed }, rev))
}

/// Forget a value permanently.
///
/// Removes it from the memory, the log, the snapshot and the store's files. The revisions themselves stay. The server
/// rewrites the whole log, which may take a long time.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/forget",
    params(("agent" = String, Path, description = "Name of the agent"), RevCondition),
    request_body(content = ForgetBody, example = json!({"key": "password"})),
    responses((status = 200, description = "It was forgotten", body = WithRev<Forgotten>), Problems)
)]
async fn forget_agent_values(
    caller: Caller,
    Path(agent): Path<String>,
    RevCondition { if_rev }: RevCondition,
    Body(body): Body<ForgetBody>,
) -> RevResult<Forgotten> {
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
                "send exactly one of `key`, `note` and `notebook`, and `item` only with `notebook`",
            ));
        }
    };
    let forgotten = if let Some(rev) = if_rev { forget.if_rev(rev).await? } else { forget.await? };
    Ok(RevResponse::new(forgotten, memory.rev().await?))
}
