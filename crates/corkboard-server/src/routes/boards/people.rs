//! Nudges to workers, and a person's approval or rejection of decisions.

use std::sync::Arc;

use corkboard::AgentId;
use corkboard::boards::{Approval, ApprovalId, NewNudge, Nudge, NudgeId, NudgePriority, NudgeTarget};
use jiff::Timestamp;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, Schema};

use super::*;
use crate::cursor::PageQuery;

pub(super) fn routes() -> Routes {
    routes!(list_nudges, get_nudge, send_nudge, receive_nudges, acknowledge_nudge)
        .tag("nudges")
        .merge(routes!(list_approvals, approve_decision, reject_decision).tag("records"))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NudgesQuery {
    /// Only nudges that this agent would receive, urgent ones first. Callers may name themselves or an agent that they
    /// may act for.
    agent: Option<String>,
    /// Revision to read [default: the latest]. Not with `agent`.
    at: Option<u64>,
}

/// Who receives nudges.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = NudgesReceiveBody, example = json!({}))]
struct ReceiveBody {
    /// The receiving agent [default: the caller]. Admins and services may name another.
    agent: Option<String>,
}

/// A message to those who work on the board.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"to": {"agent": "ada"}, "message": "Use the staging database", "priority": "urgent"}))]
struct NudgeBody {
    /// Target: `{"agent": "ada"}`, `"orchestrator"` or `"all"`. An agent's name alone is accepted, too.
    #[serde(default, alias = "target")]
    #[schema(schema_with = target_or_name)]
    to: NudgeTarget,
    /// Text of the nudge.
    message: String,
    /// Priority of the nudge.
    #[serde(default)]
    priority: NudgePriority,
    /// Time after which the nudge is no longer shown.
    expires_at: Option<Timestamp>,
}

/// `anyOf`, because a name may be `all`, too.
fn target_or_name() -> Schema {
    let name = ObjectBuilder::new().schema_type(Type::String).description(Some("An agent's name"));
    let words = "Target: `{\"agent\": \"ada\"}`, `\"orchestrator\"` or `\"all\"` [default: `\"all\"`]. An agent's name \
                 alone is accepted, too.";
    AnyOfBuilder::new().description(Some(words)).item(Ref::from_schema_name("NudgeTarget")).item(name).into()
}

/// The nudges that were acknowledged.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"acknowledged": ["N-1"], "rev": 10}))]
struct AcknowledgedBody {
    /// Nudges that the caller had not acknowledged before.
    acknowledged: Vec<NudgeId>,
}

/// List nudges, or only those that one agent would receive. Does not count as delivery.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/nudges",
    params(BoardPath, NudgesQuery, RecordsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<Nudge>>), Problems)
)]
async fn list_nudges(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<NudgesQuery>,
    Query(records): Query<RecordsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<Nudge>>> {
    let Some(agent) = query.agent else {
        let board = caller.board(&path.board)?;
        let view = match query.at {
            Some(rev) => board.at(rev).await?,
            None => board.view().await?,
        };
        let page = records.page::<Nudge>(&view, &page)?;
        return Ok(RevResponse::new(page.into(), view.rev()));
    };
    if query.at.is_some() {
        return Err(HttpError::invalid("query", "give either `agent` or `at`"));
    }
    let board = caller.for_worker(Some(&agent))?.board(&path.board)?;
    let nudges = board.preview_nudges().await?;
    let is_meant = |nudge: &Arc<Nudge>| records.updated_since.is_none_or(|since| nudge.updated_at >= since);
    let urgency = |nudge: &Arc<Nudge>| (if nudge.priority == NudgePriority::Urgent { 0 } else { 1 }, nudge.id);
    let page = page.ordered("urgency", nudges.into_iter().filter(is_meant), urgency)?;
    respond(&board, page.into())
}

/// Receive the caller's unacknowledged nudges, urgent ones first.
///
/// This counts as delivery. The nudges are returned again until they are acknowledged, so a repeat is safe.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges/receive",
    params(BoardPath),
    request_body = Option<ReceiveBody>,
    responses((status = 200, body = WithRev<ItemsBody<Nudge>>), Problems)
)]
async fn receive_nudges(
    caller: Caller,
    Path(path): Path<BoardPath>,
    OptionalBody(ReceiveBody { agent }): OptionalBody<ReceiveBody>,
) -> RevResult<ItemsBody<Arc<Nudge>>> {
    let board = caller.for_worker(agent.as_deref())?.board(&path.board)?;
    let nudges = board.receive_nudges().await?;
    respond(&board, ItemsBody::all(nudges))
}

/// Read a nudge. Does not count as delivery.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/nudges/{nudge}",
    params(NudgePath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Nudge>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_nudge(read: BoardRead<NudgePath>, seen: Seen) -> Result<Response, HttpError> {
    read.get::<Nudge>(read.path.nudge, &seen).await
}

/// Send a nudge to an agent, to the orchestrator or to everyone working on the board.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges",
    params(BoardPath, WriteParameters),
    request_body = NudgeBody,
    responses((status = 201, body = WithRev<IdBody<NudgeId>>), Problems)
)]
async fn send_nudge(
    write: BoardWrite,
    Body(NudgeBody { to, message, priority, expires_at }): Body<NudgeBody>,
) -> RevResult<IdBody<NudgeId>> {
    if let NudgeTarget::Agent(agent) = &to {
        AgentId::check(agent.as_str(), &write.caller.corkboard().options().limits)?;
    }
    let board = write.board()?;
    let id = board.send_nudge(NewNudge { to, message, priority, expires_at }).await?;
    created(&board, IdBody { id })
}

/// Acknowledge a nudge.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/nudges/{nudge}/ack",
    params(NudgePath, WriteParameters),
    responses((status = 200, body = WithRev<AcknowledgedBody>), Problems)
)]
async fn acknowledge_nudge(write: BoardWrite<NudgePath>) -> RevResult<AcknowledgedBody> {
    let board = write.board()?;
    let acknowledged = board.acknowledge(&[write.path.nudge]).await?;
    respond(&board, AcknowledgedBody { acknowledged })
}

/// List approvals and rejections by people.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/approvals",
    params(BoardPath, AtQuery, RecordsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<Approval>>), Problems)
)]
async fn list_approvals(
    read: BoardRead,
    Query(records): Query<RecordsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<Approval>>> {
    read.list(&records, &page).await
}

/// Approve a decision. Tasks that wait for it may start.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/approve",
    params(DecisionPath, WriteParameters),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<IdBody<ApprovalId>>), Problems)
)]
async fn approve_decision(
    write: BoardWrite<DecisionPath>,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> RevResult<IdBody<ApprovalId>> {
    let board = write.board()?;
    let id = board.approve(write.path.decision, comment).await?;
    respond(&board, IdBody { id })
}

/// Reject a decision, which makes it invalid. Tasks that wait for it may start without it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/reject",
    params(DecisionPath, WriteParameters),
    request_body = Option<CommentBody>,
    responses((status = 200, body = WithRev<IdBody<ApprovalId>>), Problems)
)]
async fn reject_decision(
    write: BoardWrite<DecisionPath>,
    OptionalBody(CommentBody { comment }): OptionalBody<CommentBody>,
) -> RevResult<IdBody<ApprovalId>> {
    let board = write.board()?;
    let id = board.reject(write.path.decision, comment).await?;
    respond(&board, IdBody { id })
}
