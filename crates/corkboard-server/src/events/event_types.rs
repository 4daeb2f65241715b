//! Filters streams and pages by event type.

use std::borrow::Cow;

use axum::body::Bytes;
use corkboard::{Error, RevisionDocument, SpaceKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Duration, Instant, sleep_until};

use super::{EventSource, StreamEvent};
use crate::error::HttpError;
use crate::openapi;

/// The event types that a reader asked for; none means all.
#[derive(Debug, Default)]
pub(crate) struct EventTypes(Option<Vec<String>>);

#[derive(Deserialize)]
struct TypedEvent<'a> {
    #[serde(rename = "type", borrow)]
    name: Cow<'a, str>,
}

impl EventTypes {
    /// Parses `type=task_started,task_completed`. Refuses a type that spaces of these kinds do not have.
    pub(crate) fn parse(given: Option<&str>, kinds: &[SpaceKind]) -> Result<Self, HttpError> {
        let Some(given) = given else { return Ok(Self::default()) };
        let names: Vec<String> = given.split(',').map(|name| name.trim().to_owned()).collect();
        let known: Vec<&str> = kinds.iter().flat_map(|kind| openapi::event_types(*kind)).map(String::as_str).collect();
        match names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => {
                let detail = format!("unknown event type {unknown:?}: must be one of {}", known.join(", "));
                Err(HttpError::invalid("event_type", detail))
            }
            None => Ok(Self(Some(names))),
        }
    }

    /// Reduces a revision to the selected events; none if it has none of them.
    pub(crate) fn select(&self, mut revision: RevisionDocument) -> Result<Option<RevisionDocument>, Error> {
        let Some(names) = &self.0 else { return Ok(Some(revision)) };
        let damaged = |error: serde_json::Error| Error::Damaged {
            space: revision.space.clone(),
            message: format!("revision {}: {error}", revision.rev),
        };
        let events: Vec<&RawValue> = serde_json::from_str(revision.events.get()).map_err(damaged)?;
        let mut selected = Vec::new();
        for event in events {
            let TypedEvent { name } = serde_json::from_str(event.get()).map_err(damaged)?;
            if names.iter().any(|asked| *asked == *name) {
                selected.push(event);
            }
        }
        if selected.is_empty() {
            return Ok(None);
        }
        revision.events = serde_json::value::to_raw_value(&selected).map_err(damaged)?;
        Ok(Some(revision))
    }

    /// Filters an encoded event. Events other than `revision` pass unchanged.
    fn select_sent(&self, sent: Bytes) -> Result<Option<Bytes>, Error> {
        let text = std::str::from_utf8(&sent).unwrap_or_default();
        let Some((head, data)) = text.split_once("event: revision\ndata: ").filter(|_| self.0.is_some()) else {
            return Ok(Some(sent));
        };
        let damaged = |error: serde_json::Error| Error::Damaged { space: "log".into(), message: error.to_string() };
        let revision: RevisionDocument = serde_json::from_str(data).map_err(damaged)?;
        let Some(revision) = self.select(revision)? else { return Ok(None) };
        let data = serde_json::to_string(&revision).map_err(damaged)?;
        Ok(Some(Bytes::from(format!("{head}event: revision\ndata: {data}\n\n"))))
    }
}

/// A source filtered by event type. Bookmarks report how far it was read, so that a resumed stream does not start
/// before the revisions that were left out.
pub(crate) struct FilteredStream<S> {
    source: S,
    types: EventTypes,
    bookmark_interval: Duration,
    /// When to send a bookmark; none if the reader's position is current.
    bookmark_at: Option<Instant>,
}

impl<S: EventSource> FilteredStream<S> {
    pub(crate) fn new(source: S, types: EventTypes, bookmark_interval: Duration) -> Self {
        Self { source, types, bookmark_interval, bookmark_at: None }
    }
}

impl<S: EventSource> EventSource for FilteredStream<S> {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            let bookmark_at = self.bookmark_at;
            let due = async {
                match bookmark_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let step = tokio::select! {
                step = self.source.next() => step?,
                () = due => self.source.bookmark(),
            };
            let StreamEvent::Event(sent) = step else { return Some(step) };
            match self.types.select_sent(sent) {
                Ok(Some(sent)) => {
                    self.bookmark_at = None;
                    return Some(StreamEvent::Event(sent));
                }
                Ok(None) => _ = self.bookmark_at.get_or_insert_with(|| Instant::now() + self.bookmark_interval),
                Err(error) => return Some(StreamEvent::problem(&error)),
            }
        }
    }

    fn bookmark(&mut self) -> StreamEvent {
        self.source.bookmark()
    }
}
