//! Memory cores as wholes: listed, counted, emptied, replaced and deleted. An agent's own core has the name `agent:` and its name.

use corkboard::cores::{CoreEntry, CoreEntryId, CoreImage, Withdrawal};
use corkboard::{CoreStats, CoreSummary, SpaceId, SpaceKind, Withdrawn};

use crate::condition::SpaceConditions;
use crate::routes::prelude::*;

/// The most cores of one answer.
const MOST: usize = 1000;
/// How many there are in one if nobody says.
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

/// Which core.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct CorePath {
    /// The core's name. An agent's own core is `agent:` and its name.
    pub(super) core: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those after this name: `next` of the page before.
    cursor: Option<String>,
    /// How many at most.
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
    /// Delete it for good: leave nothing of it in the store's files. It may take long.
    #[serde(default)]
    hard: bool,
}

/// What is to be taken out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WithdrawBody {
    /// What came from where.
    of: Withdrawal,
}

/// What a replacement did.
#[derive(Serialize, ToSchema)]
struct ReplacedBody {
    /// How many entries there are now, the forgotten ones included.
    entries: usize,
}

/// List memory cores.
///
/// Those that the token opens, agents' own ones included, in the order of their names.
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
    let limit = query.limit;
    let mut after = query.cursor.and_then(|name| SpaceId::of(SpaceKind::Core, &name).as_core());
    let mut cores: Vec<CoreSummary> = Vec::new();
    // Pages are filled with what the caller may see.
    loop {
        let listed = caller.corkboard().cores(after.as_ref(), MOST).await?;
        let is_last = listed.len() < MOST;
        after = listed.last().map(|listed| listed.id.clone());
        cores.extend(listed.into_iter().filter(|listed| caller.sees(SpaceKind::Core, listed.id.as_str())));
        if is_last || cores.len() > limit {
            break;
        }
    }
    let is_more = cores.len() > limit;
    cores.truncate(limit);
    let next = cores.last().filter(|_| is_more).map(|last| last.id.to_string());
    Ok(axum::Json(ItemsBody { items: cores, next }))
}

/// Delete a core with its log.
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
    let deleted = if query.hard { core.clone().delete_for_good().await? } else { core.clone().delete().await? };
    Ok(RevResponse::new(DeletedBody { deleted }, core.rev().await?))
}

/// Count what is in a core.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/stats",
    params(CorePath),
    responses((status = 200, body = CoreStats), Problems)
)]
async fn get_core_stats(caller: Caller, Path(path): Path<CorePath>) -> Result<axum::Json<CoreStats>, HttpError> {
    Ok(axum::Json(caller.core(&path.core)?.stats().await?))
}

/// Take out of a core all that came from somewhere.
///
/// From an author, a board, one thing on a board, or one promotion, in one revision. What came from elsewhere too stays,
/// without that origin; another's entry that an author only changed is forgotten.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/withdraw",
    params(CorePath, SpaceConditions),
    request_body(content = WithdrawBody, example = json!({"of": {"author": {"name": "mallory"}}})),
    responses((status = 200, body = WithRev<Withdrawn>), Problems)
)]
async fn withdraw_core_entries(
    caller: Caller,
    Path(path): Path<CorePath>,
    conditions: SpaceConditions,
    Body(body): Body<WithdrawBody>,
) -> RevResult<Withdrawn> {
    let core = caller.core(&path.core)?;
    let withdrawn = core.conditions(conditions).withdraw(body.of).await?;
    Ok(RevResponse::new(withdrawn, core.rev().await?))
}

/// Remove all entries of a core, the forgotten ones included.
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

/// All entries of a core, the forgotten ones included, to be kept elsewhere.
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

/// An image, as it was answered.
#[derive(Deserialize, ToSchema)]
#[schema(as = CoreReplaceBody)]
struct ReplaceBody {
    /// The entries.
    entries: Vec<CoreEntry>,
    /// The last number given out.
    last: CoreEntryId,
    /// The revision that it shows. It may be left out: nothing depends on it.
    #[serde(rename = "rev")]
    _rev: Option<u64>,
}

/// Replace all entries of a core by those of an image.
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
