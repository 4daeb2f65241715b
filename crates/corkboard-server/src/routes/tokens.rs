//! The tokens by which the server is reached.

use crate::routes::prelude::*;
use corkboard::tokens::{Grants, TokenId};
use corkboard::{ActorKind, Role, TokenDocument, TokenRequest};
use jiff::Timestamp;
use secrecy::ExposeSecret;

/// The most tokens of one answer.
const MOST: usize = 1000;

pub(super) fn routes() -> Routes {
    routes!(list_tokens, create_token, revoke_token).tag("access")
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
#[schema(as = TokenCreatedBody)]
struct CreatedBody {
    /// Its number.
    id: TokenId,
    /// What its holder comes with. It cannot be shown again.
    secret: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those after this one: `next` of the page before.
    #[param(value_type = Option<String>, pattern = "^[Kk]-[0-9]{1,18}$")]
    cursor: Option<TokenId>,
    /// How many at most.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: usize,
}

fn most() -> usize {
    MOST
}

/// List the tokens.
///
/// Those that can be used, in the order in which they were made, without their secrets, which are kept nowhere. For admins.
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

/// Make a token.
///
/// The answer is the only place where its secret is ever shown: the store keeps a hash. For admins.
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

/// Make a token useless.
///
/// At once on the server that was asked, within a second on all others. For admins.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{token}",
    params(("token" = String, Path, description = "Its number", pattern = "^[Kk]-[0-9]{1,18}$", example = "K-3")),
    responses((status = 200, body = WithRev<DeletedBody>), Problems)
)]
async fn revoke_token(caller: Caller, Path(token): Path<TokenId>) -> RevResult<DeletedBody> {
    let tokens = caller.tokens()?;
    tokens.revoke(token).await?;
    Ok(RevResponse::new(DeletedBody { deleted: true }, tokens.rev().await?))
}
