//! What happens in one space, read once for everybody who follows it.
//!
//! Whoever comes first has a space's log followed, and with the last who goes that ends. What is read is held for a moment, as
//! it is sent; whoever is behind what is held reads for themselves until they are not.

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

/// What is held at most: two pages of a log.
const HELD: usize = 1024;
const HELD_BYTES: usize = 2 * 1024 * 1024;
/// And for how long. Whoever takes what they are sent has it by then.
const HELD_FOR: Duration = Duration::from_secs(15);

/// Where a server keeps the tails of the spaces that are followed.
pub(crate) type Tails = Arc<Mutex<HashMap<SpaceId, Arc<Tail>>>>;

/// The newest revisions of a space.
pub(crate) struct Tail {
    buffer: Mutex<RevisionBuffer>,
    /// The newest revision. Whoever follows listens to it, and is counted by it.
    newest: watch::Sender<u64>,
}

struct RevisionBuffer {
    /// The oldest revision held, or the next one if none is; none: it is not known yet where the log ends.
    first: Option<u64>,
    revisions: VecDeque<BufferedRevision>,
    bytes: usize,
    end: Option<TailEnd>,
}

struct BufferedRevision {
    at: Instant,
    revision: EncodedRevision,
}

/// A revision as it is sent to everybody.
#[derive(Clone)]
pub(super) enum EncodedRevision {
    Event(Bytes),
    /// It cannot be told, and why.
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

/// Why a log is followed no longer.
#[derive(Clone, Copy)]
enum TailEnd {
    Closed,
    /// Whoever reads for themselves finds out.
    Broken,
}

pub(super) enum TailLookup {
    Revision(EncodedRevision),
    NotYet,
    /// It is not held any more, or never was.
    Before,
    /// It is not known yet where the log ends.
    NotBegun,
    /// The log is followed no longer; another tail may be.
    Broken,
    Closed,
}

impl Tail {
    /// The tail of a space, and word of what comes. It is begun if there is none.
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

    /// Done when nobody follows any more, and nobody will.
    async fn deserted(&self, tails: &Tails, space: &SpaceId) {
        loop {
            self.newest.closed().await;
            // Whoever joins does so while they hold the tails.
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
                // It was too slow itself.
                Error::Lagged { resume_from } => from = Some(resume_from),
                Error::Closed => return TailEnd::Closed,
                error => {
                    tracing::debug!(space = %log.id(), %error, "a log is followed no longer");
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
    /// Lets go what is too old or too much; the newest only for its age.
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
    fn what_is_old_or_too_much_is_let_go_and_the_newest_stays() {
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
