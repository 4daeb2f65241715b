//! Garbage collection: list and purge boards that nothing keeps.

use axum::Json;
use corkboard::{BoardId, Garbage, PurgedGarbage, SpaceKind};

use super::*;

pub(super) fn routes() -> Routes {
    routes!(list_garbage, purge_garbage).tag("boards")
}

/// List boards that can be purged, and why the others are kept.
///
/// Read-only. Covers only boards that the token has access to.
#[utoipa::path(get, path = "/v1/gc", responses((status = 200, body = Garbage), Problems))]
async fn list_garbage(caller: Caller) -> Result<Json<Garbage>, HttpError> {
    let is_seen = |board: &BoardId| caller.sees(SpaceKind::Board, board.as_str());
    Ok(Json(caller.corkboard().garbage_among(is_seen).await?))
}

/// Purge all boards that nothing keeps.
///
/// Deletes permanently, and only boards that the token has access to. The response also contains the list computed
/// before the purge.
#[utoipa::path(post, path = "/v1/gc", responses((status = 200, body = PurgedGarbage), Problems))]
async fn purge_garbage(caller: Caller) -> Result<Json<PurgedGarbage>, HttpError> {
    let is_seen = |board: &BoardId| caller.sees(SpaceKind::Board, board.as_str());
    Ok(Json(caller.corkboard().purge_garbage_among(is_seen).await?))
}
