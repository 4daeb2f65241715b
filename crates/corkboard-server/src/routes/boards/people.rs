//! What people do on a board: they say something to those who work, and approve or reject decisions.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use corkboard::AgentId;
use corkboard::boards::{Approval, ApprovalId, NewNudge, Nudge, NudgeId, NudgePriority, NudgeTarget};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::records::DecisionPath;
use super::{AtQuery, BoardPath, CommentBody, Writes, Writing, not_on_board, view};
use crate::caller::Caller;
use crate::condition::Seen;
use crate::cursor::PageQuery;
use crate::error::HttpError;
use crate::extract::{Body, OptionalBody, Path, Query};
use crate::openapi::Problems;
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_nudges))
        .routes(routes!(get_nudge))
        .routes(routes!(add_nudge))
        .routes(routes!(acknowledge_nudge))
        .routes(routes!(list_approvals))
        .routes(routes!(approve_decision))
        .routes(routes!(reject_decision))
}

/// Which nudge.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct NudgePath {
    /// The board's id.
    #[param(example = "add-login-1a2b3c4d")]
    board: String,
    /// The nudge's id.
    #[param(inline)]
    nudge: NudgeId,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NudgesQuery {
    /// Only what is said to this agent and not acknowledged, the urgent first, as a whole. That they read it is written down.
    /// Whoever asks is that agent, or may act for it.
    r#for: Option<String>,
}

/// Nudges.
#[derive(Serialize, ToSchema)]
struct NudgesBody {
    /// Each with who has read and who has acknowledged it.
    nudges: Vec<Arc<Nudge>>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// Something to be said to those who work.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"to": {"agent": "ada"}, "message": "Use the staging database", "priority": "urgent"}))]
struct NudgeBody {
    /// To whom: `{"agent": "ada"}`, `"orchestrator"` or `"all"`.
    to: NudgeTarget,
    /// What is said.
    message: String,
    /// How much it matters.
    #[serde(default)]
    priority: NudgePriority,
    /// From when on it is no longer shown.
    expires_at: Option<Timestamp>,
}

/// A nudge that was given.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "N-1", "rev": 9}))]
struct NudgedBody {
    /// Its id.
    id: NudgeId,
}

/// Those that were acknowledged.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"acknowledged": ["N-1"], "rev": 10}))]
struct AcknowledgedBody {
    /// Those for which that is new.
    acknowledged: Vec<NudgeId>,
}

/// What people signed off.
#[derive(Serialize, ToSchema)]
struct ApprovalsBody {
    /// In order.
    approvals: Vec<Arc<Approval>>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// What was said of a decision.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "AP-1", "rev": 11}))]
struct JudgedBody {
    /// The approval's id.
    id: ApprovalId,
}

/// List nudges: all of them, or what is said to one agent.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/nudges",
    tag = "people",
    params(BoardPath, NudgesQuery, PageQuery),
    responses((status = 200, body = WithRev<NudgesBody>), Problems)
)]
async fn list_nudges(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<NudgesQuery>,
    Query(page): Query<PageQuery>,
) -> Result<RevResponse<NudgesBody>, HttpError> {
    let Some(agent) = query.r#for else {
        let view = view(&caller, &path.board, None).await?;
        let (nudges, next) =
            page.from(|after| view.state().records_after::<Nudge>(after), |nudge| nudge.id.to_string())?;
        return Ok(RevResponse::new(NudgesBody { nudges, next }, view.rev()));
    };
    if !page.is_everything() {
        let detail = "what is said to one agent is read as a whole, and counts as read: give no limit and no cursor";
        return Err(HttpError::invalid("query", detail));
    }
    let board = caller.for_worker(Some(&agent))?.board(&path.board)?;
    let nudges = board.nudges_for().await?;
    Ok(RevResponse::new(NudgesBody { nudges, next: None }, board.last_rev()))
}

/// Read a nudge. That does not count as reading it for anybody.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/nudges/{nudge}",
    tag = "people",
    params(NudgePath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Nudge>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_nudge(
    caller: Caller,
    Path(path): Path<NudgePath>,
    Query(query): Query<AtQuery>,
    seen: Seen,
) -> Result<Response, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let nudge = view.state().nudge(path.nudge).ok_or_else(|| not_on_board("nudge", path.nudge))?;
    Ok(RevResponse::new(nudge, view.rev()).version(nudge.version).unless(&seen).into_response())
}

/// Say something to an agent, to the orchestrator or to all who work on the board.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges",
    tag = "people",
    params(BoardPath, Writes),
    request_body = NudgeBody,
    responses((status = 201, body = WithRev<NudgedBody>), Problems)
)]
async fn add_nudge(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    Body(NudgeBody { to, message, priority, expires_at }): Body<NudgeBody>,
) -> Result<RevResponse<NudgedBody>, HttpError> {
    if let NudgeTarget::Agent(agent) = &to {
        AgentId::check(agent.as_str(), &caller.corkboard().options().limits)?;
    }
    let board = writing.board(&caller, &path.board)?;
    let id = board.inject_nudge(NewNudge { to, message, priority, expires_at }).await?;
    let rev = board.last_rev();
    Ok(RevResponse::new(NudgedBody { id }, rev).created().version(rev))
}

/// Say that the caller heeds what was said to them.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges/{nudge}/ack",
    tag = "people",
    params(NudgePath, Writes),
    responses((status = 200, body = WithRev<AcknowledgedBody>), Problems)
)]
async fn acknowledge_nudge(
    caller: Caller,
    Path(path): Path<NudgePath>,
    writing: Writing,
) -> Result<RevResponse<AcknowledgedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let acknowledged = board.acknowledge(&[path.nudge]).await?;
    Ok(RevResponse::new(AcknowledgedBody { acknowledged }, board.last_rev()))
}

/// List what people signed off.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/approvals",
    tag = "people",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<ApprovalsBody>), Problems)
)]
async fn list_approvals(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<AtQuery>,
    Query(page): Query<PageQuery>,
) -> Result<RevResponse<ApprovalsBody>, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let (approvals, next) =
        page.from(|after| view.state().records_after::<Approval>(after), |approval| approval.id.to_string())?;
    Ok(RevResponse::new(ApprovalsBody { approvals, next }, view.rev()))
}

/// Approve a decision. What waits for it may go on.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/approve",
    tag = "people",
    params(DecisionPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<JudgedBody>), Problems)
)]
async fn approve_decision(
    caller: Caller,
    Path(path): Path<DecisionPath>,
    writing: Writing,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> Result<RevResponse<JudgedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.approve(path.decision, comment).await?;
    Ok(RevResponse::new(JudgedBody { id }, board.last_rev()))
}

/// Reject a decision: it does not hold. What waits for it may go on without it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/reject",
    tag = "people",
    params(DecisionPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<JudgedBody>), Problems)
)]
async fn reject_decision(
    caller: Caller,
    Path(path): Path<DecisionPath>,
    writing: Writing,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> Result<RevResponse<JudgedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.reject(path.decision, comment).await?;
    Ok(RevResponse::new(JudgedBody { id }, board.last_rev()))
}
