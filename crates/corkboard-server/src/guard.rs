//! Checks every request before it reaches a route: the host name, the page's origin, and the token.

use std::sync::Arc;
use std::time::Instant;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use corkboard::{Strict, json_error};
use secrecy::ExposeSecret;

use crate::caller::Caller;
use crate::condition::AnswerConditions;
use crate::error::HttpError;
use crate::extract::{single, text};
use crate::observe::Principal;
use crate::peer::Peer;
use crate::request_body::{RequestBody, too_many};
use crate::response_budget::hold;
use crate::settings::Authentication;
use crate::sign_in::session;
use crate::sign_in_page::page_or_problem;
use crate::{Server, Settings, cross_origin, mcp, parameters};

/// The header that names the actor for whom the caller acts, as JSON.
const ACTOR: HeaderName = HeaderName::from_static("cork-actor");
/// The header in which a proxy passes on the scheme of the client's request.
const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// Paths that need no token: health checks, the API description, signing in, and what browsers request on their own.
const PUBLIC: [&str; 5] = ["/healthz", "/readyz", "/openapi.json", "/sign-in", "/favicon.ico"];
/// The message for clients without a token.
pub(crate) const NO_TOKEN: &str = "no token: send Authorization: Bearer …";
/// The budget principal for requests without a token.
const STRANGERS: &str = "";
/// Needs a token unless the settings make it public.
const METRICS: &str = "/metrics";

/// Passes a request with its caller to the route, or refuses it.
pub(crate) async fn guard(server: &Server, mut request: Request, next: Next) -> Response {
    if let Err(error) = check_name(request.uri(), request.headers(), server.settings()) {
        return error.into_response();
    }
    if cross_origin::is_preflight(request.method(), request.headers()) {
        return cross_origin::preflight();
    }
    let path = request.uri().path();
    let is_public = PUBLIC.contains(&path)
        || mcp::METADATA.contains(&path)
        || path == METRICS && server.settings().are_metrics_public;
    if is_public {
        // The query is not checked either: links and health checks come from other programs, which may add parameters.
        let request_body = RequestBody::new(server, STRANGERS.into(), true);
        return answered(server, request_body, request, next).await;
    }
    let announced = request.body().size_hint().exact();
    let peer = Peer::of(request.extensions());
    let own = match authenticate(server, peer, request.method(), request.uri(), request.headers()).await {
        Ok(own) => own,
        Err(error) => {
            let mut refused = page_or_problem(request.method(), request.headers(), error);
            mcp::challenge(server, request.uri(), request.headers(), &mut refused);
            return hold(server.budget(), &STRANGERS.into(), true, refused).await;
        }
    };
    let principal: Arc<str> = own.actor().principal.as_str().into();
    let asked = server.requests().take(&principal, 1.0, Instant::now());
    let left = asked.unwrap_or_default();
    let asked = asked.map_err(|seconds| too_many(&principal, "sent too many requests", seconds));
    let admitted = asked.and_then(|_| admit(server, own, request.headers(), announced.unwrap_or_default()));
    let mut response = match admitted.and_then(|caller| parameters::check(&request).map(|()| caller)) {
        Ok(caller) => {
            let reader = request.method().is_safe().then(|| caller.clone());
            request.extensions_mut().insert(caller);
            let request_body = RequestBody::new(server, principal.clone(), announced.is_some());
            let response = answered(server, request_body, request, next).await;
            // The token may have ended while a read waited. A write's answer is sent anyway.
            match reader {
                Some(reader) => reader.check_token().await.map_or_else(HttpError::into_response, |()| response),
                None => response,
            }
        }
        Err(error) => error.into_response(),
    };
    server.requests().show(left, &mut response);
    if response.status().is_client_error() || response.status().is_server_error() {
        response.extensions_mut().insert(Principal(principal));
    }
    response
}

/// Runs the route. The request's bytes are charged to the budget until the answer, and the answer's until it is sent.
async fn answered(server: &Server, request_body: RequestBody, mut request: Request, next: Next) -> Response {
    let (is_safe, principal) = (request.method().is_safe(), request_body.principal().clone());
    request.extensions_mut().insert(request_body.clone());
    let conditions = AnswerConditions::of(request.method(), request.headers());
    let response = conditions.answer(next.run(request)).await;
    drop(request_body);
    hold(server.budget(), &principal, is_safe, response).await
}

/// Charges the byte rate, and resolves for whom the caller acts.
fn admit(server: &Server, own: Caller, headers: &HeaderMap, bytes: u64) -> Result<Caller, HttpError> {
    let (who, now) = (&own.actor().principal, Instant::now());
    server.written().take(who, bytes as f64, now).map_err(|seconds| too_many(who, "sent too many bytes", seconds))?;
    match single(headers, ACTOR.as_str())? {
        None => Ok(own),
        Some(named) => {
            let wrong = |error| {
                let why = json_error::describe("it", named.as_bytes(), &error);
                let form = r#"{"principal": "guest-7", "kind": "agent", "role": "worker"}"#;
                HttpError::invalid("actor", format!("invalid header cork-actor: {why}; expected JSON like {form}"))
            };
            let Strict(actor) = serde_json::from_slice(named.as_bytes()).map_err(wrong)?;
            own.acting_for(actor)
        }
    }
}

/// Keeps web pages of other origins from calling a server on their reader's machine: neither through a host name that
/// resolves to it (DNS rebinding), nor by cross-origin requests.
fn check_name(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> Result<(), HttpError> {
    let said = text(headers, HOST.as_str())?;
    if let (Some(host), Some(authority)) = (said, uri.authority())
        && !authority.as_str().eq_ignore_ascii_case(host)
    {
        let detail = format!("the Host header is {host:?}, but the request's target names {:?}", authority.as_str());
        return Err(HttpError::invalid("host", detail));
    }
    let host = host_of(uri, headers);
    let name = host.map(without_port).unwrap_or_default();
    let is_known = |name: &str| is_loopback(name) || settings.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    if !is_known(name) {
        let detail = format!("unknown host {name:?}: if it is a name of this server, add it to the setting hosts");
        return Err(HttpError::denied("host", detail));
    }
    let Some(origin) = text(headers, ORIGIN.as_str())? else { return Ok(()) };
    if is_of_own_page(uri, headers, settings) || settings.origins.iter().any(|known| known == origin) {
        return Ok(());
    }
    Err(HttpError::denied(
        "origin",
        format!("pages of {origin:?} may not call this server: add it to the setting origins to allow it"),
    ))
}

/// The host and port that the request names.
pub(crate) fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let said = headers.get(HOST).and_then(|host| host.to_str().ok());
    said.or_else(|| uri.authority().map(|authority| authority.as_str()))
}

/// Whether the request comes from a page of this server: same scheme, host and port.
pub(crate) fn is_of_own_page(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> bool {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let page = origin.and_then(|origin| origin.split_once("://"));
    let (Some((scheme, page)), Some(host)) = (page, host_of(uri, headers)) else { return false };
    let (own_scheme, usual_port) = if is_https(headers, settings) { ("https", ":443") } else { ("http", ":80") };
    // Browsers omit the scheme's default port.
    let host = host.strip_suffix(usual_port).unwrap_or(host);
    scheme == own_scheme && page.eq_ignore_ascii_case(host)
}

/// Scheme, host and port of this server, as the client names them.
pub(crate) fn origin_of(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> String {
    let scheme = if is_https(headers, settings) { "https" } else { "http" };
    format!("{scheme}://{}", host_of(uri, headers).unwrap_or_default())
}

/// Whether the client uses https: to this server, or to a proxy in front of it. Pages of other origins cannot send the
/// proxy's header, because the preflight request is refused.
fn is_https(headers: &HeaderMap, settings: &Settings) -> bool {
    let forwarded = single(headers, FORWARDED_PROTO).ok().flatten().and_then(|value| value.to_str().ok());
    // With several proxies, the first value is from the client's.
    let outermost = forwarded.and_then(|protos| protos.split(',').next()).unwrap_or_default();
    settings.is_tls || outermost.trim().eq_ignore_ascii_case("https")
}

/// The host in an authority: `[::1]` for `[::1]:7117`.
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

async fn authenticate(
    server: &Server,
    peer: Peer,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Caller, HttpError> {
    if matches!(server.settings().access, Authentication::Open) {
        return Ok(Caller::admin(server));
    }
    let caller = match text(headers, AUTHORIZATION.as_str())? {
        Some(header) => {
            let bearer = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let no_bearer = || HttpError::unauthenticated("invalid Authorization header: expected Bearer …");
            whose(server, peer, bearer.ok_or_else(no_bearer)?.1.trim()).await?
        }
        None => {
            let cookie = session(server, uri, headers);
            let cookie = cookie.ok_or_else(|| HttpError::unauthenticated(NO_TOKEN))?;
            // Browsers also send cookies with requests from other sites. A write with a cookie must therefore come from
            // our own page, as `Origin` tells. Allowed pages of other origins use tokens. `SameSite` does not help: all
            // ports of one host are one site.
            if !method.is_safe() && !is_of_own_page(uri, headers, server.settings()) {
                let detail =
                    "a write with a cookie must come from this server's own page (Origin): send a token instead";
                return Err(HttpError::denied("origin", detail));
            }
            whose(server, peer, &cookie).await?
        }
    };
    caller.ok_or_else(|| HttpError::unauthenticated("this token is unknown, revoked or expired"))
}

/// Finds the caller with this token. A token that this process does not know counts as wrong until the store confirms
/// it. After too many of those, the client's unknown tokens are refused without asking the store. Known tokens are
/// still accepted: other clients at the same address cannot lock their holders out.
pub(crate) async fn whose(server: &Server, peer: Peer, secret: &str) -> Result<Option<Caller>, HttpError> {
    let Authentication::Tokens { admin } = &server.settings().access else { return Ok(Some(Caller::admin(server))) };
    if admin.as_ref().is_some_and(|admin| is_same(secret, admin.expose_secret())) {
        return Ok(Some(Caller::admin(server)));
    }
    let is_unknown = server.tokens().is_unknown_here(secret);
    if is_unknown {
        count_wrong_token(server, peer)?;
    }
    let found = server.tokens().find(secret).await;
    let is_wrong = matches!(found, Ok(None));
    if is_unknown != is_wrong {
        let amount = if is_wrong { 1.0 } else { -1.0 };
        server.wrong_tokens().charge(&peer.client(), amount, Instant::now());
    }
    Ok(found?.map(|token| Caller::with_token(server, &token)))
}

/// Counts a wrong token or link code. Refuses the request if the client sent too many.
pub(crate) fn count_wrong_token(server: &Server, peer: Peer) -> Result<(), HttpError> {
    let counted = server.wrong_tokens().take(&peer.client(), 1.0, Instant::now());
    counted.map(drop).map_err(|seconds| {
        HttpError::too_many(format!("too many wrong tokens from this address: retry in {seconds} s"), seconds)
    })
}

/// Compares two secrets in constant time.
fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_equal_only_if_all_bytes_are() {
        assert!(is_same("cork_abc", "cork_abc") && is_same("", ""));
        for other in ["cork_abd", "xork_abc", "cork_ab", "cork_abcd", ""] {
            assert!(!is_same("cork_abc", other) && !is_same(other, "cork_abc"), "{other}");
        }
    }

    #[test]
    fn loopback_names_are_told_from_similar_names() {
        for name in ["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "[::1]"] {
            assert!(is_loopback(name), "{name}");
        }
        for name in ["localhost.example.org", "127.0.0.1.example.org", "0.0.0.0", "[::]", "10.0.0.1", "", "localhost."]
        {
            assert!(!is_loopback(name), "{name}");
        }
        assert_eq!(["[::1]:7117", "[::1]", "a:80", "a", "a:b"].map(without_port), ["[::1]", "[::1]", "a", "a", "a:b"]);
    }
}
