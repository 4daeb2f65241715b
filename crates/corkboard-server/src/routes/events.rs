//! What happens in spaces, as it happens: server-sent events, or pages of the log.

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};
use corkboard::store::Cursor;
use corkboard::{Error, LogPage, LogRef, RevisionDocument, SpaceKind};

use crate::Server;
use crate::events::{AllSpacesStream, EventTypes, FilteredStream, Position, SpaceStream, stream};
use crate::extract::text;
use crate::routes::prelude::*;

/// Where a stream is resumed.
const LAST_EVENT_ID: &str = "last-event-id";

pub(super) fn routes() -> Routes {
    routes!(list_agent_events, list_board_events, list_core_events, stream_events, list_log_revisions).tag("events")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// The last revision seen; 0 is the beginning. A stream without it, and without `Last-Event-ID`, tells what happens from now on.
    from_rev: Option<u64>,
    /// `next` of the page before: the page continues after it.
    cursor: Option<u64>,
    /// The most revisions of a page; streams go on.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
    /// Only events of these types, with commas between them. Revisions without any are left out.
    #[serde(rename = "type")]
    #[param(example = "task_started,task_completed")]
    types: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AllEventsQuery {
    /// Only events of these types, with commas between them. Revisions without any are left out.
    #[serde(rename = "type")]
    #[param(example = "task_started,task_completed")]
    types: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// The reference: `board/ID#6..12@dev`. The author may be left out, and the range may be one revision.
    #[serde(rename = "ref")]
    #[param(example = "board/add-login-1a2b3c4d#6..12@dev")]
    reference: String,
    /// `next` of the page before: the page continues after it.
    cursor: Option<String>,
    /// The maximum number of revisions to read for one page.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
}

fn usual() -> usize {
    100
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Header, names("Last-Event-ID"))]
#[expect(dead_code, reason = "it describes a header")]
struct LastEventId(
    /// The `id` of the last event seen, as browsers send it by themselves. It comes before `from_rev`.
    Option<String>,
);

/// The events of an agent's memory.
///
/// With `Accept: text/event-stream` a stream: `revision` for each revision, with the revision as `id`; `bookmark` while nothing
/// happens, and where `type` left revisions out; `compacted` if revisions asked for are held no longer, and the stream goes on with the oldest that is; `lagged`
/// with `resume_from`, as the last, if the reader is too slow; `problem` with a problem, as the last, if something is wrong, the
/// token revoked for instance. Comments come in between. Otherwise a page of the log as JSON.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/events",
    params(("agent" = String, Path, description = "Whose memory"), EventsQuery, LastEventId),
    responses(
        (status = 200, content(
            (WithRev<ItemsBody<RevisionDocument>> = "application/json", example = json!({
                "items": [{
                    "space": "agent/ada", "rev": 7, "commit": "5f0c2f0e-6a0b-4d3e-9b7e-3c1f4a5d6e7f",
                    "at": "2026-01-05T09:30:00Z",
                    "actor": { "principal": "ada", "kind": "agent", "role": "worker" },
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

/// The events of a board.
///
/// As those of an agent.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/events",
    params(("board" = String, Path, description = "Which board"), EventsQuery, LastEventId),
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

/// The events of a memory core.
///
/// As those of an agent.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/events",
    params(("core" = String, Path, description = "Which memory core"), EventsQuery, LastEventId),
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

/// The events of all spaces that the token opens.
///
/// Always a stream, with the events that those of one space have. New spaces are part of it as soon as they are there. An `id`
/// is a position that only this server, or another one on the same store, understands; with `Last-Event-ID` the stream goes on
/// from there: everything that was not told is, in the order of each space; after a while, a restart or at another server,
/// what was decided in the minute before may be told again.
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
    let wrong = |()| HttpError::invalid("last_event_id", "Last-Event-ID is no id that a stream of all events gave");
    let from = text(&headers, LAST_EVENT_ID)?.map(str::parse::<Position>).transpose().map_err(wrong)?;
    let types = EventTypes::parse(query.types.as_deref(), &[SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core])?;
    let all = AllSpacesStream::begin(&server, caller.clone(), from).await?;
    Ok(stream(&server, &caller, FilteredStream::new(all, types, bookmark_interval(&server))))
}

/// Read the revisions that a reference names.
///
/// The `log_ref` of a contribution is such a reference: board, revisions, author. Percent-encode it (`#` is `%23`). With an
/// author, the answer has the revisions that the author wrote and the reviews that completed the author's tasks.
#[utoipa::path(
    get,
    path = "/v1/log",
    params(LogQuery),
    responses(
        (status = 200, description = "A page; `next` is the reference to the rest", body = LogPage, example = json!({
            "items": [{
                "space": "board/add-login-1a2b3c4d", "rev": 6, "commit": "5f0c2f0e-6a0b-4d3e-9b7e-3c1f4a5d6e7f",
                "at": "2026-01-05T09:30:00Z",
                "actor": { "principal": "dev", "kind": "agent", "role": "worker" },
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
    let wrong =
        |_| HttpError::invalid("last_event_id", "Last-Event-ID is no revision, as the events of one space have");
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
