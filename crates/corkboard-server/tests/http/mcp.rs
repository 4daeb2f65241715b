//! MCP's sessions and streams at `/mcp`: how they end. `make mcp` tests the rest with official clients.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::{Corkboard, Options};
use corkboard_testing::{FaultPlan, FaultyStore};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, Response, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::{Client, PATIENCE, Running, settings, worker};

const SESSION: &str = "mcp-session-id";
const MODERN: &str = "2026-07-28";
/// Sessions that one principal may have.
const SESSIONS: usize = 1_000;

/// Sends a message. A session belongs to clients before 2026-07-28.
async fn send(client: &Client, session: Option<&str>, message: &Value) -> Response {
    let request = client.request(Method::POST, "/mcp").header(ACCEPT, "application/json, text/event-stream");
    let request = request.header(CONTENT_TYPE, "application/json").body(message.to_string());
    let request = match session {
        Some(session) => request.header(SESSION, session),
        None => request,
    };
    request.send().await.unwrap()
}

async fn begin(client: &Client) -> String {
    let info = json!({"name": "tests", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let begun = send(client, None, &message).await;
    assert_eq!(begun.status(), StatusCode::OK);
    let session = begun.headers()[SESSION].to_str().unwrap().to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(client, Some(&session), &initialized).await.status(), StatusCode::ACCEPTED);
    session
}

async fn ping(client: &Client, session: &str) -> StatusCode {
    send(client, Some(session), &json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await.status()
}

/// Opens the stream that carries a session's notifications.
async fn notifications(client: &Client, session: &str) -> Stream {
    let request = client.request(Method::GET, "/mcp").header(ACCEPT, "text/event-stream").header(SESSION, session);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    Stream { response, read: String::new() }
}

/// Opens a stream of 2026-07-28 that listens to a resource.
async fn listen(client: &Client, uri: &str) -> Stream {
    let meta =
        json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"_meta": meta, "notifications": {"resourceSubscriptions": [uri]}});
    let message = json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params});
    let request = client.request(Method::POST, "/mcp").header(ACCEPT, "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", MODERN).header("mcp-method", "subscriptions/listen");
    let response = request.header(CONTENT_TYPE, "application/json").body(message.to_string()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut stream = Stream { response, read: String::new() };
    stream.until("notifications/subscriptions/acknowledged").await;
    stream
}

/// What a stream sends.
struct Stream {
    response: Response,
    read: String,
}

impl Stream {
    async fn more(&mut self) -> bool {
        let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("an event in time");
        // The end of the server can cut a stream.
        let Ok(Some(chunk)) = chunk else { return false };
        self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        true
    }

    /// Reads until a message contains this text.
    async fn until(&mut self, text: &str) {
        while !self.read.contains(text) {
            assert!(self.more().await, "the stream ended without {text}: {}", self.read);
        }
    }

    /// Reads until the stream ends. Returns everything that it sent.
    async fn ended(mut self) -> String {
        while self.more().await {}
        self.read
    }
}

async fn write_handoff(server: &Running, text: &str) {
    server.admin().put("/v1/agents/ada/handoff", &json!({"text": text})).await.ok();
}

const HANDOFF: &str = "cork://agents/ada/handoff";

/// A server, a client, and the token that the client holds.
async fn with_token() -> (Running, Client, String) {
    let server = Running::start().await;
    let created = server.corkboard.tokens().create(worker("ada", json!({"agents": ["ada"]}))).await.unwrap();
    let client = server.client(created.secret.expose_secret());
    let path = format!("/v1/tokens/{}", created.id);
    (server, client, path)
}

#[tokio::test]
async fn a_listening_stream_ends_with_its_token() {
    let (server, client, token) = with_token().await;
    let mut stream = listen(&client, HANDOFF).await;
    write_handoff(&server, "one").await;
    stream.until("notifications/resources/updated").await;
    server.admin().delete(&token).await.ok();
    write_handoff(&server, "two").await;
    let read = stream.ended().await;
    assert_eq!(read.matches("notifications/resources/updated").count(), 1, "{read}");
    server.stop().await;
}

/// The SDK acknowledges a request before the server listens.
#[tokio::test]
async fn a_change_right_after_the_acknowledgment_is_notified() {
    let memory = Arc::new(MemoryStore::shared());
    let store = Arc::new(FaultyStore::new(memory.clone(), FaultPlan::none()));
    let server = Running::with(Corkboard::with_store(store.clone(), Options::default()), settings()).await;
    let other = Corkboard::with_store(memory, Options::default());
    store.hold_after(0);
    let mut stream = listen(&server.admin(), HANDOFF).await;
    tokio::time::timeout(PATIENCE, store.held()).await.expect("the server should begin to listen");
    other.agent("ada").unwrap().write_handoff("one").await.unwrap();
    store.let_go();
    stream.until("notifications/resources/updated").await;
    other.close().await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let (server, client, token) = with_token().await;
    let session = begin(&client).await;
    let mut stream = notifications(&client, &session).await;
    let subscribe = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": {"uri": HANDOFF}});
    assert_eq!(send(&client, Some(&session), &subscribe).await.status(), StatusCode::OK);
    write_handoff(&server, "one").await;
    stream.until("notifications/resources/updated").await;
    server.admin().delete(&token).await.ok();
    write_handoff(&server, "two").await;
    let read = stream.ended().await;
    assert_eq!(read.matches("notifications/resources/updated").count(), 1, "{read}");
    assert_eq!(ping(&client, &session).await, StatusCode::UNAUTHORIZED);
    server.stop().await;
}

#[tokio::test]
async fn nobody_listens_to_what_its_token_does_not_open() {
    let (server, client, _) = with_token().await;
    let theirs = "cork://agents/ben/handoff";
    let read = listen(&client, theirs).await.ended().await;
    assert!(read.contains("-32602") && read.contains("no access"), "{read}");
    let session = begin(&client).await;
    let subscribe = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": {"uri": theirs}});
    let refused = send(&client, Some(&session), &subscribe).await.text().await.unwrap();
    assert!(refused.contains("-32002") && refused.contains("no access"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn open_streams_do_not_delay_the_end_of_the_server() {
    let server = Running::start().await;
    let admin = server.admin();
    let session = begin(&admin).await;
    let streams = [notifications(&admin, &session).await, listen(&admin, HANDOFF).await];
    server.stop().await;
    for stream in streams {
        stream.ended().await;
    }
}

#[tokio::test]
async fn a_session_outlives_an_idle_hour_but_not_two_days() {
    let server = Running::start().await;
    let admin = server.admin();
    let session = begin(&admin).await;
    let idle = async |hours: u64| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(hours * 60 * 60)).await;
        tokio::time::resume();
    };
    idle(1).await;
    assert_eq!(ping(&admin, &session).await, StatusCode::OK);
    idle(23).await;
    assert_eq!(ping(&admin, &session).await, StatusCode::OK);
    idle(48).await;
    assert_eq!(ping(&admin, &session).await, StatusCode::NOT_FOUND);
    server.stop().await;
}

#[tokio::test]
async fn a_principal_with_too_many_sessions_loses_the_oldest() {
    let server = Running::start().await;
    let (admin, ada) = (server.admin(), server.client_with(worker("ada", json!({"agents": ["ada"]}))).await);
    let mut sessions = Vec::new();
    let other = begin(&ada).await;
    for _ in 0..=SESSIONS {
        sessions.push(begin(&admin).await);
    }
    assert_eq!(ping(&admin, &sessions[0]).await, StatusCode::NOT_FOUND);
    for session in [&sessions[1], &sessions[SESSIONS]] {
        assert_eq!(ping(&admin, session).await, StatusCode::OK);
    }
    assert_eq!(ping(&ada, &other).await, StatusCode::OK, "another principal's session");
    server.stop().await;
}
