//! The tokens by which the server is reached.

use std::sync::Arc;

use corkboard::tokens::{Grants, Token, TokenId};
use corkboard::{ActorKind, Role, TokenRequest};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Server;
use crate::caller::Caller;
use crate::extract::{Body, Path};
use crate::failure::Failure;
use crate::openapi::Problems;

pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke))
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenBody {
    /// In whose name whoever comes with it acts.
    principal: String,
    /// Whether that is a person, an agent or a program.
    kind: ActorKind,
    /// What they may do.
    role: Role,
    /// What they may touch. What is not here is denied.
    #[serde(default)]
    grants: Grants,
    /// Until when it can be used; none: until it is revoked.
    expires_at: Option<Timestamp>,
    /// What it is for.
    #[serde(default)]
    label: String,
}

/// A token that was made.
#[derive(Serialize, ToSchema)]
struct CreatedBody {
    /// Its number.
    id: TokenId,
    /// What its holder comes with. It cannot be shown again.
    secret: String,
}

/// The tokens that can be used.
#[derive(Serialize, ToSchema)]
struct TokensBody {
    /// In the order in which they were made, without their secrets.
    tokens: Vec<TokenLine>,
}

/// A token without its secret.
#[derive(Serialize, ToSchema)]
struct TokenLine {
    id: TokenId,
    principal: Arc<str>,
    kind: ActorKind,
    role: Role,
    grants: Grants,
    expires_at: Option<Timestamp>,
    label: Arc<str>,
    created_at: Timestamp,
    created_by: Arc<str>,
}

impl From<&Token> for TokenLine {
    fn from(token: &Token) -> Self {
        let Token { id, hash: _, principal, kind, role, grants, expires_at, label, created_at, created_by } =
            token.clone();
        Self { id, principal, kind, role, grants, expires_at, label, created_at, created_by }
    }
}

/// List the tokens.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", responses((status = 200, body = TokensBody), Problems))]
async fn list(caller: Caller) -> Result<axum::Json<TokensBody>, Failure> {
    let tokens = caller.tokens()?.list().await?;
    Ok(axum::Json(TokensBody { tokens: tokens.iter().map(|token| TokenLine::from(&**token)).collect() }))
}

/// Make a token.
#[utoipa::path(
    post,
    path = "/v1/tokens",
    tag = "tokens",
    request_body = TokenBody,
    responses((status = 201, body = CreatedBody), Problems)
)]
async fn create(
    caller: Caller,
    Body(body): Body<TokenBody>,
) -> Result<(axum::http::StatusCode, axum::Json<CreatedBody>), Failure> {
    let TokenBody { principal, kind, role, grants, expires_at, label } = body;
    let request = TokenRequest { principal, kind, role, grants, expires_at, label };
    let created = caller.tokens()?.create(request).await?;
    let body = CreatedBody { id: created.id, secret: created.secret.expose_secret().into() };
    Ok((axum::http::StatusCode::CREATED, axum::Json(body)))
}

/// Make a token useless.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{token}",
    tag = "tokens",
    params(("token" = String, Path, description = "Its number: K-3")),
    responses((status = 204), Problems)
)]
async fn revoke(caller: Caller, Path(token): Path<TokenId>) -> Result<axum::http::StatusCode, Failure> {
    caller.tokens()?.revoke(token).await?;
    Ok(axum::http::StatusCode::NO_CONTENT)
}
