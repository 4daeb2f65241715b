//! Search an agent's memory, compose prompts from it, and list its activity.

use axum::Json;
use axum::response::Response;
use corkboard::{Composition, ContextRequest, DayActivity};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::routes::prelude::*;
use crate::search_query::{HitsBody, SearchQuery};

pub(super) fn routes() -> Routes {
    routes!(search_agent, compose_context, get_activity, list_active_days).tag("memory")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ContextQuery {
    /// Compose the prompt without recording it: no nudge counts as delivered, and no claim is renewed.
    #[serde(default)]
    preview: bool,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ActivityQuery {
    /// The day in UTC [default: today].
    #[param(value_type = Option<String>, format = Date, example = "2026-05-01")]
    date: Option<Date>,
}

/// A day with at least one write.
#[derive(Serialize, ToSchema)]
struct ActiveDay {
    /// The day in UTC.
    #[schema(value_type = String, format = Date)]
    date: Date,
    /// Number of writes.
    writes: u64,
}

/// Search an agent's memory.
///
/// Searches entries, notes and notebooks of the memory and of all its scopes, and ranks them by relevance. A search
/// finds everything written before it. Hits contain words of the query, mean nearly the same, or were written on a
/// date or by an author that the query mentions. Entries with the same `session`
/// raise each other's score.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/search",
    params(("agent" = String, Path, description = "Name of the agent"), SearchQuery),
    responses((status = 200, description = "The hits", body = WithRev<HitsBody>), Problems)
)]
async fn search_agent(
    caller: Caller,
    Path(agent): Path<String>,
    Query(query): Query<SearchQuery>,
) -> RevResult<HitsBody> {
    let memory = caller.agent(&agent)?;
    query.run(memory.search(&query.q)).await
}

/// Compose a prompt from an agent's memory.
///
/// The prompt fits a token budget. Each section reports what it used and what it left out. With a board, the nudges
/// shown count as delivered to the caller, and the caller's claim on the task is renewed. With `preview`, nothing is
/// recorded.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/context",
    params(("agent" = String, Path, description = "Name of the agent"), ContextQuery),
    request_body(
        content = Option<ContextRequest>,
        example = json!({"budget": 4000, "query": "When do we deploy?", "conversation": "c-1"})
    ),
    responses((status = 200, description = "The prompt", body = Composition), Problems)
)]
async fn compose_context(
    caller: Caller,
    Path(agent): Path<String>,
    Query(ContextQuery { preview }): Query<ContextQuery>,
    OptionalBody(request): OptionalBody<ContextRequest>,
) -> Result<Response, HttpError> {
    let window = caller.agent(&agent)?.context_window();
    let composition = match preview {
        true => window.preview(request).await?,
        false => window.compose(request).await?,
    };
    let rev = composition.rev;
    // Summarizing with a model may have taken long.
    caller.check_token().await?;
    Ok(RevResponse::new(Json(composition), rev).whole())
}

/// List the writes to an agent's memory on one day. Work on boards is not included.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/activity",
    params(("agent" = String, Path, description = "Name of the agent"), ActivityQuery),
    responses((status = 200, description = "One line per write", body = WithRev<DayActivity>), Problems)
)]
async fn get_activity(
    caller: Caller,
    Path(agent): Path<String>,
    Query(ActivityQuery { date }): Query<ActivityQuery>,
) -> RevResult<DayActivity> {
    let view = caller.agent(&agent)?.view().await?;
    let date = date.unwrap_or_else(|| TimeZone::UTC.to_datetime(view.at()).date());
    Ok(RevResponse::new(view.activity(date), view.rev()))
}

/// List the days on which an agent's memory was written to, oldest first. Work on boards is not included.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/activity/days",
    params(("agent" = String, Path, description = "Name of the agent")),
    responses((status = 200, description = "The days", body = WithRev<ItemsBody<ActiveDay>>), Problems)
)]
async fn list_active_days(caller: Caller, Path(agent): Path<String>) -> RevResult<ItemsBody<ActiveDay>> {
    let view = caller.agent(&agent)?.view().await?;
    let days = view.active_days().into_iter().map(|(date, writes)| ActiveDay { date, writes });
    Ok(RevResponse::new(ItemsBody::all(days), view.rev()))
}
