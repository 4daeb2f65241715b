//! The event stream of all spaces that a token grants.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use corkboard::{Error, RevisionDocument, SpaceId};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::hub::{Hub, HubEvent, HubEventBody, HubLookup};
use super::resume::{CatchUp, MissedEvent};
use super::{EventSource, StreamEvent, compacted, event, written};
use crate::Server;
use crate::caller::Caller;

/// A commit can arrive this long after its own timestamp: the longest append, plus the delay of its notification, plus
/// the clock difference between servers on one machine or network.
const SLACK: SignedDuration = SignedDuration::from_secs(60);

/// A stream's position in the events of all spaces. It is exact as long as the same hub runs and still buffers the next
/// event. Any other hub resumes from the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    instance: u64,
    /// The place of what comes next.
    next: u64,
    at: Timestamp,
}

impl fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}", self.instance, self.next, self.at.as_millisecond())
    }
}

impl FromStr for StreamPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '-');
        let mut part = || parts.next().ok_or(());
        let instance = u64::from_str_radix(part()?, 16).map_err(|_| ())?;
        let next = part()?.parse().map_err(|_| ())?;
        let at = part()?.parse().ok().and_then(|at| Timestamp::from_millisecond(at).ok()).ok_or(())?;
        Ok(Self { instance, next, at })
    }
}

/// The stream of a caller.
pub(crate) struct AllSpacesStream {
    caller: Caller,
    hub: Arc<Hub>,
    news: watch::Receiver<u64>,
    /// The place of what comes next.
    next: u64,
    at: Timestamp,
    resuming: Option<Resuming>,
    /// The revisions sent while catching up, so that the hub's copy is not sent again.
    told: HashMap<SpaceId, u64>,
    bookmark_interval: Duration,
    told_at: Instant,
}

/// State while the stream catches up. A client that disconnects meanwhile resumes from the original position.
struct Resuming {
    from: StreamPosition,
    began: Timestamp,
    catch_up: CatchUp,
}

impl AllSpacesStream {
    /// Starts at a position, or with the next event.
    pub(crate) async fn begin(server: &Server, caller: Caller, from: Option<StreamPosition>) -> Result<Self, Error> {
        let (hub, news) = Hub::join(server).await?;
        let (next, at) = (hub.next(), server.corkboard().time());
        let bookmark_interval = server.corkboard().options().bookmark_interval;
        let (resuming, told, told_at) = (None, HashMap::new(), Instant::now());
        let mut all = Self { caller, hub, news, next, at, resuming, told, bookmark_interval, told_at };
        match from {
            Some(from) if from.instance == all.hub.instance && all.hub.holds(from.next) => all.next = from.next,
            Some(from) => all.resume(from, from.at),
            None => {}
        }
        Ok(all)
    }

    /// Catches up on events since that time before new ones are sent.
    fn resume(&mut self, from: StreamPosition, since: Timestamp) {
        self.next = self.hub.next();
        let since = since.saturating_sub(SLACK).unwrap_or(Timestamp::MIN);
        let (began, catch_up) = (self.caller.corkboard().time(), CatchUp::new(since));
        self.resuming = Some(Resuming { from, began, catch_up });
    }

    fn position(&self) -> StreamPosition {
        StreamPosition { instance: self.hub.instance, next: self.next, at: self.at }
    }

    /// The next missed event; none when the stream has caught up.
    async fn catch_up(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            let Resuming { from, began, catch_up } = self.resuming.as_mut()?;
            let caught = match catch_up.next(&self.hub, &self.caller).await {
                Ok(caught) => caught,
                Err(error) => return Some(Err(error)),
            };
            let is_told = |space: &SpaceId, rev: u64| self.told.get(space).is_some_and(|told| *told >= rev);
            match caught {
                Some(MissedEvent::Record(space, record)) if is_told(&space, record.rev) => {}
                Some(MissedEvent::Record(space, record)) => {
                    let (from, rev) = (*from, record.rev);
                    self.told.insert(space.clone(), rev);
                    let revision = RevisionDocument::new(&space, &record);
                    return Some(
                        revision.map(|revision| StreamEvent::Event(event("revision", Some(&from), &revision))),
                    );
                }
                Some(MissedEvent::Compacted(space, oldest)) => {
                    return Some(Ok(StreamEvent::Event(compacted(&space, &*from, oldest))));
                }
                None if self.hub.holds(self.next) => {
                    self.at = *began;
                    self.resuming = None;
                    return Some(Ok(self.bookmark()));
                }
                // Catching up took so long that the hub dropped newer events: catch up on those.
                None => {
                    let (from, began) = (*from, *began);
                    self.resume(from, began);
                }
            }
        }
    }

    fn show(&self, event: &HubEvent) -> Option<Bytes> {
        if !self.caller.sees(event.kind, event.space.name()) {
            return None;
        }
        match &event.body {
            HubEventBody::Revision { rev, .. } if self.told.get(&event.space).is_some_and(|told| told >= rev) => None,
            HubEventBody::Revision { json, .. } => Some(written("revision", Some(&self.position()), json)),
            HubEventBody::Compacted { oldest } => Some(compacted(&event.space, &self.position(), *oldest)),
        }
    }
}

impl EventSource for AllSpacesStream {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            match self.catch_up().await {
                Some(Ok(step)) => return Some(step),
                Some(Err(Error::Closed)) => return None,
                Some(Err(error)) => return Some(StreamEvent::problem(&error)),
                None => {}
            }
            self.news.borrow_and_update();
            match self.hub.at(self.next) {
                HubLookup::Event(told) => {
                    (self.next, self.at) = (self.next + 1, told.at);
                    if let Some(event) = self.show(&told) {
                        self.told_at = Instant::now();
                        return Some(StreamEvent::Event(event));
                    }
                }
                HubLookup::NotYet => {
                    tokio::select! {
                        changed = self.news.changed() => changed.ok()?,
                        () = tokio::time::sleep_until(self.told_at + self.bookmark_interval) => {
                            return Some(self.bookmark());
                        }
                    }
                }
                HubLookup::Gone => {
                    let position = self.position();
                    let data = json!({ "resume_from": position.to_string() });
                    return Some(StreamEvent::Last(event("lagged", Some(&position), &data)));
                }
            }
        }
    }

    fn bookmark(&mut self) -> StreamEvent {
        self.told_at = Instant::now();
        let position = self.resuming.as_ref().map_or_else(|| self.position(), |resuming| resuming.from);
        StreamEvent::Event(event("bookmark", Some(&position), &json!({})))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back() {
        let at = Timestamp::from_millisecond(1_763_000_000_123).unwrap();
        let position = StreamPosition { instance: 0xfeed, next: 42, at };
        assert_eq!(position.to_string(), "000000000000feed-42-1763000000123");
        assert_eq!(position.to_string().parse(), Ok(position));
        for wrong in ["", "7", "x-1-2", "1-2", "1-2-", "1--2", "1-2-99999999999999999999", "-1-2-3"] {
            assert_eq!(wrong.parse::<StreamPosition>(), Err(()), "{wrong}");
        }
    }
}
