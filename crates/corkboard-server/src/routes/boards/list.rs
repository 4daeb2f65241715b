//! List boards.

use axum::Json;
use corkboard::{BoardId, BoardSummary, ListedStatus, SpaceKind};

use super::*;
use crate::comma_list::CommaList;
use crate::cursor::MOST;

pub(super) fn routes() -> Routes {
    routes!(list_boards).tag("boards")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only boards with one of these statuses, separated by commas: `active`, `idle`, `completed`, `cancelled` or
    /// `archived`.
    #[param(value_type = Option<String>, example = "active,idle")]
    status: Option<CommaList<ListedStatus>>,
    /// Only boards that changed at or after this time.
    updated_since: Option<Timestamp>,
    /// Sort order [default: by ID].
    #[param(inline)]
    sort: Option<RecordOrder>,
}

/// List boards.
///
/// Lists the boards that the token has access to, with the latest revision of each.
#[utoipa::path(
    get,
    path = "/v1/boards",
    params(ListQuery, PageQuery),
    responses((status = 200, body = ItemsBody<BoardSummary>), Problems)
)]
async fn list_boards(
    caller: Caller,
    Query(query): Query<ListQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<ItemsBody<BoardSummary>>, HttpError> {
    let limits = &caller.corkboard().options().limits;
    let after = match &query.sort {
        Some(_) => None,
        None => page.position::<String>("id")?,
    };
    let mut after = after.map(|(_, id)| BoardId::new(&id, limits)).transpose()?;
    let mut boards: Vec<BoardSummary> = Vec::new();
    loop {
        let listed = caller.corkboard().boards(after.as_ref(), MOST).await?;
        let is_last = listed.len() < MOST;
        after = listed.last().map(|board| board.id.clone());
        // A board without a name was never created.
        let is_meant = |board: &BoardSummary| {
            caller.sees(SpaceKind::Board, board.id.as_str())
                && board.summary.get("name").is_some()
                && query
                    .status
                    .as_ref()
                    .is_none_or(|CommaList(statuses)| statuses.iter().any(|status| status.is_of(board)))
                && query.updated_since.is_none_or(|since| last_change(board) >= since)
        };
        boards.extend(listed.into_iter().filter(is_meant));
        if is_last || (query.sort.is_none() && boards.len() > page.size()) {
            break;
        }
    }
    let boards = boards.into_iter();
    let page = match &query.sort {
        Some(sort) => page.sorted(sort, boards, |board, field| match field {
            RecordSort::CreatedAt => (time(moment(board, "created_at")), board.id.to_string()),
            RecordSort::UpdatedAt => (time(last_change(board)), board.id.to_string()),
        })?,
        None => page.indexed("id", |_| boards, |board| (0, board.id.to_string()))?,
    };
    Ok(Json(page.into()))
}

/// Time of a board's last change. Summaries written by older versions call it `changed_at`.
fn last_change(board: &BoardSummary) -> Timestamp {
    moment(board, "updated_at").max(moment(board, "changed_at"))
}

/// A time in a board's summary; the epoch if it is missing.
fn moment(board: &BoardSummary, field: &str) -> Timestamp {
    let said = board.summary.get(field).and_then(|at| at.as_str()?.parse().ok());
    said.unwrap_or_default()
}
