//! Whoever runs a board says who does a task, what it is worth, and whether it is tried again.

use corkboard::boards::ReviewStatus;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{CommentBody, DoneBody, MovedBody, TaskIdsBody, TaskPath, Writes, Writing};
use crate::caller::Caller;
use crate::error::HttpError;
use crate::extract::{Body, OptionalBody, Path};
use crate::openapi::Problems;
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(assign_task))
        .routes(routes!(assign_review))
        .routes(routes!(review_task))
        .routes(routes!(cancel_task))
        .routes(routes!(retry_task))
}

/// Who.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"to": "ada"}))]
struct AssignBody {
    /// The agent's name.
    to: String,
}

/// What a task under review is worth.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"verdict": "needs_rework", "comments": "logout has no test"}))]
struct ReviewBody {
    /// The verdict.
    verdict: ReviewStatus,
    /// Whoever sends it back or rejects it says why.
    comments: Option<String>,
}

/// Say who is to do a task. There is no lease until work begins.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/assign",
    tag = "tasks",
    params(TaskPath, Writes),
    request_body = AssignBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn assign_task(
    caller: Caller,
    Path(path): Path<TaskPath>,
    writing: Writing,
    Body(AssignBody { to }): Body<AssignBody>,
) -> Result<RevResponse<DoneBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    board.assign_task(path.task, &to).await?;
    Ok(RevResponse::new(DoneBody {}, board.last_rev()))
}

/// Say who is to look at a task.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/assign_review",
    tag = "tasks",
    params(TaskPath, Writes),
    request_body = AssignBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn assign_review(
    caller: Caller,
    Path(path): Path<TaskPath>,
    writing: Writing,
    Body(AssignBody { to }): Body<AssignBody>,
) -> Result<RevResponse<DoneBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    board.assign_review(path.task, &to).await?;
    Ok(RevResponse::new(DoneBody {}, board.last_rev()))
}

/// Review a task: approve, request rework or reject.
///
/// An assigned review is given by the assigned reviewer or a person (`not_reviewer`). No agent approves its own task
/// (`own_task`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/review",
    tag = "tasks",
    params(TaskPath, Writes),
    request_body = ReviewBody,
    responses((status = 200, body = WithRev<MovedBody>), Problems)
)]
async fn review_task(
    caller: Caller,
    Path(path): Path<TaskPath>,
    writing: Writing,
    Body(ReviewBody { verdict, comments }): Body<ReviewBody>,
) -> Result<RevResponse<MovedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let status = board.review_task(path.task, verdict, comments).await?;
    Ok(RevResponse::new(MovedBody { status }, board.last_rev()))
}

/// Cancel a task, and those that can no longer begin because of it.
///
/// Answers all tasks that were cancelled, the named one first.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/cancel",
    tag = "tasks",
    params(TaskPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn cancel_task(
    caller: Caller,
    Path(path): Path<TaskPath>,
    writing: Writing,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> Result<RevResponse<TaskIdsBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let tasks = board.cancel_task(path.task, comment).await?;
    Ok(RevResponse::new(TaskIdsBody { tasks }, board.last_rev()))
}

/// Reopen a failed task, and what was cancelled because of it.
///
/// Answers what is pending again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/retry",
    tag = "tasks",
    params(TaskPath, Writes),
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn retry_task(
    caller: Caller,
    Path(path): Path<TaskPath>,
    writing: Writing,
) -> Result<RevResponse<TaskIdsBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let tasks = board.retry_task(path.task).await?;
    Ok(RevResponse::new(TaskIdsBody { tasks }, board.last_rev()))
}
