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
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::trouble::trouble;
use super::{Identity, ServerAddress};
use crate::engine::Elsewhere;
use crate::net::{chain, is_loopback, tls};
use crate::store::{ServerTrouble, ServerUrl, StoreError};
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
/// How long the first pause between two attempts is.
const PAUSE: Duration = Duration::from_millis(100);

/// What is said of a URL that is something else.
const SCHEMES: &str = "a server is http://… or https://…";

/// The way to one server.
pub(super) struct Link {
    http: reqwest::Client,
    url: Url,
    token: Option<HeaderValue>,
    timeout: Duration,
    /// Whom the token names: to act as them needs no word.
    own: OnceLock<Actor>,
}

/// Whether a request may be sent again when nobody knows what became of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It changes nothing, so that nothing but the answer can be lost.
    Reading,
    Yes,
    No,
}

impl Link {
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
        let http = http.build().map_err(|error| wrong(&chain(&error.without_url())))?;
        Ok(Self { http, url: parsed, token, timeout, own: OnceLock::new() })
    }

    /// Where the server is, for people.
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
        self.send(Again::Reading, || self.request(Method::GET, path, query, None)).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        actor: Option<&Actor>,
        body: Vec<u8>,
        again: Again,
    ) -> Result<T> {
        let json = HeaderValue::from_static("application/json");
        let request =
            || self.request(Method::POST, path, &[], actor).header(CONTENT_TYPE, json.clone()).body(body.clone());
        self.send(again, request).await
    }

    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T> {
        self.send(Again::No, || self.request(Method::DELETE, path, query, None)).await
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, String)], actor: Option<&Actor>) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", self.url.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        // What a Corkboard does of itself, it does in its own name: here, that is the token's.
        let another = actor.filter(|actor| self.own.get() != Some(actor) && **actor != Actor::system());
        let named = another.and_then(|actor| serde_json::to_vec(actor).ok());
        if let Some(named) = named.and_then(|json| HeaderValue::from_bytes(&json).ok()) {
            headers.insert(ACTOR, named);
        }
        self.http.request(method, url).headers(headers).timeout(self.timeout)
    }

    async fn send<T: DeserializeOwned>(&self, again: Again, request: impl Fn() -> RequestBuilder) -> Result<T> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            let error = match self.attempt(again, request()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let is_safe = again != Again::No || !matches!(error, Error::Store(StoreError::OutcomeUnknown(_)));
            if attempt >= ATTEMPTS || !is_safe || !is_passing(&error) {
                return Err(error);
            }
            tracing::debug!(attempt, %error, "the server is asked again");
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(self.no_answer(ServerTrouble::Away("it was asked in vain".into())))
    }

    async fn attempt<T: DeserializeOwned>(&self, again: Again, request: RequestBuilder) -> Result<T> {
        let response = request.send().await.map_err(|error| self.unanswered(again, error))?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.unanswered(again, error))?;
        if status.is_success() {
            let senseless = |error| self.senseless(&format!("an answer that cannot be read: {error}"));
            return serde_json::from_slice(&body).map_err(senseless);
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(match meant(problem) {
                Error::Store(StoreError::OutcomeUnknown(what)) if again == Again::Reading => {
                    self.no_answer(ServerTrouble::Away(what))
                }
                error => error,
            }),
            Err(_) => Err(self.senseless(&format!("status {status}, and no word of Corkboard's"))),
        }
    }

    fn senseless(&self, what: &str) -> Error {
        self.no_answer(ServerTrouble::Away(format!("it gave {what}")))
    }

    fn no_answer(&self, trouble: ServerTrouble) -> Error {
        StoreError::NoServer { server: self.location(), trouble }.into()
    }

    fn unanswered(&self, again: Again, error: reqwest::Error) -> Error {
        // What was not sent did not happen.
        let did_nothing = again == Again::Reading || error.is_connect();
        match trouble(&error.without_url()) {
            trouble if did_nothing => self.no_answer(trouble),
            trouble => StoreError::OutcomeUnknown(format!("{}: {trouble}", self.location())).into(),
        }
    }
}

/// Whether the same may succeed soon.
fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Store(error) if error.is_retryable() || matches!(error, StoreError::OutcomeUnknown(_)))
}

/// The path of a space.
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

impl Elsewhere for Link {
    fn ask(
        &self,
        space: SpaceId,
        actor: Actor,
        command: Vec<u8>,
        has_name: bool,
    ) -> BoxFuture<'_, Result<AnswerDocument>> {
        Box::pin(async move {
            // What has a name happens once, however often it is sent.
            let again = if has_name { Again::Yes } else { Again::No };
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
            let again = if if_rev.is_some() { Again::No } else { Again::Yes };
            self.post(&path, Some(&actor), body, again).await
        })
    }
}
