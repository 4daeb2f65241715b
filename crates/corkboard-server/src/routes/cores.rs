//! Memory cores: list, count, clear, replace and delete. An agent's own core is named `agent:` and the agent's name.

use corkboard::cores::{CoreEntry, CoreEntryId, CoreImage, Withdrawal};
use corkboard::{CoreStats, CoreSummary, SpaceId, SpaceKind, WithdrawnCoreEntries};

use crate::condition::SpaceConditions;
use crate::cursor::{MOST, visible_page};
use crate::routes::prelude::*;

/// Default number of cores on a page.
const USUAL: usize = 100;

pub(super) fn routes() -> Routes {
    routes!(
        list_cores,
        delete_core,
        get_core_stats,
        withdraw_core_entries,
        clear_core,
        get_core_image,
        replace_core_entries
    )
    .tag("cores")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct CorePath {
    /// Name of the core. An agent's own core is `agent:` and the agent's name.
    pub(super) core: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Where to continue: `next` of the previous page.
    cursor: Option<String>,
    /// Maximum number of cores.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
}

fn usual() -> usize {
    USUAL
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Also erase all traces from the store's files. This may take a long time.
    #[serde(default)]
    hard: bool,
}

/// What to withdraw from a core.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WithdrawBody {
    /// The source whose entries are withdrawn.
    of: Withdrawal,
}

/// Result of a replacement.
#[derive(Serialize, ToSchema)]
struct ReplacedBody {
    /// Number of entries now in the core, including forgotten ones.
    entries: usize,
}

/// List memory cores.
///
/// Lists the cores that the token has access to, including agents' own cores, in order of name.
#[utoipa::path(
    get,
    path = "/v1/cores",
    params(ListQuery),
    responses((status = 200, body = ItemsBody<CoreSummary>), Problems)
)]
async fn list_cores(
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<axum::Json<ItemsBody<CoreSummary>>, HttpError> {
    let corkboard = caller.corkboard();
    let list = |after: Option<String>| async move {
        let after = after.and_then(|name| SpaceId::of(SpaceKind::Core, &name).as_core());
        corkboard.cores(after.as_ref(), MOST).await
    };
    let name: fn(&CoreSummary) -> &str = |listed| listed.id.as_str();
    let page = visible_page(query.limit, query.cursor, list, name, |name| caller.sees(SpaceKind::Core, name)).await?;
    Ok(axum::Json(page.into()))
}

/// Delete a core and its log.
#[utoipa::path(
    delete,
    path = "/v1/cores/{core}",
    params(CorePath, DeleteQuery),
    responses((status = 200, body = WithRev<DeletedBody>), Problems)
)]
async fn delete_core(
    caller: Caller,
    Path(path): Path<CorePath>,
    Query(query): Query<DeleteQuery>,
) -> RevResult<DeletedBody> {
    let core = caller.core(&path.core)?;
    let deleted = if query.hard { core.clone().delete().hard().await? } else { core.clone().delete().await? };
    Ok(RevResponse::new(DeletedBody { deleted }, core.rev().await?))
}

/// Get a core's statistics.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/stats",
    params(CorePath),
    responses((status = 200, body = CoreStats), Problems)
)]
async fn get_core_stats(caller: Caller, Path(path): Path<CorePath>) -> Result<axum::Json<CoreStats>, HttpError> {
    Ok(axum::Json(caller.core(&path.core)?.stats().await?))
}

/// Withdraw everything from one source.
///
/// The source is an author, a board, one record of a board, or one promotion. All is withdrawn in one revision. An
/// entry that has other sources, too, stays and loses this source. An entry of another author that this author only
/// edited is forgotten.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/withdraw",
    params(CorePath, SpaceConditions),
    request_body(content = WithdrawBody, example = json!({"of": {"author": {"name": "mallory"}}})),
    responses((status = 200, body = WithRev<WithdrawnCoreEntries>), Problems)
)]
async fn withdraw_core_entries(
    caller: Caller,
    Path(path): Path<CorePath>,
    conditions: SpaceConditions,
    Body(body): Body<WithdrawBody>,
) -> RevResult<WithdrawnCoreEntries> {
    let core = caller.core(&path.core)?;
    let withdrawn = core.conditions(conditions).withdraw(body.of).await?;
    Ok(RevResponse::new(withdrawn, core.rev().await?))
}

/// Clear a core, including forgotten entries.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/clear",
    params(CorePath, SpaceConditions),
    responses((status = 200, body = WithRev<ClearedBody>), Problems)
)]
async fn clear_core(caller: Caller, Path(path): Path<CorePath>, conditions: SpaceConditions) -> RevResult<ClearedBody> {
    let core = caller.core(&path.core)?;
    let removed = core.conditions(conditions).clear().await?;
    Ok(RevResponse::new(ClearedBody { removed }, core.rev().await?))
}

/// Export a core: all entries, including forgotten ones.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/image",
    params(CorePath),
    responses((status = 200, body = WithRev<CoreImage>), Problems)
)]
async fn get_core_image(caller: Caller, Path(path): Path<CorePath>) -> RevResult<CoreImage> {
    let core = caller.core(&path.core)?;
    let rev = core.rev().await?;
    Ok(RevResponse::new(core.image().await?, rev))
}

/// An exported core.
#[derive(Deserialize, ToSchema)]
#[schema(as = CoreReplaceBody)]
struct ReplaceBody {
    /// The entries.
    entries: Vec<CoreEntry>,
    /// The last entry ID that the core assigned.
    last: CoreEntryId,
    /// The exported revision. Optional and ignored.
    #[serde(rename = "rev")]
    _rev: Option<u64>,
}

/// Replace all entries of a core with an exported core.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/replace",
    params(CorePath, SpaceConditions),
    request_body(content = ReplaceBody, example = json!({
        "entries": [{
            "id": "E-1",
            "version": 1,
            "content": "Deployments go out on Thursdays",
            "kind": "fact",
            "importance": 0.5,
            "provenance": [{"author": "ada", "trust": "own", "at": "2026-11-15T09:00:00Z"}],
            "created_at": "2026-11-15T09:00:00Z",
            "updated_at": "2026-11-15T09:00:00Z",
        }],
        "last": "E-1",
    })),
    responses((status = 200, body = WithRev<ReplacedBody>), Problems)
)]
async fn replace_core_entries(
    caller: Caller,
    Path(path): Path<CorePath>,
    conditions: SpaceConditions,
    Body(ReplaceBody { entries, last, .. }): Body<ReplaceBody>,
) -> RevResult<ReplacedBody> {
    let core = caller.core(&path.core)?.conditions(conditions);
    let count = entries.len();
    let rev = core.replace(CoreImage { entries, last }).await?;
    Ok(RevResponse::new(ReplacedBody { entries: count }, rev))
}
