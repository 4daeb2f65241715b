//! Hostile requests, byte by byte. They get a documented 4xx or no answer, and the server keeps working.

use std::time::Duration;

use corkboard::Options;
use corkboard_server::Settings;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The expected answer.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// A problem with this status and code.
    Problem(u16, &'static str),
    /// An answer from hyper without a body, or the end of the connection.
    Refused(&'static [u16]),
}

use Expected::{Problem, Refused};

use crate::support::{ADMIN, PATIENCE, Running, answer, in_memory, settings};

/// Writes as much as the server accepts, and reads all of the answer.
async fn exchange(server: &Running, bytes: &[u8]) -> Vec<u8> {
    let address = server.url.trim_start_matches("http://");
    let (mut read, mut write) = TcpStream::connect(address).await.unwrap().into_split();
    let sending = async {
        // The server may close the connection early.
        let _ = write.write_all(bytes).await;
        let _ = write.flush().await;
        write
    };
    let reading = async {
        let mut answer = Vec::new();
        let _ = read.read_to_end(&mut answer).await;
        answer
    };
    let (_open, answer) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(sending, reading) }).await.unwrap_or_else(|_| {
            panic!("no end of an answer to {}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]))
        });
    answer
}

/// A complete request that closes the connection.
fn request(line: &str, headers: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n").into_bytes();
    bytes.extend(format!("Authorization: Bearer {ADMIN}\r\n").bytes());
    bytes.extend(headers);
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

/// A request with a JSON body and its length.
fn with_body(line: &str, body: &[u8]) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    request(line, headers.as_bytes(), body)
}

fn status(answer: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(answer.get(9..12)?).ok()?;
    answer.starts_with(b"HTTP/1.").then(|| text.parse().ok()).flatten()
}

#[track_caller]
fn check(what: &str, answer: &[u8], expected: Expected) {
    let (status, text) = (status(answer), String::from_utf8_lossy(answer));
    match expected {
        Problem(wanted, code) => {
            assert_eq!(status, Some(wanted), "{what}: {text}");
            assert!(text.to_lowercase().contains("content-type: application/problem+json"), "{what}: {text}");
            assert!(text.contains(&format!("\"code\":\"{code}\"")), "{what}: {text}");
        }
        Refused(wanted) => {
            let fits = status.map_or(answer.is_empty(), |status| wanted.contains(&status));
            assert!(fits, "{what}: {text}");
        }
    }
}

const PUT: &str = "PUT /v1/agents/ada/entries/key";

#[tokio::test]
async fn invalid_bodies_are_refused() {
    let server = Running::start().await;
    let huge = vec![b' '; 9 * 1024 * 1024];
    let mut chunks = Vec::new();
    for chunk in huge.chunks(1024 * 1024) {
        chunks.extend(format!("{:x}\r\n", chunk.len()).bytes());
        chunks.extend(chunk);
        chunks.extend(b"\r\n");
    }
    chunks.extend(b"0\r\n\r\n");
    let chunked = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let deep = [b"{\"value\":".to_vec(), vec![b'['; 100_000]].concat();
    let cases: Vec<(&str, Vec<u8>, Expected)> = vec![
        ("a huge body", with_body(PUT, &huge), Problem(413, "body_too_large")),
        ("a huge body in chunks", request(PUT, chunked, &chunks), Problem(413, "body_too_large")),
        ("deep JSON", with_body(PUT, &deep), Problem(400, "body_json")),
        ("no JSON", with_body(PUT, b"{\"value\": tru"), Problem(400, "body_json")),
        ("a NUL in JSON", with_body(PUT, b"{\"value\":\"\0\"}"), Problem(400, "body_json")),
        ("text that is not UTF-8", with_body(PUT, b"{\"value\":\"\xff\xfe\"}"), Problem(400, "body_json")),
        ("no body", with_body(PUT, b""), Problem(400, "body_json")),
        ("two documents", with_body(PUT, b"{\"value\":1}{\"value\":2}"), Problem(400, "body_json")),
        (
            "a content type other than JSON",
            request(PUT, b"Content-Type: text/plain\r\nContent-Length: 11\r\n", b"{\"value\":1}"),
            Problem(415, "content_type"),
        ),
        ("invalid chunks", request(PUT, chunked, b"zz\r\nnonsense"), Refused(&[400])),
        ("a chunk of a negative length", request(PUT, chunked, b"-5\r\nhello\r\n0\r\n\r\n"), Refused(&[400])),
        (
            "two lengths",
            request(PUT, b"Content-Length: 3\r\nContent-Length: 11\r\n", b"{\"value\":1}"),
            Refused(&[400]),
        ),
        ("a negative length", request(PUT, b"Content-Length: -1\r\n", b""), Refused(&[400])),
        (
            "a length and chunks",
            request(
                PUT,
                b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n",
                b"0\r\n\r\n",
            ),
            Refused(&[400]),
        ),
    ];
    for (what, bytes, expected) in cases {
        check(what, &exchange(&server, &bytes).await, expected);
    }
    assert_eq!(server.admin().get("/v1/me").await.ok()["principal"], "admin");
    server.admin().get("/v1/agents/ada/entries/key").await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn invalid_paths_and_headers_are_refused() {
    let server = Running::start().await;
    let raw = |head: &[u8]| [head, b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"].concat();
    let long = format!("GET /v1/agents/{}/entries/a", "a".repeat(2000));
    let endless = format!("GET /{}", "a".repeat(1_000_000));
    let header = format!("X-Long: {}\r\n", "x".repeat(1_000_000));
    let headers = "X-Many: 1\r\n".repeat(10_000);
    let cases: Vec<(&str, Vec<u8>, Expected)> = vec![
        ("invalid UTF-8 in a path", request("GET /v1/agents/%FF%FE/entries/a", b"", b""), Problem(400, "path")),
        ("a NUL in a name", request("GET /v1/agents/a%00b/entries/a", b"", b""), Problem(400, "control_character")),
        (
            "a line break in a name",
            request("GET /v1/spaces/board/a%0D%0Ab/head", b"", b""),
            Problem(400, "control_character"),
        ),
        ("a blank name", request("GET /v1/agents/%20/entries/a", b"", b""), Problem(400, "blank")),
        ("a name that is too long", request(&long, b"", b""), Problem(422, "limit")),
        ("an unknown kind", request("GET /v1/spaces/galaxy/a/head", b"", b""), Problem(400, "path")),
        (
            "up, encoded",
            request("GET /v1/agents/..%2f..%2f..%2fetc%2fpasswd/entries/a", b"", b""),
            Problem(404, "not_found"),
        ),
        (
            "dot segments, encoded twice",
            request("GET /v1/agents/..%252f../entries/a", b"", b""),
            Problem(404, "not_found"),
        ),
        (
            "dot segments, not encoded",
            request("GET /v1/agents/../../../etc/passwd", b"", b""),
            Problem(404, "unknown_route"),
        ),
        ("dot segments below /docs", request("GET /docs/..%2f..%2fCargo.toml", b"", b""), Refused(&[404])),
        ("a backslash", request("GET /v1/agents/..\\..\\x/entries/a", b"", b""), Refused(&[400, 404])),
        (
            "a number that is too large",
            request("GET /v1/spaces/agent/a/log?from_rev=99999999999999999999", b"", b""),
            Problem(400, "query"),
        ),
        ("an invalid number", request("GET /v1/spaces/agent/a/log?limit=NaN", b"", b""), Problem(400, "query")),
        (
            "an invalid commit",
            request("GET /v1/spaces/agent/a/log?from_rev=1&commit=x", b"", b""),
            Problem(400, "query"),
        ),
        ("invalid UTF-8 in a query", request("GET /v1/spaces/agent?cursor=%FF", b"", b""), Refused(&[200, 400])),
        (
            "a cork-actor that is not an object",
            request("GET /v1/me", b"Cork-Actor: [\"x\",\"agent\",\"worker\"]\r\n", b""),
            Problem(400, "actor"),
        ),
        ("a cork-actor that is not JSON", request("GET /v1/me", b"Cork-Actor: nobody\r\n", b""), Problem(400, "actor")),
        (
            "a cork-actor that is not text",
            request("GET /v1/me", b"Cork-Actor: \xff\xfe\r\n", b""),
            Problem(400, "actor"),
        ),
        (
            "an invalid condition",
            request(
                "PUT /v1/agents/a/entries/a",
                b"If-Match: W/\"1\"\r\nContent-Type: application/json\r\nContent-Length: 11\r\n",
                b"{\"value\":1}",
            ),
            Problem(400, "if_match"),
        ),
        (
            "a key that is not text",
            request(
                "PUT /v1/agents/a/entries/a",
                b"Idempotency-Key: \xff\r\nContent-Type: application/json\r\nContent-Length: 11\r\n",
                b"{\"value\":1}",
            ),
            Problem(400, "header"),
        ),
        (
            "a blank key",
            request(
                "PUT /v1/agents/a/entries/a",
                b"Idempotency-Key: \r\nContent-Type: application/json\r\nContent-Length: 11\r\n",
                b"{\"value\":1}",
            ),
            Problem(400, "blank"),
        ),
        ("a token that is not text", raw(b"GET /v1/me HTTP/1.1\r\nAuthorization: Bearer \xff"), Problem(400, "header")),
        ("no token", raw(b"GET /v1/me HTTP/1.1"), Problem(401, "unauthenticated")),
        ("another scheme", raw(b"GET /v1/me HTTP/1.1\r\nAuthorization: Basic YTpi"), Problem(401, "unauthenticated")),
        ("a NUL in a header", raw(b"GET /v1/me HTTP/1.1\r\nX-Nul: a\0b"), Refused(&[400])),
        ("a header without a name", raw(b"GET /v1/me HTTP/1.1\r\n: nothing"), Refused(&[400])),
        ("an invalid method", request("BREW /v1/me", b"", b""), Problem(405, "method")),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n".to_vec(), Refused(&[400])),
        ("an invalid version", b"GET / HTTP/9.9\r\n\r\n".to_vec(), Refused(&[400, 505])),
        ("an invalid path", raw(b"GET no-path HTTP/1.1"), Refused(&[400, 401, 403, 404])),
        ("bytes in a path", raw(b"GET /v1/agents/\xff\xfe HTTP/1.1"), Refused(&[400, 401, 404])),
        (
            "another host",
            b"GET /v1/me HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".to_vec(),
            Problem(403, "host"),
        ),
        (
            "another host in the path",
            b"GET http://evil.example/v1/me HTTP/1.1\r\nConnection: close\r\n\r\n".to_vec(),
            Problem(403, "host"),
        ),
        ("no host", b"GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n".to_vec(), Problem(403, "host")),
        ("another page", raw(b"GET /v1/me HTTP/1.1\r\nOrigin: https://evil.example"), Problem(403, "origin")),
        (
            "two hosts",
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n".to_vec(),
            Problem(400, "header"),
        ),
        (
            "the same host twice",
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec(),
            Problem(400, "header"),
        ),
        (
            "a host that is not the one in the path",
            b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec(),
            Problem(400, "host"),
        ),
        (
            "a port that is not the one in the path",
            b"GET http://localhost:1/healthz HTTP/1.1\r\nHost: localhost:2\r\nConnection: close\r\n\r\n".to_vec(),
            Problem(400, "host"),
        ),
        (
            "two origins",
            raw(b"GET /healthz HTTP/1.1\r\nOrigin: http://localhost\r\nOrigin: https://evil.example"),
            Problem(400, "header"),
        ),
        ("an endless path", request(&endless, b"", b""), Refused(&[400, 414, 431])),
        ("an endless header", request("GET /v1/me", header.as_bytes(), b""), Refused(&[400, 431])),
        ("too many headers", request("GET /v1/me", headers.as_bytes(), b""), Refused(&[400, 431])),
    ];
    for (what, bytes, expected) in cases {
        check(what, &exchange(&server, &bytes).await, expected);
    }
    let spaces = server.admin().get("/v1/spaces/agent").await.ok();
    assert_eq!(spaces["items"], serde_json::json!([]), "nothing was written");
    server.stop().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Running::start().await;
    let keep = |line: &str| format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\n\r\n");
    let sent = [keep("GET /v1/me"), keep("GET /v1/nowhere"), keep("GET /healthz")].concat().into_bytes();
    let sent = [sent, request("GET /v1/spaces/agent/a/head", b"", b"")].concat();
    let answers = String::from_utf8(exchange(&server, &sent).await).unwrap();
    let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "404", "200", "200"], "{answers}");
    server.stop().await;
}

#[tokio::test]
async fn an_incomplete_request_is_disconnected() {
    let settings = Settings { header_timeout: Duration::from_millis(200), ..settings() };
    let server = Running::with(in_memory(Options::default()), settings).await;
    // `exchange` waits until the server closes the connection.
    for begun in [&b"GET /v1/me HTTP/1.1\r\nHost: local"[..], b"G"] {
        check("half a head", &exchange(&server, begun).await, Refused(&[408, 400]));
    }
    assert_eq!(server.admin().get("/v1/me").await.ok()["principal"], "admin");
    server.stop().await;
}

/// After half a body the connection ends: nothing is written, and nothing keeps waiting.
#[tokio::test]
async fn a_truncated_body_writes_nothing() {
    let server = Running::start().await;
    let address = server.url.trim_start_matches("http://").to_owned();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let head = b"Content-Type: application/json\r\nContent-Length: 1000\r\n";
        stream.write_all(&request(PUT, head, b"{\"value\":1")).await.unwrap();
        drop(stream);
    }
    server.admin().get("/v1/agents/ada/entries/key").await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn new_names_with_invisible_or_bidi_characters_are_refused() {
    let server = Running::start().await;
    let admin = server.admin();
    admin.post("/v1/boards", &json!({"id": "b", "name": "b"})).await.ok();
    admin.post("/v1/boards/b/tasks", &json!({"title": "a task"})).await.ok();
    // A zero-width space, a bidi override, a joiner, a soft hyphen and a line break.
    for (character, encoded) in [
        ('\u{200b}', "%E2%80%8B"),
        ('\u{202e}', "%E2%80%AE"),
        ('\u{200d}', "%E2%80%8D"),
        ('\u{ad}', "%C2%AD"),
        ('\u{2028}', "%E2%80%A8"),
    ] {
        let (name, path) = (format!("a{character}b"), format!("a{encoded}b"));
        let value = json!({"value": 1});
        let token = json!({"principal": "ada", "kind": "agent", "role": "worker"});
        let with = |field: &str| {
            let mut token = token.clone();
            token[field] = json!(name);
            token
        };
        let actor = json!({"principal": name, "kind": "agent", "role": "worker"}).to_string();
        let actor: String =
            actor.chars().map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) }).collect();
        let acting = admin.request(reqwest::Method::PUT, "/v1/agents/ada/entries/k").header("cork-actor", actor);
        let refused = [
            admin.put(&format!("/v1/agents/{path}/entries/k"), &value).await,
            admin.put(&format!("/v1/agents/ada/entries/{path}"), &value).await,
            admin.put("/v1/agents/ada/entries/k", &json!({"value": 1, "metadata": {"tags": [name]}})).await,
            admin.put(&format!("/v1/agents/ada/conversations/{path}/entries/k"), &value).await,
            admin.post("/v1/agents/ada/scopes", &json!({"name": name})).await,
            admin.post("/v1/boards", &json!({"id": name, "name": "a name"})).await,
            admin.post("/v1/boards", &json!({"id": "c", "name": name})).await,
            admin.post(&format!("/v1/cores/{path}/entries"), &json!({"content": "x"})).await,
            admin.post("/v1/cores/house/entries", &json!({"content": "x", "tags": [name]})).await,
            admin.post("/v1/tokens", &with("principal")).await,
            admin.post("/v1/tokens", &with("label")).await,
            admin.post("/v1/boards/b/tasks/T-1/assign", &json!({"agent": name})).await,
            answer(acting.header("content-type", "application/json").body(value.to_string())).await,
        ];
        for (place, refused) in refused.iter().enumerate() {
            let found = (refused.status.as_u16(), refused.body["code"].as_str());
            assert_eq!(found, (400, Some("control_character")), "{place} with {character:?}: {}", refused.body);
        }
        // Texts can contain any character.
        admin.post("/v1/agents/ada/notes", &json!({"text": name})).await.ok();
        admin.post("/v1/boards/b/tasks", &json!({"title": name})).await.ok();
    }
    server.stop().await;
}
