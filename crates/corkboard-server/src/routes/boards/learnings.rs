//! What a board taught goes into memory cores, and comes out of them again.

use axum::Json;
use corkboard::boards::{LearningCandidate, LearningChanges, LearningId, WhichLearnings};
use corkboard::cores::Trust;
use corkboard::{CoresRolledBack, MemoryKind, PromotedLearning};

use super::*;
use crate::cursor::{PageQuery, share};

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

/// How a learning is to be promoted.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"core": "house-rules", "importance": 0.8}))]
struct PromoteBody {
    /// Into which core; otherwise the one that is suggested. The token must open it.
    core: Option<String>,
    /// In other words. Not for agents: it would be their own words in another's name.
    content: Option<String>,
    /// As another kind of memory.
    kind: Option<MemoryKind>,
    /// From 0 (trivial) to 1 (vital); otherwise its score.
    #[schema(minimum = 0, maximum = 1)]
    importance: Option<f32>,
    /// All of its tags.
    tags: Option<Vec<String>>,
    /// How far it may be trusted. Only a person may say more than what it was made of.
    trust: Option<Trust>,
}

/// What is to be rolled back on a board: one of the two.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"learnings": ["D-1"], "reason": "argon2id was too slow"}))]
struct RollBackBody {
    /// These.
    learnings: Option<Vec<LearningId>>,
    /// `true`: all that the board promoted.
    #[serde(default)]
    all: bool,
    /// Why.
    reason: Option<String>,
}

/// What was taken out.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"rolled_back": ["D-1"], "rev": 14}))]
struct RolledBackBody {
    /// The learnings that this request took out of their cores.
    rolled_back: Vec<LearningId>,
}

/// What is to be rolled back everywhere: all of an author, or all of a board, which need not be there any more.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"author": "mallory", "reason": "not one of us"}))]
struct RollBackEverywhereBody {
    /// Everything that somebody said, promoted or edited.
    author: Option<String>,
    /// Everything that was learned on a board.
    board: Option<String>,
    /// Why.
    reason: Option<String>,
}

/// See what a board may have taught: the best first, each with what became of it. Nothing is written.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/learnings",
    params(BoardPath, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<LearningCandidate>>), Problems)
)]
async fn list_learnings(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<LearningCandidate>> {
    let board = caller.board(&path.board)?;
    let page = page.ordered("score", board.learnings().await?.into_iter(), |learning| {
        (-share(learning.score), learning.id.clone())
    })?;
    respond(&board, page.into())
}

/// Look for what a board taught.
///
/// The best first, each with what became of it. Once the board has ended, its log says that somebody looked.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/extract",
    params(BoardPath, Writes),
    responses((status = 200, body = WithRev<ItemsBody<LearningCandidate>>), Problems)
)]
async fn extract_learnings(write: BoardWrite) -> RevResult<ItemsBody<LearningCandidate>> {
    let board = write.board()?;
    let learnings = board.extract_learning_candidates().await?;
    respond(&board, ItemsBody::all(learnings))
}

/// Promote a learning into a memory core.
///
/// Again, it has no second effect. What was refused stays refused (`learning_refused`). No agent promotes its own words
/// (`own_learning`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/{learning}/promote",
    params(LearningPath, Writes),
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

/// Say that a learning is not wanted: it is not promoted any more.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/{learning}/refuse",
    params(LearningPath, Writes),
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

/// Take learnings of a board out of their cores.
///
/// The token must open these cores. An entry that came from elsewhere too stays, without this origin. What was rolled back
/// may be promoted again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/learnings/rollback",
    params(BoardPath, Writes),
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
        _ => return Err(HttpError::invalid("which", "name `learnings`, or say \"all\": true")),
    };
    let board = write.board()?;
    let rolled_back = board.roll_back_learnings(which, reason).await?;
    respond(&board, RolledBackBody { rolled_back })
}

/// Take out of every memory core what somebody said, promoted or edited, or what was learned on a board.
///
/// It reaches into all cores, agents' own ones too: the token must open everything. Nothing is atomic across cores: if it
/// fails in between, doing it again does the rest.
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
        _ => return Err(HttpError::invalid("which", "name an `author` or a `board`")),
    };
    if let Some(reason) = reason {
        roll_back = roll_back.reason(reason);
    }
    Ok(Json(roll_back.await?))
}
