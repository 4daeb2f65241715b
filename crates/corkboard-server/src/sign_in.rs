//! A person signs in: with a link, whose code works once, or with a token. Either becomes a cookie.

use std::collections::HashMap;
use std::time::Duration;

use axum::Json;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use corkboard::tokens::Grants;
use corkboard::{Actor, Role, TokenRequest};
use jiff::Timestamp;
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use crate::Server;
use crate::caller::Caller;
use crate::error::HttpError;
use crate::extract::{Query, Raw};
use crate::guard::{count_wrong_token, host_of, is_of_own_page, whose};
use crate::openapi::Problems;
use crate::peer::Peer;
use crate::routing::{Routes, routes};
use crate::sign_in_page::page_or_problem;

/// The cookie that holds a browser's token; the port follows.
const SESSION: &str = "cork_session";
/// How long a browser stays signed in.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// For how long a link can be used: it may stand in a log that others read later.
const LINK_LASTS: Duration = Duration::from_secs(60 * 60);

const FORM_BYTES: usize = 1024;

/// Codes of links that were not used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<HashMap<String, Invitation>>);

/// Whom a link signs in.
struct Invitation {
    actor: Actor,
    until: Instant,
}

impl Invitation {
    fn is_good(&self) -> bool {
        Instant::now() < self.until
    }
}

impl Codes {
    /// The path of a link that works once, for a while.
    pub(crate) fn issue(&self, actor: Actor) -> String {
        let code = uuid::Uuid::new_v4().simple().to_string();
        let path = format!("/sign-in?code={code}");
        let until = Instant::now() + LINK_LASTS;
        let mut codes = self.0.lock();
        codes.retain(|_, invitation| invitation.is_good());
        codes.insert(code, Invitation { actor, until });
        path
    }

    fn redeem(&self, code: &str) -> Option<Actor> {
        self.0.lock().remove(code).filter(Invitation::is_good).map(|invitation| invitation.actor)
    }
}

pub(crate) fn routes() -> Routes {
    routes!(open_sign_in_link, create_session, create_sign_in_link).tag("access")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SignIn {
    /// The code of a link: of the one that the server printed, or of one that an admin asked for. A browser without one is
    /// shown where to get it.
    code: Option<String>,
}

/// Sign a browser in.
#[utoipa::path(
    get,
    path = "/sign-in",
    security(()),
    params(SignIn),
    responses((status = 303, description = "Signed in: go to the dashboard"), Problems)
)]
async fn open_sign_in_link(
    State(server): State<Server>,
    peer: Peer,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    Query(query): Query<SignIn>,
) -> Result<Response, HttpError> {
    // Programs that show a preview of a link send HEAD: the link must still work when its reader opens it.
    if method == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    if let Some(actor) = query.code.as_deref().and_then(|code| server.codes().redeem(code)) {
        let secret = begin(&server, actor).await?;
        return Ok(signed_in(&server, &uri, &headers, &secret));
    }
    if let Some(secret) = session(&server, &uri, &headers)
        && whose(&server, peer, &secret).await?.is_some()
    {
        return Ok(to_dashboard());
    }
    let why = match query.code {
        Some(_) => {
            count_wrong_token(&server, peer)?;
            "this link was used already, is older than an hour, or is of an earlier start of the server; `cork token link` \
             makes another, and so does a new start"
        }
        None => "a link that signs in has a code",
    };
    Ok(page_or_problem(&Method::GET, &headers, HttpError::unauthenticated(why)))
}

/// What the sign-in page sends.
#[derive(Deserialize, ToSchema)]
struct TokenForm {
    /// The token to sign in with.
    token: String,
}

/// Sign a browser in with a token.
///
/// Taken from the server's own page alone. The cookie is good for as long as the token is, and 12 hours at most.
#[utoipa::path(
    post,
    path = "/sign-in",
    security(()),
    request_body(
        content = TokenForm,
        content_type = "application/x-www-form-urlencoded",
        example = json!({"token": "cork_…"})
    ),
    responses((status = 303, description = "Signed in: go to the dashboard"), Problems)
)]
async fn create_session(State(server): State<Server>, mut request: Request) -> Result<Response, HttpError> {
    let (peer, uri, headers) = (Peer::of(request.extensions()), request.uri().clone(), request.headers().clone());
    // Otherwise a page elsewhere could sign its reader in as somebody else, and see what they write then.
    if !is_of_own_page(&uri, &headers, server.settings()) {
        return Err(HttpError::denied("origin", "a form is taken from this server's own page alone (Origin)"));
    }
    DefaultBodyLimit::max(FORM_BYTES).apply(&mut request);
    let Raw(body) = Raw::from_request(request, &server).await?;
    let no_form = || HttpError::invalid("body", "the body is a form with one field: token=…");
    let form = std::str::from_utf8(&body).map_err(|_| no_form())?;
    // A form is written as a query is.
    let form: Uri = format!("/?{form}").parse().map_err(|_| no_form())?;
    let axum::extract::Query(form) = axum::extract::Query::<TokenForm>::try_from_uri(&form).map_err(|_| no_form())?;
    let secret = SecretString::from(form.token.trim());
    match whose(&server, peer, secret.expose_secret()).await? {
        // The cookie is the token itself, so that it is revoked with it.
        Some(caller) if caller.token().is_some() => Ok(signed_in(&server, &uri, &headers, &secret)),
        Some(caller) => Ok(signed_in(&server, &uri, &headers, &begin(&server, caller.actor().clone()).await?)),
        None => {
            let error = HttpError::unauthenticated("this token is unknown, revoked or expired");
            // Whoever sends a form looks at a page.
            Ok(page_or_problem(&Method::GET, &headers, error))
        }
    }
}

/// A link that signs a browser in.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"path": "/sign-in?code=4ZJ3NQ7M2W6K5XRT"}))]
struct LinkBody {
    /// Where it leads on this server. It works once, for an hour.
    path: String,
}

/// Make a link that signs a browser in.
///
/// As the admin who asks for it. It works once, within an hour, at this server. For admins.
#[utoipa::path(
    post,
    path = "/v1/sign-in-links",
    responses((status = 201, body = LinkBody), Problems)
)]
async fn create_sign_in_link(
    State(server): State<Server>,
    caller: Caller,
) -> Result<(StatusCode, Json<LinkBody>), HttpError> {
    let actor = caller.actor();
    if actor.role != Role::Admin {
        let Actor { principal, role, .. } = actor;
        let detail = format!("{principal} is {} {role}: links to sign in are for admins", role.article());
        return Err(HttpError::denied("role_denied", detail));
    }
    let path = server.codes().issue(actor.clone());
    Ok((StatusCode::CREATED, Json(LinkBody { path })))
}

/// A token for a browser of somebody who may do everything.
async fn begin(server: &Server, actor: Actor) -> Result<SecretString, HttpError> {
    let request = TokenRequest {
        principal: actor.principal,
        kind: actor.kind,
        role: Role::Admin,
        grants: Grants::everything(),
        expires_at: Timestamp::now().checked_add(LASTS).ok(),
        label: "a browser".into(),
    };
    Ok(server.corkboard().tokens().create(request).await?.secret)
}

fn signed_in(server: &Server, uri: &Uri, headers: &HeaderMap, secret: &SecretString) -> Response {
    let (name, secret, seconds) = (cookie_name(server, uri, headers), secret.expose_secret(), LASTS.as_secs());
    let secure = if server.settings().is_tls { "; Secure" } else { "" };
    let cookie = format!("{name}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => ([(SET_COOKIE, cookie)], to_dashboard()).into_response(),
        Err(_) => HttpError::broken("no cookie could be made").into_response(),
    }
}

fn to_dashboard() -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
}

/// The token in a browser's cookie.
pub(crate) fn session(server: &Server, uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(server, uri, headers);
    // A browser may send one header for each (HTTP/2).
    let cookies = headers.get_all(COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, secret)| secret.to_owned())
}

/// Browsers keep cookies by name of the host, whatever its port: servers on several ports would sign each other out. An
/// encrypted server's cookie is set by nobody else (`__Host-`).
fn cookie_name(server: &Server, uri: &Uri, headers: &HeaderMap) -> String {
    let prefix = if server.settings().is_tls { "__Host-" } else { "" };
    let port = host_of(uri, headers).and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) => format!("{prefix}{SESSION}_{port}"),
        None => format!("{prefix}{SESSION}"),
    }
}

#[cfg(test)]
mod tests {
    use corkboard::Corkboard;

    use super::*;
    use crate::{Access, Settings};

    /// The link that is printed at the start is one like any other.
    #[tokio::test(start_paused = true)]
    async fn a_link_works_once_and_for_an_hour() {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        let server = Server::new(corkboard.clone(), Settings::new(Access::Tokens { admin: None }));
        let redeem = |path: &str| server.codes().redeem(path.strip_prefix("/sign-in?code=").unwrap());
        let (one, other) = (server.sign_in_path(), server.sign_in_path());
        tokio::time::advance(LINK_LASTS - Duration::from_secs(1)).await;
        assert_eq!(redeem(&one).map(|actor| actor.role), Some(Role::Admin));
        assert_eq!(redeem(&one), None, "it was used");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(redeem(&other), None, "it is too old");
        corkboard.close().await.unwrap();
    }
}
