//! Working on tasks: they are taken, held, and done or not.

use std::time::Duration;

use corkboard::boards::{Claimed, Lease, TaskId, TaskResult, TaskStatus};
use corkboard::cores::Trust;
use jiff::Timestamp;

use super::*;

pub(super) fn routes() -> Routes {
    routes!(claim_task, heartbeat_task, release_task, set_task_status, complete_task, fail_task).tag("tasks")
}

/// Which task is wanted, for how long.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"lease_s": 900}))]
struct ClaimBody {
    /// For whom: for the caller, unless an admin or a service names another.
    agent: Option<String>,
    /// Which task; otherwise the next: one that was sent back to the caller for rework, then an assigned one, then by
    /// priority and age.
    task: Option<TaskId>,
    /// The epoch that the caller last had of `task`. A worker that was restarted gets its unfinished task back by this,
    /// under a new epoch; what still has the old one is fenced.
    epoch: Option<u64>,
    /// How many seconds to wait for it.
    #[schema(minimum = 0, maximum = 300)]
    wait_s: Option<f64>,
    /// For how many seconds, if its holder is not heard of. 15 minutes, if nothing is said.
    #[schema(minimum = 0.01, maximum = 604800)]
    lease_s: Option<f64>,
}

/// A task that was claimed, or none.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"task": "T-1", "epoch": 1, "deadline": "2026-01-05T09:15:00Z", "attempt": 1, "rev": 7}))]
struct ClaimedBody {
    /// Which; null: nothing is ready.
    task: Option<TaskId>,
    /// The claim's epoch: to be sent with everything that is done under it; null without a task.
    epoch: Option<u64>,
    /// Until when it holds, if the holder is not heard of; null without a task.
    deadline: Option<Timestamp>,
    /// Which attempt it is; null without a task.
    attempt: Option<u32>,
}

/// By which claim.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"epoch": 1}))]
struct EpochBody {
    /// The claim's epoch; without it, a holder is told by name alone.
    epoch: Option<u64>,
}

/// Until when a task is held.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"deadline": "2026-01-05T09:15:00Z", "rev": 9}))]
struct HeldBody {
    /// Until when, if the holder is not heard of.
    deadline: Timestamp,
}

/// Where a task is to go.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"status": "blocked", "reason": "no access to the database", "epoch": 1}))]
struct StatusBody {
    /// The state.
    status: TaskStatus,
    /// Why, where there is something to say: blocked, failed, cancelled.
    reason: Option<String>,
    /// The claim's epoch.
    epoch: Option<u64>,
}

/// What came of a task.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"summary": "tables users and sessions", "next_steps": ["index them"], "epoch": 1}))]
struct ResultBody {
    /// What was done.
    summary: String,
    /// What should come next.
    #[serde(default)]
    next_steps: Vec<String>,
    /// How far all of that may be trusted: `outside` for what came from a web page, a tool or a stranger.
    trust: Option<Trust>,
    /// The claim's epoch.
    epoch: Option<u64>,
}

/// Why a task did not work.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "timeout", "epoch": 1}))]
struct FailBody {
    /// Why.
    reason: String,
    /// The claim's epoch.
    epoch: Option<u64>,
}

/// So many seconds, if that is a length of time.
pub(super) fn seconds(what: &str, seconds: f64) -> Result<Duration, HttpError> {
    Duration::try_from_secs_f64(seconds).map_err(|error| HttpError::invalid("duration", format!("{what}: {error}")))
}

/// Take a task to work on it: the one that is named, or the next that is ready.
///
/// With `wait_s`, the answer comes once there is one, or that time is over. `task` is null if nothing is ready. A worker that
/// was restarted sends the `task` and the `epoch` that it had, and gets the same task under a new epoch.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/claim",
    params(BoardPath, Writes),
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
    let lease = body.lease_s.map_or(Ok(Duration::from_millis(Lease::CLAIM_MS)), |lease| seconds("lease_s", lease))?;
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

/// Say that the holder still works on a task.
///
/// The lease is renewed if that moves its deadline by more than a tenth of its length. `deadline` is the one that is stored.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/heartbeat",
    params(TaskPath, Writes),
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

/// Give a task back.
///
/// Whoever runs the board takes it from its holder so.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/release",
    params(TaskPath, Writes),
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

/// Move a task to another state.
///
/// Refused with the moves that there are (`task_move`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/status",
    params(TaskPath, Writes),
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

/// Say that a task is done.
///
/// Answers `completed`, or `review` if somebody is to look at it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/complete",
    params(TaskPath, Writes),
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

/// Say that a task did not work.
///
/// Answers `failed`, or `pending` if it is tried again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/fail",
    params(TaskPath, Writes),
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
