//! A board is paused, brought to its end, and put away.

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

/// How a board is to be completed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = CompleteBoardBody, example = json!({"reason": "good enough", "unfinished": "cancel"}))]
struct CompleteBody {
    /// Why.
    reason: Option<String>,
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
    params(BoardPath, Writes),
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

/// Give a board up: what is unfinished is cancelled.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/cancel",
    params(BoardPath, Writes),
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

/// Put a board that has ended away, to be read for a while.
///
/// Again, with a time: changes it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/archive",
    params(BoardPath, Writes),
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

/// Put a board that has ended away, and give up what it taught: it may be purged at once.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/discard",
    params(BoardPath, Writes),
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

/// Delete a board with its log, if nothing keeps it.
///
/// Otherwise the problem (`board_kept`) says all that does. `POST /v1/gc` does it to all that nothing keeps.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/purge",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn purge_board(write: BoardWrite) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.purge().await?;
    respond(&board, DoneBody {})
}

/// Pause a board: nobody begins a task, and nothing expires.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/pause",
    params(BoardPath, Writes),
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

/// Let a paused board go on: every deadline moves by the length of the pause.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/resume",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn resume_board(write: BoardWrite) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.resume().await?;
    respond(&board, DoneBody {})
}

/// Reopen all that failed, and what was cancelled because of it.
///
/// Answers what is pending again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/retry_failed",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn retry_failed_tasks(write: BoardWrite) -> RevResult<TaskIdsBody> {
    let board = write.board()?;
    let tasks = board.retry_failed().await?;
    respond(&board, TaskIdsBody { tasks })
}
