//! Choices between branches of a board's graph.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use corkboard::boards::{Choice, ChoiceId, NewChoice};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{AtQuery, BoardPath, TaskIdsBody, Writes, Writing, not_on_board, view};
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
        .routes(routes!(list_choices))
        .routes(routes!(get_choice))
        .routes(routes!(add_choice))
        .routes(routes!(choose))
}

/// Which choice.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ChoicePath {
    /// The board's id.
    #[param(example = "add-login-1a2b3c4d")]
    board: String,
    /// The choice's id.
    #[param(inline)]
    choice: ChoiceId,
}

/// Choices.
#[derive(Serialize, ToSchema)]
struct ChoicesBody {
    /// In order.
    choices: Vec<Arc<Choice>>,
    /// The cursor of the next page; none: this is the last.
    next: Option<String>,
}

/// A choice that was added.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": "C-1", "rev": 5}))]
struct ChoiceAddedBody {
    /// Its id.
    id: ChoiceId,
}

/// Which branch is taken.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"option": "cookie", "rationale": "one origin"}))]
struct ChooseBody {
    /// The branch's name.
    option: String,
    /// Why.
    rationale: Option<String>,
}

/// List choices.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/choices",
    tag = "tasks",
    params(BoardPath, AtQuery, PageQuery),
    responses((status = 200, body = WithRev<ChoicesBody>), Problems)
)]
async fn list_choices(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<AtQuery>,
    Query(page): Query<PageQuery>,
) -> Result<RevResponse<ChoicesBody>, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let (choices, next) =
        page.from(|after| view.state().records_after::<Choice>(after), |choice| choice.id.to_string())?;
    Ok(RevResponse::new(ChoicesBody { choices, next }, view.rev()))
}

/// Read a choice.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/choices/{choice}",
    tag = "tasks",
    params(ChoicePath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Choice>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_choice(
    caller: Caller,
    Path(path): Path<ChoicePath>,
    Query(query): Query<AtQuery>,
    seen: Seen,
) -> Result<Response, HttpError> {
    let view = view(&caller, &path.board, query.at).await?;
    let choice = view.state().choice(path.choice).ok_or_else(|| not_on_board("choice", path.choice))?;
    Ok(RevResponse::new(choice, view.rev()).version(choice.version).unless(&seen).into_response())
}

/// Add a choice between branches, each of which begins with tasks of the board.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/choices",
    tag = "tasks",
    params(BoardPath, Writes),
    request_body(content = NewChoice, example = json!({"question": "Where do sessions live?", "options": [
        {"name": "cookie", "tasks": ["T-2"]}, {"name": "token", "tasks": ["T-3"]}]})),
    responses((status = 201, body = WithRev<ChoiceAddedBody>), Problems)
)]
async fn add_choice(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    Body(choice): Body<NewChoice>,
) -> Result<RevResponse<ChoiceAddedBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.add_choice(choice).await?;
    let rev = board.last_rev();
    Ok(RevResponse::new(ChoiceAddedBody { id }, rev).created().version(rev))
}

/// Choose a branch.
///
/// Answers the tasks of the others, which are cancelled.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/choices/{choice}/choose",
    tag = "tasks",
    params(ChoicePath, Writes),
    request_body = ChooseBody,
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn choose(
    caller: Caller,
    Path(path): Path<ChoicePath>,
    writing: Writing,
    Body(ChooseBody { option, rationale }): Body<ChooseBody>,
) -> Result<RevResponse<TaskIdsBody>, HttpError> {
    let board = writing.board(&caller, &path.board)?;
    let tasks = board.choose(path.choice, &option, rationale).await?;
    Ok(RevResponse::new(TaskIdsBody { tasks }, board.last_rev()))
}
