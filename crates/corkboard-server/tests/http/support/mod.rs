//! A server on a free local port, and clients with tokens.

pub(crate) mod sse;

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::tokens::Grants;
use corkboard::{ActorKind, Corkboard, Options, Role, TokenRequest};
use corkboard_server::{Authentication, Server, Settings};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The admin token.
pub(crate) const ADMIN: &str = "the-admins-secret";
/// A timeout that is longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the clock shows another time, so that the next write has a later one than the last.
pub(crate) async fn next_millisecond() {
    let before = jiff::Timestamp::now().as_millisecond();
    while jiff::Timestamp::now().as_millisecond() == before {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// A running server.
pub(crate) struct Running {
    /// Its address: `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    /// The Corkboard that it serves.
    pub(crate) corkboard: Corkboard,
    /// The server itself.
    pub(crate) server: Server,
    http: reqwest::Client,
    end: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

/// Default settings, with [`ADMIN`] as the admin token.
pub(crate) fn settings() -> Settings {
    Settings::new(Authentication::Tokens { admin: Some(SecretString::from(ADMIN)) })
}

/// A request for a worker's token, with grants as JSON: `{"agents":["ada"],"boards":["team-*"],"cores":[]}`.
pub(crate) fn worker(principal: &str, grants: Value) -> TokenRequest {
    let grants: Grants = serde_json::from_value(grants).expect("grants");
    let (principal, label) = (principal.to_owned(), String::new());
    TokenRequest { principal, kind: ActorKind::Agent, role: Role::Worker, grants, expires_at: None, label }
}

impl Running {
    /// Starts a server on a store in memory.
    pub(crate) async fn start() -> Self {
        Self::with(in_memory(Options::default()), settings()).await
    }

    /// Starts a server on a store by its URL.
    pub(crate) async fn on(store: &str) -> Self {
        Self::with(Corkboard::open(store).await.expect("the store opens"), settings()).await
    }

    /// Starts a server on any Corkboard with any settings.
    pub(crate) async fn with(corkboard: Corkboard, settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Server::new(corkboard.clone(), settings);
        let (end, ended) = oneshot::channel::<()>();
        let serving = tokio::spawn(corkboard_server::serve(listener, None, server.clone(), async {
            // Sending and dropping both stop the server.
            let _ = ended.await;
        }));
        Self { url, corkboard, server, http: http(), end, serving }
    }

    /// A client with this token.
    pub(crate) fn client(&self, secret: &str) -> Client {
        Client { http: self.http.clone(), url: self.url.clone(), secret: secret.into() }
    }

    /// A request without a token.
    pub(crate) fn stranger(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).timeout(PATIENCE)
    }

    /// A client with the admin token.
    pub(crate) fn admin(&self) -> Client {
        self.client(ADMIN)
    }

    /// A client with a new token.
    pub(crate) async fn client_with(&self, request: TokenRequest) -> Client {
        let created = self.corkboard.tokens().create(request).await.expect("a token");
        self.client(created.secret.expose_secret())
    }

    /// Stops the server like a signal: requests in progress are answered.
    pub(crate) async fn stop(self) {
        let Self { end, serving, corkboard, .. } = self;
        drop(end);
        let ended = tokio::time::timeout(PATIENCE, serving).await.expect("the server should stop in time");
        ended.expect("the server's task").expect("the server should stop without an error");
        corkboard.close().await.expect("the store closes");
    }
}

/// A Corkboard in memory.
pub(crate) fn in_memory(options: Options) -> Corkboard {
    Corkboard::with_store(Arc::new(MemoryStore::shared()), options)
}

/// A client without a connection pool: every request uses a new connection.
pub(crate) fn http() -> reqwest::Client {
    // Only the first provider counts, and any works.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client")
}

/// A client with a token.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    secret: String,
}

/// An answer of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body: JSON or text; null if empty.
    pub(crate) body: Value,
}

impl Answer {
    /// The body of an answer, which must be a success.
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
    /// A request to be sent.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.url);
        self.http.request(method, url).header(AUTHORIZATION, format!("Bearer {}", self.secret)).timeout(PATIENCE)
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// Sends JSON.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        answer(self.request(method, path).header(CONTENT_TYPE, "application/json").body(body.to_string())).await
    }

    /// Sends JSON with PUT.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, body).await
    }

    /// Sends JSON with POST.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    /// Sends POST without a body.
    pub(crate) async fn post_nothing(&self, path: &str) -> Answer {
        answer(self.request(Method::POST, path)).await
    }

    /// Sends JSON with PATCH.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, body).await
    }

    /// Sends a DELETE request.
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

/// The revision in an answer.
pub(crate) fn rev(answer: &Value) -> u64 {
    answer["rev"].as_u64().expect("every answer carries rev")
}

/// Sends JSON with one more header.
pub(crate) async fn with(client: &Client, method: Method, path: &str, header: (&str, &str), body: &Value) -> Answer {
    let request = client.request(method, path).header(header.0, header.1);
    answer(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await
}
