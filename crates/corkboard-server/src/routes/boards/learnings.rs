//! Promote what a board learned into memory cores, and roll promotions back.

use axum::Json;
use corkboard::boards::{LearningCandidate, LearningChanges, LearningId, LearningStatus, WhichLearnings};
use corkboard::cores::Trust;
use corkboard::{CoresRolledBack, MemoryKind, PromotedLearning};

use jiff::Timestamp;

use super::*;
use crate::cursor::{PageQuery, Sort, SortField, share, time};

pub(super) fn routes() -> Routes {
    routes!(
        list_learnings,
        extract_learnings,
        promote_learning,
        refuse_learning,
        roll_back_board_learnings,
        roll_back_learnings
    )
    .tag("learnings")
}

/// Which learnings are listed, and in which order.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LearningsQuery {
    /// Only learnings with this status.
    #[param(inline)]
    status: Option<ListedStatus>,
    /// Only learnings with this tag.
    tag: Option<String>,
    /// Only learnings that changed at or after this time.
    updated_since: Option<Timestamp>,
    /// Sort order [default: `-score`].
    #[param(inline)]
    sort: Option<LearningOrder>,
}

/// What became of a learning.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ListedStatus {
    Open,
    Begun,
    Promoted,
    Refused,
    RollingBack,
    RolledBack,
}

impl ListedStatus {
    fn is_of(self, status: &LearningStatus) -> bool {
        matches!(
            (self, status),
            (Self::Open, LearningStatus::Open)
                | (Self::Begun, LearningStatus::Begun(_))
                | (Self::Promoted, LearningStatus::Promoted { .. })
                | (Self::Refused, LearningStatus::Refused { .. })
                | (Self::RollingBack, LearningStatus::RollingBack(_))
                | (Self::RolledBack, LearningStatus::RolledBack { .. })
        )
    }
}

type LearningOrder = Sort<LearningSort>;

#[derive(Clone, Copy)]
enum LearningSort {
    CreatedAt,
    UpdatedAt,
    Importance,
    Score,
}

impl SortField for LearningSort {
    const ALL: &'static [(&'static str, Self)] = &[
        ("created_at", Self::CreatedAt),
        ("updated_at", Self::UpdatedAt),
        ("importance", Self::Importance),
        ("score", Self::Score),
    ];
}

/// Changes to a learning on its promotion.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"core": "house-rules", "importance": 0.8}))]
struct PromoteBody {
    /// Target core [default: the suggested core]. The token must have access to it.
    core: Option<String>,
    /// Replacement text. Agents may not send one, because it would appear under another author's name.
    content: Option<String>,
    /// Replacement kind of memory.
    kind: Option<MemoryKind>,
    /// Importance from 0 (trivial) to 1 (vital) [default: the learning's score].
    #[schema(minimum = 0, maximum = 1)]
    importance: Option<f32>,
    /// Complete list of tags.
    tags: Option<Vec<String>>,
    /// Trust level. Only a person may set a higher one than that of the learning's sources.
    trust: Option<Trust>,
}

/// Which learnings of a board to roll back: give either `learnings` or `all`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"learnings": ["D-1"], "reason": "argon2id was too slow"}))]
struct RollBackBody {
    /// IDs of the learnings.
    learnings: Option<Vec<LearningId>>,
    /// `true` for all learnings that the board promoted.
    #[serde(default)]
    all: bool,
    /// Reason for the rollback.
    reason: Option<String>,
}

/// The learnings that were rolled back.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"rolled_back": ["D-1"], "rev": 14}))]
struct RolledBackBody {
    /// Learnings that this request removed from their cores.
    rolled_back: Vec<LearningId>,
}

/// What to roll back in all cores: everything from one author or from one board. The board may be deleted already.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"author": "mallory", "reason": "not one of us"}))]
struct RollBackEverywhereBody {
    /// Roll back everything that this author wrote, promoted or edited.
    author: Option<String>,
    /// Roll back everything learned on this board.
    board: Option<String>,
    /// Reason for the rollback.
    reason: Option<String>,
}

/// List possible learnings of a board with their status, best first. Read-only.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/learnings",
    params(BoardPath, LearningsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<LearningCandidate>>), Problems)
)]
async fn list_learnings(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(LearningsQuery { status, tag, updated_since, sort }): Query<LearningsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<LearningCandidate>> {
    let board = caller.board(&path.board)?;
    let is_asked_for = |learning: &LearningCandidate| {
        status.is_none_or(|status| status.is_of(&learning.status))
            && tag.as_ref().is_none_or(|tag| learning.tags.contains(tag))
            && updated_since.is_none_or(|since| learning.updated_at >= since)
    };
    let learnings = board.learnings().await?.into_iter().filter(is_asked_for);
    let page = match &sort {
        Some(sort) => page.sorted(sort, learnings, |learning, field| match field {
            LearningSort::CreatedAt => (time(learning.created_at), learning.id.clone()),
            LearningSort::UpdatedAt => (time(learning.updated_at), learning.id.clone()),
            LearningSort::Importance => (share(learning.importance), learning.id.clone()),
            LearningSort::Score => (share(learning.score), learning.id.clone()),
        })?,
        None => page.ordered("score", learnings, |learning| (-share(learning.score), learning.id.clone()))?,
    };
    respond(&board, page.into())
}

/// Extract possible learnings from a board.
///
/// Returns them best first, each with its status. On a board that has ended, the log records the extraction.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/extract",
    params(BoardPath, WriteParameters),
    responses((status = 200, body = WithRev<ItemsBody<LearningCandidate>>), Problems)
)]
async fn extract_learnings(write: BoardWrite) -> RevResult<ItemsBody<LearningCandidate>> {
    let board = write.board()?;
    let learnings = board.extract_learning_candidates().await?;
    respond(&board, ItemsBody::all(learnings))
}

/// Promote a learning into a memory core.
///
/// A repeat has no further effect. A refused learning cannot be promoted (`learning_refused`). An agent cannot promote
/// its own words (`own_learning`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/{learning}/promote",
    params(LearningPath, WriteParameters),
    request_body = Option<PromoteBody>,
    responses((status = 200, body = WithRev<PromotedLearning>), Problems)
)]
async fn promote_learning(
    write: BoardWrite<LearningPath>,
    OptionalBody(body): OptionalBody<PromoteBody>,
) -> RevResult<PromotedLearning> {
    let board = write.board()?;
    let PromoteBody { core, content, kind, importance, tags, trust } = body;
    let changes = LearningChanges { content, kind, importance, tags, trust };
    let mut promote = board.promote_learning(write.path.learning).changes(changes);
    if let Some(core) = core {
        promote = promote.core(core);
    }
    let promoted = promote.await?;
    respond(&board, promoted)
}

/// Refuse a learning, so that it cannot be promoted.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/{learning}/refuse",
    params(LearningPath, WriteParameters),
    request_body = Option<ReasonBody>,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn refuse_learning(
    write: BoardWrite<LearningPath>,
    OptionalBody(ReasonBody { reason }): OptionalBody<ReasonBody>,
) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.refuse_learning(write.path.learning, reason).await?;
    respond(&board, DoneBody {})
}

/// Roll back a board's learnings.
///
/// Removes them from their memory cores; the token must have access to these cores. An entry that also has other
/// sources stays and only loses this one. Learnings that were rolled back can be promoted again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/rollback",
    params(BoardPath, WriteParameters),
    request_body = RollBackBody,
    responses((status = 200, body = WithRev<RolledBackBody>), Problems)
)]
async fn roll_back_board_learnings(
    write: BoardWrite,
    Body(RollBackBody { learnings, all, reason }): Body<RollBackBody>,
) -> RevResult<RolledBackBody> {
    let which = match (learnings, all) {
        (Some(learnings), false) => WhichLearnings::These(learnings),
        (None, true) => WhichLearnings::All,
        _ => return Err(HttpError::invalid("which", "send either a list of `learnings` or \"all\": true")),
    };
    let board = write.board()?;
    let rolled_back = board.roll_back_learnings(which, reason).await?;
    respond(&board, RolledBackBody { rolled_back })
}

/// Roll back an author or a board in all memory cores.
///
/// Removes everything that the author wrote, promoted or edited, or everything learned on the board. This includes
/// agents' own cores, so the token must have access to everything. The rollback is not atomic across cores: after a
/// failure, repeat the request to finish it.
#[utoipa::path(
    post,
    path = "/v1/learnings/rollback",
    request_body = RollBackEverywhereBody,
    responses((status = 200, body = CoresRolledBack), Problems)
)]
async fn roll_back_learnings(
    caller: Caller,
    Body(RollBackEverywhereBody { author, board, reason }): Body<RollBackEverywhereBody>,
) -> Result<Json<CoresRolledBack>, HttpError> {
    let corkboard = caller.everything()?;
    let mut roll_back = match (author, board) {
        (Some(author), None) => corkboard.roll_back_author(author),
        (None, Some(board)) => corkboard.roll_back_board(&board)?,
        _ => return Err(HttpError::invalid("which", "send either an `author` or a `board`")),
    };
    if let Some(reason) = reason {
        roll_back = roll_back.reason(reason);
    }
    Ok(Json(roll_back.await?))
}
