//! What people do on a board: they say something to those who work, and approve or reject decisions.

use std::sync::Arc;

use corkboard::AgentId;
use corkboard::boards::{Approval, ApprovalId, NewNudge, Nudge, NudgeId, NudgePriority, NudgeTarget};
use jiff::Timestamp;

use super::*;
use crate::cursor::PageQuery;

pub(super) fn routes() -> Routes {
    routes!(list_nudges, get_nudge, add_nudge, acknowledge_nudge, list_approvals, approve_decision, reject_decision)
        .tag("people")
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
    /// Target: `{"agent": "ada"}`, `"orchestrator"` or `"all"`; an agent's name alone is accepted, too.
    #[serde(default)]
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
    params(BoardPath, NudgesQuery, PageQuery),
    responses((status = 200, body = WithRev<NudgesBody>), Problems)
)]
async fn list_nudges(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<NudgesQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<NudgesBody> {
    let Some(agent) = query.r#for else {
        let view = caller.board(&path.board)?.view().await?;
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
    respond(&board, NudgesBody { nudges, next: None })
}

/// Read a nudge. That does not count as reading it for anybody.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/nudges/{nudge}",
    params(NudgePath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Nudge>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_nudge(read: BoardRead<NudgePath>, seen: Seen) -> Result<Response, HttpError> {
    let view = read.view().await?;
    let (found, id) = (view.state().nudge(read.path.nudge), ("nudge", read.path.nudge));
    record(&view, found, |nudge| nudge.version, &seen, id)
}

/// Say something to an agent, to the orchestrator or to all who work on the board.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges",
    params(BoardPath, Writes),
    request_body = NudgeBody,
    responses((status = 201, body = WithRev<NudgedBody>), Problems)
)]
async fn add_nudge(
    write: BoardWrite,
    Body(NudgeBody { to, message, priority, expires_at }): Body<NudgeBody>,
) -> RevResult<NudgedBody> {
    if let NudgeTarget::Agent(agent) = &to {
        AgentId::check(agent.as_str(), &write.caller.corkboard().options().limits)?;
    }
    let board = write.board()?;
    let id = board.inject_nudge(NewNudge { to, message, priority, expires_at }).await?;
    created(&board, NudgedBody { id })
}

/// Say that the caller heeds what was said to them.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges/{nudge}/ack",
    params(NudgePath, Writes),
    responses((status = 200, body = WithRev<AcknowledgedBody>), Problems)
)]
async fn acknowledge_nudge(write: BoardWrite<NudgePath>) -> RevResult<AcknowledgedBody> {
    let board = write.board()?;
    let acknowledged = board.acknowledge(&[write.path.nudge]).await?;
    respond(&board, AcknowledgedBody { acknowledged })
}

/// List what people signed off.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/approvals",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<ApprovalsBody>), Problems)
)]
async fn list_approvals(read: BoardRead, Query(page): Query<PageQuery>) -> RevResult<ApprovalsBody> {
    let view = read.view().await?;
    let (approvals, next) =
        page.from(|after| view.state().records_after::<Approval>(after), |approval| approval.id.to_string())?;
    Ok(RevResponse::new(ApprovalsBody { approvals, next }, view.rev()))
}

/// Approve a decision. What waits for it may go on.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/approve",
    params(DecisionPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<JudgedBody>), Problems)
)]
async fn approve_decision(
    write: BoardWrite<DecisionPath>,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> RevResult<JudgedBody> {
    let board = write.board()?;
    let id = board.approve(write.path.decision, comment).await?;
    respond(&board, JudgedBody { id })
}

/// Reject a decision: it does not hold. What waits for it may go on without it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/reject",
    params(DecisionPath, Writes),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<JudgedBody>), Problems)
)]
async fn reject_decision(
    write: BoardWrite<DecisionPath>,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> RevResult<JudgedBody> {
    let board = write.board()?;
    let id = board.reject(write.path.decision, comment).await?;
    respond(&board, JudgedBody { id })
}
