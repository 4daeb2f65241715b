//! Boards are made, from nothing or from another one, and deleted.

use corkboard::boards::{CoreRef, FailurePolicy, NewBoard, TaskId};
use corkboard::{BoardId, CreatedBoard, SpaceKind, TaskPattern, UnreadablePattern};

use super::*;
use crate::caller::{Caller, NewBoardId};

pub(super) fn routes() -> Routes {
    routes!(create_board, fork_board, delete_board).tag("boards")
}

/// A board to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Add login", "goal": "Users sign in", "constraints": ["no breaking changes"],
    "cores": ["house-rules"], "pattern": "best"}))]
struct BoardBody {
    /// The id it is to have. Otherwise it begins with words of its name, or as the token opens boards (`team-*`).
    id: Option<String>,
    /// What it is called.
    name: String,
    /// What is to be accomplished; otherwise its name says it.
    goal: Option<String>,
    /// Boundaries and requirements.
    #[serde(default)]
    constraints: Vec<String>,
    /// The names of the memory cores that it draws on. The token must open them.
    #[serde(default, alias = "memoryCores", alias = "memory_core_refs")]
    cores: Vec<String>,
    /// What becomes of it when a task fails, where the task does not say.
    #[serde(default)]
    on_failure: FailurePolicy,
    /// Its first tasks are made from a task pattern: the `best` of its cores, or `CORE:E-3`.
    #[schema(value_type = Option<String>)]
    pattern: Option<TaskPattern>,
}

/// A board that was made, and what it began with.
#[derive(Serialize, ToSchema)]
#[schema(as = BoardCreatedBody)]
#[schema(example = json!({"id": "add-login-1a2b3c4d", "drawn": ["house-rules:E-1"], "pattern": null, "tasks": [], "passed_over": [], "rev": 1}))]
struct CreatedBody {
    /// Its id.
    id: BoardId,
    /// What it drew from its memory cores, the best first.
    drawn: Vec<CoreRef>,
    /// The task pattern that its first tasks were made from; null if there is none.
    pattern: Option<CoreRef>,
    /// Those tasks.
    tasks: Vec<TaskId>,
    /// Task patterns that fit better and cannot be read.
    passed_over: Vec<UnreadablePattern>,
}

/// A board to be made from another.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"at": 1, "name": "Add login, second try"}))]
struct ForkBody {
    /// From what the board was at this revision; otherwise from what it is.
    at: Option<u64>,
    /// What the new board is called; otherwise as this one.
    name: Option<String>,
    /// The id it is to have; otherwise it is made as for a new board.
    id: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Delete it for good: leave nothing of it in the store's files, tables and keys. It may take long.
    #[serde(default)]
    hard: bool,
}

/// Make a board.
///
/// The token must open the id that it gets. Without one asked for, a token that opens some boards alone (`team-*`) makes one
/// whose id begins so. Of what its memory cores know, the best for its name and goal is drawn.
#[utoipa::path(
    post,
    path = "/v1/boards",
    params(Named),
    request_body = BoardBody,
    responses((status = 201, body = WithRev<CreatedBody>), Problems)
)]
async fn create_board(
    caller: Caller,
    conditions: WriteConditions,
    Body(body): Body<BoardBody>,
) -> RevResult<CreatedBody> {
    let BoardBody { id, name, goal, constraints, cores, on_failure, pattern } = body;
    let goal = goal.unwrap_or_else(|| name.clone());
    let new = NewBoard { name, goal, constraints, cores, on_failure, ..NewBoard::default() };
    let mut create = caller.corkboard().create_board(new);
    create = match caller.new_board_id(id)? {
        NewBoardId::Asked(id) => create.id(id),
        NewBoardId::Beginning(beginning) => create.id_prefix(beginning),
    };
    if let Some(key) = conditions.idempotency_key() {
        create = create.idempotency_key(key);
    }
    if let Some(pattern) = pattern {
        create = create.tasks_from_pattern(pattern);
    }
    let CreatedBoard { board, drawn, pattern, tasks, passed_over } = create.report().await?;
    let rev = board.last_rev();
    Ok(RevResponse::new(CreatedBody { id: board.id().clone(), drawn, pattern, tasks, passed_over }, rev).created())
}

/// Make a board from what another one is, or was.
///
/// It is active, whatever became of the other; what was worked on is pending again. It shows no trust and no approval that
/// the caller could not give: on the fork of an agent, decisions that were judged wait for approval again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/fork",
    params(BoardPath, Named),
    request_body = Option<ForkBody>,
    responses((status = 201, body = WithRev<IdBody<BoardId>>), Problems)
)]
async fn fork_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    conditions: WriteConditions,
    OptionalBody(ForkBody { at, name, id }): OptionalBody<ForkBody>,
) -> RevResult<IdBody<BoardId>> {
    let mut fork = caller.board(&path.board)?.fork();
    fork = match caller.new_board_id(id)? {
        NewBoardId::Asked(id) => fork.id(id),
        NewBoardId::Beginning(beginning) => fork.id_prefix(beginning),
    };
    if let Some(rev) = at {
        fork = fork.at(rev);
    }
    if let Some(name) = name {
        fork = fork.name(name);
    }
    if let Some(key) = conditions.idempotency_key() {
        fork = fork.idempotency_key(key);
    }
    let board = fork.await?;
    Ok(RevResponse::new(IdBody { id: board.id().clone() }, board.last_rev()).created())
}

/// Delete a board with its log, whatever state it is in.
///
/// What it promoted into memory cores stays there: `/v1/learnings/rollback` takes it out.
#[utoipa::path(
    delete,
    path = "/v1/boards/{board}",
    params(BoardPath, DeleteQuery),
    responses((status = 200, body = WithRev<DeletedBody>), Problems)
)]
async fn delete_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<DeleteQuery>,
) -> RevResult<DeletedBody> {
    let board = caller.board(&path.board)?;
    let deleted = match query.hard {
        true => caller.corkboard().forget_board(board.id().as_str()).await?,
        false => caller.corkboard().delete_board(board.id().as_str()).await?,
    };
    // A tombstone is a revision, too: a board of the same id goes on counting after it.
    let head = caller.log(SpaceKind::Board, board.id().as_str())?.head().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, head.rev))
}
