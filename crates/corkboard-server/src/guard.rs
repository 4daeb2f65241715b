//! What every request passes before it reaches a route: by which name it was called, from which page, by whom.

use std::sync::Arc;
use std::time::Instant;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use corkboard::Strict;
use secrecy::ExposeSecret;

use crate::caller::Caller;
use crate::condition::AnswerConditions;
use crate::error::HttpError;
use crate::extract::{single, text};
use crate::observe::Principal;
use crate::peer::Peer;
use crate::request_body::{RequestBody, too_many};
use crate::response_budget::hold;
use crate::settings::Access;
use crate::sign_in::session;
use crate::sign_in_page::page_or_problem;
use crate::{Server, Settings, cross_origin, parameters};

/// Names whom the caller acts for: an actor as JSON.
const ACTOR: HeaderName = HeaderName::from_static("cork-actor");
/// Names the scheme by which a proxy was called.
const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// What needs no token: whether the server is up, its description, to sign in, and what browsers ask for by themselves.
const PUBLIC: [&str; 5] = ["/healthz", "/readyz", "/openapi.json", "/sign-in", "/favicon.ico"];
/// What programs are told that come without a token.
pub(crate) const NO_TOKEN: &str = "send a token: Authorization: Bearer …";
/// Who is charged for the bytes of requests without a token.
const STRANGERS: &str = "";
/// Needs a token unless the settings say otherwise.
const METRICS: &str = "/metrics";

/// Lets a request through with its caller, or answers it.
pub(crate) async fn guard(server: &Server, mut request: Request, next: Next) -> Response {
    if let Err(error) = check_name(request.uri(), request.headers(), server.settings()) {
        return error.into_response();
    }
    if cross_origin::is_preflight(request.method(), request.headers()) {
        return cross_origin::preflight();
    }
    let path = request.uri().path();
    let is_public = PUBLIC.contains(&path) || path == METRICS && server.settings().are_metrics_public;
    if is_public {
        // Nor is its query looked at: links and health checks are written by others, who may add to them.
        let request_body = RequestBody::new(server, STRANGERS.into(), true);
        return answered(server, request_body, request, next).await;
    }
    let announced = request.body().size_hint().exact();
    let peer = Peer::of(request.extensions());
    let own = match authenticate(server, peer, request.method(), request.uri(), request.headers()).await {
        Ok(own) => own,
        Err(error) => {
            let refused = page_or_problem(request.method(), request.headers(), error);
            return hold(server.budget(), &STRANGERS.into(), true, refused).await;
        }
    };
    let principal: Arc<str> = own.actor().principal.as_str().into();
    let asked = server.requests().take(&principal, 1.0, Instant::now());
    let left = asked.unwrap_or_default();
    let asked = asked.map_err(|seconds| too_many(&principal, "asks too often", seconds));
    let admitted = asked.and_then(|_| admit(server, own, request.headers(), announced.unwrap_or_default()));
    let mut response = match admitted.and_then(|caller| parameters::check(&request).map(|()| caller)) {
        Ok(caller) => {
            let reader = request.method().is_safe().then(|| caller.clone());
            request.extensions_mut().insert(caller);
            let request_body = RequestBody::new(server, principal.clone(), announced.is_some());
            let response = answered(server, request_body, request, next).await;
            // A read may have waited until its token ended. What was written is told all the same.
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

/// The route's answer. The request's bytes are charged until then, and the answer's until they are sent.
async fn answered(server: &Server, request_body: RequestBody, mut request: Request, next: Next) -> Response {
    let (is_safe, principal) = (request.method().is_safe(), request_body.principal().clone());
    request.extensions_mut().insert(request_body.clone());
    let conditions = AnswerConditions::of(request.method(), request.headers());
    let response = conditions.answer(next.run(request)).await;
    drop(request_body);
    hold(server.budget(), &principal, is_safe, response).await
}

/// Who asks, if they may send that much now.
fn admit(server: &Server, own: Caller, headers: &HeaderMap, bytes: u64) -> Result<Caller, HttpError> {
    let (who, now) = (&own.actor().principal, Instant::now());
    server.written().take(who, bytes as f64, now).map_err(|seconds| too_many(who, "sends too much", seconds))?;
    match single(headers, ACTOR.as_str())? {
        None => Ok(own),
        Some(named) => {
            let wrong = |error| HttpError::invalid("actor", format!("the header cork-actor names nobody: {error}"));
            let Strict(actor) = serde_json::from_slice(named.as_bytes()).map_err(wrong)?;
            own.acting_for(actor)
        }
    }
}

/// A web page elsewhere must not speak to a server on its reader's machine: neither under a name of its own that leads
/// there, nor by a request that the browser sends along.
fn check_name(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> Result<(), HttpError> {
    let said = text(headers, HOST.as_str())?;
    if let (Some(host), Some(authority)) = (said, uri.authority())
        && !authority.as_str().eq_ignore_ascii_case(host)
    {
        let detail = format!("the header host says {host:?} and the request itself {:?}", authority.as_str());
        return Err(HttpError::invalid("host", detail));
    }
    let host = host_of(uri, headers);
    let name = host.map(without_port).unwrap_or_default();
    let is_known = |name: &str| is_loopback(name) || settings.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    if !is_known(name) {
        let detail = format!("this server is not called {name:?}: name it among its hosts if it is");
        return Err(HttpError::denied("host", detail));
    }
    let Some(origin) = text(headers, ORIGIN.as_str())? else { return Ok(()) };
    if is_of_own_page(uri, headers, settings) || settings.origins.iter().any(|known| known == origin) {
        return Ok(());
    }
    Err(HttpError::denied("origin", format!("pages of {origin:?} may not call this server")))
}

/// By which name, and which port, the server was called.
pub(crate) fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let said = headers.get(HOST).and_then(|host| host.to_str().ok());
    said.or_else(|| uri.authority().map(|authority| authority.as_str()))
}

/// Whether a page of this server sent it: one of the same scheme, name and port.
pub(crate) fn is_of_own_page(uri: &Uri, headers: &HeaderMap, settings: &Settings) -> bool {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let page = origin.and_then(|origin| origin.split_once("://"));
    let (Some((scheme, page)), Some(host)) = (page, host_of(uri, headers)) else { return false };
    let (own_scheme, usual_port) = if is_https(headers, settings) { ("https", ":443") } else { ("http", ":80") };
    // Browsers leave out the port that goes with the scheme.
    let host = host.strip_suffix(usual_port).unwrap_or(host);
    scheme == own_scheme && page.eq_ignore_ascii_case(host)
}

/// Whether the client came by https: to this server, or to a proxy in front of it. No page elsewhere can send that header: a
/// browser asks before it does, and is refused.
fn is_https(headers: &HeaderMap, settings: &Settings) -> bool {
    let forwarded = single(headers, FORWARDED_PROTO).ok().flatten().and_then(|value| value.to_str().ok());
    // Of several proxies the first is the client's.
    let outermost = forwarded.and_then(|protos| protos.split(',').next()).unwrap_or_default();
    settings.is_tls || outermost.trim().eq_ignore_ascii_case("https")
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

async fn authenticate(
    server: &Server,
    peer: Peer,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Caller, HttpError> {
    if matches!(server.settings().access, Access::Open) {
        return Ok(Caller::admin(server));
    }
    let caller = match text(headers, AUTHORIZATION.as_str())? {
        Some(header) => {
            let bearer = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let no_bearer = || HttpError::unauthenticated("Authorization takes: Bearer …");
            whose(server, peer, bearer.ok_or_else(no_bearer)?.1.trim()).await?
        }
        None => {
            let cookie = session(server, uri, headers);
            let cookie = cookie.ok_or_else(|| HttpError::unauthenticated(NO_TOKEN))?;
            // Browsers send cookies along whoever asks them to: what writes must come from a page of ours, and says so. Pages
            // elsewhere that may call come with a token: ports of one machine are one site to a cookie.
            if !method.is_safe() && !is_of_own_page(uri, headers, server.settings()) {
                let detail =
                    "what writes with a cookie is taken from this server's own page alone (Origin): send a token";
                return Err(HttpError::denied("origin", detail));
            }
            whose(server, peer, &cookie).await?
        }
    };
    caller.ok_or_else(|| HttpError::unauthenticated("this token is unknown, revoked or expired"))
}

/// The holder of that secret. A secret that this process does not know counts as wrong until the store knows it, and once a
/// client has sent too many of those they are refused without asking the store. A known token is accepted all the same: other
/// clients at the same address cannot lock its holder out.
pub(crate) async fn whose(server: &Server, peer: Peer, secret: &str) -> Result<Option<Caller>, HttpError> {
    let Access::Tokens { admin } = &server.settings().access else { return Ok(Some(Caller::admin(server))) };
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

/// Counts a token, or the code of a link, that is wrong as far as anybody knows. Refuses if there were too many.
pub(crate) fn count_wrong_token(server: &Server, peer: Peer) -> Result<(), HttpError> {
    let counted = server.wrong_tokens().take(&peer.client(), 1.0, Instant::now());
    counted.map(drop).map_err(|seconds| {
        HttpError::too_many(format!("too many wrong tokens from this address; try again in {seconds} s"), seconds)
    })
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_the_same_only_if_every_byte_and_their_lengths_are() {
        assert!(is_same("cork_abc", "cork_abc") && is_same("", ""));
        for other in ["cork_abd", "xork_abc", "cork_ab", "cork_abcd", ""] {
            assert!(!is_same("cork_abc", other) && !is_same(other, "cork_abc"), "{other}");
        }
    }

    #[test]
    fn names_of_this_machine_are_told_from_names_that_look_like_them() {
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
