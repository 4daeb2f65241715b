//! Hostile clients against a real server. For requests of any shape, the server's memory stays within its budget, it
//! refuses the requests, and it serves an ordinary client during and after the attack.
//!
//! The attacker and the ordinary client have different tokens. Memory is the process's peak (`VmHWM`), compared with its
//! peak before the attack.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corkboard::{Corkboard, MemorySnapshot, Passphrase, PassphraseCost, Seal, SnapshotBytes};
use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::killable_server::block_on;
use crate::sandbox_server::SandboxServer;
use crate::support::{DEADLINE, Sandbox, eventually};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
/// `buffer_bytes` of the server. One principal may hold 3.5 MiB of it.
const BUDGET: usize = 8 * MIB;
/// `body_bytes` of the server.
const BODY: usize = 2 * MIB;
/// Maximum growth of the process: buffers are copied while they grow, and connections have further buffers.
const MOST: usize = 5 * BUDGET;
/// Connections of most attacks. With a full body on each, that is far more than [`MOST`].
const CONNECTIONS: usize = 40;

/// The allocator returns freed memory at once, so that the peak shows current use, not earlier use.
const AT_ONCE: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");

/// A route, and the kind of request that it reads.
#[derive(Debug, Clone)]
struct Kind {
    method: String,
    path: String,
    /// Empty if the route reads no body.
    content_type: &'static str,
    has_token: bool,
}

impl Kind {
    fn new(method: &str, path: &str, content_type: &'static str) -> Self {
        Self { method: method.into(), path: path.into(), content_type, has_token: path != SIGN_IN }
    }

    /// Whether the route reads a body, and knows who sent it.
    fn reads_body(&self) -> bool {
        !self.content_type.is_empty() && self.has_token
    }

    /// A body of about this size that passes the checks which the route makes before it reads the whole body.
    fn body(&self, bytes: usize) -> Vec<u8> {
        let text = "x".repeat(bytes);
        match self.content_type {
            JSON => json!({"command": {"set": {"key": "k", "value": text}}}).to_string().into_bytes(),
            LINES => {
                let line = json!({"key": "k", "value": "x".repeat(KIB)}).to_string() + "\n";
                line.repeat(bytes / line.len()).into_bytes()
            }
            FORM => format!("token={text}").into_bytes(),
            SNAPSHOT => [b"\x89CORK\r\n\x1a", text.as_bytes()].concat(),
            _ => text.into_bytes(),
        }
    }

    /// The head of a request of the attacker.
    fn head(&self, target: &Target, headers: &str) -> Vec<u8> {
        let Self { method, path, content_type, .. } = self;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n");
        if self.has_token {
            head += &format!("Authorization: Bearer {}\r\n", target.secret);
        }
        if !content_type.is_empty() {
            head += &format!("Content-Type: {content_type}\r\n");
        }
        (head + headers + "\r\n").into_bytes()
    }

    /// A whole request.
    fn request(&self, target: &Target, body: &[u8]) -> Vec<u8> {
        let headers = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
        [self.head(target, &headers), body.to_vec()].concat()
    }

    /// A whole request in chunks of that size.
    fn chunked(&self, target: &Target, body: &[u8], chunk: usize) -> Vec<u8> {
        let mut request = self.head(target, "Connection: close\r\nTransfer-Encoding: chunked\r\n");
        for chunk in body.chunks(chunk) {
            request.extend(format!("{:x}\r\n", chunk.len()).bytes());
            request.extend(chunk);
            request.extend(b"\r\n");
        }
        request.extend(b"0\r\n\r\n");
        request
    }
}

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const FORM: &str = "application/x-www-form-urlencoded";
const SNAPSHOT: &str = "application/octet-stream";
const SIGN_IN: &str = "/sign-in";
const STATE: &str = "/v1/spaces/agent/big/state";

/// One route per kind of body, and the two kinds of large answers: one that readers share, and one for each reader.
fn kinds() -> Vec<Kind> {
    vec![
        Kind::new("POST", "/v1/spaces/agent/eve/commands", JSON),
        Kind::new("POST", "/v1/agents/eve/entries:batch", LINES),
        Kind::new("POST", "/v1/agents/eve/notebook/updates", "text/plain"),
        Kind::new("POST", "/v1/agents/eve/restore", SNAPSHOT),
        Kind::new("POST", SIGN_IN, FORM),
        Kind::new("GET", STATE, ""),
        Kind::new("GET", "/v1/agents/big/entries", ""),
    ]
}

fn snapshots() -> Vec<Kind> {
    vec![Kind::new("POST", "/v1/agents/eve/restore", JSON)]
}

fn states() -> Vec<Kind> {
    vec![Kind::new("GET", STATE, "")]
}

fn events() -> Vec<Kind> {
    vec![Kind::new("GET", "/v1/agents/eve/events", "")]
}

/// A client's behavior after it has written its request.
#[derive(Clone, Copy)]
enum Then {
    /// Reads every answer.
    Read,
    /// Waits for the first byte of an answer, reads nothing and keeps the connection.
    LeaveUnread,
    /// Keeps the connection.
    Stall,
    /// Closes the connection.
    Leave,
}

/// An attack.
struct Shape {
    connections: usize,
    /// What each connection writes.
    write: fn(&Kind, &Target) -> Vec<u8>,
    then: Then,
    /// The statuses that routes with a body may answer. Others may answer anything except an internal error.
    answers: &'static [u16],
    /// The ordinary client's work while the connections are kept.
    meanwhile: fn(&Target),
    /// How much the process may grow.
    most: usize,
}

const USUAL: Shape = Shape {
    connections: CONNECTIONS,
    write: |kind, target| kind.request(target, &kind.body(KIB)),
    then: Then::Read,
    answers: &[],
    meanwhile: |_| {},
    most: MOST,
};

/// Answers to a body that was read, or for which there was no room.
const READ: &[u16] = &[200, 400, 413, 422, 429, 503];
/// The request's head is refused.
const HEAD: &[u16] = &[400, 414, 431];

/// A test for every shape.
macro_rules! shapes {
    ($($name:ident: $kinds:ident $shape:expr;)*) => {
        $(#[test] fn $name() { check(stringify!($name), &$shape, &$kinds(), &Target::start()); })*

        /// The shapes that apply to any route.
        fn for_any_route() -> Vec<(&'static str, Shape)> {
            let all = [$((stringify!($name), stringify!($kinds), $shape)),*];
            all.into_iter().filter(|(_, kinds, _)| *kinds == "kinds").map(|(name, _, shape)| (name, shape)).collect()
        }
    };
}

shapes! {
    a_body_that_is_announced_as_huge: kinds Shape {
        write: |kind, target| [kind.head(target, "Content-Length: 68719476736\r\n"), kind.body(MIB)].concat(),
        answers: &[413],
        ..USUAL
    };
    large_bodies_on_many_connections: kinds Shape {
        write: |kind, target| kind.request(target, &kind.body(BODY - KIB)),
        answers: READ,
        ..USUAL
    };
    large_bodies_in_chunks_on_many_connections: kinds Shape {
        write: |kind, target| kind.chunked(target, &kind.body(BODY - KIB), 64 * KIB),
        answers: READ,
        ..USUAL
    };
    a_body_in_chunks_that_does_not_end_in_time: kinds Shape {
        connections: 8,
        write: |kind, target| kind.chunked(target, &kind.body(4 * BODY), 64 * KIB),
        answers: &[413, 429, 503],
        ..USUAL
    };
    a_body_in_many_small_chunks: kinds Shape {
        connections: 8,
        write: |kind, target| kind.chunked(target, &kind.body(8 * KIB), 1),
        answers: READ,
        ..USUAL
    };
    bodies_that_stop_half_way: kinds Shape {
        write: |kind, target| {
            let head = kind.head(target, &format!("Content-Length: {BODY}\r\n"));
            [head, kind.body(BODY - BODY / 8)].concat()
        },
        then: Then::Stall,
        ..USUAL
    };
    chunks_that_stop_half_way: kinds Shape {
        write: |kind, target| {
            let mut request = kind.chunked(target, &kind.body(BODY - BODY / 8), 64 * KIB);
            request.truncate(request.len() - b"0\r\n\r\n".len());
            request
        },
        then: Then::Stall,
        ..USUAL
    };
    bodies_that_are_aborted: kinds Shape {
        write: |kind, target| {
            let head = kind.head(target, &format!("Content-Length: {BODY}\r\n"));
            [head, kind.body(BODY - BODY / 8)].concat()
        },
        then: Then::Leave,
        ..USUAL
    };
    heads_that_stop_half_way_on_many_connections: kinds Shape {
        connections: 200,
        write: |kind, target| {
            let mut head = kind.head(target, "");
            head.truncate(head.len() - 4);
            head
        },
        then: Then::Stall,
        ..USUAL
    };
    deep_json: kinds Shape {
        connections: 8,
        write: |kind, target| kind.request(target, &[br#"{"command":"#.to_vec(), vec![b'['; MIB]].concat()),
        answers: &[400, 413, 422, 503],
        ..USUAL
    };
    json_of_very_many_values: kinds Shape {
        connections: 8,
        write: |kind, target| kind.request(target, &[b"[".to_vec(), b"1,".repeat(MIB / 2), b"1]".to_vec()].concat()),
        answers: &[400, 413, 422, 503],
        ..USUAL
    };
    answers_that_are_not_read: kinds Shape {
        write: |kind, target| kind.request(target, &[]),
        then: Then::LeaveUnread,
        ..USUAL
    };
    compressed_answers_that_are_not_read: kinds Shape {
        write: |kind, target| kind.head(target, "Accept-Encoding: gzip\r\nContent-Length: 0\r\n"),
        then: Then::LeaveUnread,
        ..USUAL
    };
    pipelined_requests_whose_answers_are_not_read: kinds Shape {
        write: |kind, target| kind.head(target, "Content-Length: 0\r\n").repeat(50),
        then: Then::LeaveUnread,
        ..USUAL
    };
    pipelined_requests: kinds Shape {
        connections: 4,
        write: |kind, target| {
            let request = [kind.head(target, &format!("Content-Length: {}\r\n", kind.body(KIB).len())), kind.body(KIB)];
            [request.concat().repeat(8), kind.request(target, &kind.body(KIB))].concat()
        },
        answers: READ,
        ..USUAL
    };
    a_huge_header: kinds Shape {
        write: |kind, target| kind.head(target, &format!("X-Long: {}\r\n", "x".repeat(MIB))),
        answers: HEAD,
        ..USUAL
    };
    very_many_headers: kinds Shape {
        write: |kind, target| kind.head(target, &"X-Many: 1\r\n".repeat(10_000)),
        answers: HEAD,
        ..USUAL
    };
    a_long_query: kinds Shape {
        write: |kind, target| {
            let path = format!("{}?from_rev={}", kind.path, "x".repeat(60 * KIB));
            Kind { path, ..kind.clone() }.request(target, &kind.body(KIB))
        },
        answers: HEAD,
        ..USUAL
    };
    very_many_parameters: kinds Shape {
        write: |kind, target| {
            let path = format!("{}?{}", kind.path, "a=1&".repeat(5 * KIB));
            Kind { path, ..kind.clone() }.request(target, &kind.body(KIB))
        },
        answers: HEAD,
        ..USUAL
    };
    a_length_that_is_too_small: kinds Shape {
        write: |kind, target| [kind.head(target, "Content-Length: 10\r\n"), kind.body(MIB)].concat(),
        // The server reads the rest of the body as the head of another request.
        answers: &[400, 422, 431],
        ..USUAL
    };
    a_compressed_body: kinds Shape {
        write: |kind, target| {
            let body = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff".to_vec(), vec![0; 64 * KIB]].concat();
            let headers = format!("Content-Encoding: gzip\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
            [kind.head(target, &headers), body].concat()
        },
        answers: &[400, 415, 422],
        ..USUAL
    };
    a_snapshot_whose_header_chooses_the_cost: snapshots Shape {
        connections: 8,
        write: |kind, target| kind.request(target, &SEALED_AT_GREAT_COST),
        answers: &[422],
        ..USUAL
    };
    snapshots_at_the_usual_cost: snapshots Shape {
        connections: 8,
        write: |kind, target| kind.request(target, &SEALED),
        answers: &[200, 503],
        // One snapshot at a time is opened, which alone needs 64 MiB.
        most: MOST + 64 * MIB,
        ..USUAL
    };
    a_snapshot_that_inflates: snapshots Shape {
        connections: 8,
        write: |kind, target| kind.request(target, &INFLATING),
        answers: &[413, 503],
        ..USUAL
    };
    event_streams_that_are_not_read: events Shape {
        write: |kind, target| kind.head(target, "Accept: text/event-stream\r\n"),
        then: Then::LeaveUnread,
        meanwhile: |target| {
            for _ in 0..8 {
                let value = json!({"value": "x".repeat(900 * KIB)}).to_string();
                let answer = target.server.ask("PUT", "/v1/agents/eve/entries/large", &[], &value);
                assert!([200, 201].contains(&answer.status), "{answer:?}");
            }
        },
        ..USUAL
    };
}

/// A body without an announced length used to be read to its end, even over its sender's byte rate.
#[test]
fn chunked_bodies_are_refused_once_they_exceed_the_byte_rate() {
    let sandbox = Sandbox::local();
    let variables = [("CORK_BYTES_AT_ONCE", "256KiB"), ("CORK_BYTES_PER_HOUR", "1KiB")];
    let server = SandboxServer::with(&sandbox, &[], &variables);
    let target = Target { secret: crate::sandbox_server::ADMIN.into(), server, sandbox };
    let kind = &kinds()[0];
    let (_, answers) = client(&kind.chunked(&target, &kind.body(MIB), 16 * KIB), Then::Read, &target);
    assert_eq!(answers, [429]);
}

/// Readers of the same revision share one copy of its bytes, so the budget counts it once.
#[test]
fn readers_of_the_same_state_share_its_bytes() {
    let target = Target::start();
    let kind = &states()[0];
    let held: Vec<_> = (0..20).map(|_| client(&kind.request(&target, &[]), Then::LeaveUnread, &target)).collect();
    let buffered = target.gauge("corkboard_http_buffered_bytes");
    let size = target.server.ask("GET", STATE, &[], "").body.len();
    assert_eq!(buffered, size, "{} readers", held.len());
}

/// Maximum slowdown of the ordinary client's p99 by an attack, as a factor.
const SLOWER: u32 = 200;

/// Every route of the API under every shape that applies to any route, and the cost for another client. `make soak`
/// runs all of it (`CORK_SOAK_ROUTES`); otherwise it runs a small sample.
#[test]
fn every_route_withstands_every_shape() {
    let is_soak = std::env::var_os("CORK_SOAK_ROUTES").is_some();
    let target = Target::start();
    let quiet = p99(&target, 200, &AtomicBool::new(true));
    let routes = described(&target);
    assert!(routes.len() > 100, "{}", routes.len());
    let step = if is_soak { 1 } else { 40 };
    let sample: Vec<Kind> = routes.into_iter().step_by(step).collect();
    for (name, shape) in for_any_route().into_iter().step_by(if is_soak { 1 } else { 7 }) {
        let is_over = AtomicBool::new(false);
        let busy = std::thread::scope(|scope| {
            let other = scope.spawn(|| p99(&target, 20, &is_over));
            let answers =
                &[200, 201, 202, 204, 303, 304, 400, 401, 403, 404, 405, 409, 413, 414, 415, 422, 429, 431, 503];
            // Some of the requests are stored, and then held in memory as state.
            let attack = Attack(&is_over);
            check(name, &Shape { answers, most: 3 * MOST, ..shape }, &sample, &target);
            drop(attack);
            other.join().unwrap()
        });
        if is_soak {
            println!("{name}: p99 {busy:?}, {:.1} times {quiet:?}", busy.as_secs_f64() / quiet.as_secs_f64());
            assert!(busy < SLOWER * quiet, "{name}: p99 {busy:?}, without an attack {quiet:?}");
        }
    }
}

/// Ends the attack when dropped, even after a failure.
struct Attack<'a>(&'a AtomicBool);

impl Drop for Attack<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The ordinary client's 99th percentile latency, over at least this many requests or until the attack is over.
fn p99(target: &Target, least: usize, is_over: &AtomicBool) -> Duration {
    let mut took = Vec::new();
    while took.len() < least || !is_over.load(Ordering::SeqCst) {
        let began = Instant::now();
        assert_eq!(target.server.ask("GET", "/v1/me", &[], "").status, 200);
        took.push(began.elapsed());
    }
    took.sort_unstable();
    took[took.len() * 99 / 100]
}

/// Every route of the server's HTTP description.
fn described(target: &Target) -> Vec<Kind> {
    let description = target.server.ask("GET", "/openapi.json", &[], "").json();
    let paths: BTreeMap<String, Value> = serde_json::from_value(description["paths"].clone()).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in paths {
        let filled = path.split('/').map(|part| match part {
            "{kind}" => "agent".into(),
            part if part.starts_with('{') => "eve".into(),
            part => part.to_owned(),
        });
        let filled: Vec<String> = filled.collect();
        for (method, operation) in methods.as_object().unwrap() {
            let content = operation["requestBody"]["content"].as_object();
            let has = |name: &str| content.is_some_and(|content| content.contains_key(name));
            let known = [JSON, LINES, FORM, SNAPSHOT, "text/plain"].into_iter().find(|name| has(name));
            routes.push(Kind::new(&method.to_uppercase(), &filled.join("/"), known.unwrap_or_default()));
        }
    }
    routes
}

/// A server under attack.
struct Target {
    server: SandboxServer,
    /// The attacker's token.
    secret: String,
    #[allow(dead_code, reason = "dropping it removes its folder")]
    sandbox: Sandbox,
}

impl Target {
    fn start() -> Self {
        let sandbox = Sandbox::local();
        let (budget, body) = (BUDGET.to_string(), BODY.to_string());
        let often = [("CORK_REQUESTS_PER_SECOND", "1000000"), ("CORK_REQUESTS_AT_ONCE", "1000000")];
        let variables = [("CORK_BUFFER_BYTES", &*budget), ("CORK_BODY_BYTES", &*body), often[0], often[1], AT_ONCE];
        let server = SandboxServer::with(&sandbox, &[], &variables);
        let token = json!({
            "principal": "eve", "kind": "agent", "role": "worker",
            "grants": {"agents": ["eve", "big"], "boards": [], "cores": []},
        });
        let token = server.ask("POST", "/v1/tokens", &[], &token.to_string());
        assert_eq!(token.status, 201, "{token:?}");
        let secret = token.json()["secret"].as_str().unwrap().to_owned();
        // An answer as large as one principal may hold.
        for key in ["a", "b", "c"] {
            let value = json!({"value": "x".repeat(1000 * KIB)}).to_string();
            let put = server.ask("PUT", &format!("/v1/agents/big/entries/{key}"), &[], &value);
            assert_eq!(put.status, 201, "{put:?}");
        }
        let target = Self { server, secret, sandbox };
        for kind in kinds() {
            client(&kind.request(&target, &kind.body(KIB)), Then::Read, &target);
        }
        target
    }

    /// The process's peak memory so far.
    fn peak_memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.process())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * KIB
    }

    fn gauge(&self, name: &str) -> usize {
        let metrics = self.server.ask("GET", "/metrics", &[], "").text();
        let found = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{name} in {metrics}")).parse::<f64>().unwrap() as usize
    }

    /// An ordinary client writes and reads.
    fn serves_others(&self, what: &str) {
        let put = self.server.ask("PUT", "/v1/agents/ada/entries/color", &[], r#"{"value":"green"}"#);
        assert!([200, 201].contains(&put.status), "{what}: {put:?}");
        let got = self.server.ask("GET", "/v1/agents/ada/entries/color", &[], "");
        assert_eq!((got.status, &got.json()["value"]), (200, &json!("green")), "{what}: {got:?}");
    }
}

fn check(name: &str, shape: &Shape, kinds: &[Kind], target: &Target) {
    let before = target.peak_memory();
    for kind in kinds {
        let what = format!("{name}: {} {}", kind.method, kind.path);
        let request = (shape.write)(kind, target);
        let (held, answers): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..shape.connections).map(|_| scope.spawn(|| client(&request, shape.then, target))).collect();
            clients.into_iter().map(|client| client.join().unwrap()).unzip()
        });
        target.serves_others(&what);
        (shape.meanwhile)(target);
        let grown = target.peak_memory().saturating_sub(before);
        assert!(grown <= shape.most, "{what}: the server grew by {} KiB", grown / KIB);
        for answer in answers.into_iter().flatten() {
            let is_expected =
                if kind.reads_body() { shape.answers.contains(&answer) } else { answer < 500 || answer == 503 };
            assert!(is_expected, "{what}: {answer}");
        }
        drop(held);
        eventually(&format!("{what}: the release of all bytes"), || target.gauge("corkboard_http_buffered_bytes") == 0);
    }
    let peak = target.gauge("corkboard_http_buffered_bytes_peak");
    assert!(peak <= BUDGET, "{name}: the server held {peak} bytes");
    target.serves_others(name);
}

/// Sends a request. Returns the connection, if kept, and the statuses of all answers that were read.
fn client(request: &[u8], then: Then, target: &Target) -> (Option<TcpStream>, Vec<u16>) {
    let stream = connect(target, then);
    // A server that stops reading closes the connection.
    let write = |mut stream: &TcpStream| drop(stream.write_all(request));
    if let Then::Read = then {
        let mut answers = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| write(&stream));
            // Write and read at once, because a server can answer before it has read everything.
            read_answers(&stream, &mut answers);
            let _ = stream.shutdown(Shutdown::Both);
        });
        return (None, statuses(&answers));
    }
    write(&stream);
    match then {
        Then::Read | Then::Leave => (None, vec![]),
        Then::Stall => (Some(stream), vec![]),
        Then::LeaveUnread => {
            // The answer has started, or the connection has ended.
            let _ = stream.peek(&mut [0]);
            (Some(stream), vec![])
        }
    }
}

/// Reads until the connection ends. An event stream does not end by itself, so its beginning is enough.
fn read_answers(mut stream: &TcpStream, answers: &mut Vec<u8>) {
    const EVENTS: &[u8] = b"text/event-stream";
    let mut buffer = [0; 16 * KIB];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        answers.extend(&buffer[..read]);
        let head = &answers[..answers.len().min(KIB)];
        if head.windows(EVENTS.len()).any(|window| window == EVENTS) {
            return;
        }
    }
}

/// A connection. A client that does not read has a small buffer, so that answers stay in the server.
fn connect(target: &Target, then: Then) -> TcpStream {
    let stream = match then {
        Then::LeaveUnread => {
            let address = target.server.address().parse().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
            let connecting = async {
                let socket = TcpSocket::new_v4().unwrap();
                socket.set_recv_buffer_size(4096).unwrap();
                socket.connect(address).await.unwrap().into_std().unwrap()
            };
            let stream = runtime.block_on(connecting);
            stream.set_nonblocking(false).unwrap();
            stream
        }
        Then::Read | Then::Stall | Then::Leave => TcpStream::connect(target.server.address()).unwrap(),
    };
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}

fn statuses(answers: &[u8]) -> Vec<u16> {
    const BEGIN: &[u8] = b"HTTP/1.1 ";
    let begins = answers.windows(BEGIN.len() + 3).filter(|window| window.starts_with(BEGIN));
    begins.filter_map(|window| std::str::from_utf8(&window[BEGIN.len()..]).ok()?.parse().ok()).collect()
}

/// A snapshot in a document, with the secret that opens it.
fn sealed(snapshot: &MemorySnapshot, seal: &Seal) -> Vec<u8> {
    let bytes = BASE64.encode(&snapshot.to_bytes(seal).unwrap());
    let passphrase = matches!(seal, Seal::Passphrase(_)).then_some(PASSPHRASE);
    json!({"sealed": bytes, "passphrase": passphrase}).to_string().into_bytes()
}

const PASSPHRASE: &str = "correct horse battery staple";

static EMPTY: LazyLock<MemorySnapshot> = LazyLock::new(|| {
    block_on(async {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        corkboard.agent("eve").unwrap().working().set("key", &1).await.unwrap();
        corkboard.agent("eve").unwrap().snapshot().await.unwrap()
    })
});

/// Needs four times the memory that a server allows.
static SEALED_AT_GREAT_COST: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let cost = PassphraseCost { memory_kib: PassphraseCost::MOST.memory_kib, passes: 1, lanes: 1 };
    sealed(&EMPTY, &Seal::Passphrase(Passphrase::new(PASSPHRASE).cost(cost)))
});

static SEALED: LazyLock<Vec<u8>> = LazyLock::new(|| sealed(&EMPTY, &Seal::Passphrase(Passphrase::new(PASSPHRASE))));

/// 16 MiB in a few KiB.
static INFLATING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut snapshot = MemorySnapshot::clone(&EMPTY);
    snapshot.agent = "x".repeat(16 * MIB);
    sealed(&snapshot, &Seal::Plain)
});
