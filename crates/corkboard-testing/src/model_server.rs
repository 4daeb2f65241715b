//! An HTTP/1.1 server on loopback that answers each request with the next reply of its script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The server's reaction to a request.
#[derive(Debug, Clone)]
pub struct ModelReply {
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Debug, Clone)]
enum Then {
    Close,
    /// Sends nothing more and keeps the connection open.
    Hang,
    /// Repeats these bytes.
    Repeat(Vec<u8>),
}

/// A received request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub line: String,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub at: Instant,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The text of the last message.
    pub fn last_message(&self) -> &str {
        self.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
    }
}

pub struct ModelServer {
    port: u16,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    accepting: JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server that answers with the script, and repeats its last reply at the end.
    pub async fn start(script: Vec<ModelReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(VecDeque::from(script)));
        let accepting = tokio::spawn({
            let seen = seen.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, script.clone(), seen.clone()));
                }
            }
        });
        Self { port, seen, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Arc<Mutex<VecDeque<ModelReply>>>,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
) {
    let Some(request) = read(&mut stream).await else { return };
    seen.lock().unwrap().push(request);
    let reply = {
        let mut script = script.lock().unwrap();
        if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
    };
    let Some(reply) = reply else { return };
    if stream.write_all(&reply.bytes).await.is_err() {
        return;
    }
    match reply.then {
        Then::Close => drop(stream.shutdown().await),
        Then::Hang => drop(stream.read(&mut [0; 1]).await),
        Then::Repeat(bytes) => while stream.write_all(&bytes).await.is_ok() {},
    }
}

pub(crate) async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines().map(str::to_owned);
    let line = lines.next().unwrap();
    let header = |line: String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: Vec<_> = lines.filter_map(header).collect();
    let length: usize =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or(Value::Null);
    Some(ReceivedRequest { line, headers, body, at: Instant::now() })
}

/// An answer with this status and body.
pub fn status(line: &str, headers: &[&str], body: &str) -> ModelReply {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let bytes = format!("HTTP/1.1 {line}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    ModelReply { bytes: bytes.into_bytes(), then: Then::Close }
}

/// A successful answer whose body is shorter than announced.
pub fn short(body: &Value) -> ModelReply {
    let ModelReply { mut bytes, then } = whole(body);
    bytes.truncate(bytes.len() - 5);
    ModelReply { bytes, then }
}

/// A successful answer with a JSON body.
pub fn whole(body: &Value) -> ModelReply {
    status("200 OK", &["Content-Type: application/json"], &body.to_string())
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n";

/// A stream of events, each in a separate chunk.
pub fn stream(events: &[String]) -> ModelReply {
    let chunks: String = events.iter().map(|event| chunk(event)).collect();
    ModelReply {
        bytes: format!("{STREAM}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n").into_bytes(),
        then: Then::Close,
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The first events of a stream whose connection ends in the middle.
pub fn cut(events: &[String]) -> ModelReply {
    let chunks: String = events.iter().map(|event| chunk(event)).collect();
    ModelReply { bytes: format!("{STREAM}Transfer-Encoding: chunked\r\n\r\n{chunks}").into_bytes(), then: Then::Close }
}

/// The first events of a stream that ends as if it were complete.
pub fn ended(events: &[String]) -> ModelReply {
    ModelReply { bytes: format!("{STREAM}\r\n{}", events.concat()).into_bytes(), then: Then::Close }
}

/// The first events of a stream that then stalls forever.
pub fn stuck(events: &[String]) -> ModelReply {
    ModelReply { then: Then::Hang, ..ended(events) }
}

/// No answer, and the connection stays open.
pub fn silent() -> ModelReply {
    ModelReply { bytes: Vec::new(), then: Then::Hang }
}

/// A stream that repeats one event forever.
pub fn endless(event: &str) -> ModelReply {
    ModelReply { bytes: format!("{STREAM}\r\n").into_bytes(), then: Then::Repeat(event.repeat(100).into_bytes()) }
}

/// A text as a stream of the chat completions API.
pub fn chat_events(text: &str) -> Vec<String> {
    let data = |value: Value| format!("data: {value}\n\n");
    let mut events = vec![data(json!({"choices": [{"delta": {"role": "assistant", "content": ""}}]}))];
    events.extend(pieces(text).map(|piece| data(json!({"choices": [{"delta": {"content": piece}}]}))));
    events.push(data(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})));
    events.push(data(json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}})));
    events.push("data: [DONE]\n\n".into());
    events
}

/// A text as a stream of the messages API.
pub fn message_events(text: &str) -> Vec<String> {
    let event = |name: &str, mut value: Value| {
        value["type"] = json!(name);
        format!("event: {name}\ndata: {value}\n\n")
    };
    let usage = json!({"input_tokens": 8, "cache_read_input_tokens": 3, "output_tokens": 1});
    let mut events = vec![
        event("message_start", json!({"message": {"usage": usage}})),
        event("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}})),
        event("ping", json!({})),
    ];
    let delta = |piece: String| json!({"index": 0, "delta": {"type": "text_delta", "text": piece}});
    events.extend(pieces(text).map(|piece| event("content_block_delta", delta(piece))));
    events.push(event("content_block_stop", json!({"index": 0})));
    events.push(event("message_delta", json!({"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}})));
    events.push(event("message_stop", json!({})));
    events
}

/// A text in small parts, so that lines and words are split anywhere.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(7).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// A complete stream of the chat completions API.
pub fn says(text: &str) -> ModelReply {
    stream(&chat_events(text))
}
