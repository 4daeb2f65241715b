//! Browsers: pages of other origins, and signing in, through a real socket.

use corkboard::{ActorKind, Options, Role, TokenRequest};
use corkboard_server::Settings;
use reqwest::header::{ACCEPT, COOKIE, HOST, ORIGIN};
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{ADMIN, Answer, PATIENCE, Running, answer, in_memory, settings, worker};

const APP: &str = "https://app.example.org";
/// The `Accept` header of a browser that opens a page.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A client without a token that follows no redirects.
fn stranger(running: &Running, method: Method, path: &str) -> RequestBuilder {
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    http.request(method, format!("{}{path}", running.url)).timeout(PATIENCE)
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn varies(answer: &Answer) -> bool {
    answer.headers.get_all("vary").iter().any(|value| value.to_str().unwrap().to_ascii_lowercase().contains("origin"))
}

/// The cookie from an answer, in the form in which it is sent back.
fn cookie(answer: &Answer) -> String {
    header(answer, "set-cookie").split(';').next().unwrap().to_owned()
}

/// Sends the sign-in page's form.
async fn sign_in(running: &Running, token: &str) -> Answer {
    let form = format!("token={token}");
    let request = stranger(running, Method::POST, "/sign-in").header(ORIGIN, &running.url).header(ACCEPT, BROWSER);
    answer(request.header("content-type", "application/x-www-form-urlencoded").body(form)).await
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_can_call_the_server() {
    let known = Settings { origins: vec![APP.into()], ..settings() };
    let running = Running::with(in_memory(Options::default()), known).await;
    let asks = |origin: &'static str| {
        let request = stranger(&running, Method::OPTIONS, "/v1/agents/ada/entries/k").header(ORIGIN, origin);
        let request = request.header("access-control-request-method", "PUT");
        answer(request.header("access-control-request-headers", "authorization,content-type,if-match"))
    };
    let asked = asks(APP).await;
    assert_eq!((asked.status, &asked.body), (StatusCode::NO_CONTENT, &Value::Null));
    assert_eq!(header(&asked, "access-control-allow-origin"), APP);
    assert!(varies(&asked) && header(&asked, "access-control-max-age").parse::<u32>().is_ok(), "{asked:?}");
    let has = |list: &str, name: &str| list.split(',').any(|listed| listed.trim().eq_ignore_ascii_case(name));
    for method in ["GET", "PUT", "POST", "PATCH", "DELETE"] {
        assert!(has(header(&asked, "access-control-allow-methods"), method), "{method}");
    }
    let headers = ["Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID"];
    for name in headers.into_iter().chain(["Cork-Actor", "Cork-Claim", "Cork-Orchestrator"]) {
        assert!(has(header(&asked, "access-control-allow-headers"), name), "{name}");
    }
    // Other origins are refused, and browsers do not show them the reason.
    for origin in ["https://evil.example.org", "null", "https://app.example.org.evil.org"] {
        let refused = asks(origin).await;
        refused.problem(403, "origin");
        assert_eq!(header(&refused, "access-control-allow-origin"), "");
    }
    // Without a preflight, the request needs a token.
    answer(stranger(&running, Method::OPTIONS, "/v1/me")).await.problem(401, "unauthenticated");

    let admin = running.admin();
    let write = admin.request(Method::PUT, "/v1/agents/ada/entries/k").header(ORIGIN, APP);
    let written = answer(write.header("content-type", "application/json").body(r#"{"value": 1}"#)).await;
    let missing = answer(admin.request(Method::GET, "/v1/agents/ada/entries/none").header(ORIGIN, APP)).await;
    let nowhere = answer(admin.request(Method::GET, "/v1/nowhere").header(ORIGIN, APP)).await;
    let unknown = answer(stranger(&running, Method::GET, "/v1/me").header(ORIGIN, APP)).await;
    let statuses = [&written, &missing, &nowhere, &unknown].map(|answer| answer.status.as_u16());
    assert_eq!(statuses, [201, 404, 404, 401]);
    for answer in [written, missing, nowhere, unknown] {
        assert_eq!(header(&answer, "access-control-allow-origin"), APP);
        assert!(varies(&answer) && answer.headers.get("access-control-allow-credentials").is_none(), "{answer:?}");
        for name in ["ETag", "Cork-Rev", "X-Request-Id", "Retry-After", "Location"] {
            assert!(has(header(&answer, "access-control-expose-headers"), name), "{name}");
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn clients_without_a_token_get_a_page_or_a_problem() {
    let running = Running::start().await;
    for path in ["/", "/docs/", "/v1/me", "/sign-in", "/sign-in?code=guessed"] {
        let page = answer(stranger(&running, Method::GET, path).header(ACCEPT, BROWSER)).await;
        assert_eq!(
            (page.status, header(&page, "content-type")),
            (StatusCode::UNAUTHORIZED, "text/html; charset=utf-8")
        );
        let html = page.body.as_str().unwrap();
        assert!(html.contains(r#"<form method="post" action="/sign-in">"#) && html.contains("cork serve"), "{html}");
        // The page loads nothing from other servers and runs no scripts.
        assert!(!html.contains("src=") && !html.contains("<script") && !html.contains("http"), "{html}");
        assert!(header(&page, "content-security-policy").contains("default-src 'none'"), "{page:?}");
        let problem = answer(stranger(&running, Method::GET, path).header(ACCEPT, "application/json")).await;
        problem.problem(401, "unauthenticated");
    }
    // Writes get a problem, as programs expect.
    answer(stranger(&running, Method::PUT, "/v1/me").header(ACCEPT, BROWSER)).await.problem(401, "unauthenticated");
    let icon = answer(stranger(&running, Method::GET, "/favicon.ico")).await;
    assert_eq!(icon.status, StatusCode::NO_CONTENT);
    running.stop().await;
}

#[tokio::test]
async fn a_token_signs_in_only_from_the_servers_own_page() {
    let running = Running::start().await;
    let request = worker("ada", json!({"agents": ["ada"]}));
    let ada = running.corkboard.tokens().create(request).await.unwrap();
    let secret = ada.secret.expose_secret();
    let signed_in = sign_in(&running, secret).await;
    assert_eq!((signed_in.status, header(&signed_in, "location")), (StatusCode::SEE_OTHER, "/"));
    for word in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(header(&signed_in, "set-cookie").contains(word), "{word}");
    }
    let me = |cookie: &str| answer(stranger(&running, Method::GET, "/v1/me").header(COOKIE, cookie.to_owned()));
    let session = cookie(&signed_in);
    assert_eq!(me(&session).await.ok()["principal"], "ada");
    // The session ends with the token.
    running.corkboard.tokens().revoke(ada.id).await.unwrap();
    me(&session).await.problem(401, "unauthenticated");

    let admin = sign_in(&running, ADMIN).await;
    assert!(!header(&admin, "set-cookie").contains(ADMIN), "{admin:?}");
    assert_eq!(me(&cookie(&admin)).await.ok()["role"], "admin");

    for wrong in ["", "x", secret] {
        let refused = sign_in(&running, wrong).await;
        assert_eq!((refused.status, refused.headers.get("set-cookie")), (StatusCode::UNAUTHORIZED, None), "{wrong}");
        assert!(refused.body.as_str().unwrap().contains("<form"), "{wrong}");
    }
    let post = || stranger(&running, Method::POST, "/sign-in").body(format!("token={ADMIN}"));
    answer(post()).await.problem(403, "origin");
    for origin in ["https://evil.example.org", "null"] {
        answer(post().header(ORIGIN, origin)).await.problem(403, "origin");
    }
    for body in ["", "secret=x", "token", "a b\n"] {
        let request = stranger(&running, Method::POST, "/sign-in").header(ORIGIN, &running.url);
        let refused = answer(request.body(body)).await;
        assert!([400, 401].contains(&refused.status.as_u16()), "{body:?}: {refused:?}");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_cannot_sign_its_reader_in() {
    let known = Settings { origins: vec![APP.into()], ..settings() };
    let running = Running::with(in_memory(Options::default()), known).await;
    let post = stranger(&running, Method::POST, "/sign-in").header(ORIGIN, APP).body(format!("token={ADMIN}"));
    answer(post).await.problem(403, "origin");
    running.stop().await;
}

/// A page on another port of the same machine is same-site, so the browser sends the cookie. It also sends plain text,
/// or requests without a body, without a preflight.
#[tokio::test]
async fn a_page_of_an_allowed_origin_cannot_write_with_its_readers_cookie() {
    let elsewhere = "http://localhost:5173";
    let known = Settings { origins: vec![elsewhere.into()], ..settings() };
    let running = Running::with(in_memory(Options::default()), known).await;
    let session = cookie(&answer(stranger(&running, Method::GET, &running.server.sign_in_path())).await);
    let admin = running.admin();
    admin.post("/v1/boards", &json!({"id": "b", "name": "b", "goal": "g"})).await.ok();
    let everything = json!({"agents": ["*"], "boards": ["*"], "cores": ["*"]});
    let token = json!({"hash": "00", "principal": "evil", "kind": "human", "role": "admin", "grants": everything,
        "label": "", "expires_at": null});
    let create = json!({"command": {"create": token}}).to_string();
    let commands = "/v1/spaces/tokens/tokens/commands";
    let known_tokens = admin.get("/v1/tokens").await.ok();
    let send = |page: &str, content_type: &str, path: &str, body: &str| {
        let request = stranger(&running, Method::POST, path).header(COOKIE, &session).header(ORIGIN, page);
        answer(request.header("content-type", content_type).body(body.to_owned()))
    };
    for (path, body) in [(commands, create.as_str()), ("/v1/sign-in-links", ""), ("/v1/boards/b/pause", "")] {
        for content_type in ["text/plain", "application/json"] {
            send(elsewhere, content_type, path, body).await.problem(403, "origin");
        }
    }
    assert_eq!(admin.get("/v1/tokens").await.ok(), known_tokens);
    // It may write with a token, and the server's own page may write with the cookie.
    let named = admin.request(Method::POST, "/v1/boards/b/pause").header(ORIGIN, elsewhere);
    assert_eq!(answer(named).await.status, 200);
    assert_eq!(send(&running.url, "text/plain", "/v1/boards/b/resume", "").await.status, 200);
    // Commands must have the content type of JSON.
    send(&running.url, "text/plain", commands, &create).await.problem(415, "content_type");
    answer(admin.request(Method::POST, commands).body(create.clone())).await.problem(415, "content_type");
    running.stop().await;
}

#[tokio::test]
async fn a_used_link_opens_the_dashboard_if_signed_in_and_admins_get_new_links() {
    let running = Running::start().await;
    let link = running.server.sign_in_path();
    let signed_in = answer(stranger(&running, Method::GET, &link)).await;
    let session = cookie(&signed_in);
    let again = answer(stranger(&running, Method::GET, &link).header(COOKIE, &session)).await;
    assert_eq!((again.status, header(&again, "location")), (StatusCode::SEE_OTHER, "/"));
    answer(stranger(&running, Method::GET, &link)).await.problem(401, "unauthenticated");

    let root = TokenRequest { kind: ActorKind::Human, role: Role::Admin, ..worker("root", json!({})) };
    let root = running.client_with(root).await;
    let made = root.post("/v1/sign-in-links", &Value::Null).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let path = made.body["path"].as_str().unwrap().to_owned();
    let signed_in = answer(stranger(&running, Method::GET, &path)).await;
    assert_eq!(signed_in.status, StatusCode::SEE_OTHER);
    let me = answer(stranger(&running, Method::GET, "/v1/me").header(COOKIE, cookie(&signed_in))).await.ok();
    assert_eq!((&me["principal"], &me["role"]), (&json!("root"), &json!("admin")));
    answer(stranger(&running, Method::GET, &path)).await.problem(401, "unauthenticated");

    let hugo = TokenRequest { kind: ActorKind::Human, role: Role::Human, ..worker("hugo", json!({"agents": ["*"]})) };
    running.client_with(hugo).await.post("/v1/sign-in-links", &Value::Null).await.problem(403, "role_denied");
    running.stop().await;
}

#[tokio::test]
async fn servers_on_one_machine_do_not_sign_each_other_out() {
    let (one, other) = (Running::start().await, Running::start().await);
    let mut jar = Vec::new();
    for running in [&one, &other] {
        let signed_in = answer(stranger(running, Method::GET, &running.server.sign_in_path())).await;
        let (name, secret) = cookie(&signed_in).split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        // Browsers replace cookies by name alone.
        jar.retain(|(known, _)| *known != name);
        jar.push((name, secret));
    }
    let cookies = jar.iter().map(|(name, secret)| format!("{name}={secret}")).collect::<Vec<_>>().join("; ");
    for running in [&one, &other] {
        let me = answer(stranger(running, Method::GET, "/v1/me").header(COOKIE, &cookies)).await;
        assert_eq!(me.status, 200, "{cookies}");
    }
    // With TLS, the cookie has the prefix `__Host-`.
    let encrypted = Running::with(in_memory(Options::default()), Settings { is_tls: true, ..settings() }).await;
    let link = stranger(&encrypted, Method::GET, &encrypted.server.sign_in_path()).header(HOST, "localhost");
    let signed_in = answer(link).await;
    let set = header(&signed_in, "set-cookie");
    assert!(set.starts_with("__Host-cork_session=") && set.ends_with("; Secure"), "{set}");
    // Each cookie in a separate header, as in HTTP/2.
    let me = stranger(&encrypted, Method::GET, "/v1/me").header(HOST, "localhost");
    let me = answer(me.header(COOKIE, "other=1").header(COOKIE, cookie(&signed_in))).await;
    assert_eq!(me.status, 200);
    one.stop().await;
    other.stop().await;
    encrypted.stop().await;
}

#[tokio::test]
async fn the_reference_page_loads_nothing_from_other_servers() {
    let running = Running::start().await;
    let admin = running.admin();
    let page = admin.get("/docs/").await.ok();
    let page = page.as_str().unwrap();
    assert!(page.contains("<title>Corkboard API</title>"), "{page}");
    let named = |attribute: &str| -> Vec<String> {
        page.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let files = [named("href=\""), named("src=\"")].concat();
    assert_eq!(files, ["./swagger-ui.css", "./index.css", "./page.css", "./swagger-ui-bundle.js", "./page.js"]);
    for file in files {
        let answered = admin.get(&format!("/docs/{file}")).await;
        let kind = header(&answered, "content-type").to_owned();
        assert!(answered.status.is_success(), "{file}: {}", answered.status);
        assert!(
            kind.starts_with(if file.ends_with(".css") { "text/css" } else { "text/javascript" }),
            "{file}: {kind}"
        );
    }
    assert_eq!(admin.get("/docs").await.ok(), page);
    for file in ["index.html", "swagger-initializer.js", "nowhere.js"] {
        admin.get(&format!("/docs/{file}")).await.problem(404, "not_found");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_page_of_another_scheme_is_not_the_servers_own() {
    let running = Running::start().await;
    let plain = running.url.clone();
    let secure = plain.replace("http://", "https://");
    let session = cookie(&answer(stranger(&running, Method::GET, &running.server.sign_in_path())).await);
    // A proxy that terminates TLS passes on the scheme. Pages of other origins cannot set that header.
    let write = |origin: &str, proxied: Option<&str>| {
        let mut request = stranger(&running, Method::PUT, "/v1/agents/ada/entries/k").header(COOKIE, &session);
        if let Some(proto) = proxied {
            request = request.header("x-forwarded-proto", proto);
        }
        let request = request.header(ORIGIN, origin).header("content-type", "application/json");
        answer(request.body(r#"{"value": 1}"#))
    };
    write(&secure, None).await.problem(403, "origin");
    write(&plain, Some("https")).await.problem(403, "origin");
    write(&secure, Some("ftp")).await.problem(403, "origin");
    assert_eq!(write(&plain, None).await.status, 201);
    assert_eq!(write(&secure, Some("https")).await.status, 200);
    assert_eq!(write(&plain, Some("http")).await.status, 200);
    let form = stranger(&running, Method::POST, "/sign-in").header(ORIGIN, &secure).body(format!("token={ADMIN}"));
    answer(form).await.problem(403, "origin");
    running.stop().await;

    let encrypted = Running::with(in_memory(Options::default()), Settings { is_tls: true, ..settings() }).await;
    let me = |origin: String| answer(encrypted.admin().request(Method::GET, "/v1/me").header(ORIGIN, origin));
    me(encrypted.url.clone()).await.problem(403, "origin");
    assert_eq!(me(encrypted.url.replace("http://", "https://")).await.status, 200);
    encrypted.stop().await;
}

#[tokio::test]
async fn answers_have_security_headers() {
    let running = Running::start().await;
    let admin = running.admin();
    for path in ["/v1/me", "/v1/nowhere", "/healthz", "/openapi.json", "/docs/", "/docs/page.js", "/metrics", "/"] {
        let answer = admin.get(path).await;
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&answer, "strict-transport-security"), "", "{path}");
    }
    let stranger_page = answer(stranger(&running, Method::GET, "/").header(ACCEPT, BROWSER)).await;
    for page in [admin.get("/docs/").await, stranger_page] {
        assert_eq!(header(&page, "x-content-type-options"), "nosniff");
        assert_eq!(header(&page, "x-frame-options"), "DENY");
        let policy = header(&page, "content-security-policy");
        for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe-eval") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        let scripts = policy.split(';').find(|part| part.contains("script-src")).unwrap_or_default();
        assert!(!scripts.contains("unsafe"), "{policy}");
    }
    running.stop().await;
    let encrypted = Running::with(in_memory(Options::default()), Settings { is_tls: true, ..settings() }).await;
    for path in ["/v1/me", "/docs/", "/healthz", "/sign-in"] {
        let answer = encrypted.admin().get(path).await;
        assert!(header(&answer, "strict-transport-security").starts_with("max-age=31536000"), "{path}");
    }
    encrypted.stop().await;
}

#[tokio::test]
async fn a_head_request_does_not_use_up_a_sign_in_link() {
    let running = Running::start().await;
    let link = running.server.sign_in_path();
    for _ in 0..3 {
        let previewed = answer(stranger(&running, Method::HEAD, &link)).await;
        assert!(previewed.status.is_success(), "{previewed:?}");
        assert_eq!(header(&previewed, "set-cookie"), "");
    }
    let signed_in = answer(stranger(&running, Method::GET, &link)).await;
    assert_eq!((signed_in.status, header(&signed_in, "location")), (StatusCode::SEE_OTHER, "/"));
    running.stop().await;
}

#[tokio::test]
async fn the_sign_in_form_is_small_and_is_read_after_its_origin_was_checked() {
    let running = Running::start().await;
    let post = |origin: &str, body: String| {
        answer(stranger(&running, Method::POST, "/sign-in").header(ORIGIN, origin).body(body))
    };
    post(&running.url, format!("token={}", "x".repeat(2000))).await.problem(413, "body_too_large");
    assert_eq!(post(&running.url, format!("token={}", "x".repeat(500))).await.status, 401);
    // In chunks, without an announced length.
    let address = running.url.trim_start_matches("http://");
    let send = async |origin: &str, chunks: usize| {
        let chunks = format!("400\r\n{}\r\n", "x".repeat(0x400)).repeat(chunks);
        let request =
            format!("POST /sign-in HTTP/1.1\r\nHost: {address}\r\n{origin}Transfer-Encoding: chunked\r\n\r\n{chunks}");
        let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut said = vec![0; 4096];
        let count = tokio::time::timeout(PATIENCE, connection.read(&mut said)).await.expect("an answer").unwrap();
        String::from_utf8(said[..count].to_vec()).unwrap()
    };
    let own = format!("Origin: {}\r\n", running.url);
    assert!(send(&own, 2).await.starts_with("HTTP/1.1 413 "));
    // The body of a foreign page is not waited for.
    for origin in ["", "Origin: http://evil.example\r\n"] {
        assert!(send(origin, 1).await.starts_with("HTTP/1.1 403 "), "{origin:?}");
    }
    running.stop().await;
}
