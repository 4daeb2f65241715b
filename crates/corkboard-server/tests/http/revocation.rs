//! Requests in progress when their token is revoked or expires: nothing more is written, answered or sent.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::tokens::TokenId;
use corkboard::{ActorKind, Corkboard, ManualClock, Options, TokenRequest};
use corkboard_server::Settings;
use corkboard_testing::{FaultPlan, FaultyStore};
use jiff::Timestamp;
use reqwest::header::{COOKIE, ORIGIN};
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, Client, PATIENCE, Running, answer, settings, worker};

/// Longer than any test, so that nothing is checked periodically.
const HOUR: Duration = Duration::from_secs(3600);

/// How a token ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Revoked,
    Expired,
}

const ENDS: [End; 2] = [End::Revoked, End::Expired];

/// A server, and a worker's token that will end.
struct Scene {
    server: Running,
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    ada: Client,
    secret: String,
    token: TokenId,
}

/// Options without periodic work.
fn options(clock: &Arc<ManualClock>) -> Options {
    Options { clock: clock.clone(), tick_interval: HOUR, bookmark_interval: HOUR, ..Options::default() }
}

impl Scene {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::shared());
        let clock = Arc::new(ManualClock::new(Timestamp::now()));
        let corkboard = Corkboard::with_store(store.clone(), options(&clock));
        let server = Running::with(corkboard, Settings { heartbeat: HOUR, ..settings() }).await;
        server.admin().post("/v1/boards", &json!({"id": "b", "name": "b"})).await.ok();
        let grants = json!({"agents": ["ada", "bob"], "boards": ["b"]});
        let expires_at = Some(server.corkboard.time() + HOUR);
        let request = TokenRequest { kind: ActorKind::Service, expires_at, ..worker("ada", grants) };
        let created = server.corkboard.tokens().create(request).await.unwrap();
        let secret = created.secret.expose_secret().to_owned();
        let ada = server.client(&secret);
        Self { server, store, clock, ada, secret, token: created.id }
    }

    async fn end_token(&self, end: End) {
        match end {
            End::Revoked => self.server.admin().delete(&format!("/v1/tokens/{}", self.token)).await.ok(),
            End::Expired => {
                self.clock.advance(2 * HOUR);
                Value::Null
            }
        };
    }

    /// Sends a request, and returns once it waits for a change of a space.
    async fn wait_with(&self, request: reqwest::RequestBuilder) -> tokio::task::JoinHandle<Answer> {
        let before = self.store.listeners();
        let waiting = tokio::spawn(answer(request));
        let listens = tokio::time::timeout(PATIENCE, async {
            while self.store.listeners() == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        listens.await.expect("the request should wait");
        waiting
    }

    async fn add_task(&self) {
        self.server.admin().post("/v1/boards/b/tasks", &json!({"title": "one"})).await.ok();
    }

    async fn write(&self) {
        self.server.admin().put("/v1/agents/ada/entries/k", &json!({"value": 1})).await.ok();
    }

    async fn expect_unclaimed(&self) {
        assert_eq!(self.server.admin().get("/v1/boards/b/tasks/T-1").await.ok()["status"], "pending");
    }
}

fn claim(client: &Client) -> reqwest::RequestBuilder {
    let request = client.request(Method::POST, "/v1/boards/b/tasks/claim");
    request.header("content-type", "application/json").body(r#"{"wait_s": 50}"#)
}

#[tokio::test]
async fn a_waiting_claim_gets_nothing_after_its_token_ended() {
    for end in ENDS {
        let scene = Scene::new().await;
        let waiting = scene.wait_with(claim(&scene.ada)).await;
        scene.end_token(end).await;
        scene.add_task().await;
        waiting.await.unwrap().problem(401, "unauthenticated");
        scene.expect_unclaimed().await;
        scene.server.stop().await;
    }
}

#[tokio::test]
async fn a_claim_for_another_agent_ends_with_the_callers_token() {
    for end in ENDS {
        let scene = Scene::new().await;
        let bob = json!({"principal": "bob", "kind": "agent", "role": "worker"});
        let waiting = scene.wait_with(claim(&scene.ada).header("cork-actor", bob.to_string())).await;
        scene.end_token(end).await;
        scene.add_task().await;
        waiting.await.unwrap().problem(401, "unauthenticated");
        scene.expect_unclaimed().await;
        scene.server.stop().await;
    }
}

#[tokio::test]
async fn a_long_poll_is_refused_after_its_token_ended() {
    for end in ENDS {
        let scene = Scene::new().await;
        let poll = scene.ada.request(Method::GET, "/v1/spaces/agent/ada/head?from_rev=0&wait_s=30");
        let waiting = scene.wait_with(poll).await;
        scene.end_token(end).await;
        scene.write().await;
        waiting.await.unwrap().problem(401, "unauthenticated");
        scene.server.stop().await;
    }
}

#[tokio::test]
async fn a_browsers_long_poll_is_refused_after_its_session_ended() {
    for end in ENDS {
        let scene = Scene::new().await;
        let form = scene.server.stranger(Method::POST, "/sign-in").header(ORIGIN, &scene.server.url);
        let no_redirect = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let form = form.body(format!("token={}", scene.secret)).build().unwrap();
        let signed_in = no_redirect.build().unwrap().execute(form).await.unwrap();
        assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
        let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let poll = scene.server.stranger(Method::GET, "/v1/spaces/agent/ada/head?from_rev=0&wait_s=30");
        let waiting = scene.wait_with(poll.header(COOKIE, cookie)).await;
        scene.end_token(end).await;
        scene.write().await;
        waiting.await.unwrap().problem(401, "unauthenticated");
        scene.server.stop().await;
    }
}

/// Sends the head of a request, ends the token when the server requests the body, then sends the body.
async fn slowly(scene: &Scene, end: End, line: &str, body: &str) -> String {
    let address = scene.server.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        scene.secret,
        body.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut asked = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    connection.read_exact(&mut asked).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&asked), "HTTP/1.1 100 Continue\r\n\r\n");
    scene.end_token(end).await;
    connection.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_slow_body_has_no_effect_after_its_token_ended() {
    let requests = [
        ("PUT /v1/agents/ada/entries/k", r#"{"value": 1}"#),
        ("POST /v1/spaces/agent/ada/commands", r#"{"command": "clear_all"}"#),
        ("POST /v1/agents/ada/context", r#"{"budget": 2000}"#),
    ];
    for end in ENDS {
        for (line, body) in requests {
            let scene = Scene::new().await;
            let answered = slowly(&scene, end, line, body).await;
            assert!(answered.starts_with("HTTP/1.1 401 "), "{line}: {answered}");
            assert_eq!(scene.server.admin().get("/v1/spaces/agent").await.ok()["items"], json!([]), "{line}");
            scene.server.stop().await;
        }
    }
}

/// Both are POST requests that write nothing.
#[tokio::test]
async fn a_slow_prompt_or_snapshot_is_refused_after_its_token_expired() {
    for path in ["/v1/agents/ada/context", "/v1/agents/ada/snapshot"] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::shared()), FaultPlan::none()));
        let clock = Arc::new(ManualClock::new(Timestamp::now()));
        let corkboard = Corkboard::with_store(store.clone(), options(&clock));
        let server = Running::with(corkboard, settings()).await;
        let expires_at = Some(server.corkboard.time() + HOUR);
        let request = TokenRequest { expires_at, ..worker("ada", json!({"agents": ["ada"]})) };
        let ada = server.client_with(request).await;
        ada.put("/v1/agents/ada/entries/k", &json!({"value": 1})).await.ok();
        store.hold_after(0);
        let (asking, path) = (ada.clone(), path.to_owned());
        let asking = tokio::spawn(async move { asking.post_nothing(&path).await });
        tokio::time::timeout(PATIENCE, store.held()).await.expect("a read should start");
        clock.advance(2 * HOUR);
        store.let_go();
        asking.await.unwrap().problem(401, "unauthenticated");
        server.stop().await;
    }
}

async fn a_stream_sends_nothing_after_its_token_ended(path: &str) {
    for end in ENDS {
        let scene = Scene::new().await;
        let mut events = scene.ada.events(path, None).await;
        scene.write().await;
        assert_eq!(events.revision().await.data["space"], "agent/ada");
        scene.end_token(end).await;
        scene.write().await;
        let last = events.next().await.unwrap();
        let found = (last.name.as_str(), &last.data["code"], &last.data["status"]);
        assert_eq!(found, ("problem", &json!("unauthenticated"), &json!(401)), "{end:?}: {last:?}");
        assert_eq!(events.any().await, None);
        scene.server.stop().await;
    }
}

#[tokio::test]
async fn a_stream_of_one_space_sends_nothing_after_its_token_ended() {
    a_stream_sends_nothing_after_its_token_ended("/v1/agents/ada/events").await;
}

#[tokio::test]
async fn a_stream_of_all_spaces_sends_nothing_after_its_token_ended() {
    a_stream_sends_nothing_after_its_token_ended("/v1/events").await;
}

#[tokio::test]
async fn an_idle_stream_ends_at_once_when_its_token_is_revoked() {
    let scene = Scene::new().await;
    let mut streams =
        [scene.ada.events("/v1/agents/ada/events", None).await, scene.ada.events("/v1/events", None).await];
    scene.end_token(End::Revoked).await;
    for stream in &mut streams {
        assert_eq!(stream.next().await.unwrap().data["code"], "unauthenticated");
        assert_eq!(stream.any().await, None);
    }
    scene.server.stop().await;
}

/// The other server learns of it within about a second, without any request.
#[tokio::test]
async fn a_revocation_at_another_server_ends_waiting_requests_here() {
    let scene = Scene::new().await;
    let corkboard = Corkboard::with_store(scene.store.clone(), options(&scene.clock));
    let other = Running::with(corkboard, Settings { heartbeat: HOUR, ..settings() }).await;
    let ada = other.client(&scene.secret);
    let waiting = scene.wait_with(claim(&ada)).await;
    let mut events = ada.events("/v1/agents/ada/events", None).await;
    scene.end_token(End::Revoked).await;
    assert_eq!(events.next().await.unwrap().data["code"], "unauthenticated");
    scene.add_task().await;
    waiting.await.unwrap().problem(401, "unauthenticated");
    scene.expect_unclaimed().await;
    other.stop().await;
    drop(scene);
}
