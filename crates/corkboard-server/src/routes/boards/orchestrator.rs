//! The orchestrator's role.

use corkboard::boards::Lease;
use jiff::Timestamp;

use super::claims::seconds;
use super::*;

pub(super) fn routes() -> Routes {
    routes!(acquire_orchestrator_role, renew_orchestrator_role, release_orchestrator_role).tag("boards")
}

/// The lease for the role.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"lease_s": 30}))]
struct AcquireBody {
    /// Lease duration in seconds [default: 30]. Renew the role before it ends.
    #[schema(minimum = 0.01, maximum = 604800)]
    lease_s: Option<f64>,
}

/// The epoch of a held role.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"epoch": 1}))]
struct RoleEpochBody {
    /// Epoch of the role.
    epoch: u64,
}

/// The acquired or renewed role.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"epoch": 1, "deadline": "2026-01-05T09:00:30Z", "rev": 2}))]
struct RoleBody {
    /// Epoch of the role. Send it as `Cork-Orchestrator` with every request made in this role.
    epoch: u64,
    /// End of the lease unless it is renewed.
    deadline: Timestamp,
}

/// Acquire the orchestrator role.
///
/// Succeeds if nobody else holds the role. If the caller already holds it, requests with the earlier epoch are refused
/// as `fenced` from now on.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/orchestrator/acquire",
    params(BoardPath, WriteParameters),
    request_body = Option<AcquireBody>,
    responses((status = 200, body = WithRev<RoleBody>), Problems)
)]
async fn acquire_orchestrator_role(
    write: BoardWrite,
    OptionalBody(AcquireBody { lease_s }): OptionalBody<AcquireBody>,
) -> RevResult<RoleBody> {
    let board = write.board()?;
    let usual = Lease::ORCHESTRATOR;
    let lease = lease_s.map_or(Ok(usual), |lease| seconds("lease_s", lease))?;
    let role = board.acquire_orchestrator(lease).await?;
    respond(&board, RoleBody { epoch: role.epoch(), deadline: role.deadline() })
}

/// Renew the orchestrator role.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/orchestrator/renew",
    params(BoardPath, WriteParameters),
    request_body = RoleEpochBody,
    responses((status = 200, body = WithRev<RoleBody>), Problems)
)]
async fn renew_orchestrator_role(
    write: BoardWrite,
    Body(RoleEpochBody { epoch }): Body<RoleEpochBody>,
) -> RevResult<RoleBody> {
    let board = write.board()?;
    let deadline = board.renew_orchestrator(epoch).await?;
    respond(&board, RoleBody { epoch, deadline })
}

/// Release the orchestrator role.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/orchestrator/release",
    params(BoardPath, WriteParameters),
    request_body = RoleEpochBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn release_orchestrator_role(
    write: BoardWrite,
    Body(RoleEpochBody { epoch }): Body<RoleEpochBody>,
) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.release_orchestrator(epoch).await?;
    respond(&board, DoneBody {})
}
