//! Create, fork and delete boards.

use corkboard::boards::{CoreRef, FailurePolicy, NewBoard, TaskId};
use corkboard::{BoardId, CreatedBoard, SpaceKind, TaskPattern, UnreadablePattern};

use super::*;
use crate::caller::{Caller, NewBoardId};

pub(super) fn routes() -> Routes {
    routes!(create_board, fork_board, delete_board).tag("boards")
}

/// A new board.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Add login", "goal": "Users sign in", "constraints": ["no breaking changes"],
    "cores": ["house-rules"], "pattern": "best"}))]
struct BoardBody {
    /// ID of the board [default: made from its name, or from the token's pattern such as `team-*`].
    id: Option<String>,
    /// Name of the board.
    name: String,
    /// What the board should achieve [default: its name].
    goal: Option<String>,
    /// Constraints and requirements.
    #[serde(default)]
    constraints: Vec<String>,
    /// Names of the memory cores that the board uses. The token must have access to them.
    #[serde(default, alias = "memory_cores", alias = "memoryCores", alias = "memory_core_refs")]
    cores: Vec<String>,
    /// What happens to the board when a task fails, for tasks that do not set their own policy.
    #[serde(default)]
    on_failure: FailurePolicy,
    /// Task pattern to create the first tasks from: `best` for the best match in the board's cores, or a core entry
    /// such as `CORE:E-3`.
    #[schema(value_type = Option<String>)]
    pattern: Option<TaskPattern>,
}

/// A created board and its initial content.
#[derive(Serialize, ToSchema)]
#[schema(as = BoardCreatedBody)]
#[schema(example = json!({"id": "add-login-1a2b3c4d", "drawn": ["house-rules:E-1"], "pattern": null, "tasks": [], "passed_over": [], "rev": 1}))]
struct CreatedBody {
    /// ID of the board.
    id: BoardId,
    /// Core entries that the board took over from its memory cores, best match first.
    drawn: Vec<CoreRef>,
    /// Task pattern that the first tasks were created from; null if none.
    pattern: Option<CoreRef>,
    /// Tasks created from the pattern.
    tasks: Vec<TaskId>,
    /// Task patterns that match better but cannot be read.
    passed_over: Vec<UnreadablePattern>,
}

/// A new board made from an existing one.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"at": 1, "name": "Add login, second try"}))]
struct ForkBody {
    /// Revision to fork from [default: the latest].
    at: Option<u64>,
    /// Name of the new board [default: the name of the original].
    name: Option<String>,
    /// ID of the new board [default: as for a new board].
    id: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DeleteQuery {
    /// Also erase all traces from the store's files, tables and keys. This may take a long time.
    #[serde(default)]
    hard: bool,
}

/// Create a board.
///
/// The token must have access to the board's ID. A token limited to some boards (`team-*`) gets a generated ID with
/// that prefix unless the request names one. The board takes over those entries of its memory cores that match its name
/// and goal best.
#[utoipa::path(
    post,
    path = "/v1/boards",
    params(IdempotencyParameter),
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

/// Fork a board.
///
/// Creates an active board from the current or an earlier revision of another, whatever the other's status. Tasks in
/// progress are pending again. The fork contains no trust level and no approval that the caller could not give: if an
/// agent forks a board, approved and rejected decisions wait for approval again.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/fork",
    params(BoardPath, IdempotencyParameter),
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

/// Delete a board and its log, in any status.
///
/// Entries that it promoted into memory cores stay. To remove those, use `POST /v1/learnings/rollback`.
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
        true => caller.corkboard().delete_board(board.id().as_str()).hard().await?,
        false => caller.corkboard().delete_board(board.id().as_str()).await?,
    };
    // The tombstone is a revision, too: a new board with this ID continues to count after it.
    let head = caller.log(SpaceKind::Board, board.id().as_str())?.head().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, head.rev))
}
