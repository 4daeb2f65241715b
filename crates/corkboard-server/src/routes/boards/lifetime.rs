//! A board is paused, brought to its end, and put away.

use std::time::Duration;

use corkboard::boards::{BoardOutcome, Unfinished};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BoardPath, CommentBody, DoneBody, ReasonBody, TaskIdsBody, Writes, Writing};
use crate::caller::Caller;
use crate::error::HttpError;
use crate::extract::{OptionalBody, Path};
use crate::openapi::Problems;
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(complete_board))
        .routes(routes!(cancel_board))
        .routes(routes!(archive_board))
        .routes(routes!(discard_board))
        .routes(routes!(purge_board))
        .routes(routes!(pause_board))
        .routes(routes!(resume_board))
        .routes(routes!(retry_failed))
}

/// How a board is to be completed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = CompleteBoardBody, example = json!({"comment": "good enough", "unfinished": "cancel"}))]
struct CompleteBody {
    /// What else there is to say.
    comment: Option<String>,
    /// What becomes of tasks that are not finished: `refuse` (the board goes on) or `cancel`.
    unfinished: Unfinished,
}

/// How a board ended.
#[derive(Serialize, ToSchema)]
#[schema(as = BoardEndedBody)]
#[schema(example = json!({"outcome": "success", "rev": 20}))]
struct EndedBody {
    /// How it ended.
    outcome: BoardOutcome,
}

/// For how long a board is to be kept.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"retain_days": 30}))]
struct ArchiveBody {
    /// For how many days at least, from now on; otherwise as was said before, or as the server is set.
    #[schema(minimum = 0)]
    retain_days: Option<u32>,
}

/// That a board is kept.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"retain_until": "2026-02-04T09:00:00Z", "rev": 21}))]
struct ArchivedBody {
    /// Until when at least.
    retain_until: Timestamp,
}

/// Bring a board to its end.
///
/// Refused (`unfinished`) while something on it is not finished, unless that is to be cancelled.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/complete",
    tag = "boards",
    params(BoardPath, Writes),
    request_body = Option<CompleteBody>,
    responses((status = 200, body = WithRev<EndedBody>), Problems)
)]
async fn complete_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    OptionalBody(CompleteBody { comment, unfinished }): OptionalBody<CompleteBody>,
) -> Result<RevResponse<EndedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let outcome = board.complete(comment, unfinished).await?;
    Ok(RevResponse::new(EndedBody { outcome }, board.last_rev()))
}

/// Give a board up: what is unfinished is cancelled.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/cancel",
    tag = "boards",
    params(BoardPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<EndedBody>), Problems)
)]
async fn cancel_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> Result<RevResponse<EndedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let outcome = board.cancel(comment).await?;
    Ok(RevResponse::new(EndedBody { outcome }, board.last_rev()))
}

/// Put a board that has ended away, to be read for a while.
///
/// Again, with a time: changes it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/archive",
    tag = "boards",
    params(BoardPath, Writes),
    request_body = Option<ArchiveBody>,
    responses((status = 200, body = WithRev<ArchivedBody>), Problems)
)]
async fn archive_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    OptionalBody(ArchiveBody { retain_days }): OptionalBody<ArchiveBody>,
) -> Result<RevResponse<ArchivedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let retain_until = board.archive(retain_days.map(|days| DAY.saturating_mul(days))).await?;
    Ok(RevResponse::new(ArchivedBody { retain_until }, board.last_rev()))
}

/// Put a board that has ended away, and give up what it taught: it may be purged at once.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/discard",
    tag = "boards",
    params(BoardPath, Writes),
    request_body = Option<ReasonBody>,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn discard_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    OptionalBody(ReasonBody { reason }): OptionalBody<ReasonBody>,
) -> Result<RevResponse<DoneBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    board.discard(reason).await?;
    Ok(RevResponse::new(DoneBody {}, board.last_rev()))
}

/// Delete a board with its log, if nothing keeps it.
///
/// Otherwise the problem (`board_kept`) says all that does. `POST /v1/gc` does it to all that nothing keeps.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/purge",
    tag = "boards",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn purge_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
) -> Result<RevResponse<DoneBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    board.purge().await?;
    Ok(RevResponse::new(DoneBody {}, board.last_rev()))
}

/// Pause a board: nobody begins a task, and nothing expires.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/pause",
    tag = "boards",
    params(BoardPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn pause_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> Result<RevResponse<DoneBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    board.pause(comment).await?;
    Ok(RevResponse::new(DoneBody {}, board.last_rev()))
}

/// Let a paused board go on: every deadline moves by the length of the pause.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/resume",
    tag = "boards",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn resume_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
) -> Result<RevResponse<DoneBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    board.resume().await?;
    Ok(RevResponse::new(DoneBody {}, board.last_rev()))
}

/// Reopen all that failed, and what was cancelled because of it.
///
/// Answers what is pending again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/retry_failed",
    tag = "boards",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn retry_failed(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
) -> Result<RevResponse<TaskIdsBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let tasks = board.retry_failed().await?;
    Ok(RevResponse::new(TaskIdsBody { tasks }, board.last_rev()))
}
