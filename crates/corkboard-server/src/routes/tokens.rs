//! Create, list and revoke access tokens.

use crate::routes::prelude::*;
use corkboard::tokens::{Grants, TokenId};
use corkboard::{ActorKind, Role, TokenDocument, TokenRequest};
use jiff::Timestamp;
use secrecy::ExposeSecret;

/// Maximum number of tokens on a page.
const MOST: usize = 1000;

pub(super) fn routes() -> Routes {
    routes!(list_tokens, create_token, revoke_token).tag("access")
}

/// A new token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenBody {
    /// Name recorded as the author of changes.
    principal: String,
    /// Whether the holder is a person, an agent or a program.
    kind: ActorKind,
    /// Role, which limits the operations that the token allows.
    role: Role,
    /// Agents, boards and cores that the token has access to. Access to everything else is denied.
    #[serde(default)]
    grants: Grants,
    /// Expiry time [default: valid until revoked].
    expires_at: Option<Timestamp>,
    /// A note on the purpose of the token.
    #[serde(default)]
    label: String,
}

/// A created token.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenCreatedBody)]
struct CreatedBody {
    /// ID of the token.
    id: TokenId,
    /// The secret that clients send as the bearer token. It cannot be shown again.
    secret: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Where to continue: `next` of the previous page.
    #[param(value_type = Option<String>, pattern = "^[Kk]-[0-9]{1,18}$")]
    cursor: Option<TokenId>,
    /// Maximum number of tokens.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: usize,
}

fn most() -> usize {
    MOST
}

/// List valid tokens.
///
/// Oldest first. Secrets are not included, because the store keeps only hashes. Requires an admin token.
#[utoipa::path(
    get,
    path = "/v1/tokens",
    params(ListQuery),
    responses((status = 200, body = WithRev<ItemsBody<TokenDocument>>), Problems)
)]
async fn list_tokens(caller: Caller, Query(query): Query<ListQuery>) -> RevResult<ItemsBody<TokenDocument>> {
    let tokens = caller.tokens()?;
    let (rev, listed) = (tokens.rev().await?, tokens.list().await?);
    let mut rest = listed.iter().filter(|token| query.cursor.is_none_or(|cursor| token.id > cursor));
    let page: Vec<_> = rest.by_ref().take(query.limit).map(|token| TokenDocument::from(&**token)).collect();
    let next = rest.next().and(page.last()).map(|last| last.id.to_string());
    Ok(RevResponse::new(ItemsBody { items: page, next }, rev))
}

/// Create a token.
///
/// Only this response contains the secret; the store keeps a hash. Requires an admin token.
#[utoipa::path(
    post,
    path = "/v1/tokens",
    request_body(content = TokenBody, example = json!({
        "principal": "ada", "kind": "agent", "role": "worker",
        "grants": {"agents": ["ada"], "boards": ["team-*"]}, "label": "Ada on the build machine"
    })),
    responses((status = 201, body = WithRev<CreatedBody>), Problems)
)]
async fn create_token(caller: Caller, Body(body): Body<TokenBody>) -> RevResult<CreatedBody> {
    let TokenBody { principal, kind, role, grants, expires_at, label } = body;
    let request = TokenRequest { principal, kind, role, grants, expires_at, label };
    let tokens = caller.tokens()?;
    let created = tokens.create(request).await?;
    let body = CreatedBody { id: created.id, secret: created.secret.expose_secret().into() };
    Ok(RevResponse::new(body, tokens.rev().await?).created())
}

/// Revoke a token.
///
/// Takes effect immediately on this server, and within a second on other servers of the same store. Requires an admin
/// token.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{token}",
    params(("token" = String, Path, description = "ID of the token", pattern = "^[Kk]-[0-9]{1,18}$", example = "K-3")),
    responses((status = 200, body = WithRev<DeletedBody>), Problems)
)]
async fn revoke_token(caller: Caller, Path(token): Path<TokenId>) -> RevResult<DeletedBody> {
    let tokens = caller.tokens()?;
    tokens.revoke(token).await?;
    Ok(RevResponse::new(DeletedBody { deleted: true }, tokens.rev().await?))
}
