//! Whole spaces: for programs that keep a copy of what they read, as the Rust client does.

use std::time::Duration;

use axum::Json;
use corkboard::store::{Cursor, Trim};
use corkboard::{
    AnswerDocument, CommitId, Error, Forget, Forgotten, Head, HeadDocument, PageDocument, RecordDocument,
    SpaceDocument, SpaceKind, StateDocument, Trimmed,
};
use jiff::Timestamp;

use crate::Server;
use crate::extract::JsonBytes;
use crate::request_body::RequestBody;
use crate::response_budget::StateResponse;
use crate::routes::prelude::*;

/// The most revisions, or spaces, of one answer.
const MOST: usize = 1000;

pub(super) fn routes() -> Routes {
    routes!(
        list_spaces,
        get_space_head,
        get_space_state,
        list_space_revisions,
        execute_command,
        delete_space,
        trim_space,
        forget_agent_space_values,
        delete_agent_space
    )
    .tag("spaces")
}

/// Which space.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct SpacePath {
    /// What it holds: `agent`, `board`, `core`, `tokens` or `conversation`.
    #[param(inline)]
    kind: SpaceKind,
    /// Its name. An agent's own core is `agent:` and its name; the tokens are `all`. A conversation's is the
    /// agent's name, with `%` and `/` percent-encoded, a slash and the conversation's ID. A `;` at the end is not part of the
    /// name: it follows `.` and `..`, which no path can hold by themselves, and names that end with one.
    #[serde(deserialize_with = "name")]
    name: String,
}

/// What follows a name that cannot stand in a path by itself, and one that ends like that.
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
    /// Whose memory. As a space's name.
    #[serde(deserialize_with = "name")]
    agent: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct KindPath {
    /// What they hold: `agent`, `board`, `core`, `tokens` or `conversation`.
    #[param(inline)]
    kind: SpaceKind,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Where to continue: `next` of the page before, or any name.
    cursor: Option<String>,
    /// How many at most.
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
    /// Answer once the log is past this revision.
    from_rev: Option<u64>,
    /// And wait so many seconds for that.
    #[serde(default)]
    #[param(maximum = 30)]
    wait_s: u64,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// Only the revisions after this one.
    #[serde(default)]
    from_rev: u64,
    /// `next` of the page before: the page continues after it.
    cursor: Option<u64>,
    /// The id that the last revision before the page must have.
    #[param(value_type = Option<String>)]
    commit: Option<CommitId>,
    /// How many at most.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// The revision that it must be at.
    at: u64,
    /// The id of that revision.
    #[param(value_type = String)]
    commit: CommitId,
}

/// What a deletion did.
#[derive(Serialize, ToSchema)]
#[schema(as = SpaceDeletedBody, example = json!({"deleted": true}))]
struct DeletedBody {
    /// Whether it was there, at that revision.
    deleted: bool,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = SpaceTrimBody, example = json!({"older_than": "2026-01-01T00:00:00Z", "dry_run": true}))]
#[serde(deny_unknown_fields)]
struct TrimBody {
    /// The newest revision that may be removed.
    up_to: Option<u64>,
    /// Remove only revisions decided before this time.
    older_than: Option<Timestamp>,
    /// Only tell what would be removed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = SpaceForgetBody, example = json!({"forget": {"entry": {"key": "password", "ids": []}}, "if_rev": 12}))]
#[serde(deny_unknown_fields)]
struct ForgetBody {
    /// What.
    forget: Forget,
    /// The revision that the memory must be at.
    if_rev: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = SpaceDeleteAgentBody, example = json!({"if_rev": 12, "hard": false}))]
#[serde(deny_unknown_fields)]
struct DeleteAgentBody {
    /// The revision that the agent's memory must be at.
    if_rev: Option<u64>,
    /// Also remove it from the store's files, tables and keys.
    #[serde(default)]
    hard: bool,
}

/// List spaces.
///
/// Those that the token opens, in the order of their names.
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
    let limit = query.limit;
    let mut spaces: Vec<SpaceDocument> = Vec::new();
    let mut after = query.cursor;
    // Pages are filled with what the caller may see. One more than the page has tells whether it is the last.
    while spaces.len() <= limit {
        let listed = caller.corkboard().logs(path.kind, after.as_deref(), MOST).await?;
        let is_last = listed.len() < MOST;
        after = listed.last().map(|listed| listed.space.name().to_owned());
        let seen = listed.into_iter().filter(|listed| caller.sees(path.kind, listed.space.name()));
        spaces.extend(seen.map(SpaceDocument::from));
        if is_last {
            break;
        }
    }
    let is_more = spaces.len() > limit;
    spaces.truncate(limit);
    let next = spaces.last().filter(|_| is_more).map(|last| last.name.clone());
    Ok(Json(ItemsBody { items: spaces, next }))
}

/// Where a space's log is, and what time it is there.
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

/// A space's state as it is now.
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

/// A part of a space's log.
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

/// Have a command decided.
///
/// The commands are those of the Rust library. Other programs do better with the other routes, which say the same in JSON
/// of their own. What is refused comes with `refusal`, as the library knows it. A `fork` names the board and the revision to
/// begin with, which the token must open; the server reads them itself.
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

/// A problem that the Rust client makes the library's own refusal of again.
fn with_refusal(error: Error) -> HttpError {
    let refusal = match &error {
        Error::Refused(refusal) => serde_json::to_value(refusal).ok(),
        _ => None,
    };
    HttpError::from(error).with("refusal", refusal)
}

/// Delete a space with its log.
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

/// Trim a space's history.
///
/// Removes the revisions that were decided before `older_than`, those up to `up_to`, or those of which both is true. The state
/// stays as it is, with contributions and daily activity. Asking for a trimmed revision returns `compacted`. Only an admin
/// token may.
#[utoipa::path(
    post,
    path = "/v1/spaces/{kind}/{name}/trim",
    params(SpacePath),
    request_body = TrimBody,
    responses((status = 200, body = Trimmed), Problems)
)]
async fn trim_space(
    caller: Caller,
    Path(path): Path<SpacePath>,
    Body(body): Body<TrimBody>,
) -> Result<Json<Trimmed>, HttpError> {
    let log = caller.store()?.log(path.kind, &path.name)?;
    if body.up_to.is_none() && body.older_than.is_none() {
        return Err(Error::Command { message: "give up_to, older_than or both".into() }.into());
    }
    let trim = Trim { up_to: body.up_to.unwrap_or(u64::MAX), older_than: body.older_than };
    Ok(Json(if body.dry_run { log.trimmable(trim).await? } else { log.trim(trim).await? }))
}

/// Forget something of an agent's for good.
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
    let forget = caller.agent(&agent)?.forget_for_good(body.forget);
    let forgotten = if let Some(rev) = body.if_rev { forget.if_rev(rev).await } else { forget.await };
    forgotten.map(Json).map_err(with_refusal)
}

/// Delete everything of an agent.
///
/// Its memory with the log, its conversations and its long-term memory, whatever the tier.
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
    let deleted = match (if_rev, hard) {
        (Some(rev), true) => corkboard.forget_agent_at(&agent, rev).await,
        (Some(rev), false) => corkboard.delete_agent_at(&agent, rev).await,
        (None, true) => corkboard.forget_agent(&agent).await,
        (None, false) => corkboard.delete_agent(&agent).await,
    };
    deleted.map(|deleted| Json(DeletedBody { deleted })).map_err(with_refusal)
}
