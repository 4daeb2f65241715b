//! Choices between options, which are branches of a board's graph.

use std::sync::Arc;

use corkboard::boards::{Choice, ChoiceId, NewChoice};

use super::*;
use crate::cursor::PageQuery;

pub(super) fn routes() -> Routes {
    routes!(list_choices, get_choice, add_choice, choose_branch).tag("records")
}

/// A decision for one option of a choice.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"option": "cookie", "rationale": "one origin"}))]
struct ChooseBody {
    /// Name of the option to take.
    option: String,
    /// Reason for the decision.
    rationale: Option<String>,
}

/// List choices.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/choices",
    params(BoardPath, AtQuery, RecordsQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<Choice>>), Problems)
)]
async fn list_choices(
    read: BoardRead,
    Query(records): Query<RecordsQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<Choice>>> {
    read.list(&records, &page).await
}

/// Read a choice.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/choices/{choice}",
    params(ChoicePath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<Choice>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_choice(read: BoardRead<ChoicePath>, seen: Seen) -> Result<Response, HttpError> {
    read.get::<Choice>(read.path.choice, &seen).await
}

/// Add a choice between options. Each option is a branch that starts with tasks of the board.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/choices",
    params(BoardPath, WriteParameters),
    request_body(content = NewChoice, example = json!({"question": "Where do sessions live?", "options": [
        {"name": "cookie", "tasks": ["T-2"]}, {"name": "token", "tasks": ["T-3"]}]})),
    responses((status = 201, body = WithRev<IdBody<ChoiceId>>), Problems)
)]
async fn add_choice(write: BoardWrite, Body(choice): Body<NewChoice>) -> RevResult<IdBody<ChoiceId>> {
    let board = write.board()?;
    let id = board.add_choice(choice).await?;
    created(&board, IdBody { id })
}

/// Choose an option.
///
/// Cancels the tasks of all other options and returns them.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/choices/{choice}/choose",
    params(ChoicePath, WriteParameters),
    request_body = ChooseBody,
    responses((status = 200, body = WithRev<TaskIdsBody>), Problems)
)]
async fn choose_branch(
    write: BoardWrite<ChoicePath>,
    Body(ChooseBody { option, rationale }): Body<ChooseBody>,
) -> RevResult<TaskIdsBody> {
    let board = write.board()?;
    let tasks = board.choose(write.path.choice, &option, rationale).await?;
    respond(&board, TaskIdsBody { tasks })
}
