//! Events of spaces: as server-sent events, or as pages of the log.

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};
use corkboard::store::Cursor;
use corkboard::{Error, LogPage, LogRef, RevisionDocument, SpaceKind};

use crate::Server;
use crate::events::{AllSpacesStream, EventTypes, FilteredStream, SpaceStream, StreamPosition, stream};
use crate::extract::text;
use crate::routes::prelude::*;

/// Header with the event after which a stream resumes.
const LAST_EVENT_ID: &str = "last-event-id";

pub(super) fn routes() -> Routes {
    routes!(list_agent_events, list_board_events, list_core_events, stream_events, list_log_revisions).tag("events")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// The last revision seen; 0 starts at the beginning. Without it and without `Last-Event-ID`, a stream starts with
    /// new events.
    from_rev: Option<u64>,
    /// Where to continue: `next` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<u64>,
    /// Maximum number of revisions on a page. Streams ignore it.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
    /// Comma-separated event types to include. Revisions without one of them are left out.
    #[serde(rename = "type")]
    #[param(example = "task_started,task_completed")]
    types: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AllEventsQuery {
    /// Comma-separated event types to include. Revisions without one of them are left out.
    #[serde(rename = "type")]
    #[param(example = "task_started,task_completed")]
    types: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// A log reference such as `board/ID#6..12@dev`. The author is optional, and the range may be a single revision.
    #[serde(rename = "ref")]
    #[param(example = "board/add-login-1a2b3c4d#6..12@dev")]
    reference: String,
    /// Where to continue: `next` of the previous page.
    cursor: Option<String>,
    /// Maximum number of revisions to read for one page.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
}

fn usual() -> usize {
    100
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Header, names("Last-Event-ID"))]
#[expect(dead_code, reason = "only for the OpenAPI description")]
struct LastEventId(
    /// The `id` of the last event received. Browsers send it automatically. It takes precedence over `from_rev`.
    Option<String>,
);

/// Stream or list the events of an agent's memory.
///
/// With `Accept: text/event-stream`, the response is a stream of these events:
///
/// - `revision`: one for each revision, whose number is the `id`.
/// - `bookmark`: sent while nothing happens, and when `types` left revisions out.
/// - `compacted`: requested revisions are no longer stored; the stream continues with the oldest stored one.
/// - `lagged`: the last event if the client reads too slowly. Resume after its `resume_from`.
/// - `problem`: the last event after an error, for example if the token was revoked.
///
/// The stream also contains comments. Without this header, the response is one page of the log as JSON.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/events",
    params(("agent" = String, Path, description = "Name of the agent"), EventsQuery, LastEventId),
    responses(
        (status = 200, content(
            (WithRev<ItemsBody<RevisionDocument>> = "application/json", example = json!({
                "items": [{
                    "space": "agent/ada", "rev": 7, "commit": "5f0c2f0e-6a0b-4d3e-9b7e-3c1f4a5d6e7f",
                    "at": "2026-01-05T09:30:00Z",
                    "actor": { "principal": "ada", "kind": "agent", "role": "worker", "via": null },
                    "events": [{ "type": "entry_removed", "key": "color" }],
                }],
                "next": null,
                "rev": 7,
            })),
            (String = "text/event-stream", example = "id: 7\nevent: revision\ndata: {\"space\":\"agent/ada\",\"rev\":7,…}\n\n: beat\n\n"),
        )),
        Problems
    )
)]
async fn list_agent_events(
    State(server): State<Server>,
    caller: Caller,
    Path(agent): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    of_space(&server, caller, SpaceKind::Agent, &agent, query, &headers).await
}

/// Stream or list the events of a board.
///
/// Works as for an agent's memory.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/events",
    params(("board" = String, Path, description = "ID of the board"), EventsQuery, LastEventId),
    responses(
        (status = 200, content(
            (WithRev<ItemsBody<RevisionDocument>> = "application/json", example = json!({ "items": [], "next": null, "rev": 0 })),
            (String = "text/event-stream", example = "id: 7\nevent: bookmark\ndata: {\"rev\":7}\n\n"),
        )),
        Problems
    )
)]
async fn list_board_events(
    State(server): State<Server>,
    caller: Caller,
    Path(board): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    of_space(&server, caller, SpaceKind::Board, &board, query, &headers).await
}

/// Stream or list the events of a memory core.
///
/// Works as for an agent's memory.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/events",
    params(("core" = String, Path, description = "Name of the memory core"), EventsQuery, LastEventId),
    responses(
        (status = 200, content(
            (WithRev<ItemsBody<RevisionDocument>> = "application/json", example = json!({ "items": [], "next": null, "rev": 0 })),
            (String = "text/event-stream", example = "id: 7\nevent: compacted\ndata: {\"space\":\"core/house\",\"oldest\":8}\n\n"),
        )),
        Problems
    )
)]
async fn list_core_events(
    State(server): State<Server>,
    caller: Caller,
    Path(core): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    of_space(&server, caller, SpaceKind::Core, &core, query, &headers).await
}

/// Stream the events of all spaces that the token has access to.
///
/// The events are those of the single streams. New spaces are included automatically. An `id` is a position that only
/// servers on the same store understand. With `Last-Event-ID`, the stream resumes there and misses no event; the events
/// of each space stay in order. After a long break, a restart or a change of server, events of the last minute may be
/// repeated.
#[utoipa::path(
    get,
    path = "/v1/events",
    params(AllEventsQuery, LastEventId),
    responses(
        (
            status = 200,
            body = String,
            content_type = "text/event-stream",
            example = "id: 1f3a5c7e9b2d4f60-12-1767605400000\nevent: revision\ndata: {\"space\":\"board/login\",\"rev\":3,…}\n\n"
        ),
        Problems
    )
)]
async fn stream_events(
    State(server): State<Server>,
    caller: Caller,
    Query(query): Query<AllEventsQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let wrong =
        |()| HttpError::invalid("last_event_id", "invalid Last-Event-ID: expected the `id` of an event of this stream");
    let from = text(&headers, LAST_EVENT_ID)?.map(str::parse::<StreamPosition>).transpose().map_err(wrong)?;
    let types = EventTypes::parse(query.types.as_deref(), &[SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core])?;
    let all = AllSpacesStream::begin(&server, caller.clone(), from).await?;
    Ok(stream(&server, &caller, FilteredStream::new(all, types, bookmark_interval(&server))))
}

/// Read the revisions that a log reference names.
///
/// The `log_ref` of a contribution is such a reference: board, revisions, author. Percent-encode it (`#` is `%23`).
/// With an author, the response contains the revisions that the author wrote and the reviews that completed the
/// author's tasks.
#[utoipa::path(
    get,
    path = "/v1/log",
    params(LogQuery),
    responses(
        (status = 200, description = "A page; `next` is the reference to the rest", body = LogPage, example = json!({
            "items": [{
                "space": "board/add-login-1a2b3c4d", "rev": 6, "commit": "5f0c2f0e-6a0b-4d3e-9b7e-3c1f4a5d6e7f",
                "at": "2026-01-05T09:30:00Z",
                "actor": { "principal": "dev", "kind": "agent", "role": "worker", "via": null },
                "events": [{ "type": "task_completed", "task": "T-1", "result": null }],
            }],
            "next": null,
            "rev": 12,
        })),
        Problems
    )
)]
async fn list_log_revisions(caller: Caller, Query(query): Query<LogQuery>) -> Result<Response, HttpError> {
    let reference = query.cursor.unwrap_or(query.reference);
    let reference: LogRef = reference.parse().map_err(|error| HttpError::invalid("log_ref", format!("{error}")))?;
    let page: LogPage = caller.corkboard().revisions(&reference, query.limit).await?;
    Ok(axum::Json(page).into_response())
}

async fn of_space(
    server: &Server,
    caller: Caller,
    kind: SpaceKind,
    name: &str,
    query: EventsQuery,
    headers: &HeaderMap,
) -> Result<Response, HttpError> {
    let log = caller.log(kind, name)?;
    let wrong = |_| {
        HttpError::invalid(
            "last_event_id",
            "invalid Last-Event-ID: expected a revision, the `id` of an event of this space",
        )
    };
    let last = text(headers, LAST_EVENT_ID)?.map(str::parse::<u64>).transpose().map_err(wrong)?;
    let from_rev = last.or(query.cursor).or(query.from_rev);
    let types = EventTypes::parse(query.types.as_deref(), &[kind])?;
    if wants_stream(headers)? {
        let space = SpaceStream::begin(server, kind, log, from_rev).await?;
        return Ok(stream(server, &caller, FilteredStream::new(space, types, bookmark_interval(server))));
    }
    let cursor = Cursor { rev: from_rev.unwrap_or_default(), commit: None };
    let page = log.after(cursor, query.limit).await?;
    let rev = page.head.rev;
    let next = page.records.last().map(|last| last.rev).filter(|last| *last < rev).map(|last| last.to_string());
    let revisions = page.records.into_iter().map(|record| types.select(RevisionDocument::new(log.id(), &record)?));
    let items = revisions.filter_map(Result::transpose).collect::<Result<Vec<_>, Error>>()?;
    Ok(RevResponse::new(ItemsBody { items, next }, rev).into_response())
}

fn bookmark_interval(server: &Server) -> Duration {
    server.corkboard().options().bookmark_interval
}

fn wants_stream(headers: &HeaderMap) -> Result<bool, HttpError> {
    let accepted = text(headers, ACCEPT.as_str())?.unwrap_or_default();
    let mut types = accepted.split(',').filter_map(|accepted| accepted.split(';').next());
    Ok(types.any(|accepted| accepted.trim().eq_ignore_ascii_case("text/event-stream")))
}
