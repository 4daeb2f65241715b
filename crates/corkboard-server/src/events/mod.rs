//! Streams of server-sent events: they beat while nothing happens, and end with the server and with their token.

mod all;
mod hub;
mod one;
mod resume;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::HeaderName;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use corkboard::{Error, Problem};
use metrics::gauge;
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::Server;
use crate::caller::Caller;

pub(crate) use all::{AllSpaces, Position};
pub(crate) use hub::HubPlace;
pub(crate) use one::OneSpace;

/// Proxies that collect an answer before they pass it on are asked not to.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Where events come from.
pub(crate) trait Source: Send + 'static {
    /// What comes next; none: nothing more. Dropping the future loses nothing.
    fn next(&mut self) -> impl Future<Output = Option<Step>> + Send;
}

/// What comes next in a stream.
pub(crate) enum Step {
    /// An event.
    Event(Event),
    /// An event, and nothing after it.
    Last(Event),
}

impl Step {
    /// Something is wrong: it is said, and the stream ends.
    fn problem(error: &Error) -> Self {
        Self::Last(event("problem", None, &Problem::from(error)))
    }
}

/// An event with its name, the place to resume from, and what it says.
fn event(name: &str, id: Option<&dyn std::fmt::Display>, data: &impl Serialize) -> Event {
    // What cannot be written as JSON is not among what is sent.
    let data = serde_json::to_string(data).unwrap_or_else(|_| "{}".into());
    let event = Event::default().event(name).data(data);
    match id {
        Some(id) => event.id(id.to_string()),
        None => event,
    }
}

/// The answer to whoever wants to follow a source.
pub(crate) fn stream(server: &Server, caller: Caller, source: impl Source) -> Response {
    let every = server.settings().heartbeat;
    let mut beats = interval_at(Instant::now() + every, every);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stream = Stream { source, caller, beats, ending: server.ending(), is_over: false, _open: Open::new(server) };
    let events = futures_util::stream::unfold(stream, |mut stream| async {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    ([(BUFFERING, "no")], Sse::new(events)).into_response()
}

/// A stream that somebody reads. It is asked for the next event only when the last one is on its way, so whoever reads slowly
/// holds nothing but what the source holds.
struct Stream<S> {
    source: S,
    caller: Caller,
    beats: Interval,
    ending: watch::Receiver<bool>,
    is_over: bool,
    _open: Open,
}

impl<S: Source> Stream<S> {
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        tokio::select! {
            biased;
            () = ended(&mut self.ending) => None,
            _ = self.beats.tick() => {
                if self.caller.is_let_in().await {
                    return Some(Event::default().comment("beat"));
                }
                self.is_over = true;
                let revoked = Problem::new("unauthenticated", corkboard::ErrorKind::Denied, "the token is revoked or expired");
                Some(event("problem", None, &revoked.with_status(401)))
            }
            step = self.source.next() => match step? {
                Step::Event(event) => Some(event),
                Step::Last(event) => {
                    self.is_over = true;
                    Some(event)
                }
            }
        }
    }
}

/// Waits until streams are to end, or the server is gone.
async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|is_ending| *is_ending).await;
}

/// Counts a stream for as long as it is there.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(server: &Server) -> Self {
        gauge!("http.event_streams").increment(1.0);
        server.streams().fetch_add(1, Ordering::Relaxed);
        Self(server.streams().clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        gauge!("http.event_streams").decrement(1.0);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// That revisions are held no longer, and which is the oldest that is.
fn compacted(space: &corkboard::SpaceId, id: &dyn std::fmt::Display, oldest: u64) -> Event {
    event("compacted", Some(id), &json!({ "space": space.to_string(), "oldest": oldest }))
}
