//! What of a store can go.

use axum::Json;
use corkboard::{BoardId, Garbage, PurgedGarbage, SpaceKind};

use super::*;

pub(super) fn routes() -> Routes {
    routes!(list_garbage, purge_garbage).tag("boards")
}

/// See which boards can go, and why the rest stays. Nothing changes by it.
///
/// Only boards that the token opens are told, and counted.
#[utoipa::path(get, path = "/v1/gc", responses((status = 200, body = Garbage), Problems))]
async fn list_garbage(caller: Caller) -> Result<Json<Garbage>, HttpError> {
    let is_seen = |board: &BoardId| caller.sees(SpaceKind::Board, board.as_str());
    Ok(Json(caller.corkboard().garbage_among(is_seen).await?))
}

/// Delete all boards that nothing keeps, for good.
///
/// Of those that the token opens. What was found before that is told, too.
#[utoipa::path(post, path = "/v1/gc", responses((status = 200, body = PurgedGarbage), Problems))]
async fn purge_garbage(caller: Caller) -> Result<Json<PurgedGarbage>, HttpError> {
    let is_seen = |board: &BoardId| caller.sees(SpaceKind::Board, board.as_str());
    Ok(Json(caller.corkboard().purge_garbage_among(is_seen).await?))
}
