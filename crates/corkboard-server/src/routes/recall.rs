//! What an agent's memory has to say: what fits a query, a prompt made of it, and what was done to it.

use axum::Json;
use axum::response::Response;
use corkboard::{Composition, ContextRequest, DayActivity, SearchHit};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::error::HttpError;
use crate::extract::{OptionalBody, Path, Query};
use crate::openapi::Problems;
use crate::response::{ItemsBody, RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(search_agent))
        .routes(routes!(compose_context))
        .routes(routes!(get_activity))
        .routes(routes!(list_active_days))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SearchQuery {
    /// Words to look for.
    #[param(example = "When do we deploy?")]
    q: String,
    /// How many hits at most; 10 if it is not said.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<usize>,
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
    /// The day, by UTC; today if it is not said.
    #[param(value_type = Option<String>, format = Date, example = "2026-05-01")]
    date: Option<Date>,
}

/// What a search found.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentHitsBody)]
struct HitsBody {
    /// The best first.
    hits: Vec<SearchHit>,
}

/// A day on which something was written.
#[derive(Serialize, ToSchema)]
struct ActiveDay {
    /// The day, by UTC.
    #[schema(value_type = String, format = Date)]
    date: Date,
    /// How many writes there were.
    writes: u64,
}

/// Search an agent's memory.
///
/// Entries, notes and notebooks, in the memory itself and in all its scopes, ranked by their words. What was written before is
/// found.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/search",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), SearchQuery),
    responses((status = 200, description = "The hits", body = WithRev<HitsBody>), Problems)
)]
async fn search_agent(
    caller: Caller,
    Path(agent): Path<String>,
    Query(query): Query<SearchQuery>,
) -> Result<RevResponse<HitsBody>, HttpError> {
    let memory = caller.agent(&agent)?;
    let search = memory.search(&query.q);
    let search = if let Some(limit) = query.limit { search.limit(limit) } else { search };
    let (rev, hits) = search.with_rev().await?;
    Ok(RevResponse::new(HitsBody { hits }, rev))
}

/// Compose a prompt from what an agent remembers.
///
/// Within a budget of tokens; each section says what it used and what it left out. With a board, the nudges shown count as
/// delivered to the caller, and the caller's claim on the task is renewed. With `preview`, nothing is recorded.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/context",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), ContextQuery),
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
    // A model may have been asked for a summary.
    caller.check_token().await?;
    Ok(RevResponse::new(Json(composition), rev).whole())
}

/// Show what was done to a memory on a day.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/activity",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory"), ActivityQuery),
    responses((status = 200, description = "A line per write", body = WithRev<DayActivity>), Problems)
)]
async fn get_activity(
    caller: Caller,
    Path(agent): Path<String>,
    Query(ActivityQuery { date }): Query<ActivityQuery>,
) -> Result<RevResponse<DayActivity>, HttpError> {
    let view = caller.agent(&agent)?.view().await?;
    let date = date.unwrap_or_else(|| TimeZone::UTC.to_datetime(view.at()).date());
    Ok(RevResponse::new(view.activity(date), view.rev()))
}

/// List the days on which a memory was written to, oldest first.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/activity/days",
    tag = "memory",
    params(("agent" = String, Path, description = "Whose memory")),
    responses((status = 200, description = "The days", body = WithRev<ItemsBody<ActiveDay>>), Problems)
)]
async fn list_active_days(
    caller: Caller,
    Path(agent): Path<String>,
) -> Result<RevResponse<ItemsBody<ActiveDay>>, HttpError> {
    let view = caller.agent(&agent)?.view().await?;
    let days = view.active_days().into_iter().map(|(date, writes)| ActiveDay { date, writes });
    Ok(RevResponse::new(ItemsBody::all(days), view.rev()))
}
