//! Assign, review, cancel and retry tasks.

use corkboard::boards::ReviewVerdict;

use super::*;

pub(super) fn routes() -> Routes {
    routes!(assign_task, assign_review, review_task, cancel_task, retry_task).tag("tasks")
}

/// The agent to assign.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"agent": "ada"}))]
struct AssignBody {
    /// Name of the agent.
    agent: String,
}

/// Review of a task.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"verdict": "needs_rework", "comment": "logout has no test"}))]
struct ReviewBody {
    /// Verdict of the review.
    #[serde(alias = "status")]
    verdict: ReviewVerdict,
    /// Reason; required unless the verdict is `approved`.
    #[serde(alias = "comments")]
    comment: Option<String>,
}

/// Assign a task to an agent. The lease starts when the agent starts work.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/assign",
    params(TaskPath, WriteParameters),
    request_body = AssignBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn assign_task(write: BoardWrite<TaskPath>, Body(AssignBody { agent }): Body<AssignBody>) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.assign_task(write.path.task, &agent).await?;
    respond(&board, DoneBody {})
}

/// Assign a reviewer to a task.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/assign_review",
    params(TaskPath, WriteParameters),
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
/// If a reviewer is assigned, only that reviewer or a person may review the task (`not_reviewer`). An agent cannot
/// approve its own task (`own_task`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/review",
    params(TaskPath, WriteParameters),
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

/// Cancel a task.
///
/// Also cancels tasks that can no longer start because of it. Returns all cancelled tasks, the named one first.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/cancel",
    params(TaskPath, WriteParameters),
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

/// Retry a failed task.
///
/// Reopens it together with the tasks that were cancelled because of it. Returns the tasks that are pending again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/retry",
    params(TaskPath, WriteParameters),
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn retry_task(write: BoardWrite<TaskPath>) -> RevResult<TaskIdsBody> {
    let board = write.board()?;
    let tasks = board.retry_task(write.path.task).await?;
    respond(&board, TaskIdsBody { tasks })
}
