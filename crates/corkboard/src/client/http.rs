//! Sends requests to a server and interprets the answers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corkboard_core::agent::Forget;
use corkboard_core::{Actor, AgentId, Refusal, SpaceId, SpaceKind};
use futures_util::future::BoxFuture;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connect_error::connect_error;
use super::{Identity, ServerAddress};
use crate::backoff::Backoff;
use crate::embed::{Reindex, VectorStatus};
use crate::engine::{Deletion, RemoteEngine, RemoteSearch};
use crate::error::error_chain;
use crate::net::{is_loopback, tls};
use crate::store::{ConnectError, ServerUrl, StoreError};
use crate::{AnswerDocument, Error, Forgotten, ForgottenText, Problem, Result, SearchAnswer};

/// Header with the actor that the caller acts for, as JSON.
const ACTOR: HeaderName = HeaderName::from_static("cork-actor");
/// Characters that must be escaped in a path segment.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
/// Appended to a name that cannot be a path segment by itself, and to a name that ends with it.
const MARK: &str = ";";
/// Maximum number of attempts for a request that can be repeated.
const ATTEMPTS: u32 = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));

/// The error for a URL with another scheme.
const SCHEMES: &str = "a server URL begins with http:// or https://";

pub(super) struct HttpClient {
    http: reqwest::Client,
    url: Url,
    token: Option<HeaderValue>,
    timeout: Duration,
    /// The actor of the token. Requests as this actor need no header.
    own: OnceLock<Actor>,
    has_embedder: AtomicBool,
}

/// Whether a request may be repeated when its outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// It only reads, so only the answer can be lost.
    Reading,
    Yes,
    No,
}

impl HttpClient {
    pub(super) fn new(address: ServerAddress) -> Result<Self> {
        let ServerAddress { url, token, timeout, allow_plain_http } = address;
        let wrong =
            |reason: &str| StoreError::ServerUrl { url: ServerUrl::new(&url).to_string(), reason: reason.into() };
        if !url.contains("://") {
            return Err(wrong(SCHEMES).into());
        }
        let parsed = Url::parse(&url).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.cannot_be_a_base() {
            return Err(wrong(SCHEMES).into());
        }
        let is_here = is_loopback(&parsed);
        if token.is_some() && parsed.scheme() == "http" && !is_here && !allow_plain_http {
            return Err(wrong("a token is not sent to another machine over plain http: use https").into());
        }
        let token = token.map(|token| HeaderValue::try_from(format!("Bearer {}", token.expose_secret())));
        let mut token = token
            .transpose()
            .map_err(|_| wrong("the token contains characters that are not allowed in an HTTP header"))?;
        token.iter_mut().for_each(|token| token.set_sensitive(true));
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(&parsed).map_err(|reason| wrong(&reason))?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // Shorter than the server's idle timeout: a request sent while the server closes the connection may be
            // lost.
            .pool_idle_timeout(Duration::from_secs(20))
            .connect_timeout(timeout.min(Duration::from_secs(10)))
            .user_agent(concat!("corkboard/", env!("CARGO_PKG_VERSION")));
        if is_here {
            // A proxy on another machine cannot reach this one.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| wrong(&error_chain(&error.without_url())))?;
        Ok(Self { http, url: parsed, token, timeout, own: OnceLock::new(), has_embedder: AtomicBool::new(false) })
    }

    pub(super) fn location(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    pub(super) fn set_own(&self, actor: &Actor, has_embedder: bool) {
        let _ = self.own.set(actor.clone());
        self.has_embedder.store(has_embedder, Ordering::Relaxed);
    }

    pub(super) async fn identity(&self) -> Result<Identity> {
        self.get("/v1/me", &[]).await
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T> {
        self.send(Resend::Reading, || self.request(Method::GET, path, query)).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        actor: Option<&Actor>,
        body: Vec<u8>,
        again: Resend,
    ) -> Result<T> {
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        // A Corkboard's internal operations act as the system. On a server, that is the token's actor.
        if let Some(another) = actor.filter(|actor| self.own.get() != Some(actor) && **actor != Actor::system()) {
            headers.insert(ACTOR, actor_header(another)?);
        }
        let request = || self.request(Method::POST, path, &[]).headers(headers.clone()).body(body.clone());
        self.send(again, request).await
    }

    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T> {
        self.send(Resend::No, || self.request(Method::DELETE, path, query)).await
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, String)]) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", self.url.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        self.http.request(method, url).headers(headers).timeout(self.timeout)
    }

    async fn send<T: DeserializeOwned>(&self, again: Resend, request: impl Fn() -> RequestBuilder) -> Result<T> {
        let (mut attempt, mut backoff, mut is_in_doubt) = (1, BACKOFF, false);
        loop {
            let miss = match self.attempt(request()).await {
                Ok(answer) => return Ok(answer),
                Err(miss) => miss,
            };
            // A later attempt does not undo the effect of an earlier one.
            is_in_doubt |= again != Resend::Reading && miss.leaves_doubt();
            match retry_decision(again, &miss, is_in_doubt, attempt) {
                RetryDecision::Retry => tracing::debug!(attempt, ?miss, "retrying a request to the server"),
                RetryDecision::NotDone => return Err(self.not_done(miss)),
                RetryDecision::Unknown => return Err(self.unknown(miss)),
            }
            backoff.sleep().await;
            attempt += 1;
        }
    }

    async fn attempt<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, RequestFailure> {
        let response = request.send().await.map_err(unanswered)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unanswered)?;
        if status.is_success() {
            let unparsable = |error| unusable_answer(&format!("an answer that cannot be parsed: {error}"));
            return serde_json::from_slice(&body).map_err(unparsable);
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(mut problem) => {
                if status == StatusCode::UNAUTHORIZED && self.token.is_none() {
                    // The server's own message names the HTTP header, which a caller of this library does not set.
                    problem.detail = "this server needs a token".into();
                }
                Err(RequestFailure::Told(error_of(problem)))
            }
            Err(_) => Err(unusable_answer(&format!("status {status} without a Corkboard error"))),
        }
    }

    fn not_done(&self, miss: RequestFailure) -> Error {
        match miss {
            RequestFailure::NotSent(trouble) | RequestFailure::Lost(trouble) => self.no_answer(trouble),
            RequestFailure::Told(Error::Store(StoreError::OutcomeUnknown(what))) => {
                self.no_answer(ConnectError::Away(what))
            }
            RequestFailure::Told(error) => error,
        }
    }

    fn no_answer(&self, trouble: ConnectError) -> Error {
        StoreError::NoServer { server: self.location(), trouble }.into()
    }

    fn unknown(&self, miss: RequestFailure) -> Error {
        let why = match miss {
            RequestFailure::Told(Error::Store(StoreError::OutcomeUnknown(what) | StoreError::Unavailable(what))) => {
                what
            }
            RequestFailure::Told(error) => error.to_string(),
            RequestFailure::NotSent(trouble) | RequestFailure::Lost(trouble) => {
                format!("{}: {trouble}", self.location())
            }
        };
        StoreError::OutcomeUnknown(why).into()
    }
}

/// Why a request has no answer.
#[derive(Debug)]
enum RequestFailure {
    NotSent(ConnectError),
    /// The request was sent, but there is no answer from Corkboard: none at all, a proxy's error page, or half an
    /// answer.
    Lost(ConnectError),
    /// The server returned an error.
    Told(Error),
}

impl RequestFailure {
    /// Whether the request may have been executed all the same.
    fn leaves_doubt(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Told(Error::Store(StoreError::OutcomeUnknown(_))))
    }

    /// Whether a retry may succeed soon.
    fn is_passing(&self) -> bool {
        match self {
            Self::NotSent(trouble) | Self::Lost(trouble) => matches!(trouble, ConnectError::Away(_)),
            Self::Told(Error::Store(error)) => error.is_retryable() || self.leaves_doubt(),
            Self::Told(_) => false,
        }
    }
}

/// What to do after a failed request.
#[derive(Debug, PartialEq, Eq)]
enum RetryDecision {
    Retry,
    /// Give up: the request was not executed.
    NotDone,
    /// Give up: the request may have been executed.
    Unknown,
}

/// The only place that decides whether a request is sent again, and otherwise what is known about its outcome.
fn retry_decision(again: Resend, miss: &RequestFailure, is_in_doubt: bool, attempt: u32) -> RetryDecision {
    // An answer that states the outcome, such as a refusal, is final.
    let is_known = matches!(miss, RequestFailure::Told(_)) && !miss.is_passing();
    match again {
        _ if is_known => RetryDecision::NotDone,
        Resend::No if is_in_doubt => RetryDecision::Unknown,
        _ if miss.is_passing() && attempt < ATTEMPTS => RetryDecision::Retry,
        _ if is_in_doubt => RetryDecision::Unknown,
        _ => RetryDecision::NotDone,
    }
}

fn unanswered(error: reqwest::Error) -> RequestFailure {
    let is_sent = !error.is_connect() && !error.is_builder();
    let trouble = connect_error(&error.without_url());
    if is_sent { RequestFailure::Lost(trouble) } else { RequestFailure::NotSent(trouble) }
}

fn unusable_answer(what: &str) -> RequestFailure {
    RequestFailure::Lost(ConnectError::Away(format!("it sent {what}")))
}

/// Encodes an actor as a header. This must not fail silently: without the header, the request would act as the token's
/// actor.
fn actor_header(actor: &Actor) -> Result<HeaderValue> {
    let cannot = |why: String| Error::Command { message: format!("cannot act as {:?}: {why}", actor.principal) };
    let json = serde_json::to_string(actor).map_err(|error| cannot(error.to_string()))?;
    // DEL is the only character that JSON does not escape and a header does not allow.
    let json = json.replace('\u{7f}', "\\u007f");
    HeaderValue::from_bytes(json.as_bytes()).map_err(|error| cannot(error.to_string()))
}

pub(super) fn path_of(space: &SpaceId, rest: &str) -> String {
    let kind = space.kind().map_or("", |kind| kind.as_str());
    format!("/v1/spaces/{kind}/{}{rest}", segment(space.name()))
}

/// A name as a path segment. `.` and `..` get a mark because they cannot be segments in any encoding.
pub(super) fn segment(name: &str) -> String {
    let mark = if matches!(name, "." | "..") || name.ends_with(MARK) { MARK } else { "" };
    format!("{}{mark}", utf8_percent_encode(name, SEGMENT))
}

/// Converts a server's problem to the error that it stands for.
fn error_of(problem: Problem) -> Error {
    let refusal = problem.details.get("refusal").cloned().map(serde_json::from_value::<Refusal>);
    if let Some(Ok(refusal)) = refusal {
        return Error::Refused(refusal);
    }
    let number = |name: &str| problem.details.get(name).and_then(Value::as_u64).unwrap_or_default();
    match problem.code.as_str() {
        "compacted" => StoreError::Compacted { oldest: number("oldest") }.into(),
        "diverged" => StoreError::Diverged.into(),
        "future_revision" => StoreError::Future { asked: number("asked"), head: number("head") }.into(),
        "busy" | "locked" | "unavailable" | "closed" => {
            // The error repeats this prefix.
            let detail = problem.detail.strip_prefix("the store is not available: ").unwrap_or(&problem.detail);
            StoreError::Unavailable(detail.into()).into()
        }
        "outcome_unknown" => StoreError::OutcomeUnknown(problem.detail).into(),
        _ => Error::Server { problem: Box::new(problem) },
    }
}

impl RemoteEngine for HttpClient {
    fn ask(
        &self,
        space: SpaceId,
        actor: Actor,
        command: Vec<u8>,
        has_name: bool,
    ) -> BoxFuture<'_, Result<AnswerDocument>> {
        Box::pin(async move {
            // With an idempotency key, repeats have no further effect.
            let again = if has_name { Resend::Yes } else { Resend::No };
            self.post(&path_of(&space, "/commands"), Some(&actor), command, again).await
        })
    }

    fn forget(
        &self,
        agent: AgentId,
        actor: Actor,
        forget: Forget,
        if_rev: Option<u64>,
    ) -> BoxFuture<'_, Result<Forgotten>> {
        Box::pin(async move {
            let path = format!("/v1/spaces/agent/{}/forget", segment(agent.as_str()));
            let body = json!({ "forget": forget, "if_rev": if_rev }).to_string().into_bytes();
            // Forgetting changes the memory's revision, so `if_rev` would not hold on a repeat.
            let again = if if_rev.is_some() { Resend::No } else { Resend::Yes };
            self.post(&path, Some(&actor), body, again).await
        })
    }

    fn forget_record(&self, space: SpaceId, actor: Actor, id: String) -> BoxFuture<'_, Result<Forgotten>> {
        Box::pin(async move {
            let kind = if space.kind() == Some(SpaceKind::Core) { "cores" } else { "boards" };
            let path = format!("/v1/{kind}/{}/forget", segment(space.name()));
            self.post(&path, Some(&actor), json!({ "id": id }).to_string().into_bytes(), Resend::Yes).await
        })
    }

    fn forget_text(&self, actor: Actor, text: String, dry_run: bool) -> BoxFuture<'_, Result<ForgottenText>> {
        Box::pin(async move {
            let body = json!({ "text": text, "dry_run": dry_run }).to_string().into_bytes();
            self.post("/v1/forget", Some(&actor), body, Resend::Yes).await
        })
    }

    fn delete_agent(
        &self,
        agent: AgentId,
        actor: Actor,
        if_rev: Option<u64>,
        deletion: Deletion,
    ) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            #[derive(Deserialize)]
            struct Deleted {
                deleted: bool,
            }
            let path = format!("/v1/spaces/agent/{}/delete", segment(agent.as_str()));
            let body = json!({ "if_rev": if_rev, "hard": deletion == Deletion::Hard }).to_string().into_bytes();
            let Deleted { deleted } = self.post(&path, Some(&actor), body, Resend::No).await?;
            Ok(deleted)
        })
    }

    fn has_embedder(&self) -> bool {
        self.has_embedder.load(Ordering::Relaxed)
    }

    fn search<'a>(&'a self, space: &'a SpaceId, search: RemoteSearch<'a>) -> BoxFuture<'a, Result<SearchAnswer>> {
        Box::pin(async move {
            let kind = match space.kind() {
                Some(SpaceKind::Board) => "boards",
                Some(SpaceKind::Core) => "cores",
                _ => "agents",
            };
            let RemoteSearch { query, limit, budget, is_explained } = search;
            let mut parameters = vec![("q", query.to_owned()), ("limit", limit.to_string())];
            parameters.extend(budget.map(|tokens| ("budget", tokens.to_string())));
            parameters.push(("explain", is_explained.to_string()));
            self.get(&format!("/v1/{kind}/{}/search", segment(space.name())), &parameters).await
        })
    }

    fn vector_status(&self, space: SpaceId) -> BoxFuture<'_, Result<VectorStatus>> {
        Box::pin(async move { self.get(&path_of(&space, "/vectors"), &[]).await })
    }

    fn reindex(&self, space: SpaceId, actor: Actor, reindex: Reindex) -> BoxFuture<'_, Result<VectorStatus>> {
        Box::pin(async move {
            let body = json!({ "missing": reindex == Reindex::Missing }).to_string().into_bytes();
            self.post(&path_of(&space, "/reindex"), Some(&actor), body, Resend::Yes).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uncertain_request_is_repeated_only_if_that_is_safe() {
        let away = || ConnectError::Away("…".into());
        let told = |error: StoreError| RequestFailure::Told(error.into());
        let (not_sent, lost) = (RequestFailure::NotSent(away()), RequestFailure::Lost(away()));
        let (busy, unknown) = (told(StoreError::Unavailable("…".into())), told(StoreError::OutcomeUnknown("…".into())));
        let refused = RequestFailure::Told(Error::Refused(Refusal::NoBoard));
        let untrusted = RequestFailure::NotSent(ConnectError::Certificate("…".into()));
        use RetryDecision::*;
        // The decisions after the first attempt, then after the last one if an earlier outcome is unknown.
        for (miss, reading, named, unnamed, at_last) in [
            (not_sent, Retry, Retry, Retry, Unknown),
            (lost, Retry, Retry, Unknown, Unknown),
            (busy, Retry, Retry, Retry, Unknown),
            (unknown, Retry, Retry, Unknown, Unknown),
            (untrusted, NotDone, NotDone, NotDone, Unknown),
            (refused, NotDone, NotDone, NotDone, NotDone),
        ] {
            let doubt = miss.leaves_doubt();
            let first = [(Resend::Reading, false), (Resend::Yes, doubt), (Resend::No, doubt)];
            let first = first.map(|(again, is_in_doubt)| retry_decision(again, &miss, is_in_doubt, 1));
            assert_eq!(first, [reading, named, unnamed], "{miss:?}");
            assert_eq!(retry_decision(Resend::Yes, &miss, true, ATTEMPTS), at_last, "{miss:?}");
            assert_eq!(retry_decision(Resend::Reading, &miss, false, ATTEMPTS), NotDone, "{miss:?}");
        }
    }
}
