//! Spaces as a whole, for programs that keep a copy of them, such as the Rust client.

use std::time::Duration;

use axum::Json;
use corkboard::embed::{Reindex, VectorStatus};
use corkboard::store::{Cursor, ListedSpace, Trim};
use corkboard::{
    AnswerDocument, CommitId, Error, Forget, Forgotten, Head, HeadDocument, PageDocument, RecordDocument,
    SpaceDocument, SpaceKind, StateDocument, TrimmedLog,
};
use jiff::Timestamp;

use crate::Server;
use crate::cursor::{MOST, visible_page};
use crate::extract::JsonBytes;
use crate::request_body::RequestBody;
use crate::response_budget::StateResponse;
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(
        list_spaces,
        get_space_head,
        get_space_state,
        list_space_revisions,
        execute_command,
        delete_space,
        trim_space,
        get_vector_status,
        reindex_space,
        forget_agent_space_values,
        delete_agent_space
    )
    .tag("spaces")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SpacePath {
    /// Kind of the space: `agent`, `board`, `core`, `tokens` or `conversation`.
    #[param(inline)]
    kind: SpaceKind,
    /// Name of the space. An agent's own core is `agent:` and the agent's name; the tokens are `all`. A conversation's
    /// name is the agent's name, with `%` and `/` percent-encoded, a slash and the conversation's ID. Append `;` to the
    /// names `.` and `..`, which cannot be a path segment, and to names that end with `;`.
    #[serde(deserialize_with = "name")]
    name: String,
}

/// Appended to names that cannot be a path segment, and to names that already end with it.
const MARK: char = ';';

fn name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let mut name = String::deserialize(deserializer)?;
    if name.ends_with(MARK) {
        name.pop();
    }
    Ok(name)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct AgentPath {
    /// Name of the agent, written like the name of a space.
    #[serde(deserialize_with = "name")]
    agent: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct KindPath {
    /// Kind of the spaces: `agent`, `board`, `core`, `tokens` or `conversation`.
    #[param(inline)]
    kind: SpaceKind,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Where to continue: `next` of the previous page, or any name.
    cursor: Option<String>,
    /// Maximum number of spaces.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

fn most() -> usize {
    MOST
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct HeadQuery {
    /// Respond once the log is past this revision.
    from_rev: Option<u64>,
    /// Seconds to wait for that.
    #[serde(default)]
    #[param(maximum = 30)]
    wait_s: u64,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// Only revisions after this one.
    #[serde(default)]
    from_rev: u64,
    /// Where to continue: `next` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<u64>,
    /// Commit ID that the last revision before the page must have.
    #[param(value_type = Option<String>)]
    commit: Option<CommitId>,
    /// Maximum number of revisions.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Revision that the space must have.
    at: u64,
    /// Commit ID of that revision.
    #[param(value_type = String)]
    commit: CommitId,
}

/// Result of a deletion.
#[derive(Serialize, ToSchema)]
#[schema(as = SpaceDeletedBody, example = json!({"deleted": true}))]
struct DeletedBody {
    /// Whether the space existed at that revision.
    deleted: bool,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = SpaceTrimBody, example = json!({"older_than": "2026-01-01T00:00:00Z", "dry_run": true}))]
#[serde(deny_unknown_fields)]
struct TrimBody {
    /// The newest revision that may be removed.
    up_to: Option<u64>,
    /// Remove only revisions written before this time.
    older_than: Option<Timestamp>,
    /// Only report what would be removed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Default, Deserialize, ToSchema)]
#[schema(as = SpaceReindexBody, example = json!({"missing": true}))]
#[serde(deny_unknown_fields)]
struct ReindexBody {
    /// Keep the stored vectors, and only compute those that are missing.
    #[serde(default)]
    missing: bool,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = SpaceForgetBody, example = json!({"forget": {"entry": {"key": "password", "ids": []}}, "if_rev": 12}))]
#[serde(deny_unknown_fields)]
struct ForgetBody {
    /// What to forget.
    forget: Forget,
    /// Revision that the memory must have.
    if_rev: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = SpaceDeleteAgentBody, example = json!({"if_rev": 12, "hard": false}))]
#[serde(deny_unknown_fields)]
struct DeleteAgentBody {
    /// Revision that the agent's memory must have.
    if_rev: Option<u64>,
    /// Also erase all traces from the store's files, tables and keys.
    #[serde(default)]
    hard: bool,
}

/// List spaces.
///
/// Lists the spaces that the token has access to, in order of name.
#[utoipa::path(
    get,
    path = "/v1/spaces/{kind}",
    params(KindPath, ListQuery),
    responses((status = 200, body = ItemsBody<SpaceDocument>), Problems)
)]
async fn list_spaces(
    caller: Caller,
    Path(path): Path<KindPath>,
    Query(query): Query<ListQuery>,
) -> Result<Json<ItemsBody<SpaceDocument>>, HttpError> {
    let (corkboard, kind) = (caller.corkboard(), path.kind);
    let list = |after: Option<String>| async move { corkboard.logs(kind, after.as_deref(), MOST).await };
    let name: fn(&ListedSpace) -> &str = |listed| listed.space.name();
    let page = visible_page(query.limit, query.cursor, list, name, |name| caller.sees(kind, name)).await?;
    Ok(Json(ItemsBody::from(page).map(SpaceDocument::from)))
}

/// Get the head of a space's log, and the server's time.
#[utoipa::path(
    get,
    path = "/v1/spaces/{kind}/{name}/head",
    params(SpacePath, HeadQuery),
    responses((status = 200, body = HeadDocument), Problems)
)]
async fn get_space_head(
    caller: Caller,
    Path(path): Path<SpacePath>,
    Query(query): Query<HeadQuery>,
) -> Result<Json<HeadDocument>, HttpError> {
    let log = caller.log(path.kind, &path.name)?;
    let wait = Duration::from_secs(query.wait_s);
    let head = match query.from_rev {
        Some(rev) => log.head_after(rev, wait).await?,
        None => log.head().await?,
    };
    Ok(Json(HeadDocument { head, now: log.time() }))
}

/// Read a space's current state.
#[utoipa::path(
    get,
    path = "/v1/spaces/{kind}/{name}/state",
    params(SpacePath),
    responses((status = 200, body = StateDocument), Problems)
)]
async fn get_space_state(
    axum::extract::State(server): axum::extract::State<Server>,
    caller: Caller,
    request_body: RequestBody,
    Path(path): Path<SpacePath>,
) -> Result<StateResponse, HttpError> {
    let log = caller.log(path.kind, &path.name)?;
    server.states().of(&log, server.budget(), request_body.principal()).await
}

/// List revisions of a space's log.
#[utoipa::path(
    get,
    path = "/v1/spaces/{kind}/{name}/log",
    params(SpacePath, LogQuery),
    responses((status = 200, body = PageDocument), Problems)
)]
async fn list_space_revisions(
    caller: Caller,
    Path(path): Path<SpacePath>,
    Query(query): Query<LogQuery>,
) -> Result<Json<PageDocument>, HttpError> {
    let cursor = Cursor { rev: query.cursor.unwrap_or(query.from_rev), commit: query.commit };
    let page = caller.log(path.kind, &path.name)?.after(cursor, query.limit).await?;
    let items = page.records.into_iter().map(RecordDocument::try_from).collect::<Result<Vec<_>, Error>>()?;
    let last = items.last().map(|last| last.rev).filter(|last| *last < page.head.rev);
    Ok(Json(PageDocument { items, next: last.map(|last| last.to_string()), head: page.head }))
}

/// Execute a command.
///
/// The commands are those of the Rust library. Other clients should use the other routes, which offer the same
/// operations as plain JSON. If the command is refused, the problem contains `refusal`, the library's own
/// representation. A `fork` names the board and revision to start from, and the token must have access to them.
#[utoipa::path(
    post,
    path = "/v1/spaces/{kind}/{name}/commands",
    params(SpacePath),
    request_body(content = Object, example = json!({"command": "clear_all"})),
    responses((status = 200, body = AnswerDocument), Problems)
)]
async fn execute_command(
    caller: Caller,
    Path(path): Path<SpacePath>,
    JsonBytes(body): JsonBytes,
) -> Result<Json<AnswerDocument>, HttpError> {
    let log = caller.log_for_commands(path.kind, &path.name)?;
    log.command(&body).await.map(Json).map_err(with_refusal)
}

/// A problem from which the Rust client can rebuild the library's refusal.
pub(super) fn with_refusal(error: Error) -> HttpError {
    let refusal = match &error {
        Error::Refused(refusal) => serde_json::to_value(refusal).ok(),
        _ => None,
    };
    HttpError::from(error).with("refusal", refusal)
}

/// Delete a space and its log.
#[utoipa::path(
    delete,
    path = "/v1/spaces/{kind}/{name}",
    params(SpacePath, DeleteQuery),
    responses((status = 200, body = DeletedBody), Problems)
)]
async fn delete_space(
    caller: Caller,
    Path(path): Path<SpacePath>,
    Query(query): Query<DeleteQuery>,
) -> Result<Json<DeletedBody>, HttpError> {
    let at = Head { rev: query.at, commit: query.commit };
    let deleted = caller.log(path.kind, &path.name)?.delete(at).await?;
    Ok(Json(DeletedBody { deleted }))
}

/// Trim a space's log.
///
/// Removes revisions older than `older_than`, up to `up_to`, or both conditions together. The current state stays
/// unchanged, including contributions and daily activity. Requests for a trimmed revision return `compacted`. Requires
/// an admin token.
#[utoipa::path(
    post,
    path = "/v1/spaces/{kind}/{name}/trim",
    params(SpacePath),
    request_body = TrimBody,
    responses((status = 200, body = TrimmedLog), Problems)
)]
async fn trim_space(
    caller: Caller,
    Path(path): Path<SpacePath>,
    Body(body): Body<TrimBody>,
) -> Result<Json<TrimmedLog>, HttpError> {
    let log = caller.store("trim a log")?.log(path.kind, &path.name)?;
    if body.up_to.is_none() && body.older_than.is_none() {
        return Err(Error::Command { message: "send `up_to`, `older_than` or both".into() }.into());
    }
    let trim = Trim { up_to: body.up_to.unwrap_or(u64::MAX), older_than: body.older_than };
    Ok(Json(if body.dry_run { log.trimmable(trim).await? } else { log.trim(trim).await? }))
}

/// Get the state of a space's vectors.
///
/// The vectors are computed in the background by the configured embedding model. Only agents, boards and cores have
/// any.
#[utoipa::path(
    get,
    path = "/v1/spaces/{kind}/{name}/vectors",
    params(SpacePath),
    responses((status = 200, body = VectorStatus), Problems)
)]
async fn get_vector_status(caller: Caller, Path(path): Path<SpacePath>) -> Result<Json<VectorStatus>, HttpError> {
    Ok(Json(caller.log(path.kind, &path.name)?.vector_status().await?))
}

/// Compute a space's vectors again.
///
/// Erases the stored vectors, unless only the missing ones are asked for. Answers at once; `get_vector_status` shows the
/// progress. Until then, searches use the built-in model.
#[utoipa::path(
    post,
    path = "/v1/spaces/{kind}/{name}/reindex",
    params(SpacePath),
    request_body = Option<ReindexBody>,
    responses((status = 200, body = VectorStatus), Problems)
)]
async fn reindex_space(
    caller: Caller,
    Path(path): Path<SpacePath>,
    OptionalBody(body): OptionalBody<ReindexBody>,
) -> Result<Json<VectorStatus>, HttpError> {
    let reindex = if body.missing { Reindex::Missing } else { Reindex::All };
    caller.store("compute vectors again")?;
    Ok(Json(caller.log(path.kind, &path.name)?.reindex(reindex).await?))
}

/// Forget a value of an agent permanently.
#[utoipa::path(
    post,
    path = "/v1/spaces/agent/{agent}/forget",
    params(AgentPath),
    request_body = ForgetBody,
    responses((status = 200, body = Forgotten), Problems)
)]
async fn forget_agent_space_values(
    caller: Caller,
    Path(AgentPath { agent }): Path<AgentPath>,
    Body(body): Body<ForgetBody>,
) -> Result<Json<Forgotten>, HttpError> {
    let forget = caller.agent(&agent)?.forget_items(body.forget);
    let forgotten = if let Some(rev) = body.if_rev { forget.if_rev(rev).await } else { forget.await };
    forgotten.map(Json).map_err(with_refusal)
}

/// Delete everything that belongs to an agent.
///
/// Deletes its memory with the log, its conversations and its long-term memory.
#[utoipa::path(
    post,
    path = "/v1/spaces/agent/{agent}/delete",
    params(AgentPath),
    request_body = DeleteAgentBody,
    responses((status = 200, body = DeletedBody), Problems)
)]
async fn delete_agent_space(
    caller: Caller,
    Path(AgentPath { agent }): Path<AgentPath>,
    Body(DeleteAgentBody { if_rev, hard }): Body<DeleteAgentBody>,
) -> Result<Json<DeletedBody>, HttpError> {
    caller.agent(&agent)?;
    let corkboard = caller.corkboard();
    let delete = match if_rev {
        Some(rev) => corkboard.delete_agent_at(&agent, rev),
        None => corkboard.delete_agent(&agent),
    };
    let deleted = if hard { delete.hard().await } else { delete.await };
    deleted.map(|deleted| Json(DeletedBody { deleted })).map_err(with_refusal)
}
