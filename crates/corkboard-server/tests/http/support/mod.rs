//! A server on a free port of this machine, and clients that come with a token.

pub(crate) mod sse;

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::tokens::Grants;
use corkboard::{ActorKind, Corkboard, Options, Role, TokenRequest};
use corkboard_server::{Access, Server, Settings};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The token that may do everything.
pub(crate) const ADMIN: &str = "the-admins-secret";
/// Longer than anything takes on a busy machine: whoever waits so long waits in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs.
pub(crate) struct Running {
    /// Where: `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    /// What it serves.
    pub(crate) corkboard: Corkboard,
    /// The server itself.
    pub(crate) server: Server,
    http: reqwest::Client,
    end: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

/// The usual settings, with [`ADMIN`] as the token that may do everything.
pub(crate) fn settings() -> Settings {
    Settings::new(Access::Tokens { admin: Some(SecretString::from(ADMIN)) })
}

/// A token's request: an agent's that works, with grants as JSON: `{"agents":["ada"],"boards":["team-*"],"cores":[]}`.
pub(crate) fn worker(principal: &str, grants: Value) -> TokenRequest {
    let grants: Grants = serde_json::from_value(grants).expect("grants");
    let (principal, label) = (principal.to_owned(), String::new());
    TokenRequest { principal, kind: ActorKind::Agent, role: Role::Worker, grants, expires_at: None, label }
}

impl Running {
    /// On a store in memory.
    pub(crate) async fn start() -> Self {
        Self::with(in_memory(Options::default()), settings()).await
    }

    /// On a store by its URL.
    pub(crate) async fn on(store: &str) -> Self {
        Self::with(Corkboard::open(store).await.expect("the store opens"), settings()).await
    }

    /// On any Corkboard, with any settings.
    pub(crate) async fn with(corkboard: Corkboard, settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Server::new(corkboard.clone(), settings);
        let (end, ended) = oneshot::channel::<()>();
        let serving = tokio::spawn(corkboard_server::serve(listener, None, server.clone(), async {
            // Dropped or sent: both are the end.
            let _ = ended.await;
        }));
        Self { url, corkboard, server, http: http(), end, serving }
    }

    /// Whoever comes with a secret.
    pub(crate) fn client(&self, secret: &str) -> Client {
        Client { http: self.http.clone(), url: self.url.clone(), secret: secret.into() }
    }

    /// A request of somebody without a token.
    pub(crate) fn stranger(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).timeout(PATIENCE)
    }

    /// Whoever may do everything.
    pub(crate) fn admin(&self) -> Client {
        self.client(ADMIN)
    }

    /// Whoever comes with a new token.
    pub(crate) async fn client_with(&self, request: TokenRequest) -> Client {
        let created = self.corkboard.tokens().create(request).await.expect("a token");
        self.client(created.secret.expose_secret())
    }

    /// Ends as a signal ends it: what is under way is answered.
    pub(crate) async fn stop(self) {
        let Self { end, serving, corkboard, .. } = self;
        drop(end);
        let ended = tokio::time::timeout(PATIENCE, serving).await.expect("the server ends when it is asked to");
        ended.expect("the server's task").expect("the server's end");
        corkboard.close().await.expect("the store closes");
    }
}

/// A Corkboard in memory.
pub(crate) fn in_memory(options: Options) -> Corkboard {
    Corkboard::with_store(Arc::new(MemoryStore::shared()), options)
}

/// A client of any server on this machine, without a pool: every request has a connection of its own.
pub(crate) fn http() -> reqwest::Client {
    // Only the first of a process counts, and any is good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client")
}

/// Somebody with a token.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    secret: String,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body: JSON, or a text; null if it is empty.
    pub(crate) body: Value,
}

impl Answer {
    /// The body, which must be one of success.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.body);
        self.body
    }

    /// Expects a problem: its status and code.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) {
        let found = (self.status.as_u16(), self.body.get("code").and_then(Value::as_str));
        assert_eq!(found, (status, Some(code)), "{}", self.body);
        let content = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        assert_eq!(content, Some("application/problem+json"), "{}", self.body);
        assert_eq!(self.body.get("status").and_then(Value::as_u64), Some(status.into()));
    }
}

impl Client {
    /// A request that is not sent yet.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.url);
        self.http.request(method, url).header(AUTHORIZATION, format!("Bearer {}", self.secret)).timeout(PATIENCE)
    }

    /// What stands there.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// Sends JSON.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        answer(self.request(method, path).header(CONTENT_TYPE, "application/json").body(body.to_string())).await
    }

    /// Sends JSON to be stored under a name.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, body).await
    }

    /// Sends JSON to be worked on.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    /// Has something done, without a body.
    pub(crate) async fn post_nothing(&self, path: &str) -> Answer {
        answer(self.request(Method::POST, path)).await
    }

    /// Changes a part.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, body).await
    }

    /// Removes.
    pub(crate) async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path)).await
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = response.bytes().await.expect("the answer's body");
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let body = serde_json::from_str(&text).unwrap_or(if text.is_empty() { Value::Null } else { Value::String(text) });
    Answer { status, headers, body }
}

/// The revision that an answer speaks of.
pub(crate) fn rev(answer: &Value) -> u64 {
    answer["rev"].as_u64().expect("every answer carries rev")
}

/// Sends JSON with one header more.
pub(crate) async fn with(client: &Client, method: Method, path: &str, header: (&str, &str), body: &Value) -> Answer {
    let request = client.request(method, path).header(header.0, header.1);
    answer(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await
}
