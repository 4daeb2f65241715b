//! Workers claim tasks, send heartbeats, and complete, fail or release them.

use std::time::Duration;

use corkboard::boards::{Claimed, Lease, TaskId, TaskResult, TaskStatus};
use corkboard::cores::Trust;
use jiff::Timestamp;

use super::*;

pub(super) fn routes() -> Routes {
    routes!(claim_task, heartbeat_task, release_task, set_task_status, complete_task, fail_task).tag("tasks")
}

/// What to claim, and for how long.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"lease_s": 900}))]
struct ClaimBody {
    /// Agent that claims the task [default: the caller]. Only admins and services may name another agent.
    agent: Option<String>,
    /// Task to claim [default: the next ready one]. Tasks sent back to the caller for rework come first, then tasks
    /// assigned to the caller, then the rest by priority and age.
    task: Option<TaskId>,
    /// Last epoch that the caller had for `task`. With it, a restarted worker reclaims its unfinished task under a new
    /// epoch. Requests with the old epoch are then refused as `fenced`.
    epoch: Option<u64>,
    /// Seconds to wait until a task is ready.
    #[schema(minimum = 0, maximum = 300)]
    wait_s: Option<f64>,
    /// Lease duration in seconds [default: 900]. Without a heartbeat, the task is released when the lease ends.
    #[schema(minimum = 0.01, maximum = 604800)]
    lease_s: Option<f64>,
}

/// The claimed task, or nulls if no task is ready.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"task": "T-1", "epoch": 1, "deadline": "2026-01-05T09:15:00Z", "attempt": 1, "rev": 7}))]
struct ClaimedBody {
    /// The claimed task; null if none is ready.
    task: Option<TaskId>,
    /// Epoch of the claim; null without a task. Send it as `epoch` in requests that change this task, and in the header
    /// `Cork-Claim: T-1@1` (task and epoch) with everything else that you record for it.
    epoch: Option<u64>,
    /// End of the lease unless a heartbeat extends it; null without a task.
    deadline: Option<Timestamp>,
    /// Number of this attempt, starting at 1; null without a task.
    attempt: Option<u32>,
}

/// The claim that a request belongs to.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"epoch": 1}))]
struct EpochBody {
    /// Epoch of the claim. Without it, the server only checks that the caller holds the task.
    epoch: Option<u64>,
}

/// The renewed lease.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"deadline": "2026-01-05T09:15:00Z", "rev": 9}))]
struct HeldBody {
    /// End of the lease unless another heartbeat extends it.
    deadline: Timestamp,
}

/// The status to move a task to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"status": "blocked", "reason": "no access to the database", "epoch": 1}))]
struct StatusBody {
    /// New status.
    status: TaskStatus,
    /// Reason, for the statuses `blocked`, `failed` and `cancelled`.
    reason: Option<String>,
    /// Epoch of the claim.
    epoch: Option<u64>,
}

/// Result of a completed task.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"summary": "tables users and sessions", "next_steps": ["index them"], "epoch": 1}))]
struct ResultBody {
    /// What was done.
    summary: String,
    /// Suggested next steps.
    #[serde(default)]
    next_steps: Vec<String>,
    /// Trust level of this result: `outside` if it came from a web page, a tool or an untrusted person.
    trust: Option<Trust>,
    /// Epoch of the claim.
    epoch: Option<u64>,
}

/// Why a task failed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "timeout", "epoch": 1}))]
struct FailBody {
    /// Reason for the failure.
    reason: String,
    /// Epoch of the claim.
    epoch: Option<u64>,
}

/// Converts a number of seconds; negative or huge numbers are invalid.
pub(super) fn seconds(what: &str, seconds: f64) -> Result<Duration, HttpError> {
    Duration::try_from_secs_f64(seconds).map_err(|error| HttpError::invalid("duration", format!("{what}: {error}")))
}

/// Claim a task.
///
/// Claims the named task, or the next one that is ready. With `wait_s`, the server responds once a task is ready or the
/// time is over. `task` is null if none is ready. A restarted worker sends the `task` and `epoch` that it had, and gets
/// the same task under a new epoch.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/claim",
    params(BoardPath, WriteParameters),
    request_body = Option<ClaimBody>,
    responses((status = 200, body = WithRev<ClaimedBody>), Problems)
)]
async fn claim_task(
    caller: Caller,
    Path(path): Path<BoardPath>,
    conditions: WriteConditions,
    OptionalBody(body): OptionalBody<ClaimBody>,
) -> RevResult<ClaimedBody> {
    let board = conditions.on(&caller.for_worker(body.agent.as_deref())?, &path.board)?;
    let lease = body.lease_s.map_or(Ok(Lease::CLAIM), |lease| seconds("lease_s", lease))?;
    let wait = body.wait_s.map_or(Ok(Duration::ZERO), |wait| seconds("wait_s", wait))?;
    let claim = board.claim_task(body.task, lease).wait(wait);
    let claim = match body.epoch {
        Some(epoch) => claim.epoch(epoch),
        None => claim,
    };
    let body = match claim.await? {
        Some(Claimed { task, epoch, deadline, attempt }) => {
            ClaimedBody { task: Some(task), epoch: Some(epoch), deadline: Some(deadline), attempt: Some(attempt) }
        }
        None => ClaimedBody { task: None, epoch: None, deadline: None, attempt: None },
    };
    respond(&board, body)
}

/// Send a heartbeat for a task.
///
/// Renews the lease if that moves its deadline by more than a tenth of the lease duration. `deadline` is the stored
/// one.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/heartbeat",
    params(TaskPath, WriteParameters),
    request_body = Option<EpochBody>,
    responses((status = 200, body = WithRev<HeldBody>), Problems)
)]
async fn heartbeat_task(
    write: BoardWrite<TaskPath>,
    OptionalBody(EpochBody { epoch }): OptionalBody<EpochBody>,
) -> RevResult<HeldBody> {
    let board = write.board()?;
    let deadline = board.heartbeat(write.path.task, epoch).await?;
    respond(&board, HeldBody { deadline })
}

/// Release a task.
///
/// The task becomes pending again. An orchestrator can release a task that another agent holds.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/release",
    params(TaskPath, WriteParameters),
    request_body = Option<EpochBody>,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn release_task(
    write: BoardWrite<TaskPath>,
    OptionalBody(EpochBody { epoch }): OptionalBody<EpochBody>,
) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.release_task(write.path.task, epoch).await?;
    respond(&board, DoneBody {})
}

/// Change a task's status.
///
/// A status that the task cannot move to is refused with the allowed ones (`task_move`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/status",
    params(TaskPath, WriteParameters),
    request_body = StatusBody,
    responses((status = 200, body = WithRev<MovedBody>), Problems)
)]
async fn set_task_status(
    write: BoardWrite<TaskPath>,
    Body(StatusBody { status, reason, epoch }): Body<StatusBody>,
) -> RevResult<MovedBody> {
    let board = write.board()?;
    let status = board.update_task_status(write.path.task, status, reason, epoch).await?;
    respond(&board, MovedBody { status })
}

/// Complete a task.
///
/// The returned status is `completed`, or `review` if the task needs a review.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/complete",
    params(TaskPath, WriteParameters),
    request_body = ResultBody,
    responses((status = 200, body = WithRev<MovedBody>), Problems)
)]
async fn complete_task(
    write: BoardWrite<TaskPath>,
    Body(ResultBody { summary, next_steps, trust, epoch }): Body<ResultBody>,
) -> RevResult<MovedBody> {
    let board = write.board()?;
    let status = board.complete_task(write.path.task, TaskResult { summary, next_steps, trust }, epoch).await?;
    respond(&board, MovedBody { status })
}

/// Report that a task failed.
///
/// The returned status is `failed`, or `pending` if the task will be retried.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/fail",
    params(TaskPath, WriteParameters),
    request_body = FailBody,
    responses((status = 200, body = WithRev<MovedBody>), Problems)
)]
async fn fail_task(
    write: BoardWrite<TaskPath>,
    Body(FailBody { reason, epoch }): Body<FailBody>,
) -> RevResult<MovedBody> {
    let board = write.board()?;
    let status = board.fail_task(write.path.task, &reason, epoch).await?;
    respond(&board, MovedBody { status })
}
