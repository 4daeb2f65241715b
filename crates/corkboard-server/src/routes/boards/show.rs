//! A board as it is, or as it was, and what it says of itself.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use corkboard::boards::{BoardEdit, FailurePolicy};
use corkboard::{AgentContribution, BoardDiff, BoardDocument, BoardHit, BoardProgress, GraphFormat, TaskGraph};

use super::*;
use crate::cursor::PageQuery;

pub(super) fn routes() -> Routes {
    routes!(
        get_board,
        edit_board,
        get_board_status,
        get_board_graph,
        get_board_diff,
        search_board,
        list_board_contributions
    )
    .tag("boards")
}

/// What is to change about a board. What is missing stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"constraints": ["no breaking changes", "no new service"]}))]
struct BoardEditBody {
    /// What it is called.
    name: Option<String>,
    /// What is to be accomplished.
    goal: Option<String>,
    /// All boundaries and requirements.
    constraints: Option<Vec<String>>,
    /// The names of all memory cores that it draws on; what they know is drawn anew. The token must open them.
    #[serde(alias = "memoryCores", alias = "memory_core_refs")]
    cores: Option<Vec<String>>,
    /// What becomes of it when a task fails, for tasks added from now on.
    on_failure: Option<FailurePolicy>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct GraphQuery {
    /// In which language.
    #[serde(default)]
    #[param(inline)]
    format: Format,
    /// As it was at this revision; otherwise as it is.
    at: Option<u64>,
}

/// A language for graphs.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[schema(as = BoardFormat)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// A Mermaid flowchart.
    Mermaid,
    /// A digraph for Graphviz.
    Dot,
    /// Nodes, edges and views.
    #[default]
    Json,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DiffQuery {
    /// The earlier revision; 0 is the time before the first.
    #[serde(default)]
    from: u64,
    /// The later one; otherwise the last.
    to: Option<u64>,
}

/// What changed.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"board": "add-login-1a2b3c4d", "from": 1, "to": 2, "rev": 2,
    "changes": [{"type": "board_paused", "by": "grace"}], "text": "The board was paused by grace."}))]
struct DiffBody {
    #[serde(flatten)]
    diff: BoardDiff,
    /// The same in sentences, a line each.
    text: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SearchQuery {
    /// What is looked for.
    q: String,
    /// How many hits at most; 10 if it is not said.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<usize>,
}

/// What was found.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"hits": [{"id": "D-1", "kind": "decision", "title": "Which hash?", "score": 3.1,
    "snippet": "Which hash? argon2id", "author": "ada", "at": "2026-01-05T09:00:00Z", "trust": "agent"}], "rev": 9}))]
struct BoardHitsBody {
    /// The best first.
    hits: Vec<BoardHit>,
}

/// Read a whole board.
///
/// `ETag` is the version of what it says of itself.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}",
    params(BoardPath, AtQuery),
    responses((status = 200, body = BoardDocument), Problems)
)]
async fn get_board(read: BoardRead) -> Result<Response, HttpError> {
    let view = read.view().await?;
    let document = view.document()?;
    let version = document.version;
    Ok(RevResponse::new(Json(document), view.rev()).version(version).whole().into_response())
}

/// Change what a board says of itself.
#[utoipa::path(
    patch,
    path = "/v1/boards/{board}",
    params(BoardPath, IfMatch, Writes),
    request_body = BoardEditBody,
    responses((status = 200, body = WithRev<VersionBody>), Problems)
)]
async fn edit_board(write: BoardWrite, Body(body): Body<BoardEditBody>) -> RevResult<VersionBody> {
    let BoardEditBody { name, goal, constraints, cores, on_failure } = body;
    let (board, if_version) = write.versioned()?;
    let edit = BoardEdit { name, goal, constraints, cores, on_failure, drawn: None };
    let version = board.edit(edit, if_version).await?;
    Ok(RevResponse::new(VersionBody { version }, version).version(version))
}

/// See how far a board is.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/status",
    params(BoardPath, AtQuery),
    responses((status = 200, body = BoardProgress), Problems)
)]
async fn get_board_status(read: BoardRead) -> Result<impl IntoResponse, HttpError> {
    let progress = read.view().await?.progress()?;
    let rev = progress.rev;
    Ok(RevResponse::new(Json(progress), rev).whole())
}

/// Draw the graph of tasks and choices.
///
/// As JSON, or as text for Mermaid or Graphviz: the header `Cork-Rev` says its revision.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/graph",
    params(BoardPath, GraphQuery),
    responses(
        (status = 200, content((WithRev<TaskGraph> = "application/json"), (String = "text/plain"))),
        Problems
    )
)]
async fn get_board_graph(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<GraphQuery>,
) -> Result<Response, HttpError> {
    let view = BoardRead { caller, path, at: query.at }.view().await?;
    let format = match query.format {
        Format::Json => return Ok(RevResponse::new(view.task_graph(), view.rev()).into_response()),
        Format::Mermaid => GraphFormat::Mermaid,
        Format::Dot => GraphFormat::Dot,
    };
    let drawn = ([(CONTENT_TYPE, "text/plain; charset=utf-8")], view.graph(format));
    Ok(RevResponse::new(drawn, view.rev()).whole().into_response())
}

/// See what changed from one revision to a later one.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/diff",
    params(BoardPath, DiffQuery),
    responses((status = 200, body = WithRev<DiffBody>), Problems)
)]
async fn get_board_diff(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<DiffQuery>,
) -> RevResult<DiffBody> {
    let board = caller.board(&path.board)?;
    let to = match query.to {
        Some(to) => to,
        None => board.view().await?.rev(),
    };
    let diff = board.diff(query.from, to).await?;
    let text = diff.to_string();
    Ok(RevResponse::new(DiffBody { diff, text }, to))
}

/// Look for tasks, decisions, discoveries, artifacts and choices by their words.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/search",
    params(BoardPath, SearchQuery),
    responses((status = 200, body = WithRev<BoardHitsBody>), Problems)
)]
async fn search_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<SearchQuery>,
) -> RevResult<BoardHitsBody> {
    let board = caller.board(&path.board)?;
    let mut search = board.search(&query.q);
    if let Some(limit) = query.limit {
        search = search.limit(limit);
    }
    let hits = search.await?;
    respond(&board, BoardHitsBody { hits })
}

/// See what agents did.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/contributions",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<AgentContribution>>), Problems)
)]
async fn list_board_contributions(
    read: BoardRead,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<AgentContribution>> {
    let view = read.view().await?;
    let name = |one: &AgentContribution| (0, format!("{} {}", one.contribution.agent, one.contribution.role));
    let page = page.ordered("agent", view.contributions().into_iter(), name)?;
    Ok(RevResponse::new(page.into(), view.rev()))
}
