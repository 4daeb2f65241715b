//! Health, readiness, metrics and maintenance of the server.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use corkboard::{Corkboard, ErrorKind};
use jiff::Timestamp;

use crate::Server;
use crate::routes::prelude::*;

/// How long to wait for the store.
const STORE_ANSWERS: Duration = Duration::from_secs(5);

pub(super) fn routes() -> Routes {
    routes!(get_health, get_readiness, get_metrics, get_identity, check_store, scrub_store)
}

/// Health of the server.
#[derive(Serialize, ToSchema)]
struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
    /// The server's current time.
    now: Timestamp,
    /// Problems that do not keep the server from answering.
    warnings: Vec<String>,
}

impl Health {
    fn good() -> Self {
        Self { status: "ok", version: env!("CARGO_PKG_VERSION"), now: Timestamp::now(), warnings: Vec::new() }
    }
}

/// A warning if a loaded space is ahead of the clock. It does not name the space, because `/readyz` needs no token.
fn clock_warning(corkboard: &Corkboard) -> Option<String> {
    let ahead = corkboard.spaces_ahead();
    let (_, lead) = ahead.first()?;
    let spaces = corkboard::count(ahead.len() as u64, "space is", "spaces are");
    let lead = lead.as_secs();
    Some(format!("{spaces} ahead of the clock, by up to {lead} s; a process with a wrong clock wrote there"))
}

/// Check that the process responds.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()), responses((status = 200, body = Health)))]
async fn get_health() -> axum::Json<Health> {
    axum::Json(Health::good())
}

/// Check that the server can handle requests.
///
/// Returns 503 if the store does not answer, if the last write to it failed, or if the server is shutting down. After a
/// failed write, the server tries a small write at most once per second. It is ready again when that succeeds.
///
/// `warnings` reports a loaded agent, board or memory core that is more than a minute ahead of the clock, because a
/// process with a wrong clock wrote to it. The server is still ready.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    security(()),
    responses((status = 200, body = Health), crate::openapi::Problems)
)]
async fn get_readiness(State(server): State<Server>) -> Result<axum::Json<Health>, HttpError> {
    let not_ready = |detail: String| HttpError::new("not_ready", ErrorKind::Unavailable, detail);
    if server.is_ending() {
        return Err(not_ready("the server is shutting down; send requests to another one".into()));
    }
    let late = |_| not_ready(format!("the store has not answered for {} s", STORE_ANSWERS.as_secs()));
    let read = tokio::time::timeout(STORE_ANSWERS, server.corkboard().agents(None, 1)).await.map_err(late)?;
    if let Err(error) = read {
        // The log names the store. The response does not, because this route needs no token.
        tracing::warn!(%error, "the store does not answer");
        return Err(not_ready("the store does not answer".into()));
    }
    let written = tokio::time::timeout(STORE_ANSWERS, server.corkboard().check_writes()).await.map_err(late)?;
    written.map_err(|error| not_ready(format!("the last write failed: {}", HttpError::from(error).detail())))?;
    let warnings = clock_warning(server.corkboard()).into_iter().collect();
    Ok(axum::Json(Health { warnings, ..Health::good() }))
}

/// Get the server's metrics for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operations",
    responses(
        (status = 200, body = String, content_type = "text/plain", example = "corkboard_http_connections 3\n"),
        crate::openapi::Problems
    )
)]
async fn get_metrics(State(server): State<Server>) -> Result<Response, HttpError> {
    let nothing = || HttpError::not_found("metrics are disabled on this server");
    let metrics = server.settings().metrics.as_ref().ok_or_else(nothing)?;
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render(server.corkboard()))
        .into_response())
}

/// Get the token's principal and permissions.
#[utoipa::path(get, path = "/v1/me", tag = "access", responses((status = 200, body = corkboard::Identity), crate::openapi::Problems))]
async fn get_identity(caller: Caller) -> axum::Json<corkboard::Identity> {
    axum::Json(caller.identity())
}

/// Result of a store check.
#[derive(Serialize, ToSchema)]
struct StoreCheck {
    /// Damage that was found, one sentence each; empty if there is none.
    problems: Vec<String>,
}

/// Check the store for damage.
#[utoipa::path(
    get,
    path = "/v1/store/check",
    tag = "operations",
    responses((status = 200, body = StoreCheck), crate::openapi::Problems)
)]
async fn check_store(caller: Caller) -> Result<axum::Json<StoreCheck>, HttpError> {
    Ok(axum::Json(StoreCheck { problems: caller.store("check the whole store")?.check().await? }))
}

/// Result of scrubbing the store.
#[derive(Serialize, ToSchema)]
struct StoreScrub {
    /// Always `true`.
    scrubbed: bool,
}

/// Scrub the store: erase traces of deleted data from its files.
#[utoipa::path(
    post,
    path = "/v1/store/scrub",
    tag = "operations",
    responses((status = 200, body = StoreScrub), crate::openapi::Problems)
)]
async fn scrub_store(caller: Caller) -> Result<axum::Json<StoreScrub>, HttpError> {
    caller.store("scrub the whole store")?.scrub().await?;
    Ok(axum::Json(StoreScrub { scrubbed: true }))
}
