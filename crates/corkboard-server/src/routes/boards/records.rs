//! Records made during the work: decisions, discoveries and artifacts.

use std::sync::Arc;

use corkboard::boards::{
    Artifact, ArtifactId, Decision, DecisionId, Discovery, DiscoveryId, NewArtifact, NewDecision, NewDiscovery,
};
use corkboard::{NoChecksum, RecordedArtifact};

use super::*;
use crate::cursor::PageQuery;

pub(super) fn routes() -> Routes {
    routes!(
        list_decisions,
        get_decision,
        record_decision,
        supersede_decision,
        list_discoveries,
        get_discovery,
        record_discovery,
        list_artifacts,
        get_artifact,
        record_artifact
    )
    .tag("records")
}

/// A recorded artifact.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "A-2", "version": 2, "rev": 9}))]
struct ArtifactRecordedBody {
    /// ID of the artifact.
    id: ArtifactId,
    /// Version number at its path, starting at 1.
    version: u64,
    /// SHA-256 checksum of the content, if known.
    checksum: Option<String>,
    /// Why there is no checksum. The server does not read files.
    no_checksum: Option<NoChecksum>,
}

/// List decisions.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/decisions",
    params(BoardPath, AtQuery, RecordsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<Decision>>), Problems)
)]
async fn list_decisions(
    read: BoardRead,
    Query(records): Query<RecordsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<Decision>>> {
    read.list(&records, &page).await
}

/// Read a decision.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/decisions/{decision}",
    params(DecisionPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Decision>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_decision(read: BoardRead<DecisionPath>, seen: Seen) -> Result<Response, HttpError> {
    read.get::<Decision>(read.path.decision, &seen).await
}

/// Record a decision.
///
/// `created_by` is the token's principal. With `needs_approval`, affected tasks wait until a person approves or rejects
/// the decision.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions",
    params(BoardPath, WriteParameters),
    request_body(content = NewDecision, example = json!({"question": "Which hash?", "choice": "argon2id",
        "alternatives": ["bcrypt"], "rationale": "memory-hard", "affects_tasks": ["T-1"]})),
    responses((status = 201, body = WithRev<IdBody<DecisionId>>), Problems)
)]
async fn record_decision(write: BoardWrite, Body(decision): Body<NewDecision>) -> RevResult<IdBody<DecisionId>> {
    let board = write.board()?;
    let id = board.record_decision(decision).await?;
    created(&board, IdBody { id })
}

/// Supersede a decision with a new one.
///
/// Agents may supersede their own decisions; an orchestrator may supersede any. Both decisions are kept, and the new
/// one applies. Only a person can supersede an irreversible decision, and only with `force` (`irreversible`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/decisions/{decision}/supersede",
    params(DecisionPath, WriteParameters),
    request_body(content = NewDecision, example = json!({"question": "Which hash?", "choice": "scrypt",
        "rationale": "no new dependency"})),
    responses((status = 201, body = WithRev<IdBody<DecisionId>>), Problems)
)]
async fn supersede_decision(
    write: BoardWrite<DecisionPath>,
    Body(decision): Body<NewDecision>,
) -> RevResult<IdBody<DecisionId>> {
    let board = write.board()?;
    let id = board.supersede(write.path.decision, decision).await?;
    created(&board, IdBody { id })
}

/// List discoveries.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/discoveries",
    params(BoardPath, AtQuery, RecordsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<Discovery>>), Problems)
)]
async fn list_discoveries(
    read: BoardRead,
    Query(records): Query<RecordsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<Discovery>>> {
    read.list(&records, &page).await
}

/// Read a discovery.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/discoveries/{discovery}",
    params(DiscoveryPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Discovery>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_discovery(read: BoardRead<DiscoveryPath>, seen: Seen) -> Result<Response, HttpError> {
    read.get::<Discovery>(read.path.discovery, &seen).await
}

/// Record a discovery.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/discoveries",
    params(BoardPath, WriteParameters),
    request_body(content = NewDiscovery, example = json!({"content": "users has no column for tokens",
        "type": "constraint", "affects_tasks": ["T-1"], "promote_to_core": "house-rules"})),
    responses((status = 201, body = WithRev<IdBody<DiscoveryId>>), Problems)
)]
async fn record_discovery(write: BoardWrite, Body(discovery): Body<NewDiscovery>) -> RevResult<IdBody<DiscoveryId>> {
    let board = write.board()?;
    let id = board.record_discovery(discovery).await?;
    created(&board, IdBody { id })
}

/// List artifacts.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/artifacts",
    params(BoardPath, AtQuery, RecordsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<Artifact>>), Problems)
)]
async fn list_artifacts(
    read: BoardRead,
    Query(records): Query<RecordsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<Artifact>>> {
    read.list(&records, &page).await
}

/// Read an artifact: one version of the file at its path.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/artifacts/{artifact}",
    params(ArtifactPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Artifact>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_artifact(read: BoardRead<ArtifactPath>, seen: Seen) -> Result<Response, HttpError> {
    read.get::<Artifact>(read.path.artifact, &seen).await
}

/// Record an artifact.
///
/// The server stores a reference and does not read the file. Recording the same path again adds the next version; `./a`
/// and `x/../a` are the path `a`. For a short text in `content`, the server computes size and SHA-256; if the request
/// contains them too, they must match (`artifact_differs`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/artifacts",
    params(BoardPath, WriteParameters),
    request_body(content = NewArtifact, example = json!({"type": "code", "path": "schema.sql",
        "description": "all tables", "task": "T-1", "content": "create table users (id integer);"})),
    responses((status = 201, body = WithRev<ArtifactRecordedBody>), Problems)
)]
async fn record_artifact(write: BoardWrite, Body(artifact): Body<NewArtifact>) -> RevResult<ArtifactRecordedBody> {
    let board = write.board()?;
    let RecordedArtifact { id, version, checksum, no_checksum } = board.record_artifact(artifact).recorded().await?;
    let body = ArtifactRecordedBody { id, version, checksum, no_checksum };
    Ok(RevResponse::new(body, board.last_rev()).created())
}
