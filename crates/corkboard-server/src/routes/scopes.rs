//! An agent's scopes: nested memories that inherit from their parent.

use corkboard::{ScopeId, ScopeInfo};

use super::entries_and_notes::{clear, no_scope, open_scope};
use crate::condition::SpaceConditions;
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(list_scopes, create_scope, get_scope, dispose_scope, merge_scope, clear_scope).tag("scopes")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ScopePath {
    /// Name of the agent.
    agent: String,
    /// ID of the scope.
    scope: ScopeId,
}

/// A new scope.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ScopeBody {
    /// Name of the scope. Names need not be unique.
    name: String,
    /// Parent scope [default: the agent's memory itself].
    parent: Option<ScopeId>,
}

/// A created scope.
#[derive(Serialize, ToSchema)]
#[schema(as = ScopeCreatedBody)]
struct CreatedBody {
    /// ID of the scope.
    id: ScopeId,
    /// Name of the scope.
    name: String,
}

/// How to merge a scope.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct MergeBody {
    /// Whether the scope's values replace the parent's values of the same keys.
    overwrite: bool,
}

/// Result of a merge.
#[derive(Serialize, ToSchema)]
struct MergedBody {
    /// Number of entries that the parent took over.
    merged: u64,
}

/// List an agent's scopes, in order of ID.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes",
    params(("agent" = String, Path, description = "Name of the agent")),
    responses((status = 200, description = "All scopes", body = WithRev<ItemsBody<ScopeInfo>>), Problems)
)]
async fn list_scopes(caller: Caller, Path(agent): Path<String>) -> RevResult<ItemsBody<ScopeInfo>> {
    let view = caller.agent(&agent)?.view().await?;
    Ok(RevResponse::new(ItemsBody::all(view.scopes()), view.rev()))
}

/// Create a scope.
///
/// The store keeps it until it is disposed. For data that may be lost when the server stops, use a conversation.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/scopes",
    params(("agent" = String, Path, description = "Name of the agent"), SpaceConditions),
    request_body(content = ScopeBody, example = json!({"name": "task-1"})),
    responses((status = 201, description = "It was created", body = WithRev<CreatedBody>), Problems)
)]
async fn create_scope(
    caller: Caller,
    Path(agent): Path<String>,
    conditions: SpaceConditions,
    Body(ScopeBody { name, parent }): Body<ScopeBody>,
) -> RevResult<CreatedBody> {
    let memory = caller.agent(&agent)?.working();
    let parent = match parent.filter(|parent| !parent.is_root()) {
        Some(parent) => Some(memory.scope(parent).await?.ok_or_else(|| no_scope(parent))?),
        None => None,
    };
    let create = match &parent {
        Some(parent) => parent.create_durable_child_scope(&name),
        None => memory.create_durable_scope(&name),
    };
    let (rev, scope) = create.conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(CreatedBody { id: scope.id(), name: scope.name().to_string() }, rev).created())
}

/// Read a scope.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes/{scope}",
    params(ScopePath),
    responses((status = 200, description = "The scope and its size", body = WithRev<ScopeInfo>), Problems)
)]
async fn get_scope(caller: Caller, Path(path): Path<ScopePath>) -> RevResult<ScopeInfo> {
    let view = caller.agent(&path.agent)?.view().await?;
    let scope = view.scope(path.scope).ok_or_else(|| no_scope(path.scope))?;
    Ok(RevResponse::new(scope, view.rev()))
}

/// Dispose a scope and all scopes below it.
///
/// Deletes their entries and notes. The response counts the entries of the disposed scope itself.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/scopes/{scope}",
    params(ScopePath, SpaceConditions),
    responses((status = 200, description = "It was disposed", body = WithRev<ClearedBody>), Problems)
)]
async fn dispose_scope(
    caller: Caller,
    Path(path): Path<ScopePath>,
    conditions: SpaceConditions,
) -> RevResult<ClearedBody> {
    let scope = open_scope(&caller, &path.agent, path.scope).await?;
    let (rev, removed) = scope.dispose().conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(ClearedBody { removed }, rev))
}

/// Merge a scope into its parent.
///
/// The parent gets the scope's entries, and those notes that it does not have yet. The scope itself stays unchanged.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/scopes/{scope}/merge",
    params(ScopePath, SpaceConditions),
    request_body(content = MergeBody, example = json!({"overwrite": true})),
    responses((status = 200, description = "It was merged", body = WithRev<MergedBody>), Problems)
)]
async fn merge_scope(
    caller: Caller,
    Path(path): Path<ScopePath>,
    conditions: SpaceConditions,
    Body(MergeBody { overwrite }): Body<MergeBody>,
) -> RevResult<MergedBody> {
    let scope = open_scope(&caller, &path.agent, path.scope).await?;
    let (rev, merged) = scope.merge_to_parent(overwrite).conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(MergedBody { merged }, rev))
}

/// Clear a scope's own entries and notes.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/scopes/{scope}/clear",
    params(ScopePath, SpaceConditions),
    responses((status = 200, description = "It was cleared", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_scope(
    caller: Caller,
    Path(path): Path<ScopePath>,
    conditions: SpaceConditions,
) -> RevResult<ClearedBody> {
    let scope = open_scope(&caller, &path.agent, path.scope).await?;
    clear(&scope, conditions).await
}
