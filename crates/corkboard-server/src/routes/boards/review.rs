//! Whoever runs a board says who does a task, what it is worth, and whether it is tried again.

use corkboard::boards::ReviewStatus;

use super::*;

pub(super) fn routes() -> Routes {
    routes!(assign_task, assign_review, review_task, cancel_task, retry_task).tag("tasks")
}

/// Who.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"agent": "ada"}))]
struct AssignBody {
    /// The agent's name.
    agent: String,
}

/// What a task under review is worth.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"verdict": "needs_rework", "comment": "logout has no test"}))]
struct ReviewBody {
    /// The verdict.
    verdict: ReviewStatus,
    /// Why; required unless the verdict is `approved`.
    #[serde(alias = "comments")]
    comment: Option<String>,
}

/// Say who is to do a task. There is no lease until work begins.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/assign",
    params(TaskPath, Writes),
    request_body = AssignBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn assign_task(write: BoardWrite<TaskPath>, Body(AssignBody { agent }): Body<AssignBody>) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.assign_task(write.path.task, &agent).await?;
    respond(&board, DoneBody {})
}

/// Say who is to look at a task.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/assign_review",
    params(TaskPath, Writes),
    request_body = AssignBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn assign_review(
    write: BoardWrite<TaskPath>,
    Body(AssignBody { agent }): Body<AssignBody>,
) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.assign_review(write.path.task, &agent).await?;
    respond(&board, DoneBody {})
}

/// Review a task: approve, request rework or reject.
///
/// An assigned review is given by the assigned reviewer or a person (`not_reviewer`). No agent approves its own task
/// (`own_task`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/review",
    params(TaskPath, Writes),
    request_body = ReviewBody,
    responses((status = 200, body = WithRev<MovedBody>), Problems)
)]
async fn review_task(
    write: BoardWrite<TaskPath>,
    Body(ReviewBody { verdict, comment }): Body<ReviewBody>,
) -> RevResult<MovedBody> {
    let board = write.board()?;
    let status = board.review_task(write.path.task, verdict, comment).await?;
    respond(&board, MovedBody { status })
}

/// Cancel a task, and those that can no longer begin because of it.
///
/// Answers all tasks that were cancelled, the named one first.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/cancel",
    params(TaskPath, Writes),
    request_body = Option<ReasonBody>,
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn cancel_task(
    write: BoardWrite<TaskPath>,
    OptionalBody(ReasonBody { reason }): OptionalBody<ReasonBody>,
) -> RevResult<TaskIdsBody> {
    let board = write.board()?;
    let tasks = board.cancel_task(write.path.task, reason).await?;
    respond(&board, TaskIdsBody { tasks })
}

/// Reopen a failed task, and what was cancelled because of it.
///
/// Answers what is pending again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/retry",
    params(TaskPath, Writes),
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn retry_task(write: BoardWrite<TaskPath>) -> RevResult<TaskIdsBody> {
    let board = write.board()?;
    let tasks = board.retry_task(write.path.task).await?;
    respond(&board, TaskIdsBody { tasks })
}
