//! Forget permanently: a record of a board, an entry of a core, a text in the whole store.

use axum::Json;
use corkboard::boards::RecordId;
use corkboard::cores::CoreEntryId;
use corkboard::{Forgotten, ForgottenText};

use super::cores::CorePath;
use super::spaces::with_refusal;
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(routes!(forget_board_record).tag("boards"))
        .merge(routes!(forget_core_entry_hard).tag("cores"))
        .merge(routes!(forget_text).tag("operations"))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct BoardPath {
    /// ID of the board.
    board: String,
}

/// The record to forget permanently.
#[derive(Deserialize, ToSchema)]
#[schema(as = BoardForgetBody, example = json!({"id": "D-1"}))]
#[serde(deny_unknown_fields)]
struct RecordBody {
    /// ID of the record.
    id: RecordId,
}

/// The entry to forget permanently.
#[derive(Deserialize, ToSchema)]
#[schema(as = CoreForgetHardBody, example = json!({"id": "E-1"}))]
#[serde(deny_unknown_fields)]
struct EntryBody {
    /// ID of the entry.
    id: CoreEntryId,
}

/// The text to find and forget.
#[derive(Deserialize, ToSchema)]
#[schema(as = TextForgetBody, example = json!({"text": "hunter2", "dry_run": true}))]
#[serde(deny_unknown_fields)]
struct TextBody {
    /// The text, exactly as it was written: at least 3 characters.
    text: String,
    /// Only find it.
    #[serde(default)]
    dry_run: bool,
}

/// Forget a record of a board permanently.
///
/// Removes all texts that the record has or ever had from the board, the log, the snapshot and the store's files. The
/// record stays, with its ID, status and dependencies. `copies` lists memory cores that hold a learning made from it. The
/// server rewrites the whole log, which may take a long time.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/forget",
    params(BoardPath),
    request_body = RecordBody,
    responses((status = 200, description = "It was forgotten", body = WithRev<Forgotten>), Problems)
)]
async fn forget_board_record(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Body(body): Body<RecordBody>,
) -> RevResult<Forgotten> {
    let board = caller.board(&path.board)?;
    let forgotten = board.forget_record(body.id).await.map_err(with_refusal)?;
    Ok(RevResponse::new(forgotten, board.view().await?.rev()))
}

/// Forget an entry of a core permanently.
///
/// Removes the entry with all texts that it has or ever had from the core, the log, the snapshot and the store's files.
/// It cannot be restored. The server rewrites the whole log, which may take a long time.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/forget",
    params(CorePath),
    request_body = EntryBody,
    responses((status = 200, description = "It was forgotten", body = WithRev<Forgotten>), Problems)
)]
async fn forget_core_entry_hard(
    caller: Caller,
    Path(path): Path<CorePath>,
    Body(body): Body<EntryBody>,
) -> RevResult<Forgotten> {
    let core = caller.core(&path.core)?;
    let forgotten = core.forget(body.id, None).hard().await.map_err(with_refusal)?;
    Ok(RevResponse::new(forgotten, core.rev().await?))
}

/// Find a text in the whole store and forget it permanently.
///
/// Finds it in all agents with their notebooks and conversations, boards and memory cores, and in values that only the
/// logs still contain. Removes it from the logs, snapshots and the store's files. Items with `place` `name` contain it in
/// a name and stay. Requires an admin token. The server reads all logs, which may take a long time.
#[utoipa::path(
    post,
    path = "/v1/forget",
    request_body = TextBody,
    responses((status = 200, description = "Where it is or was", body = ForgottenText), Problems)
)]
async fn forget_text(caller: Caller, Body(body): Body<TextBody>) -> Result<Json<ForgottenText>, HttpError> {
    let corkboard = caller.store("erase a text from the whole store")?;
    let forget = if body.dry_run { corkboard.find_text(body.text) } else { corkboard.forget_text(body.text) };
    forget.await.map(Json).map_err(with_refusal)
}
