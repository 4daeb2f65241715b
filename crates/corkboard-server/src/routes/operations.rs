//! Whether the server is up.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Server;
use crate::failure::Failure;

pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(healthy)).routes(routes!(ready))
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
