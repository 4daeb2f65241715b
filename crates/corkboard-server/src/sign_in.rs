//! Browser sign-in: with a link, whose code works once, or with a token. Both set a cookie.

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

/// Name of the cookie that holds a browser's token; the port is appended.
const SESSION: &str = "cork_session";
/// How long a browser stays signed in.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a link works. It may be kept in a log that others can read later.
const LINK_LASTS: Duration = Duration::from_secs(60 * 60);

const FORM_BYTES: usize = 1024;

/// Codes of links that have not been used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<HashMap<String, Invitation>>);

/// Who is signed in by a link, and until when.
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
    /// Creates a link that works once, for a limited time, and returns its path.
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
    /// Code from a link: the one that the server printed, or one that an admin requested. Without a code, a browser
    /// sees a page that explains where to get one.
    code: Option<String>,
}

/// Sign a browser in.
#[utoipa::path(
    get,
    path = "/sign-in",
    security(()),
    params(SignIn),
    responses((status = 303, description = "Signed in; redirects to the dashboard"), Problems)
)]
async fn open_sign_in_link(
    State(server): State<Server>,
    peer: Peer,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    Query(query): Query<SignIn>,
) -> Result<Response, HttpError> {
    // Link previews send HEAD. The link must still work when its reader opens it.
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
            "this link has been used, has expired, or is from before the server was restarted; an admin can create \
             a new one with `cork token link`"
        }
        None => "the sign-in link has no code",
    };
    Ok(page_or_problem(&Method::GET, &headers, HttpError::unauthenticated(why)))
}

/// The form of the sign-in page.
#[derive(Deserialize, ToSchema)]
struct TokenForm {
    /// The token to sign in with.
    token: String,
}

/// Sign a browser in with a token.
///
/// Accepted only from the server's own page. The cookie lasts as long as the token, at most 12 hours.
#[utoipa::path(
    post,
    path = "/sign-in",
    security(()),
    request_body(
        content = TokenForm,
        content_type = "application/x-www-form-urlencoded",
        example = json!({"token": "cork_…"})
    ),
    responses((status = 303, description = "Signed in; redirects to the dashboard"), Problems)
)]
async fn create_session(State(server): State<Server>, mut request: Request) -> Result<Response, HttpError> {
    let (peer, uri, headers) = (Peer::of(request.extensions()), request.uri().clone(), request.headers().clone());
    // Otherwise a page of another origin could sign its reader in as someone else, and see what they write.
    if !is_of_own_page(&uri, &headers, server.settings()) {
        return Err(HttpError::denied(
            "origin",
            "the sign-in form is accepted only from this server's own page (Origin)",
        ));
    }
    DefaultBodyLimit::max(FORM_BYTES).apply(&mut request);
    let Raw(body) = Raw::from_request(request, &server).await?;
    let no_form = || HttpError::invalid("body", "invalid body: expected a form with one field: token=…");
    let form = std::str::from_utf8(&body).map_err(|_| no_form())?;
    // A form has the syntax of a query.
    let form: Uri = format!("/?{form}").parse().map_err(|_| no_form())?;
    let axum::extract::Query(form) = axum::extract::Query::<TokenForm>::try_from_uri(&form).map_err(|_| no_form())?;
    let secret = SecretString::from(form.token.trim());
    match whose(&server, peer, secret.expose_secret()).await? {
        // The cookie holds the token itself: revoking the token ends the session.
        Some(caller) if caller.token().is_some() => Ok(signed_in(&server, &uri, &headers, &secret)),
        Some(caller) => Ok(signed_in(&server, &uri, &headers, &begin(&server, caller.actor().clone()).await?)),
        None => {
            let error = HttpError::unauthenticated("this token is unknown, revoked or expired");
            // A form is sent by a browser, which shows a page.
            Ok(page_or_problem(&Method::GET, &headers, error))
        }
    }
}

/// A link that signs a browser in.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"path": "/sign-in?code=4ZJ3NQ7M2W6K5XRT"}))]
struct LinkBody {
    /// Path on this server. It works once, within an hour.
    path: String,
}

/// Create a link that signs a browser in.
///
/// The browser is signed in as the calling admin. The link works once, within an hour, on this server. Admins only.
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
        let detail = format!("{principal} is {} {role}: only admins can create sign-in links", role.article());
        return Err(HttpError::denied("role_denied", detail));
    }
    let path = server.codes().issue(actor.clone());
    Ok((StatusCode::CREATED, Json(LinkBody { path })))
}

/// Creates a token for the browser of an admin.
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
        Err(_) => HttpError::broken("the session cookie could not be created").into_response(),
    }
}

fn to_dashboard() -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
}

/// The token in a browser's cookie.
pub(crate) fn session(server: &Server, uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(server, uri, headers);
    // A browser may send one header for each cookie (HTTP/2).
    let cookies = headers.get_all(COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, secret)| secret.to_owned())
}

/// Browsers keep cookies by host name, regardless of the port: without the port in the name, servers on several ports
/// would sign each other out. With TLS, the prefix `__Host-` keeps others from setting the cookie.
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
    use crate::{Authentication, Settings};

    /// Also covers the link that is printed at startup, which is created the same way.
    #[tokio::test(start_paused = true)]
    async fn a_link_works_once_and_for_an_hour() {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        let server = Server::new(corkboard.clone(), Settings::new(Authentication::Tokens { admin: None }));
        let redeem = |path: &str| server.codes().redeem(path.strip_prefix("/sign-in?code=").unwrap());
        let (one, other) = (server.sign_in_path(), server.sign_in_path());
        tokio::time::advance(LINK_LASTS - Duration::from_secs(1)).await;
        assert_eq!(redeem(&one).map(|actor| actor.role), Some(Role::Admin));
        assert_eq!(redeem(&one), None, "already used");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(redeem(&other), None, "expired");
        corkboard.close().await.unwrap();
    }
}
