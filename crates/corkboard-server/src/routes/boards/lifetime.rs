//! Pause, end, archive and purge boards.

use std::time::Duration;

use corkboard::boards::{BoardOutcome, Unfinished};
use jiff::Timestamp;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn routes() -> Routes {
    routes!(
        complete_board,
        cancel_board,
        archive_board,
        discard_board,
        purge_board,
        pause_board,
        resume_board,
        retry_failed_tasks
    )
    .tag("boards")
}

/// How to complete a board.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = CompleteBoardBody, example = json!({"reason": "good enough", "unfinished": "cancel"}))]
struct CompleteBody {
    /// Reason for completing it.
    reason: Option<String>,
    /// What to do with unfinished tasks: `refuse` keeps the board active, `cancel` cancels them.
    unfinished: Unfinished,
}

/// Outcome of an ended board.
#[derive(Serialize, ToSchema)]
#[schema(as = BoardEndedBody)]
#[schema(example = json!({"outcome": "success", "rev": 20}))]
struct EndedBody {
    /// Outcome of the board.
    outcome: BoardOutcome,
}

/// How long to keep an archived board.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"retain_days": 30}))]
struct ArchiveBody {
    /// Minimum number of days to keep the board from now on [default: the previous value, or the server's setting].
    #[schema(minimum = 0, maximum = 36_500)]
    retain_days: Option<u32>,
}

/// How long an archived board is kept.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"retain_until": "2026-02-04T09:00:00Z", "rev": 21}))]
struct ArchivedBody {
    /// The board is not purged before this time.
    retain_until: Timestamp,
}

/// Complete a board.
///
/// Refused (`unfinished`) while a task is unfinished, unless the request says to cancel unfinished tasks.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/complete",
    params(BoardPath, WriteParameters),
    request_body = Option<CompleteBody>,
    responses((status = 200, body = WithRev<EndedBody>), Problems)
)]
async fn complete_board(
    write: BoardWrite,
    OptionalBody(CompleteBody { reason, unfinished }): OptionalBody<CompleteBody>,
) -> RevResult<EndedBody> {
    let board = write.board()?;
    let outcome = board.complete(reason, unfinished).await?;
    respond(&board, EndedBody { outcome })
}

/// Cancel a board and its unfinished tasks.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/cancel",
    params(BoardPath, WriteParameters),
    request_body = Option<ReasonBody>,
    responses((status = 200, body = WithRev<EndedBody>), Problems)
)]
async fn cancel_board(
    write: BoardWrite,
    OptionalBody(ReasonBody { reason }): OptionalBody<ReasonBody>,
) -> RevResult<EndedBody> {
    let board = write.board()?;
    let outcome = board.cancel(reason).await?;
    respond(&board, EndedBody { outcome })
}

/// Archive a board that has ended.
///
/// It stays readable. Repeat the request with `retain_days` to change how long the board is kept.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/archive",
    params(BoardPath, WriteParameters),
    request_body = Option<ArchiveBody>,
    responses((status = 200, body = WithRev<ArchivedBody>), Problems)
)]
async fn archive_board(
    write: BoardWrite,
    OptionalBody(ArchiveBody { retain_days }): OptionalBody<ArchiveBody>,
) -> RevResult<ArchivedBody> {
    let board = write.board()?;
    let retain_until = board.archive(retain_days.map(|days| DAY.saturating_mul(days))).await?;
    respond(&board, ArchivedBody { retain_until })
}

/// Archive a board that has ended and discard its learnings, so that it can be purged immediately.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/discard",
    params(BoardPath, WriteParameters),
    request_body = Option<ReasonBody>,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn discard_board(
    write: BoardWrite,
    OptionalBody(ReasonBody { reason }): OptionalBody<ReasonBody>,
) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.discard(reason).await?;
    respond(&board, DoneBody {})
}

/// Purge a board if nothing keeps it.
///
/// Deletes the board and its log. Otherwise the problem (`board_kept`) lists everything that keeps it. `POST /v1/gc`
/// purges all boards that nothing keeps.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/purge",
    params(BoardPath, WriteParameters),
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn purge_board(write: BoardWrite) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.purge().await?;
    respond(&board, DoneBody {})
}

/// Pause a board: no task can be started, and no deadline expires.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/pause",
    params(BoardPath, WriteParameters),
    request_body = Option<ReasonBody>,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn pause_board(
    write: BoardWrite,
    OptionalBody(ReasonBody { reason }): OptionalBody<ReasonBody>,
) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.pause(reason).await?;
    respond(&board, DoneBody {})
}

/// Resume a paused board: every deadline moves by the length of the pause.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/resume",
    params(BoardPath, WriteParameters),
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn resume_board(write: BoardWrite) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.resume().await?;
    respond(&board, DoneBody {})
}

/// Retry all failed tasks.
///
/// Reopens failed tasks and the tasks that were cancelled because of them. Returns the tasks that are pending again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/retry_failed",
    params(BoardPath, WriteParameters),
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn retry_failed_tasks(write: BoardWrite) -> RevResult<TaskIdsBody> {
    let board = write.board()?;
    let tasks = board.retry_failed().await?;
    respond(&board, TaskIdsBody { tasks })
}
