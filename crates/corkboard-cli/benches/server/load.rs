//! A client that costs little: threads with a connection each, on which they ask again and again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::process::TOKEN;

/// A request as it goes over the wire.
#[derive(Clone)]
pub(crate) struct Request(Vec<u8>);

impl Request {
    /// By whoever may do everything.
    pub(crate) fn new(method: &str, path: &str, body: &str) -> Self {
        Self::by(TOKEN, method, path, body)
    }

    /// By whoever has this token.
    pub(crate) fn by(token: &str, method: &str, path: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        Self(text.into_bytes())
    }
}

/// Requests in a second, by so many connections.
pub(crate) fn rate(
    address: &str,
    connections: usize,
    length: Duration,
    request: impl Fn(usize) -> Request + Sync,
) -> f64 {
    let started = Instant::now();
    let answered: u64 = std::thread::scope(|scope| {
        let askers = (0..connections).map(|connection| {
            let request = request(connection);
            scope.spawn(move || {
                let mut connection = Connection::new(address);
                let mut answered = 0;
                while started.elapsed() < length {
                    let (status, _) = connection.ask(&request);
                    assert_eq!(status, 200);
                    answered += 1;
                }
                answered
            })
        });
        let askers: Vec<_> = askers.collect();
        askers.into_iter().map(|asker| asker.join().unwrap()).sum()
    });
    answered as f64 / started.elapsed().as_secs_f64()
}

/// One request on a connection of its own.
pub(crate) fn once(address: &str, request: &Request) -> (u16, String) {
    Connection::new(address).ask(request)
}

/// A stream of events that has begun, if the server has such a route.
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
