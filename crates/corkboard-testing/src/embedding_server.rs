//! An HTTP server on loopback that speaks the protocol of OpenAI's embeddings, with vectors that depend on the words.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::model_server::read;

/// How the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embeds {
    Well,
    /// Answers this many texts, then nothing more: it keeps the connection open.
    WellUpTo(usize),
    /// Fails with this status.
    Failing(u16),
    /// Vectors of three dimensions.
    Shorter,
    /// null instead of numbers.
    WithoutNumbers,
    Zeros,
    /// One vector less than texts.
    TooFew,
}

/// Texts with this word get a vector of zeros.
const WITHOUT_MEANING: &str = "meaningless";
const DIMENSIONS: usize = 32;
/// Each word means the same as the others in its row.
const SAME: [&[&str]; 3] =
    [&["tyres", "wheels"], &["automobile", "vehicle", "car"], &["secret", "password", "hunter2"]];

pub struct EmbeddingServer {
    port: u16,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

struct State {
    embeds: Embeds,
    texts: Vec<String>,
}

impl EmbeddingServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State { embeds: Embeds::Well, texts: Vec::new() }));
        let accepting = tokio::spawn({
            let state = state.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, state.clone()));
                }
            }
        });
        Self { port, state, accepting }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub fn set(&self, embeds: Embeds) {
        self.state.lock().unwrap().embeds = embeds;
    }

    /// The texts that got a vector, in order.
    pub fn texts(&self) -> Vec<String> {
        self.state.lock().unwrap().texts.clone()
    }
}

impl Drop for EmbeddingServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let Some(request) = read(&mut stream).await else { return };
    assert_eq!(request.line, "POST /v1/embeddings HTTP/1.1");
    let texts: Vec<String> = serde_json::from_value(request.body["input"].clone()).unwrap();
    let answer = {
        let mut state = state.lock().unwrap();
        let hangs = matches!(state.embeds, Embeds::WellUpTo(most) if state.texts.len() + texts.len() > most);
        (!hangs).then(|| answer(&mut state, texts))
    };
    let Some((status, body)) = answer else {
        drop(stream.read(&mut [0; 1]).await);
        return;
    };
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    // A client that gave up does not read the answer.
    let _ = stream.write_all((head + &body).as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn answer(state: &mut State, texts: Vec<String>) -> (u16, Value) {
    if let Embeds::Failing(status) = state.embeds {
        return (status, json!({"error": {"message": "out of order", "type": "test"}}));
    }
    let vector = |text: &String| match state.embeds {
        Embeds::Shorter => json!([1.0, 2.0, 3.0]),
        Embeds::WithoutNumbers => json!(vec![Value::Null; DIMENSIONS]),
        Embeds::Zeros => json!(vec![0.0; DIMENSIONS]),
        _ if text.contains(WITHOUT_MEANING) => json!(vec![0.0; DIMENSIONS]),
        _ => json!(vector(text)),
    };
    let mut data: Vec<Value> =
        (0..).zip(&texts).map(|(index, text): (usize, _)| json!({"index": index, "embedding": vector(text)})).collect();
    if state.embeds == Embeds::TooFew {
        data.pop();
    }
    if matches!(state.embeds, Embeds::Well | Embeds::WellUpTo(_)) {
        state.texts.extend(texts);
    }
    (200, json!({"data": data, "model": "test"}))
}

/// The sum of the words' vectors, which have a 1 in two places.
fn vector(text: &str) -> Vec<f64> {
    let mut sum = vec![0.0; DIMENSIONS];
    for word in text.to_lowercase().split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = SAME.iter().find(|same| same.contains(&word)).map_or(word, |same| same[0]);
        let hash = word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        sum[hash % DIMENSIONS] += 1.0;
        sum[hash / DIMENSIONS % DIMENSIONS] += 1.0;
    }
    sum
}
