//! Read a whole board, its graph, its progress and its changes, and edit its properties.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use corkboard::boards::{BoardEdit, FailurePolicy};
use corkboard::{AgentContribution, BoardDiff, BoardDocument, BoardProgress, GraphFormat, TaskGraph};

use super::*;
use crate::cursor::PageQuery;
use crate::search_query::{HitsBody, SearchQuery};

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

/// Changes to a board. Omitted fields stay unchanged.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"constraints": ["no breaking changes", "no new service"]}))]
struct BoardEditBody {
    /// Name of the board.
    name: Option<String>,
    /// What the board should achieve.
    goal: Option<String>,
    /// Complete list of constraints and requirements.
    constraints: Option<Vec<String>>,
    /// Names of all memory cores that the board uses. It takes over their best matching entries again. The token must
    /// have access to the cores.
    #[serde(alias = "memory_cores", alias = "memoryCores", alias = "memory_core_refs")]
    cores: Option<Vec<String>>,
    /// What happens when a task fails, for tasks added from now on.
    on_failure: Option<FailurePolicy>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct GraphQuery {
    /// Output format.
    #[serde(default)]
    #[param(inline)]
    format: Format,
    /// Revision to read [default: the latest].
    at: Option<u64>,
}

/// Output format of a graph.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[schema(as = BoardFormat)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// A Mermaid flowchart.
    Mermaid,
    /// A Graphviz digraph.
    Dot,
    /// Nodes, edges and views.
    #[default]
    Json,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DiffQuery {
    /// Earlier revision; 0 for the empty board before the first.
    #[serde(default)]
    from: u64,
    /// Later revision [default: the latest].
    to: Option<u64>,
}

/// Changes between two revisions.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"board": "add-login-1a2b3c4d", "from": 1, "to": 2, "rev": 2,
    "changes": [{"type": "board_paused", "by": "grace", "reason": null}], "text": "The board was paused by grace."}))]
struct DiffBody {
    #[serde(flatten)]
    diff: BoardDiff,
    /// The same changes as sentences, one per line.
    text: String,
}

/// Read a whole board.
///
/// `ETag` is the version of the board's own properties, such as its name and goal.
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

/// Update a board's properties.
#[utoipa::path(
    patch,
    path = "/v1/boards/{board}",
    params(BoardPath, IfMatchParameter, WriteParameters),
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

/// Get a board's progress.
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

/// Render the graph of tasks and choices.
///
/// As JSON, or as text for Mermaid or Graphviz. The `Cork-Rev` header contains the revision.
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

/// Compare two revisions of a board.
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

/// Search tasks, decisions, discoveries, artifacts and choices.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/search",
    params(BoardPath, SearchQuery),
    responses((status = 200, body = WithRev<HitsBody>), Problems)
)]
async fn search_board(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<SearchQuery>,
) -> RevResult<HitsBody> {
    query.run(caller.board(&path.board)?.search(&query.q)).await
}

/// List what each agent contributed.
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
