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
    held: Mutex<Held>,
    /// The newest revision. Whoever follows listens to it, and is counted by it.
    newest: watch::Sender<u64>,
}

struct Held {
    /// The oldest revision held, or the next one if none is; none: it is not known yet where the log ends.
    first: Option<u64>,
    told: VecDeque<Told>,
    bytes: usize,
    end: Option<End>,
}

struct Told {
    at: Instant,
    revision: Revision,
}

/// A revision as it is sent to everybody.
#[derive(Clone)]
pub(super) enum Revision {
    Event(Bytes),
    /// It cannot be told, and why.
    Problem(Bytes),
}

impl Revision {
    fn new(space: &SpaceId, record: Record) -> Self {
        let rev = record.rev;
        match RevisionDocument::new(space, record) {
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
enum End {
    Closed,
    /// Whoever reads for themselves finds out.
    Broken,
}

/// What a tail has of a revision.
pub(super) enum Found {
    Revision(Revision),
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
        let held = Held { first: None, told: VecDeque::new(), bytes: 0, end: None };
        let tail = Arc::new(Self { held: Mutex::new(held), newest: watch::Sender::new(0) });
        let newest = tail.newest.subscribe();
        tails.insert(space.clone(), tail.clone());
        tokio::spawn(tail.clone().run(server.tails().clone(), log));
        Ok((tail, newest))
    }

    /// What there is of a revision.
    pub(super) fn at(&self, rev: u64) -> Found {
        let held = self.held.lock();
        match held.end {
            Some(End::Closed) => return Found::Closed,
            Some(End::Broken) => return Found::Broken,
            None => {}
        }
        let Some(first) = held.first else { return Found::NotBegun };
        let Some(index) = rev.checked_sub(first) else { return Found::Before };
        let told = usize::try_from(index).ok().and_then(|index| held.told.get(index));
        told.map_or(Found::NotYet, |told| Found::Revision(told.revision.clone()))
    }

    async fn run(self: Arc<Self>, tails: Tails, log: SpaceLog) {
        let end = tokio::select! {
            end = self.follow(&log) => end,
            () = self.deserted(&tails, log.id()) => return,
        };
        tails.lock().remove(log.id());
        self.held.lock().end = Some(end);
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

    async fn follow(&self, log: &SpaceLog) -> End {
        let mut from = None;
        loop {
            match self.follow_from(log, from).await {
                // It was too slow itself.
                Error::Lagged { resume_from } => from = Some(resume_from),
                Error::Closed => return End::Closed,
                error => {
                    tracing::debug!(space = %log.id(), %error, "a log is followed no longer");
                    return End::Broken;
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
            self.held.lock().first = Some(watch.rev() + 1);
            self.newest.send_replace(watch.rev());
        }
        loop {
            match watch.next().await {
                Ok(Followed::Record(record)) => self.tell(log.id(), record),
                Ok(Followed::Bookmark { .. }) => self.held.lock().forget(Instant::now()),
                Err(error) => return error,
            }
            tokio::task::consume_budget().await;
        }
    }

    fn tell(&self, space: &SpaceId, record: Record) {
        let (rev, at) = (record.rev, Instant::now());
        let revision = Revision::new(space, record);
        let mut held = self.held.lock();
        held.bytes += revision.size();
        held.told.push_back(Told { at, revision });
        held.forget(at);
        drop(held);
        self.newest.send_replace(rev);
    }
}

impl Held {
    /// Lets go what is too old or too much; the newest only for its age.
    fn forget(&mut self, now: Instant) {
        while let Some(oldest) = self.told.front() {
            let is_old = now.duration_since(oldest.at) >= HELD_FOR;
            let is_too_much = self.told.len() > HELD || self.bytes > HELD_BYTES && self.told.len() > 1;
            if !is_old && !is_too_much {
                break;
            }
            self.bytes -= oldest.revision.size();
            self.told.pop_front();
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
        let mut held = Held { first: Some(7), told: VecDeque::new(), bytes: 0, end: None };
        let push = |held: &mut Held, size: usize, at| {
            held.bytes += size;
            held.told.push_back(Told { at, revision: Revision::Event(Bytes::from(vec![b'x'; size])) });
            held.forget(at);
        };
        for _ in 0..HELD + 10 {
            push(&mut held, 1, now);
        }
        assert_eq!((held.first, held.told.len(), held.bytes), (Some(17), HELD, HELD));
        push(&mut held, 2 * HELD_BYTES, now);
        assert_eq!((held.told.len(), held.bytes), (1, 2 * HELD_BYTES));
        push(&mut held, 5, now + HELD_FOR);
        assert_eq!((held.told.len(), held.bytes), (1, 5));
        held.forget(now + 2 * HELD_FOR);
        assert_eq!((held.first, held.told.len(), held.bytes), (Some(7 + HELD as u64 + 12), 0, 0));
    }
}
