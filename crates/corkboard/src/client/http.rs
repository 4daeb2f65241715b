//! Requests to a server, and what its answers mean.

use std::sync::OnceLock;
use std::time::Duration;

use corkboard_core::agent::Forget;
use corkboard_core::{Actor, AgentId, Refusal, SpaceId};
use futures_util::future::BoxFuture;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connect_error::connect_error;
use super::{Identity, ServerAddress};
use crate::backoff::Backoff;
use crate::engine::{Deletion, RemoteEngine};
use crate::error::error_chain;
use crate::net::{is_loopback, tls};
use crate::store::{ConnectError, ServerUrl, StoreError};
use crate::{AnswerDocument, Error, Forgotten, Problem, Result};

/// The header that names whom somebody acts for, as JSON.
const ACTOR: HeaderName = HeaderName::from_static("cork-actor");
/// What a segment of a path cannot hold as it is.
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
/// What follows a name that cannot stand in a path by itself, and one that ends like that.
const MARK: &str = ";";
/// How often what can be asked again is asked.
const ATTEMPTS: u32 = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));

/// What is said of a URL that is something else.
const SCHEMES: &str = "a server is http://… or https://…";

pub(super) struct HttpClient {
    http: reqwest::Client,
    url: Url,
    token: Option<HeaderValue>,
    timeout: Duration,
    /// Whom the token names: to act as them needs no word.
    own: OnceLock<Actor>,
}

/// Whether a request may be sent again when nobody knows what became of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// It changes nothing, so that nothing but the answer can be lost.
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
            return Err(wrong("a token does not go to another machine by plain http: use https").into());
        }
        let token = token.map(|token| HeaderValue::try_from(format!("Bearer {}", token.expose_secret())));
        let mut token = token.transpose().map_err(|_| wrong("the token has characters that no header may have"))?;
        token.iter_mut().for_each(|token| token.set_sensitive(true));
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(&parsed).map_err(|reason| wrong(&reason))?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // Before the server gives up a connection that nobody uses: what is sent at that moment may be lost.
            .pool_idle_timeout(Duration::from_secs(20))
            .connect_timeout(timeout.min(Duration::from_secs(10)))
            .user_agent(concat!("corkboard/", env!("CARGO_PKG_VERSION")));
        if is_here {
            // A proxy on another machine does not find this one.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| wrong(&error_chain(&error.without_url())))?;
        Ok(Self { http, url: parsed, token, timeout, own: OnceLock::new() })
    }

    pub(super) fn location(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    pub(super) fn set_own(&self, actor: &Actor) {
        let _ = self.own.set(actor.clone());
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
        // What a Corkboard does of itself, it does in its own name: here, that is the token's.
        if let Some(another) = actor.filter(|actor| self.own.get() != Some(actor) && **actor != Actor::system()) {
            headers.insert(ACTOR, named(another)?);
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
            // Later attempts do not undo what an earlier one may have done.
            is_in_doubt |= again != Resend::Reading && miss.leaves_doubt();
            match fate(again, &miss, is_in_doubt, attempt) {
                RetryDecision::Retry => tracing::debug!(attempt, ?miss, "the server is asked again"),
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
            let senseless = |error| senseless(&format!("an answer that cannot be read: {error}"));
            return serde_json::from_slice(&body).map_err(senseless);
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(RequestFailure::Told(meant(problem))),
            Err(_) => Err(senseless(&format!("status {status}, and no word of Corkboard's"))),
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

/// What came in place of an answer.
#[derive(Debug)]
enum RequestFailure {
    NotSent(ConnectError),
    /// It left, and what came back, if anything did, is no word of Corkboard's: a balancer's page, half an answer.
    Lost(ConnectError),
    /// The server said why there is none.
    Told(Error),
}

impl RequestFailure {
    /// Whether what was asked for may have happened all the same.
    fn leaves_doubt(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Told(Error::Store(StoreError::OutcomeUnknown(_))))
    }

    /// Whether the same may succeed soon.
    fn is_passing(&self) -> bool {
        match self {
            Self::NotSent(trouble) | Self::Lost(trouble) => matches!(trouble, ConnectError::Away(_)),
            Self::Told(Error::Store(error)) => error.is_retryable() || self.leaves_doubt(),
            Self::Told(_) => false,
        }
    }
}

/// What becomes of a request that was not answered.
#[derive(Debug, PartialEq, Eq)]
enum RetryDecision {
    Retry,
    /// It did not happen, and is given up.
    NotDone,
    /// It may have happened, and is given up.
    Unknown,
}

/// The one place that decides whether something is sent again, and what may be said of it if it is not.
fn fate(again: Resend, miss: &RequestFailure, is_in_doubt: bool, attempt: u32) -> RetryDecision {
    // Whoever knows what became of it has said so: a refusal is the answer.
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

fn senseless(what: &str) -> RequestFailure {
    RequestFailure::Lost(ConnectError::Away(format!("it gave {what}")))
}

/// An actor as a header. Left out, what is done would be done in the token's name: so it is an error if it cannot be written.
fn named(actor: &Actor) -> Result<HeaderValue> {
    let cannot = |why: String| Error::Command { message: format!("nobody can act for {:?}: {why}", actor.principal) };
    let json = serde_json::to_string(actor).map_err(|error| cannot(error.to_string()))?;
    // The one character that JSON leaves as it is and that a header may not have.
    let json = json.replace('\u{7f}', "\\u007f");
    HeaderValue::from_bytes(json.as_bytes()).map_err(|error| cannot(error.to_string()))
}

pub(super) fn path_of(space: &SpaceId, rest: &str) -> String {
    let kind = space.kind().map_or("", |kind| kind.as_str());
    format!("/v1/spaces/{kind}/{}{rest}", segment(space.name()))
}

/// A name as a part of a path. `.` and `..` are no names there, however they are written, and so are marked.
pub(super) fn segment(name: &str) -> String {
    let mark = if matches!(name, "." | "..") || name.ends_with(MARK) { MARK } else { "" };
    format!("{}{mark}", utf8_percent_encode(name, SEGMENT))
}

/// The error that a server's problem stands for.
fn meant(problem: Problem) -> Error {
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
            // Said once is enough.
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
            // What has a name happens once, however often it is sent.
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
            // What was forgotten moved the memory: its condition does not hold a second time.
            let again = if if_rev.is_some() { Resend::No } else { Resend::Yes };
            self.post(&path, Some(&actor), body, again).await
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
            let body = json!({ "if_rev": if_rev, "hard": deletion == Deletion::ForGood }).to_string().into_bytes();
            let Deleted { deleted } = self.post(&path, Some(&actor), body, Resend::No).await?;
            Ok(deleted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_happened_is_sent_again_only_if_that_does_no_harm() {
        let away = || ConnectError::Away("…".into());
        let told = |error: StoreError| RequestFailure::Told(error.into());
        let (not_sent, lost) = (RequestFailure::NotSent(away()), RequestFailure::Lost(away()));
        let (busy, unknown) = (told(StoreError::Unavailable("…".into())), told(StoreError::OutcomeUnknown("…".into())));
        let refused = RequestFailure::Told(Error::Refused(Refusal::NoBoard));
        let untrusted = RequestFailure::NotSent(ConnectError::Certificate("…".into()));
        use RetryDecision::*;
        // The first attempt of each, then the last one after one of which nobody knows what became of it.
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
            let first = first.map(|(again, is_in_doubt)| fate(again, &miss, is_in_doubt, 1));
            assert_eq!(first, [reading, named, unnamed], "{miss:?}");
            assert_eq!(fate(Resend::Yes, &miss, true, ATTEMPTS), at_last, "{miss:?}");
            assert_eq!(fate(Resend::Reading, &miss, false, ATTEMPTS), NotDone, "{miss:?}");
        }
    }
}
