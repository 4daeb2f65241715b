//! Choices between branches of a board's graph.

use std::sync::Arc;

use corkboard::boards::{Choice, ChoiceId, NewChoice};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{AtQuery, BoardPath, TaskIdsBody, Writes, Writing, view};
use crate::Server;
use crate::answer::{Answer, WithRev};
use crate::caller::Caller;
use crate::extract::{Body, Path, Query};
use crate::failure::Failure;
use crate::openapi::Problems;

pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(list_choices)).routes(routes!(add_choice)).routes(routes!(choose))
}

/// Which choice.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ChoicePath {
    /// The board's id, percent-encoded.
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
    params(BoardPath, AtQuery),
    responses((status = 200, body = WithRev<ChoicesBody>), Problems)
)]
async fn list_choices(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<AtQuery>,
) -> Result<Answer<ChoicesBody>, Failure> {
    let view = view(&caller, &path.board, query.at).await?;
    Ok(Answer::new(ChoicesBody { choices: view.state().choices().cloned().collect() }, view.rev()))
}

/// Add a choice between branches, each of which begins with tasks of the board.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/choices",
    tag = "tasks",
    params(BoardPath, Writes),
    request_body(content = NewChoice, example = json!({"question": "Where do sessions live?", "options": [
        {"name": "cookie", "tasks": ["T-4"]}, {"name": "token", "tasks": ["T-5"]}]})),
    responses((status = 201, body = WithRev<ChoiceAddedBody>), Problems)
)]
async fn add_choice(
    caller: Caller,
    Path(path): Path<BoardPath>,
    writing: Writing,
    Body(choice): Body<NewChoice>,
) -> Result<Answer<ChoiceAddedBody>, Failure> {
    let board = writing.board(&caller, &path.board)?;
    let id = board.add_choice(choice).await?;
    let rev = board.last_rev();
    Ok(Answer::new(ChoiceAddedBody { id }, rev).created().version(rev))
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
) -> Result<Answer<TaskIdsBody>, Failure> {
    let board = writing.board(&caller, &path.board)?;
    let tasks = board.choose(path.choice, &option, rationale).await?;
    Ok(Answer::new(TaskIdsBody { tasks }, board.last_rev()))
}
