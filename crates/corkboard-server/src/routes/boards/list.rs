//! The boards of a store.

use axum::Json;
use corkboard::{BoardId, BoardSummary, SpaceKind};

use super::*;

/// The most boards of one answer.
const MOST: usize = 1000;
/// How many boards an answer has if nothing is said.
const USUAL: usize = 100;

pub(super) fn routes() -> Routes {
    routes!(list_boards).tag("boards")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Where to go on: `next` of the page before.
    cursor: Option<String>,
    /// How many at most.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
    /// Only those in this state.
    #[param(inline)]
    status: Option<StatusName>,
}

fn usual() -> usize {
    USUAL
}

/// Which boards.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StatusName {
    /// It is worked on.
    Active,
    /// Active, and nothing has happened on it for long.
    Idle,
    /// It was brought to its end.
    Completed,
    /// It was given up.
    Cancelled,
    /// It is kept to be read.
    Archived,
}

impl StatusName {
    fn is_of(self, board: &BoardSummary) -> bool {
        let has = |status: &str| board.summary.get("status").is_some_and(|it| it == status);
        match self {
            Self::Active => has("active"),
            Self::Idle => board.idle_since.is_some(),
            Self::Completed => has("completed"),
            Self::Cancelled => has("cancelled"),
            Self::Archived => has("archived"),
        }
    }
}

/// List boards.
///
/// Those that the token opens, in the order of their ids, each with the revision that it is at.
#[utoipa::path(
    get,
    path = "/v1/boards",
    params(ListQuery),
    responses((status = 200, body = ItemsBody<BoardSummary>), Problems)
)]
async fn list_boards(
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<ItemsBody<BoardSummary>>, HttpError> {
    let limit = query.limit;
    let limits = &caller.corkboard().options().limits;
    let mut after = query.cursor.map(|cursor| BoardId::new(&cursor, limits)).transpose()?;
    let mut boards: Vec<BoardSummary> = Vec::new();
    loop {
        let page = caller.corkboard().boards(after.as_ref(), MOST).await?;
        let is_last = page.len() < MOST;
        after = page.last().map(|board| board.id.clone());
        // One that was never made leaves no more than its id.
        let is_meant = |board: &BoardSummary| {
            caller.sees(SpaceKind::Board, board.id.as_str())
                && board.summary.get("name").is_some()
                && query.status.is_none_or(|status| status.is_of(board))
        };
        boards.extend(page.into_iter().filter(is_meant));
        if boards.len() > limit || is_last {
            break;
        }
    }
    let next = (boards.len() > limit).then(|| {
        boards.truncate(limit);
        boards.last().map(|board| board.id.to_string())
    });
    Ok(Json(ItemsBody { items: boards, next: next.flatten() }))
}
