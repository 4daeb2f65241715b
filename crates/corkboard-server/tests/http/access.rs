//! Authentication and authorization through a real socket.

use std::sync::Arc;
use std::time::Instant;

use corkboard::context::Strategy;
use corkboard::cores::{CoreCommand, NewCoreEntry};
use corkboard::store::{MemoryStore, Store};
use corkboard::{
    ActorKind, ContextRequest, Corkboard, Error, Features, Options, Role, ScopeId, ServerAddress, SpaceId, Tier,
    TokenRequest,
};
use corkboard_server::{Authentication, Rate, Settings};
use corkboard_testing::{FaultPlan, FaultyStore};
use futures_util::StreamExt;
use reqwest::header::{COOKIE, HOST, ORIGIN};
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{ADMIN, Answer, PATIENCE, Running, answer, in_memory, settings, worker};

const ENTRY: &str = "/v1/agents/ada/entries/k";

fn token(principal: &str, kind: ActorKind, role: Role, grants: Value) -> TokenRequest {
    TokenRequest { kind, role, ..worker(principal, grants) }
}

/// A client that follows no redirects.
fn no_redirect() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// A write on behalf of another actor.
async fn write_as(running: &Running, secret: &str, actor: &Value) -> Answer {
    let request = running.client(secret).request(Method::PUT, ENTRY).header("cork-actor", actor.to_string());
    answer(request.header("content-type", "application/json").body(r#"{"value": 1}"#)).await
}

async fn secret_of(running: &Running, request: TokenRequest) -> String {
    running.corkboard.tokens().create(request).await.unwrap().secret.expose_secret().to_owned()
}

/// Sends a body without announcing its length. Returns the first line of the answer.
async fn put_in_chunks(running: &Running, secret: &str, body: &Value) -> String {
    let address = running.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT {ENTRY} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    let body = body.to_string();
    let request = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// Routes in the description are tested in `roles`.
#[tokio::test]
async fn routes_outside_the_description_need_a_token_too() {
    let running = Running::start().await;
    for path in ["/", "/docs/", "/openapi.json/", "/metrics", "/v1/nowhere", "/healthz/..%2fv1/tokens", "//healthz"] {
        let answer = answer(running.stranger(Method::GET, path)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let description = answer(running.stranger(Method::GET, "/openapi.json")).await;
    assert_eq!(description.status, StatusCode::OK);
    running.stop().await;
}

#[tokio::test]
async fn requests_with_another_host_are_refused() {
    let known = Settings { hosts: vec!["memory.example.org".into()], ..settings() };
    let running = Running::with(in_memory(Options::default()), known).await;
    let admin = running.admin();
    let called = |host: &str| answer(admin.request(Method::GET, "/v1/me").header(HOST, host));
    for host in ["localhost:7117", "127.0.0.1", "[::1]:80", "Memory.Example.org:7117"] {
        assert_eq!(called(host).await.status, 200, "{host}");
    }
    for host in ["evil.example.org", "localhost.evil.org", "127.0.0.1.evil.org:7117", "memory.example.org.evil.org"] {
        called(host).await.problem(403, "host");
    }
    // A foreign host name is refused before anything else, even on public routes.
    let rebound = running.stranger(Method::GET, "/healthz").header(HOST, "rebind.evil.org");
    answer(rebound).await.problem(403, "host");
    running.stop().await;
}

#[tokio::test]
async fn only_pages_of_the_server_and_allowed_origins_may_call_it() {
    let known = Settings { origins: vec!["https://app.example.org".into()], ..settings() };
    let running = Running::with(in_memory(Options::default()), known).await;
    let admin = running.admin();
    let from = |origin: &str| answer(admin.request(Method::GET, "/v1/me").header(ORIGIN, origin));
    let own = running.url.clone();
    for origin in [own.as_str(), "https://app.example.org"] {
        assert_eq!(from(origin).await.status, 200, "{origin}");
    }
    for origin in ["null", "https://evil.example.org", "http://localhost:1", "https://app.example.org.evil.org", ""] {
        from(origin).await.problem(403, "origin");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_link_signs_in_once_and_its_cookie_writes_only_from_the_servers_own_page() {
    let running = Running::start().await;
    let no_redirect = no_redirect();
    let link = format!("{}{}", running.url, running.server.sign_in_path());
    let signed_in = no_redirect.get(&link).send().await.unwrap();
    assert_eq!((signed_in.status(), &signed_in.headers()["location"]), (StatusCode::SEE_OTHER, &"/".parse().unwrap()));
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(word), "{word}: {cookie}");
    }
    let again = answer(no_redirect.get(&link)).await;
    again.problem(401, "unauthenticated");
    answer(running.stranger(Method::GET, "/sign-in?code=guessed")).await.problem(401, "unauthenticated");

    let session = cookie.split(';').next().unwrap().to_owned();
    let with_cookie = |method: Method| running.stranger(method, ENTRY).header(COOKIE, &session);
    let write =
        |request: RequestBuilder| answer(request.header("content-type", "application/json").body(r#"{"value": 1}"#));
    write(with_cookie(Method::PUT)).await.problem(403, "origin");
    write(with_cookie(Method::PUT).header(ORIGIN, "https://evil.example.org")).await.problem(403, "origin");
    write(with_cookie(Method::PUT).header(ORIGIN, "null")).await.problem(403, "origin");
    answer(with_cookie(Method::DELETE)).await.problem(403, "origin");
    assert_eq!(write(with_cookie(Method::PUT).header(ORIGIN, &running.url)).await.status, 201);
    assert_eq!(answer(with_cookie(Method::GET)).await.status, 200);
    running.stop().await;
}

#[tokio::test]
async fn a_wrong_expired_or_revoked_token_is_refused_and_not_repeated() {
    let running = Running::start().await;
    let grants = json!({"agents": ["ada"]});
    let soon = running.corkboard.time() + std::time::Duration::from_millis(300);
    let short = TokenRequest { expires_at: Some(soon), ..worker("ada", grants.clone()) };
    let short = running.client_with(short).await;
    let secret = secret_of(&running, worker("ada", grants)).await;
    let ada = running.client(&secret);
    assert_eq!(ada.get("/v1/agents/ada/entries/k").await.status, 404);
    for wrong in ["", "x", "cork_", &secret[..secret.len() - 1], &secret.to_uppercase(), &format!("{secret}x")] {
        let refused = running.client(wrong).get("/v1/me").await;
        assert_eq!(refused.status, 401, "{wrong}");
        assert!(wrong.is_empty() || !refused.body.to_string().contains(&format!("{wrong}\"")), "{}", refused.body);
    }
    for header in [format!("Basic {secret}"), secret.clone(), format!("Bearer{secret}")] {
        let request = running.stranger(Method::GET, "/v1/me").header("authorization", header);
        let refused = answer(request).await;
        refused.problem(401, "unauthenticated");
        assert!(!refused.body.to_string().contains(&secret), "{}", refused.body);
    }
    let id = running.admin().get("/v1/tokens").await.ok()["items"].as_array().unwrap().last().unwrap()["id"].clone();
    let path = format!("/v1/tokens/{}", id.as_str().unwrap());
    assert_eq!(running.admin().delete(&path).await.ok()["deleted"], true);
    ada.get("/v1/me").await.problem(401, "unauthenticated");
    running.admin().delete(&path).await.problem(404, "no_token");
    // The other token expires: retry until it is refused.
    let expired = tokio::time::timeout(PATIENCE, async {
        while short.get("/v1/me").await.status != 401 {
            tokio::task::yield_now().await;
        }
    });
    expired.await.unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_revocation_is_seen_by_another_server_on_the_same_store() {
    let store = Arc::new(MemoryStore::shared());
    let open = || Corkboard::with_store(store.clone(), Options::default());
    let (one, other) = (Running::with(open(), settings()).await, Running::with(open(), settings()).await);
    let secret = secret_of(&one, worker("ada", json!({"agents": ["ada"]}))).await;
    assert_eq!(one.client(&secret).get("/v1/me").await.status, 200);
    let seen = tokio::time::timeout(PATIENCE, async {
        while other.client(&secret).get("/v1/me").await.status != 200 {
            tokio::task::yield_now().await;
        }
        one.admin().delete("/v1/tokens/K-1").await.ok();
        while other.client(&secret).get("/v1/me").await.status != 401 {
            tokio::task::yield_now().await;
        }
    });
    seen.await.unwrap();
    one.client(&secret).get("/v1/me").await.problem(401, "unauthenticated");
    drop((one, other));
}

#[tokio::test]
async fn a_token_created_elsewhere_works_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("cork.db").display());
    let (one, other) = (Running::on(&store).await, Running::on(&store).await);
    // The other server's copy of the tokens is slightly old.
    assert_eq!(other.client(&secret_of(&other, worker("bob", json!({}))).await).get("/v1/me").await.status, 200);
    for round in 0..5 {
        let secret = secret_of(&one, worker(&format!("ada-{round}"), json!({"agents": ["ada"]}))).await;
        let client = other.client(&secret);
        let asked = futures_util::future::join_all((0..20).map(|_| client.get("/v1/me"))).await;
        assert!(asked.iter().all(|answer| answer.status == 200), "{round}: {asked:?}");
    }
    // One server signs a browser in, and a load balancer sends it to the other.
    let link = format!("{}{}", one.url, one.server.sign_in_path());
    let signed_in = answer(no_redirect().get(link).header(HOST, "localhost")).await;
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let asked = other.stranger(Method::GET, "/v1/me").header(COOKIE, cookie).header(HOST, "localhost");
    assert_eq!(answer(asked).await.status, 200);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn guessing_tokens_costs_few_reads_and_locks_nobody_out() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::shared()), FaultPlan::none()));
    let open = || Corkboard::with_store(store.clone(), Options::default());
    // Another test covers the rate limit per address.
    let all = Settings { wrong_tokens: Rate { burst: 1e9, per_second: 1e9 }, ..settings() };
    let (one, other) = (Running::with(open(), settings()).await, Running::with(open(), all).await);
    let (began, heads) = (Instant::now(), store.reads(&SpaceId::tokens()));
    let guesses = (0..1000).map(|number| {
        let guesser = other.client(&format!("cork_{number:0>52}"));
        async move { guesser.get("/v1/me").await.status }
    });
    let guessing = futures_util::stream::iter(guesses).buffer_unordered(100).collect::<Vec<_>>();
    let made_meanwhile = async {
        let secret = secret_of(&one, worker("ada", json!({"agents": ["ada"]}))).await;
        other.client(&secret).get("/v1/me").await.status
    };
    let (guessed, status) = futures_util::future::join(guessing, made_meanwhile).await;
    assert!(guessed.iter().all(|status| *status == StatusCode::UNAUTHORIZED));
    assert_eq!(status, StatusCode::OK);
    let (asked, seconds) = (store.reads(&SpaceId::tokens()) - heads, began.elapsed().as_secs_f64());
    assert!((asked as f64) < 10.0 + 20.0 * seconds, "{asked} reads in {seconds} s");
    // Malformed tokens are not looked up.
    let heads = store.reads(&SpaceId::tokens());
    for wrong in ["x", "cork_", "cork_short"] {
        other.client(wrong).get("/v1/me").await.problem(401, "unauthenticated");
    }
    assert_eq!(store.reads(&SpaceId::tokens()), heads);
    drop((one, other));
}

/// Allows a few wrong tokens, with hardly any refill during the test.
fn few_wrong_tokens() -> Settings {
    Settings { wrong_tokens: Rate { burst: 3.0, per_second: 0.001 }, ..settings() }
}

#[tokio::test]
async fn wrong_tokens_from_one_address_are_limited_and_valid_ones_are_not() {
    let running = Running::with(in_memory(Options::default()), few_wrong_tokens()).await;
    let ada = running.client_with(worker("ada", json!({"agents": ["ada"]}))).await;
    let wrong = running.client(&format!("cork_{:0>52}", 1));
    for _ in 0..3 {
        wrong.get("/v1/me").await.problem(401, "unauthenticated");
    }
    // In every header, whether or not they look like a token.
    let cookie = |name: String| running.stranger(Method::GET, "/v1/me").header(COOKIE, format!("{name}=cork_guess"));
    let port = running.url.rsplit_once(':').unwrap().1.to_owned();
    let form = running.stranger(Method::POST, "/sign-in").header(ORIGIN, &running.url).body("token=guess");
    let limited = [
        wrong.get("/v1/me").await,
        running.client("another-admins-secret").get("/v1/me").await,
        answer(cookie(format!("cork_session_{port}"))).await,
        answer(form).await,
        answer(running.stranger(Method::GET, "/sign-in?code=guessed")).await,
    ];
    for refused in limited {
        refused.problem(429, "too_many_requests");
        let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!(seconds > 0, "{refused:?}");
    }
    // Clients with a token are served and may sign in while someone guesses from the same address.
    assert_eq!(ada.get("/v1/me").await.status, 200);
    assert_eq!(running.admin().get("/v1/me").await.status, 200);
    let link = format!("{}{}", running.url, running.server.sign_in_path());
    assert_eq!(no_redirect().get(link).send().await.unwrap().status(), StatusCode::SEE_OTHER);
    // Requests without a token do not count as guesses.
    for _ in 0..5 {
        answer(running.stranger(Method::GET, "/v1/me")).await.problem(401, "unauthenticated");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_known_token_is_served_at_a_limited_address_of_another_server() {
    let store = Arc::new(MemoryStore::shared());
    let open = || Corkboard::with_store(store.clone(), Options::default());
    let (one, other) = (Running::with(open(), settings()).await, Running::with(open(), few_wrong_tokens()).await);
    let secret = secret_of(&one, worker("ada", json!({"agents": ["ada"]}))).await;
    // The other server does not know it yet, asks the store, and does not count it as a guess.
    for _ in 0..5 {
        assert_eq!(other.client(&secret).get("/v1/me").await.status, 200);
    }
    let guess = other.client(&format!("cork_{:0>52}", 1));
    let limited = tokio::time::timeout(PATIENCE, async {
        while guess.get("/v1/me").await.status != 429 {
            tokio::task::yield_now().await;
        }
    });
    limited.await.unwrap();
    assert_eq!(other.client(&secret).get("/v1/me").await.status, 200);
    one.admin().delete("/v1/tokens/K-1").await.ok();
    let seen = tokio::time::timeout(PATIENCE, async {
        while other.client(&secret).get("/v1/me").await.status == 200 {
            tokio::task::yield_now().await;
        }
    });
    seen.await.unwrap();
    drop((one, other));
}

#[tokio::test]
async fn the_store_keeps_a_hash_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::on(&format!("sqlite:{}", folder.path().join("cork.db").display())).await;
    let body = json!({"principal": "the-principal-itself", "kind": "agent", "role": "worker"});
    let created = running.admin().post("/v1/tokens", &body).await;
    assert_eq!(created.status, 201);
    let secret = created.body["secret"].as_str().unwrap().to_owned();
    running.client(&secret).get("/v1/me").await.ok();
    let listed = running.admin().get("/v1/tokens").await.ok();
    assert!(!listed.to_string().contains(&secret) && !listed.to_string().contains("hash"), "{listed}");
    running.stop().await;
    let mut found = false;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let contains = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!contains(&secret) && !contains(secret.trim_start_matches("cork_")) && !contains(ADMIN));
        found |= contains("the-principal-itself");
    }
    assert!(found, "the token is in the files that were read");
}

#[tokio::test]
async fn tokens_are_for_admins_and_listed_in_pages() {
    let running = Running::start().await;
    let admin = running.admin();
    for name in ["a", "b", "c"] {
        let body = json!({"principal": name, "kind": "agent", "role": "worker", "grants": {"agents": [name]}});
        admin.post("/v1/tokens", &body).await.ok();
    }
    let page = admin.get("/v1/tokens?limit=2").await.ok();
    assert_eq!((&page["items"][1]["principal"], &page["next"], &page["rev"]), (&json!("b"), &json!("K-2"), &json!(3)));
    let page = admin.get("/v1/tokens?limit=2&cursor=K-2").await.ok();
    assert_eq!((&page["items"][0]["principal"], &page["next"]), (&json!("c"), &Value::Null));
    let wrong = json!({"principal": "", "kind": "agent", "role": "worker"});
    admin.post("/v1/tokens", &wrong).await.problem(400, "blank");
    let past = json!({"principal": "a", "kind": "agent", "role": "worker", "expires_at": "2001-01-01T00:00:00Z"});
    admin.post("/v1/tokens", &past).await.problem(400, "expiry");
    admin
        .post("/v1/tokens", &json!({"principal": "a", "kind": "agent", "role": "king"}))
        .await
        .problem(400, "body_json");
    admin.delete("/v1/tokens/T-1").await.problem(400, "path");

    let human = token("hugo", ActorKind::Human, Role::Human, json!({"agents": ["*"], "boards": ["*"], "cores": ["*"]}));
    let hugo = running.client_with(human).await;
    hugo.get("/v1/tokens").await.problem(403, "role_denied");
    hugo.post("/v1/tokens", &json!({"principal": "a", "kind": "human", "role": "admin"}))
        .await
        .problem(403, "role_denied");
    hugo.delete("/v1/tokens/K-1").await.problem(403, "role_denied");
    for path in ["state", "log", "head"] {
        hugo.get(&format!("/v1/spaces/tokens/all/{path}")).await.problem(403, "role_denied");
    }
    running.stop().await;
}

/// A store has one space of tokens, with a fixed name.
#[tokio::test]
async fn the_space_of_tokens_has_only_one_name() {
    let running = Running::start().await;
    let admin = running.admin();
    running.client_with(token("hugo", ActorKind::Human, Role::Human, json!({}))).await;
    assert_eq!(admin.get("/v1/spaces/tokens").await.ok()["items"][0]["name"], "all");
    let head = admin.get("/v1/spaces/tokens/all/head").await.ok()["head"].clone();
    assert_eq!(head["rev"], 1);
    for path in ["state", "log", "head"] {
        admin.get(&format!("/v1/spaces/tokens/tokens/{path}")).await.problem(404, "not_found");
    }
    let tick = json!({"command": "tick"});
    admin.post("/v1/spaces/tokens/tokens/commands", &tick).await.problem(404, "not_found");
    let gone = format!("at=1&commit={}", head["commit"].as_str().unwrap());
    admin.delete(&format!("/v1/spaces/tokens/tokens?{gone}")).await.problem(404, "not_found");
    admin.post("/v1/spaces/tokens/all/commands", &tick).await.ok();
    running.stop().await;
}

#[tokio::test]
async fn only_admins_and_services_act_for_others_without_gaining_rights() {
    let running = Running::start().await;
    let grants = json!({"agents": ["ada", "bob"]});
    let gateway = secret_of(&running, token("gateway", ActorKind::Service, Role::Worker, grants.clone())).await;
    let agent = secret_of(&running, token("eve", ActorKind::Agent, Role::Worker, grants.clone())).await;
    let human = secret_of(&running, token("hugo", ActorKind::Human, Role::Human, grants)).await;
    let robot = secret_of(&running, token("robot", ActorKind::Agent, Role::Admin, json!({}))).await;
    let actor = |name: &str, kind: &str, role: &str| json!({"principal": name, "kind": kind, "role": role});

    let bob = actor("bob", "agent", "worker");
    write_as(&running, &gateway, &bob).await.ok();
    // The header's `via` is ignored.
    let lying = json!({"principal": "bob", "kind": "agent", "role": "worker", "via": "hugo"});
    write_as(&running, &gateway, &lying).await.ok();
    write_as(&running, ADMIN, &actor("hugo", "human", "human")).await.ok();
    let log = running.admin().get("/v1/spaces/agent/ada/log").await.ok();
    let actors: Vec<_> = log["items"].as_array().unwrap().iter().map(|record| &record["body"]["actor"]).collect();
    let via_gateway = json!({"principal": "bob", "kind": "agent", "role": "worker", "via": "gateway"});
    let via_admin = json!({"principal": "hugo", "kind": "human", "role": "human", "via": "admin"});
    assert_eq!(actors, [&via_gateway, &via_gateway, &via_admin]);

    let refused = [
        (&agent, bob.clone()),
        (&human, bob.clone()),
        // A different role.
        (&gateway, actor("bob", "agent", "orchestrator")),
        (&gateway, actor("bob", "agent", "admin")),
        (&gateway, actor("gateway", "service", "human")),
        // A person, who could vouch for content.
        (&gateway, actor("bob", "human", "worker")),
        (&robot, actor("hugo", "human", "admin")),
        // An agent that the token does not grant.
        (&gateway, actor("mallory", "agent", "worker")),
    ];
    for (secret, other) in &refused {
        write_as(&running, secret, other).await.problem(403, "not_granted");
    }
    write_as(&running, &gateway, &actor("bob", "agent", "observer")).await.problem(403, "role_denied");
    write_as(&running, ADMIN, &json!("bob")).await.problem(400, "actor");
    write_as(&running, ADMIN, &actor(" ", "agent", "worker")).await.problem(400, "blank");
    // Naming oneself is allowed.
    write_as(&running, &agent, &actor("eve", "agent", "worker")).await.ok();
    running.stop().await;
}

#[tokio::test]
async fn rate_limits_apply_to_each_principal_separately() {
    let small = Settings {
        requests: Rate { burst: 5.0, per_second: 0.01 },
        written_bytes: Rate { burst: 1000.0, per_second: 0.1 },
        ..settings()
    };
    let running = Running::with(in_memory(Options::default()), small).await;
    let grants = json!({"agents": ["ada"]});
    let often = running.client_with(worker("often", grants.clone())).await;
    for _ in 0..5 {
        often.get("/v1/me").await.ok();
    }
    let refused = often.get("/v1/me").await;
    refused.problem(429, "too_many_requests");
    let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=100).contains(&seconds), "{seconds}");
    // Acting for another does not give a separate limit.
    let named = often
        .request(Method::GET, "/v1/me")
        .header("cork-actor", r#"{"principal":"x","kind":"agent","role":"worker"}"#);
    answer(named).await.problem(429, "too_many_requests");

    let much = running.client_with(worker("much", grants.clone())).await;
    let kilobyte = json!({"value": "x".repeat(1000)});
    much.put(ENTRY, &kilobyte).await.ok();
    much.put(ENTRY, &kilobyte).await.problem(429, "too_many_requests");
    // A body without an announced length is counted as it arrives.
    let streaming = secret_of(&running, worker("streaming", grants.clone())).await;
    assert_eq!(put_in_chunks(&running, &streaming, &kilobyte).await, "HTTP/1.1 200 OK");
    assert_eq!(put_in_chunks(&running, &streaming, &kilobyte).await, "HTTP/1.1 429 Too Many Requests");

    let bob = running.client_with(worker("bob", grants)).await;
    bob.put(ENTRY, &json!({"value": 1})).await.ok();
    running.stop().await;
}

#[tokio::test]
async fn without_authentication_every_caller_is_admin_except_foreign_pages() {
    let running = Running::with(in_memory(Options::default()), Settings::new(Authentication::Open)).await;
    let me = answer(running.stranger(Method::GET, "/v1/me")).await.ok();
    assert_eq!((&me["principal"], &me["role"]), (&json!("admin"), &json!("admin")));
    let page = running.stranger(Method::DELETE, ENTRY).header(ORIGIN, "https://evil.example.org");
    answer(page).await.problem(403, "origin");
    answer(running.stranger(Method::GET, "/v1/me").header(HOST, "evil.example.org")).await.problem(403, "host");
    running.stop().await;
}

/// The server's tier applies to its own routes, to commands to whole spaces, and to the library.
#[tokio::test]
async fn the_tier_of_a_server_applies_to_commands_to_whole_spaces() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::shared());
    let before = Corkboard::with_store(store.clone(), Options::default());
    before.agent("ada").unwrap().long_term().unwrap().add("Ada likes tea").await.unwrap();
    let options = Options { tier: Tier::Core, ..Options::default() };
    let server = Running::with(Corkboard::with_store(store, options), settings()).await;
    let admin = server.admin();
    assert_eq!(admin.get("/v1/me").await.ok()["tier"], "core");
    let add = json!({"command": CoreCommand::Add { entries: vec![NewCoreEntry::new("Ship small")] }});
    admin.post("/v1/spaces/core/agent:ada/commands", &add).await.problem(403, "license_restriction");
    for read in ["head", "state", "log"] {
        admin.get(&format!("/v1/spaces/core/agent:ada/{read}")).await.problem(403, "license_restriction");
    }
    for read in ["/v1/cores/agent:ada/entries", "/v1/cores/agent:ada/events"] {
        admin.get(read).await.problem(403, "license_restriction");
    }
    for list in ["/v1/spaces/core", "/v1/cores"] {
        assert!(!admin.get(list).await.ok().to_string().contains("agent:ada"), "{list}");
    }
    let compact = json!({"strategy": "compact"});
    admin.post("/v1/agents/ada/context", &compact).await.problem(403, "license_restriction");
    let client = Corkboard::connect(ServerAddress::new(&*server.url).token(ADMIN.to_owned()), Options::default());
    let client = client.await.unwrap();
    let ada = client.agent("ada").unwrap();
    assert!(matches!(ada.long_term(), Err(Error::LicenseRestriction { tier: Tier::Core, .. })));
    let compact = ContextRequest::new().strategy(Strategy::Compact);
    assert!(matches!(ada.context_window().compose(compact).await, Err(Error::LicenseRestriction { .. })));
    // Shared cores are available in every tier, and an agent is deleted with all its data.
    admin.post("/v1/spaces/core/house-rules/commands", &add).await.ok();
    assert!(client.delete_agent("ada").await.unwrap());
    assert_eq!(before.agent("ada").unwrap().long_term().unwrap().stats().await.unwrap().entries, 0);
    server.stop().await;
}

#[tokio::test]
async fn every_route_reports_that_working_memory_is_disabled() {
    let features = Features { working_memory: false };
    let server = Running::with(in_memory(Options { features, ..Options::default() }), settings()).await;
    let admin = server.admin();
    for path in [
        "/v1/agents/ada/entries",
        "/v1/agents/ada/notes",
        "/v1/agents/ada/search?q=tea",
        "/v1/agents/ada/conversations/c-1",
        "/v1/agents/ada/events",
        "/v1/spaces/agent/ada/head",
        "/v1/spaces/agent/ada/state",
        "/v1/spaces/agent/ada/log",
        "/v1/spaces/conversation/ada%2Fc-1/state",
    ] {
        admin.get(path).await.problem(403, "feature_disabled");
    }
    admin.put("/v1/agents/ada/entries/a", &json!({"value": 1})).await.problem(403, "feature_disabled");
    admin
        .post("/v1/spaces/agent/ada/commands", &json!({"command": "clear_all"}))
        .await
        .problem(403, "feature_disabled");
    let jot = json!({"input": {"action": "note", "value": "x"}, "context": {"agent": "ada", "conversation": "c-1"}});
    admin.post("/v1/tools/memory_write", &jot).await.problem(403, "feature_disabled");
    admin.post("/v1/boards", &json!({"name": "Release"})).await.ok();
    assert_eq!(admin.delete("/v1/agents/ada").await.ok()["deleted"], false);
    server.corkboard.tick().await.unwrap();
    server.stop().await;
}

/// A conversation's space accepts only commands that change the conversation.
#[tokio::test]
async fn a_conversation_accepts_only_its_own_commands() {
    let server = Running::start().await;
    let admin = server.admin();
    let scope = server.corkboard.agent("ada").unwrap().conversation("c-1").unwrap().scope_id();
    let commands = "/v1/spaces/conversation/ada%2Fc-1/commands";
    let note = |scope: ScopeId| json!({"add_note": {"scope": scope, "text": "x"}});
    let conversing = json!({"converse": {"conversation": "c", "scope": scope, "idle_ms": 1, "command": "tick"}});
    for refused in [json!("clear_all"), json!("tick"), note(ScopeId::ROOT), conversing] {
        admin.post(commands, &json!({ "command": refused })).await.problem(400, "command");
    }
    admin.post(commands, &json!({ "command": note(scope) })).await.ok();
    assert_eq!(admin.get("/v1/agents/ada/conversations/c-1").await.ok()["notes"], json!(["x"]));
    admin.get("/v1/spaces/conversation/ada/head").await.problem(400, "blank");
    server.stop().await;
}
