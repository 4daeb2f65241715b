//! The event stream of one space.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::StoreError;
use corkboard::{Error, Followed, LogWatch, RevisionDocument, SpaceKind, SpaceLog};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::tail::{EncodedRevision, Tail, TailLookup};
use super::{EventSource, StreamEvent, compacted, event};
use crate::Server;

/// A stream of one space. The position to resume from is the revision.
pub(crate) struct SpaceStream {
    server: Server,
    kind: SpaceKind,
    log: SpaceLog,
    /// The last revision sent.
    rev: u64,
    /// The buffer shared by all streams of the space.
    tail: Option<(Arc<Tail>, watch::Receiver<u64>)>,
    /// Reads revisions that the tail no longer buffers.
    own: Option<LogWatch>,
    /// Whether the stream has caught up once.
    is_live: bool,
    /// The oldest revision left, to be reported first.
    compacted: Option<u64>,
    told_at: Instant,
}

impl SpaceStream {
    /// Starts after a revision: 0 means from the beginning, none means with the next revision.
    pub(crate) async fn begin(
        server: &Server,
        kind: SpaceKind,
        log: SpaceLog,
        from_rev: Option<u64>,
    ) -> Result<Self, Error> {
        let (server, told_at) = (server.clone(), Instant::now());
        let (rev, tail, own, compacted) = (0, None, None, None);
        let mut one = Self { server, kind, log, rev, tail, own, is_live: false, compacted, told_at };
        // Refuse an invalid revision now.
        one.read_from(from_rev).await?;
        Ok(one)
    }

    /// Starts its own watch, at the oldest revision left if those wanted were deleted.
    async fn read_from(&mut self, mut from_rev: Option<u64>) -> Result<(), Error> {
        loop {
            match self.log.watch(from_rev).await {
                Err(Error::Store(StoreError::Compacted { oldest })) => {
                    self.pass_over(oldest);
                    from_rev = Some(self.rev);
                }
                watch => {
                    let watch = watch?;
                    self.rev = watch.rev();
                    self.own = Some(watch);
                    return Ok(());
                }
            }
        }
    }

    fn pass_over(&mut self, oldest: u64) {
        self.own = None;
        self.rev = oldest.saturating_sub(1);
        self.compacted = Some(oldest);
    }

    /// The next event from its own watch; none if there is something else to send first.
    async fn read(&mut self) -> Result<Option<StreamEvent>, Error> {
        let Some(own) = &mut self.own else {
            self.read_from(Some(self.rev)).await?;
            return Ok(None);
        };
        match own.next().await {
            Ok(Followed::Record(record)) => {
                let rev = record.rev;
                let revision = RevisionDocument::new(self.log.id(), &record)?;
                (self.rev, self.told_at) = (rev, Instant::now());
                Ok(Some(StreamEvent::Event(event("revision", Some(&rev), &revision))))
            }
            Ok(Followed::Bookmark { .. }) => Ok(Some(self.bookmark())),
            Err(Error::Store(StoreError::Compacted { oldest })) => {
                self.pass_over(oldest);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn bookmark_interval(&self) -> Duration {
        self.server.corkboard().options().bookmark_interval
    }

    async fn step(&mut self) -> Result<Option<StreamEvent>, Error> {
        if let Some(oldest) = self.compacted.take() {
            return Ok(Some(StreamEvent::Event(compacted(self.log.id(), &oldest.saturating_sub(1), oldest))));
        }
        let bookmark_at = self.told_at + self.bookmark_interval();
        let (tail, news) = match &mut self.tail {
            Some(joined) => joined,
            none => none.insert(Tail::join(&self.server, self.kind, self.log.id())?),
        };
        let newest = *news.borrow_and_update();
        if self.is_live && newest.saturating_sub(self.rev) > self.server.corkboard().options().max_watch_lag {
            return Err(Error::Lagged { resume_from: self.rev });
        }
        let found = tail.at(self.rev + 1);
        match found {
            TailLookup::Revision(revision) => {
                self.own = None;
                (self.rev, self.told_at) = (self.rev + 1, Instant::now());
                return Ok(Some(match revision {
                    EncodedRevision::Event(event) => StreamEvent::Event(event),
                    EncodedRevision::Problem(problem) => StreamEvent::Last(problem),
                }));
            }
            TailLookup::Before => return self.read().await,
            TailLookup::Broken => {
                self.tail = None;
                self.read_from(Some(self.rev)).await?;
                return Ok(None);
            }
            TailLookup::Closed => return Err(Error::Closed),
            TailLookup::NotBegun => {}
            TailLookup::NotYet => {
                self.own = None;
                self.is_live = true;
            }
        }
        tokio::select! {
            // `self.tail` holds the sender, so this does not fail.
            _ = news.changed() => Ok(None),
            () = tokio::time::sleep_until(bookmark_at) => Ok(Some(self.bookmark())),
        }
    }
}

impl EventSource for SpaceStream {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            return match self.step().await {
                Ok(Some(step)) => Some(step),
                Ok(None) => continue,
                Err(Error::Lagged { resume_from }) => {
                    let data = json!({ "resume_from": resume_from });
                    Some(StreamEvent::Last(event("lagged", Some(&resume_from), &data)))
                }
                Err(Error::Closed) => None,
                Err(error) => Some(StreamEvent::problem(&error)),
            };
        }
    }

    fn bookmark(&mut self) -> StreamEvent {
        self.told_at = Instant::now();
        StreamEvent::Event(event("bookmark", Some(&self.rev), &json!({ "rev": self.rev })))
    }
}
