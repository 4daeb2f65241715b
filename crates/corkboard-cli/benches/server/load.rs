//! A cheap client that repeats one request on many connections.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::process::TOKEN;

/// The bytes of a request.
#[derive(Clone)]
pub(crate) struct Request(Vec<u8>);

impl Request {
    /// With the admin token.
    pub(crate) fn new(method: &str, path: &str, body: &str) -> Self {
        Self::by(TOKEN, method, path, body)
    }

    /// With this token.
    pub(crate) fn by(token: &str, method: &str, path: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        Self(text.into_bytes())
    }
}

/// Requests per second over this many connections. One thread serves all of them: with a thread each, waking the
/// threads would cost more than the server's answers.
pub(crate) fn rate(address: &str, connections: usize, length: Duration, request: impl Fn(usize) -> Request) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = Instant::now();
    let answered: u64 = runtime.block_on(async {
        let asker = |connection| ask_until(address.to_owned(), request(connection), started + length);
        let askers: tokio::task::JoinSet<u64> = (0..connections).map(asker).collect();
        askers.join_all().await.into_iter().sum()
    });
    answered as f64 / started.elapsed().as_secs_f64()
}

/// Repeats a request on one connection until `end` and returns the number of answers.
async fn ask_until(address: String, Request(bytes): Request, end: Instant) -> u64 {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut answer, mut answered) = (Vec::with_capacity(4096), 0);
    while Instant::now() < end {
        stream.write_all(&bytes).await.unwrap();
        answer.clear();
        while !is_whole(&answer) {
            assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "the server closed the connection");
        }
        assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&answer));
        answered += 1;
    }
    answered
}

/// Whether the answer has arrived with its whole body.
fn is_whole(answer: &[u8]) -> bool {
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let Some(head) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let length = answer[..head].windows(LENGTH.len()).position(|bytes| bytes == LENGTH).unwrap() + LENGTH.len();
    let digits = answer[length..].iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    answer.len() >= head + 4 + length
}

/// Sends one request on a new connection.
pub(crate) fn once(address: &str, request: &Request) -> (u16, String) {
    Connection::new(address).ask(request)
}

/// An open event stream, if the server has such a route.
pub(crate) fn subscribed(address: &str, path: &str) -> Option<TcpStream> {
    let mut connection = Connection::new(address);
    let Request(bytes) = Request::new("GET", path, "");
    let text = String::from_utf8(bytes).unwrap().replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n");
    connection.stream.get_mut().write_all(text.as_bytes()).unwrap();
    let (status, _) = connection.head();
    (status == 200).then(|| connection.stream.into_inner())
}

struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
}

impl Connection {
    fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), line: String::new() }
    }

    fn ask(&mut self, request: &Request) -> (u16, String) {
        self.stream.get_mut().write_all(&request.0).unwrap();
        let (status, length) = self.head();
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    /// The status and the length of the body.
    fn head(&mut self) -> (u16, usize) {
        let (mut status, mut length) = (0, 0);
        loop {
            self.line.clear();
            self.stream.read_line(&mut self.line).unwrap();
            match self.line.trim_end() {
                "" => return (status, length),
                line if status == 0 => status = line.split(' ').nth(1).unwrap().parse().unwrap(),
                line => {
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.parse().unwrap();
                    }
                }
            }
        }
    }
}
