//! A person signs in with the link that the server prints: its code works once, and becomes a cookie.

use std::collections::HashSet;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use corkboard::tokens::Grants;
use corkboard::{ActorKind, Role, TokenRequest};
use jiff::Timestamp;
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Server;
use crate::described::{Routes, routes};
use crate::extract::{Query, text};
use crate::failure::Failure;
use crate::openapi::Problems;

/// The cookie that holds a browser's token.
const SESSION: &str = "cork_session";
/// How long a browser stays signed in.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);

/// Codes that were printed and not yet used.
#[derive(Default)]
pub(crate) struct Codes(Mutex<HashSet<String>>);

impl Codes {
    /// A code that works once.
    pub(crate) fn issue(&self) -> String {
        let code = uuid::Uuid::new_v4().simple().to_string();
        self.0.lock().insert(code.clone());
        code
    }

    fn redeem(&self, code: &str) -> bool {
        self.0.lock().remove(code)
    }
}

pub(crate) fn routes() -> Routes {
    Routes::new().routes(routes!(sign_in))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SignIn {
    /// The code of the link that the server printed.
    code: String,
}

/// Sign a browser in.
#[utoipa::path(
    get,
    path = "/sign-in",
    tag = "access",
    security(()),
    params(SignIn),
    responses((status = 303, description = "Signed in: go to the dashboard"), Problems)
)]
async fn sign_in(State(server): State<Server>, Query(query): Query<SignIn>) -> Result<Response, Failure> {
    if !server.codes().redeem(&query.code) {
        return Err(Failure::unauthenticated("this link was used already, or is of an earlier start of the server"));
    }
    let expires_at = Timestamp::now().checked_add(LASTS).ok();
    let request = TokenRequest {
        principal: "admin".into(),
        kind: ActorKind::Human,
        role: Role::Admin,
        grants: Grants::everything(),
        expires_at,
        label: "a browser".into(),
    };
    let token = server.corkboard().tokens().create(request).await?;
    let seconds = LASTS.as_secs();
    let secure = if server.settings().is_tls { "; Secure" } else { "" };
    let secret = token.secret.expose_secret();
    let cookie = format!("{SESSION}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| Failure::unauthenticated("no cookie could be made"))?;
    let headers = [(SET_COOKIE, cookie), (LOCATION, HeaderValue::from_static("/"))];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// The token in a browser's cookie.
pub(crate) fn session(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let Some(cookies) = text(headers, COOKIE.as_str())? else { return Ok(None) };
    let pairs = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    Ok(pairs.into_iter().find(|(name, _)| *name == SESSION).map(|(_, secret)| secret))
}
