//! What comes up during the work: decisions, discoveries, artifacts.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use corkboard::boards::{
    Artifact, ArtifactId, Decision, DecisionId, Discovery, DiscoveryId, NewArtifact, NewDecision, NewDiscovery,
};
use corkboard::{NoChecksum, RecordedArtifact};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{AtQuery, BoardPath, Writes, Writing, not_on_board, view};
use crate::caller::Caller;
use crate::condition::Seen;
use crate::cursor::PageQuery;
use crate::error::HttpError;
use crate::extract::{Body, Path, Query};
use crate::openapi::Problems;
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_decisions))
        .routes(routes!(get_decision))
        .routes(routes!(record_decision))
        .routes(routes!(supersede_decision))
        .routes(routes!(list_discoveries))
        .routes(routes!(get_discovery))
        .routes(routes!(record_discovery))
        .routes(routes!(list_artifacts))
        .routes(routes!(get_artifact))
        .routes(routes!(record_artifact))
}

/// Which decision.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct DecisionPath {
    /// The board's id.
    #[param(example = "add-login-1a2b3c4d")]
    pub(super) board: String,
    /// The decision's id.
    #[param(inline)]
    pub(super) decision: DecisionId,
}

/// Which discovery.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct DiscoveryPath {
    /// The board's id, percent-encoded.
    #[param(example = "add-login-1a2b3c4d")]
    board: String,
    /// The discovery's id.
    #[param(inline)]
    discovery: DiscoveryId,
}

/// Which artifact.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ArtifactPath {
    /// The board's id, percent-encoded.
    #[param(example = "add-login-1a2b3c4d")]
    board: String,
    /// The artifact's id.
    #[param(inline)]
    artifact: ArtifactId,
}

/// Decisions.
#[derive(Serialize, ToSchema)]
struct DecisionsBody {
    /// In order, those that no longer hold included.
    decisions: Vec<Arc<Decision>>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// Discoveries.
#[derive(Serialize, ToSchema)]
struct DiscoveriesBody {
    /// In order.
    discoveries: Vec<Arc<Discovery>>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// Artifacts.
#[derive(Serialize, ToSchema)]
struct ArtifactsBody {
    /// In order, in all versions.
    artifacts: Vec<Arc<Artifact>>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// A decision that was recorded.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "D-1", "rev": 9}))]
struct DecisionRecordedBody {
    /// Its id.
    id: DecisionId,
}

/// A discovery that was recorded.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "F-1", "rev": 9}))]
struct DiscoveryRecordedBody {
    /// Its id.
    id: DiscoveryId,
}

/// An artifact that was recorded.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "A-2", "version": 2, "rev": 9}))]
struct ArtifactRecordedBody {
    /// Its id.
    id: ArtifactId,
    /// Version number at its path, starting at 1.
    version: u64,
    /// The SHA-256 of its bytes, if known.
    checksum: Option<String>,
    /// Why there is no checksum. The server reads no files.
    no_checksum: Option<NoChecksum>,
}

/// List decisions.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/decisions",
    tag = "records",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<DecisionsBody>), Problems)
)]
async fn list_decisions(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<AtQuery>,
    Query(page): Query<PageQuery>,
) -> Result<RevResponse<DecisionsBody>, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let (decisions, next) =
        page.from(|after| view.state().records_after::<Decision>(after), |decision| decision.id.to_string())?;
    Ok(RevResponse::new(DecisionsBody { decisions, next }, view.rev()))
}

/// Read a decision.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/decisions/{decision}",
    tag = "records",
    params(DecisionPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Decision>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_decision(
    caller: Caller,
    Path(path): Path<DecisionPath>,
    Query(query): Query<AtQuery>,
    seen: Seen,
) -> Result<Response, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let decision = view.state().decision(path.decision).ok_or_else(|| not_on_board("decision", path.decision))?;
    Ok(RevResponse::new(decision, view.rev()).version(decision.version).unless(&seen).into_response())
}

/// Record a decision.
///
/// `made_by` is whoever the token names. With `needs_approval`, the tasks that it concerns wait until a person approves or
/// rejects it.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions",
    tag = "records",
    params(BoardPath, Writes),
    request_body(content = NewDecision, example = json!({"question": "Which hash?", "choice": "argon2id",
        "alternatives": ["bcrypt"], "rationale": "memory-hard", "affects_tasks": ["T-1"]})),
    responses((status = 201, body = WithRev<DecisionRecordedBody>), Problems)
)]
async fn record_decision(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    Body(decision): Body<NewDecision>,
) -> Result<RevResponse<DecisionRecordedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.record_decision(decision).await?;
    let rev = board.last_rev();
    Ok(RevResponse::new(DecisionRecordedBody { id }, rev).created().version(rev))
}

/// Replace a decision by another.
///
/// One's own, or anyone's if the caller runs the board. Both are kept; the new one holds. An irreversible decision is
/// replaced only by a person, with `force` (`irreversible`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/supersede",
    tag = "records",
    params(DecisionPath, Writes),
    request_body(content = NewDecision, example = json!({"question": "Which hash?", "choice": "scrypt",
        "rationale": "no new dependency"})),
    responses((status = 201, body = WithRev<DecisionRecordedBody>), Problems)
)]
async fn supersede_decision(
    caller: Caller,
    Path(path): Path<DecisionPath>,
    writing: Writing,
    Body(decision): Body<NewDecision>,
) -> Result<RevResponse<DecisionRecordedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.supersede(path.decision, decision).await?;
    let rev = board.last_rev();
    Ok(RevResponse::new(DecisionRecordedBody { id }, rev).created().version(rev))
}

/// List discoveries.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/discoveries",
    tag = "records",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<DiscoveriesBody>), Problems)
)]
async fn list_discoveries(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<AtQuery>,
    Query(page): Query<PageQuery>,
) -> Result<RevResponse<DiscoveriesBody>, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let (discoveries, next) =
        page.from(|after| view.state().records_after::<Discovery>(after), |discovery| discovery.id.to_string())?;
    Ok(RevResponse::new(DiscoveriesBody { discoveries, next }, view.rev()))
}

/// Read a discovery.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/discoveries/{discovery}",
    tag = "records",
    params(DiscoveryPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Discovery>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_discovery(
    caller: Caller,
    Path(path): Path<DiscoveryPath>,
    Query(query): Query<AtQuery>,
    seen: Seen,
) -> Result<Response, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let discovery = view.state().discovery(path.discovery).ok_or_else(|| not_on_board("discovery", path.discovery))?;
    Ok(RevResponse::new(discovery, view.rev()).version(discovery.version).unless(&seen).into_response())
}

/// Record a discovery.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/discoveries",
    tag = "records",
    params(BoardPath, Writes),
    request_body(content = NewDiscovery, example = json!({"content": "users has no column for tokens",
        "type": "constraint", "affects_tasks": ["T-1"], "promote_to_core": "house-rules"})),
    responses((status = 201, body = WithRev<DiscoveryRecordedBody>), Problems)
)]
async fn record_discovery(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    Body(discovery): Body<NewDiscovery>,
) -> Result<RevResponse<DiscoveryRecordedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.record_discovery(discovery).await?;
    let rev = board.last_rev();
    Ok(RevResponse::new(DiscoveryRecordedBody { id }, rev).created().version(rev))
}

/// List artifacts.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/artifacts",
    tag = "records",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<ArtifactsBody>), Problems)
)]
async fn list_artifacts(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<AtQuery>,
    Query(page): Query<PageQuery>,
) -> Result<RevResponse<ArtifactsBody>, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let (artifacts, next) =
        page.from(|after| view.state().records_after::<Artifact>(after), |artifact| artifact.id.to_string())?;
    Ok(RevResponse::new(ArtifactsBody { artifacts, next }, view.rev()))
}

/// Read an artifact: one version of what has a path.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/artifacts/{artifact}",
    tag = "records",
    params(ArtifactPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Artifact>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_artifact(
    caller: Caller,
    Path(path): Path<ArtifactPath>,
    Query(query): Query<AtQuery>,
    seen: Seen,
) -> Result<Response, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let artifact = view.state().artifact(path.artifact).ok_or_else(|| not_on_board("artifact", path.artifact))?;
    Ok(RevResponse::new(artifact, view.rev()).version(artifact.version).unless(&seen).into_response())
}

/// Record an artifact.
///
/// By reference: the server does not look for its file. The same path again is the next version; `./a` and `x/../a` are the
/// path `a`. Of a short text that is
/// sent along, size and SHA-256 are worked out; those that are given must be its own (`artifact_differs`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/artifacts",
    tag = "records",
    params(BoardPath, Writes),
    request_body(content = NewArtifact, example = json!({"type": "code", "path": "schema.sql",
        "description": "all tables", "associated_task": "T-1", "content": "create table users (id integer);"})),
    responses((status = 201, body = WithRev<ArtifactRecordedBody>), Problems)
)]
async fn record_artifact(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    Body(artifact): Body<NewArtifact>,
) -> Result<RevResponse<ArtifactRecordedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let RecordedArtifact { id, version, checksum, no_checksum } = board.record_artifact(artifact).recorded().await?;
    let body = ArtifactRecordedBody { id, version, checksum, no_checksum };
    Ok(RevResponse::new(body, board.last_rev()).created())
}
