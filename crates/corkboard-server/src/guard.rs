//! What every request passes before it reaches a route: by which name it was called, from which page, by whom.

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::ExposeSecret;

use crate::caller::Caller;
use crate::extract::text;
use crate::failure::Failure;
use crate::settings::Access;
use crate::{Server, Settings};

/// What anybody may read: whether the server is up.
const PUBLIC: [&str; 2] = ["/healthz", "/readyz"];

/// Lets a request through with its caller, or answers it.
pub(crate) async fn guard(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    if let Err(failure) = check_name(request.uri(), request.headers(), server.settings()) {
        return failure.into_response();
    }
    if !PUBLIC.contains(&request.uri().path()) {
        match authenticate(&server, request.headers()).await {
            Ok(caller) => request.extensions_mut().insert(caller),
            Err(failure) => return failure.into_response(),
        };
    }
    next.run(request).await
}

/// A web page elsewhere must not speak to a server on its reader's machine: neither under a name of its own that leads
/// there, nor by a request that the browser sends along.
fn check_name(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> Result<(), Failure> {
    let host = match text(headers, HOST.as_str())? {
        Some(host) => Some(host),
        None => uri.authority().map(|authority| authority.as_str()),
    };
    let name = host.map(without_port).unwrap_or_default();
    let is_known = |name: &str| is_loopback(name) || settings.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    if !is_known(name) {
        let detail = format!("this server is not called {name:?}: name it among its hosts if it is");
        return Err(Failure::denied("host", detail));
    }
    let Some(origin) = text(headers, ORIGIN.as_str())? else { return Ok(()) };
    let of_own = origin.split_once("://").is_some_and(|(_, authority)| Some(authority) == host);
    if of_own || settings.origins.iter().any(|known| known == origin) {
        return Ok(());
    }
    Err(Failure::denied("origin", format!("pages of {origin:?} may not call this server")))
}

/// The name in an authority: `[::1]:7117` is `[::1]`.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

async fn authenticate(server: &Server, headers: &HeaderMap) -> Result<Caller, Failure> {
    let Access::Tokens { admin } = &server.settings().access else { return Ok(Caller::admin(server)) };
    let header = text(headers, AUTHORIZATION.as_str())?;
    let header = header.ok_or_else(|| Failure::unauthenticated("send a token: Authorization: Bearer …"))?;
    let secret = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let (_, secret) = secret.ok_or_else(|| Failure::unauthenticated("Authorization takes: Bearer …"))?;
    if is_same(secret.trim(), admin.expose_secret()) {
        return Ok(Caller::admin(server));
    }
    match server.corkboard().tokens().find(secret.trim()).await? {
        Some(token) => Ok(Caller::with_token(server, &token)),
        None => Err(Failure::unauthenticated("this token is unknown, revoked or expired")),
    }
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && differs == 0
}
