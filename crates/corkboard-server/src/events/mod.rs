//! Streams of server-sent events. They send heartbeats while idle, and end with the server or the token.

mod all_spaces_stream;
mod event_types;
mod hub;
mod resume;
mod space_stream;
mod stream_status;
mod tail;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use corkboard::{Error, Problem};
use metrics::gauge;
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::Server;
use crate::budget::Budget;
use crate::caller::Caller;
use crate::metrics::EVENT_STREAMS;

pub(crate) use all_spaces_stream::{AllSpacesStream, StreamPosition};
pub(crate) use event_types::{EventTypes, FilteredStream};
pub(crate) use hub::SharedHub;
pub(crate) use space_stream::SpaceStream;
pub(crate) use stream_status::{StreamStatus, StreamStatuses};
pub(crate) use tail::Tails;

/// Asks proxies not to buffer the stream.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Events up to this size are not charged to the budget: the buffers of a connection are as large anyway.
const UNCHARGED: usize = 4 * 1024;

/// The heartbeat: a comment in the event stream.
const BEAT: Bytes = Bytes::from_static(b": beat\n\n");

pub(crate) trait EventSource: Send + 'static {
    /// The next event; none at the end. The future is cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<StreamEvent>> + Send;

    /// An event that reports how far the source was read.
    fn bookmark(&mut self) -> StreamEvent;
}

pub(crate) enum StreamEvent {
    Event(Bytes),
    /// The last event: the stream ends after it.
    Last(Bytes),
}

impl StreamEvent {
    /// Reports an error as the stream's last event.
    fn problem(error: &Error) -> Self {
        Self::Last(event("problem", None, &Problem::from(error)))
    }
}

/// Encodes an event. `id` is the position to resume from.
fn event(name: &str, id: Option<&dyn std::fmt::Display>, data: &impl Serialize) -> Bytes {
    // All data sent here can be serialized.
    let data = serde_json::to_string(data).unwrap_or_else(|_| "{}".into());
    written(name, id, &data)
}

/// Encodes an event whose data is already JSON.
fn written(name: &str, id: Option<&dyn std::fmt::Display>, data: &str) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    // A line break would end the data. JSON allows a space in its place, and has no line breaks inside strings.
    let data = data.replace(['\n', '\r'], " ");
    Bytes::from(format!("{id}event: {name}\ndata: {data}\n\n"))
}

/// The response that streams a source.
pub(crate) fn stream(server: &Server, caller: &Caller, source: impl EventSource) -> Response {
    let every = server.settings().heartbeat;
    let mut beats = interval_at(Instant::now() + every, every);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (status, is_over, _open) = (StreamStatus::of(server, caller), false, OpenStream::new(server));
    let (budget, actor) = (server.budget().clone(), caller.actor());
    let principal: Arc<str> = actor.via.as_ref().unwrap_or(&actor.principal).as_str().into();
    let caller = caller.clone();
    let stream = EventStream { source, beats, caller, status, is_over, budget, principal, _open };
    let events = futures_util::stream::unfold(stream, |mut stream| async {
        let event = stream.next().await?;
        let event = stream.charged(event).await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache"), (BUFFERING, "no")];
    (headers, Body::from_stream(events)).into_response()
}

/// A stream with a reader. It fetches the next event only after the last one was passed to the connection, so a slow
/// reader holds no memory besides the source's.
struct EventStream<S> {
    source: S,
    beats: Interval,
    caller: Caller,
    status: watch::Receiver<StreamStatus>,
    is_over: bool,
    budget: Budget,
    /// The principal charged for events until they are sent.
    principal: Arc<str>,
    _open: OpenStream,
}

impl<S: EventSource> EventStream<S> {
    /// Charges the event to the budget until it is sent. If the budget is full, the stream ends, and the reader resumes
    /// later.
    async fn charged(&mut self, event: Bytes) -> Option<Bytes> {
        if event.len() <= UNCHARGED {
            return Some(event);
        }
        let mut charge = self.budget.charge(&self.principal);
        charge.grow(event.len()).await.ok()?;
        Some(charge.own(event))
    }

    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let step = tokio::select! {
            biased;
            status = closed(&mut self.status) => match status {
                StreamStatus::TokenEnded => StreamEvent::problem(&Error::TokenEnded),
                StreamStatus::Open | StreamStatus::ServerEnding => return None,
            },
            _ = self.beats.tick() => StreamEvent::Event(BEAT),
            step = self.source.next() => step?,
        };
        // The notification of a revocation may not have arrived here yet.
        let step = match self.caller.corkboard().check_token_in_memory() {
            Ok(()) => step,
            Err(ended) => StreamEvent::problem(&ended),
        };
        match step {
            StreamEvent::Event(event) => Some(event),
            StreamEvent::Last(event) => {
                self.is_over = true;
                Some(event)
            }
        }
    }
}

/// Waits until the stream must close.
async fn closed(status: &mut watch::Receiver<StreamStatus>) -> StreamStatus {
    status.wait_for(|status| *status != StreamStatus::Open).await.map_or(StreamStatus::ServerEnding, |status| *status)
}

/// Waits until the server shuts down or is dropped.
async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|is_ending| *is_ending).await;
}

/// Counts an open stream.
struct OpenStream(Arc<AtomicUsize>);

impl OpenStream {
    fn new(server: &Server) -> Self {
        gauge!(EVENT_STREAMS).increment(1.0);
        server.streams().fetch_add(1, Ordering::Relaxed);
        Self(server.streams().clone())
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        gauge!(EVENT_STREAMS).decrement(1.0);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An event that says that older revisions were deleted, with the oldest one left.
fn compacted(space: &corkboard::SpaceId, id: &dyn std::fmt::Display, oldest: u64) -> Bytes {
    event("compacted", Some(id), &json!({ "space": space.to_string(), "oldest": oldest }))
}
