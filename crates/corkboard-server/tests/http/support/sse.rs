//! A reader of server-sent events.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;

use super::{Client, PATIENCE};

/// An open event stream.
pub(crate) struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

/// One event, or a comment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentEvent {
    /// Its name; empty for a comment.
    pub(crate) name: String,
    /// The position to resume after it.
    pub(crate) id: Option<String>,
    /// Its data.
    pub(crate) data: Value,
}

impl SentEvent {
    /// The revision in its data.
    #[track_caller]
    pub(crate) fn rev(&self) -> u64 {
        assert_eq!(self.name, "revision", "{self:?}");
        self.data["rev"].as_u64().expect("a revision")
    }
}

impl Client {
    /// Opens an event stream, starting after an event's ID or as the path says.
    pub(crate) async fn events(&self, path: &str, last_event_id: Option<&str>) -> Events {
        let mut request = self.request(Method::GET, path).header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status();
        let content = response.headers().get(CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!((status.as_u16(), content.as_deref()), (200, Some("text/event-stream")));
        assert_eq!(response.headers().get("content-encoding"), None, "a compressed stream would be delayed");
        Events { response, buffer: Vec::new() }
    }
}

impl Events {
    /// The next event or comment; none when the stream has ended.
    pub(crate) async fn any(&mut self) -> Option<SentEvent> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Some(parse(&String::from_utf8(block).expect("text")));
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("an event in time");
            self.buffer.extend_from_slice(&chunk.expect("the stream should continue or end cleanly")?);
        }
    }

    /// The next event that is not a comment; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<SentEvent> {
        loop {
            let event = self.any().await?;
            if !event.name.is_empty() {
                return Some(event);
            }
        }
    }

    /// The next revision, skipping bookmarks and comments.
    pub(crate) async fn revision(&mut self) -> SentEvent {
        loop {
            let event = self.next().await.expect("the stream should continue");
            if event.name != "bookmark" {
                event.rev();
                return event;
            }
        }
    }

    /// The next `count` revisions, with their spaces.
    pub(crate) async fn revisions(&mut self, count: usize) -> Vec<(String, u64)> {
        let mut revisions = Vec::new();
        while revisions.len() < count {
            let event = self.revision().await;
            revisions.push((event.data["space"].as_str().expect("a space").to_owned(), event.rev()));
        }
        revisions
    }
}

fn parse(block: &str) -> SentEvent {
    let mut event = SentEvent { name: String::new(), id: None, data: Value::Null };
    for line in block.lines() {
        match line.split_once(": ").unwrap_or((line, "")) {
            ("event", name) => event.name = name.into(),
            ("id", id) => event.id = Some(id.into()),
            ("data", data) => event.data = serde_json::from_str(data).expect("JSON"),
            ("" | ":", _) => {}
            (other, _) => panic!("{other:?} in {block:?}"),
        }
    }
    event
}
