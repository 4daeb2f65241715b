//! Whether the server is up.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Server;
use crate::caller::Caller;
use crate::failure::Failure;

pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(healthy))
        .routes(routes!(ready))
        .routes(routes!(me))
        .routes(routes!(check))
        .routes(routes!(scrub))
}

/// How it is.
#[derive(Serialize, ToSchema)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Whether the process answers.
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()), responses((status = 200, body = Health)))]
async fn healthy() -> axum::Json<Health> {
    axum::Json(OK)
}

/// Whether the store answers too.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    security(()),
    responses((status = 200, body = Health), crate::openapi::Problems)
)]
async fn ready(State(server): State<Server>) -> Result<axum::Json<Health>, Failure> {
    server.corkboard().agents(None, 1).await?;
    Ok(axum::Json(OK))
}

/// Whom the token names.
#[utoipa::path(get, path = "/v1/me", tag = "access", responses((status = 200, body = corkboard::Identity), crate::openapi::Problems))]
async fn me(caller: Caller) -> axum::Json<corkboard::Identity> {
    axum::Json(caller.identity())
}

/// What was found.
#[derive(Serialize, ToSchema)]
struct Checked {
    /// What is damaged, a sentence each; none is good news.
    problems: Vec<String>,
}

/// Look for damage in the store.
#[utoipa::path(
    get,
    path = "/v1/store/check",
    tag = "operations",
    responses((status = 200, body = Checked), crate::openapi::Problems)
)]
async fn check(caller: Caller) -> Result<axum::Json<Checked>, Failure> {
    Ok(axum::Json(Checked { problems: caller.store()?.check().await? }))
}

/// What was done.
#[derive(Serialize, ToSchema)]
struct Scrubbed {
    /// `true`.
    scrubbed: bool,
}

/// See to it that nothing is left in the store's files of what was deleted.
#[utoipa::path(
    post,
    path = "/v1/store/scrub",
    tag = "operations",
    responses((status = 200, body = Scrubbed), crate::openapi::Problems)
)]
async fn scrub(caller: Caller) -> Result<axum::Json<Scrubbed>, Failure> {
    caller.store()?.scrub().await?;
    Ok(axum::Json(Scrubbed { scrubbed: true }))
}
