//! A balancer between `cork` and its server that sometimes replaces the server's answers with its own. Every command
//! here goes through it to a server that the test starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::killable_server::KillableServer;
use crate::support::{CORK, Ran, Sandbox, run};

/// The answer of a balancer after its timeout.
const GATEWAY_TIMEOUT: &str = "HTTP/1.1 504 Gateway Timeout\r\ncontent-type: text/html\r\ncontent-length: 24\r\n\
                               connection: close\r\n\r\n<h1>Gateway Timeout</h1>";
/// An answer with half of its body missing.
const HALF_AN_ANSWER: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{\"reply\":";

/// What happens to a write once the server has answered it.
#[derive(Clone, Copy)]
enum Way {
    Through,
    Instead(&'static str),
    /// Like `Instead`, and no later request is answered.
    InsteadAndGone(&'static str),
}

struct Balancer {
    url: String,
    /// Number of writes passed on.
    passed: Arc<AtomicUsize>,
}

impl Balancer {
    /// Starts in front of a server. The first write is treated as `first` says; everything else passes through.
    fn start(served: &KillableServer, first: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (passed, address) = (Arc::new(AtomicUsize::new(0)), served.address().to_owned());
        let counter = passed.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let Some((writes, request)) = read_request(&client) else { continue };
                let mut server = TcpStream::connect(&address).unwrap();
                server.write_all(&request).unwrap();
                let mut answer = Vec::new();
                server.read_to_end(&mut answer).unwrap();
                let way = if writes && counter.fetch_add(1, Ordering::SeqCst) == 0 { first } else { Way::Through };
                let said = match way {
                    Way::Through => &answer,
                    Way::Instead(said) | Way::InsteadAndGone(said) => said.as_bytes(),
                };
                if let Way::InsteadAndGone(_) = way {
                    drop(listener);
                    client.write_all(said).unwrap();
                    return;
                }
                client.write_all(said).unwrap();
            }
        });
        Self { url, passed }
    }

    fn cork(&self, sandbox: &Sandbox, served: &KillableServer, arguments: &[&str]) -> Ran {
        let mut command = sandbox.command(CORK);
        command.env("CORK_URL", &self.url).env("CORK_TOKEN", &served.secret).args(arguments);
        run(command, b"")
    }
}

/// Reads a request from a connection that ends with it. Returns whether it writes, and its bytes.
fn read_request(client: &TcpStream) -> Option<(bool, Vec<u8>)> {
    let mut reader = BufReader::new(client);
    let (mut head, mut length) = (String::new(), 0);
    while reader.read_line(&mut head).unwrap() > 2 {
        let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
        length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
    }
    let (first, rest) = head.split_once("\r\n")?;
    let mut request = format!("{first}\r\nconnection: close\r\n{rest}").into_bytes();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request.extend(body);
    Some((first.starts_with("POST"), request))
}

const APPEND: [&str; 5] = ["memory", "append", "log", "once", "--line"];

/// The log, read directly from the server.
fn log(sandbox: &Sandbox, served: &KillableServer) -> String {
    let mut command = sandbox.command(CORK);
    command.env("CORK_URL", &served.url).env("CORK_TOKEN", &served.secret).args(["memory", "get", "log"]);
    run(command, b"").stdout
}

#[test]
fn a_write_with_an_invalid_answer_is_not_sent_again_and_has_an_unknown_outcome() {
    for said in [GATEWAY_TIMEOUT, HALF_AN_ANSWER] {
        let sandbox = Sandbox::local();
        let served = KillableServer::start(&sandbox.store(), "127.0.0.1:0");
        let balancer = Balancer::start(&served, Way::Instead(said));
        let ran = balancer.cork(&sandbox, &served, &APPEND);
        assert_eq!(balancer.passed.load(Ordering::SeqCst), 1, "{ran:?}");
        assert_eq!(log(&sandbox, &served), "once\n");
        assert_eq!(ran.code, 8, "{ran:?}");
        assert!(ran.stderr.contains("hint: it may have been written; check before you retry"), "{ran:?}");
    }
}

#[test]
fn a_write_with_a_key_is_retried_until_its_answer_is_valid_and_happens_once() {
    for said in [GATEWAY_TIMEOUT, HALF_AN_ANSWER] {
        let sandbox = Sandbox::local();
        let served = KillableServer::start(&sandbox.store(), "127.0.0.1:0");
        let balancer = Balancer::start(&served, Way::Instead(said));
        let ran = balancer.cork(&sandbox, &served, &[&APPEND[..], &["--idempotency-key", "k"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(balancer.passed.load(Ordering::SeqCst), 2);
        assert_eq!(log(&sandbox, &served), "once\n");
    }
}

/// The last attempt did not reach the server, but the first one did.
#[test]
fn an_unknown_outcome_stays_unknown_after_a_later_attempt_fails() {
    let sandbox = Sandbox::local();
    let served = KillableServer::start(&sandbox.store(), "127.0.0.1:0");
    let balancer = Balancer::start(&served, Way::InsteadAndGone(GATEWAY_TIMEOUT));
    let ran = balancer.cork(&sandbox, &served, &[&APPEND[..], &["--idempotency-key", "k"]].concat());
    assert_eq!(log(&sandbox, &served), "once\n");
    assert_eq!(ran.code, 8, "{ran:?}");
    assert!(!ran.stderr.contains("nothing was written"), "{ran:?}");
}
