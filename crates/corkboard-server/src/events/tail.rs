//! The events of one space, read once for all streams that follow it.
//!
//! The first stream of a space starts its tail, and the tail ends with the last stream. It buffers encoded revisions
//! for a short time. A stream that is behind the buffer reads the log itself until it has caught up.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use corkboard::store::Record;
use corkboard::{Error, Followed, Problem, RevisionDocument, SpaceId, SpaceKind, SpaceLog};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::event;
use crate::Server;

/// Maximum number of buffered revisions: two pages of a log.
const HELD: usize = 1024;
const HELD_BYTES: usize = 2 * 1024 * 1024;
/// How long they are buffered. A client that keeps reading has received them by then.
const HELD_FOR: Duration = Duration::from_secs(15);

/// The tails of all spaces that are followed.
pub(crate) type Tails = Arc<Mutex<HashMap<SpaceId, Arc<Tail>>>>;

/// The newest revisions of a space.
pub(crate) struct Tail {
    buffer: Mutex<RevisionBuffer>,
    /// The newest revision. Streams subscribe to it, and its receivers are counted as followers.
    newest: watch::Sender<u64>,
}

struct RevisionBuffer {
    /// The oldest buffered revision, or the next one if the buffer is empty. None until the log's end is known.
    first: Option<u64>,
    revisions: VecDeque<BufferedRevision>,
    bytes: usize,
    end: Option<TailEnd>,
}

struct BufferedRevision {
    at: Instant,
    revision: EncodedRevision,
}

/// A revision in the form in which it is sent.
#[derive(Clone)]
pub(super) enum EncodedRevision {
    Event(Bytes),
    /// The revision could not be encoded; the problem is sent instead.
    Problem(Bytes),
}

impl EncodedRevision {
    fn new(space: &SpaceId, record: Record) -> Self {
        let rev = record.rev;
        match RevisionDocument::new(space, &record) {
            Ok(revision) => Self::Event(event("revision", Some(&rev), &revision)),
            Err(error) => Self::Problem(event("problem", None, &Problem::from(&error))),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Event(bytes) | Self::Problem(bytes) => bytes.len(),
        }
    }
}

/// Why the tail stopped following its log.
#[derive(Clone, Copy)]
enum TailEnd {
    Closed,
    /// A stream that reads the log itself learns why.
    Broken,
}

pub(super) enum TailLookup {
    Revision(EncodedRevision),
    NotYet,
    /// Not buffered: dropped, or older than the tail.
    Before,
    /// The log's end is not known yet.
    NotBegun,
    /// This tail stopped; a new one may work.
    Broken,
    Closed,
}

impl Tail {
    /// Subscribes to the tail of a space, and starts it if there is none.
    pub(super) fn join(
        server: &Server,
        kind: SpaceKind,
        space: &SpaceId,
    ) -> Result<(Arc<Self>, watch::Receiver<u64>), Error> {
        let mut tails = server.tails().lock();
        if let Some(tail) = tails.get(space) {
            return Ok((tail.clone(), tail.newest.subscribe()));
        }
        let log = server.corkboard().log(kind, space.name())?;
        let buffer = RevisionBuffer { first: None, revisions: VecDeque::new(), bytes: 0, end: None };
        let tail = Arc::new(Self { buffer: Mutex::new(buffer), newest: watch::Sender::new(0) });
        let newest = tail.newest.subscribe();
        tails.insert(space.clone(), tail.clone());
        tokio::spawn(tail.clone().run(server.tails().clone(), log));
        Ok((tail, newest))
    }

    pub(super) fn at(&self, rev: u64) -> TailLookup {
        let buffer = self.buffer.lock();
        match buffer.end {
            Some(TailEnd::Closed) => return TailLookup::Closed,
            Some(TailEnd::Broken) => return TailLookup::Broken,
            None => {}
        }
        let Some(first) = buffer.first else { return TailLookup::NotBegun };
        let Some(index) = rev.checked_sub(first) else { return TailLookup::Before };
        let buffered = usize::try_from(index).ok().and_then(|index| buffer.revisions.get(index));
        buffered.map_or(TailLookup::NotYet, |buffered| TailLookup::Revision(buffered.revision.clone()))
    }

    async fn run(self: Arc<Self>, tails: Tails, log: SpaceLog) {
        let end = tokio::select! {
            end = self.follow(&log) => end,
            () = self.deserted(&tails, log.id()) => return,
        };
        tails.lock().remove(log.id());
        self.buffer.lock().end = Some(end);
        self.newest.send_modify(|_| {});
    }

    /// Completes when the last stream is gone, after removing the tail from `tails`.
    async fn deserted(&self, tails: &Tails, space: &SpaceId) {
        loop {
            self.newest.closed().await;
            // `join` holds the same lock.
            let mut tails = tails.lock();
            if self.newest.receiver_count() == 0 {
                tails.remove(space);
                return;
            }
        }
    }

    async fn follow(&self, log: &SpaceLog) -> TailEnd {
        let mut from = None;
        loop {
            match self.follow_from(log, from).await {
                // The tail itself was too slow.
                Error::Lagged { resume_from } => from = Some(resume_from),
                Error::Closed => return TailEnd::Closed,
                error => {
                    tracing::debug!(space = %log.id(), %error, "stopped following a log");
                    return TailEnd::Broken;
                }
            }
        }
    }

    async fn follow_from(&self, log: &SpaceLog, from: Option<u64>) -> Error {
        let mut watch = match log.watch(from).await {
            Ok(watch) => watch,
            Err(error) => return error,
        };
        if from.is_none() {
            self.buffer.lock().first = Some(watch.rev() + 1);
            self.newest.send_replace(watch.rev());
        }
        loop {
            match watch.next().await {
                Ok(Followed::Record(record)) => self.tell(log.id(), record),
                Ok(Followed::Bookmark { .. }) => self.buffer.lock().forget(Instant::now()),
                Err(error) => return error,
            }
            tokio::task::consume_budget().await;
        }
    }

    fn tell(&self, space: &SpaceId, record: Record) {
        let (rev, at) = (record.rev, Instant::now());
        let revision = EncodedRevision::new(space, record);
        let mut buffer = self.buffer.lock();
        buffer.bytes += revision.size();
        buffer.revisions.push_back(BufferedRevision { at, revision });
        buffer.forget(at);
        drop(buffer);
        self.newest.send_replace(rev);
    }
}

impl RevisionBuffer {
    /// Drops revisions that are too old or too many. The newest is dropped only for its age.
    fn forget(&mut self, now: Instant) {
        while let Some(oldest) = self.revisions.front() {
            let is_old = now.duration_since(oldest.at) >= HELD_FOR;
            let is_too_much = self.revisions.len() > HELD || self.bytes > HELD_BYTES && self.revisions.len() > 1;
            if !is_old && !is_too_much {
                break;
            }
            self.bytes -= oldest.revision.size();
            self.revisions.pop_front();
            self.first = self.first.map(|first| first + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_drops_old_and_excess_revisions_but_keeps_the_newest() {
        let now = Instant::now();
        let mut buffer = RevisionBuffer { first: Some(7), revisions: VecDeque::new(), bytes: 0, end: None };
        let push = |buffer: &mut RevisionBuffer, size: usize, at| {
            buffer.bytes += size;
            buffer
                .revisions
                .push_back(BufferedRevision { at, revision: EncodedRevision::Event(Bytes::from(vec![b'x'; size])) });
            buffer.forget(at);
        };
        for _ in 0..HELD + 10 {
            push(&mut buffer, 1, now);
        }
        assert_eq!((buffer.first, buffer.revisions.len(), buffer.bytes), (Some(17), HELD, HELD));
        push(&mut buffer, 2 * HELD_BYTES, now);
        assert_eq!((buffer.revisions.len(), buffer.bytes), (1, 2 * HELD_BYTES));
        push(&mut buffer, 5, now + HELD_FOR);
        assert_eq!((buffer.revisions.len(), buffer.bytes), (1, 5));
        buffer.forget(now + 2 * HELD_FOR);
        assert_eq!((buffer.first, buffer.revisions.len(), buffer.bytes), (Some(7 + HELD as u64 + 12), 0, 0));
    }
}
