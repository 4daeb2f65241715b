//! Finds what happened since a time in all spaces that a caller sees. Times within a space never decrease, so each log
//! is searched by bisection.

use std::collections::VecDeque;

use corkboard::store::{Cursor, ListedSpace, Record, StoreError};
use corkboard::{Error, SpaceId, SpaceLog};
use jiff::Timestamp;

use super::hub::{Hub, KINDS, PAGE};
use crate::caller::Caller;

/// Iterates over all spaces, and over each log from a time on. It holds one page of spaces and one page of a log.
pub(super) struct CatchUp {
    since: Timestamp,
    /// Index of the current kind, and the last name of its previous page.
    kind: usize,
    after: Option<String>,
    listed: VecDeque<ListedSpace>,
    reading: Option<SpaceReading>,
    records: VecDeque<Record>,
}

struct SpaceReading {
    log: SpaceLog,
    rev: u64,
    head: u64,
    /// The oldest revision left, to be reported first.
    compacted: Option<u64>,
}

pub(super) enum MissedEvent {
    Record(SpaceId, Record),
    /// Older revisions were deleted; this is the oldest one left.
    Compacted(SpaceId, u64),
}

impl CatchUp {
    pub(super) fn new(since: Timestamp) -> Self {
        let (listed, records) = Default::default();
        Self { since, kind: 0, after: None, listed, reading: None, records }
    }

    /// The next missed event; none at the end. The future is cancel-safe.
    pub(super) async fn next(&mut self, hub: &Hub, caller: &Caller) -> Result<Option<MissedEvent>, Error> {
        loop {
            if let Some(reading) = &mut self.reading {
                let space = reading.log.id();
                if let Some(oldest) = reading.compacted.take() {
                    return Ok(Some(MissedEvent::Compacted(space.clone(), oldest)));
                }
                if let Some(record) = self.records.pop_front() {
                    return Ok(Some(MissedEvent::Record(space.clone(), record)));
                }
                if reading.rev >= reading.head {
                    self.reading = None;
                    continue;
                }
                match reading.log.after(Cursor { rev: reading.rev, commit: None }, PAGE).await {
                    Ok(page) => {
                        // An empty page: the rest was deleted.
                        reading.rev = page.records.last().map_or(u64::MAX, |last| last.rev);
                        self.records = page.records.into();
                    }
                    Err(Error::Store(StoreError::Compacted { oldest })) => {
                        reading.rev = oldest.saturating_sub(1);
                        reading.compacted = Some(oldest);
                    }
                    Err(error) => return Err(error),
                }
            } else if let Some(listed) = self.listed.front() {
                self.reading = begin(hub, caller, listed, self.since).await?;
                self.listed.pop_front();
            } else {
                let Some(kind) = KINDS.get(self.kind) else { return Ok(None) };
                let listed = caller.corkboard().logs(*kind, self.after.as_deref(), PAGE).await?;
                match listed.last() {
                    Some(last) => self.after = Some(last.space.name().to_owned()),
                    None => (self.kind, self.after) = (self.kind + 1, None),
                }
                self.listed = listed.into();
            }
        }
    }
}

/// Finds where to start reading a space, if the caller sees it and it changed since then.
async fn begin(
    hub: &Hub,
    caller: &Caller,
    listed: &ListedSpace,
    since: Timestamp,
) -> Result<Option<SpaceReading>, Error> {
    let ListedSpace { space, head, .. } = listed;
    let Some(kind) = space.kind().filter(|kind| caller.sees(*kind, space.name())) else { return Ok(None) };
    let known = hub.times.lock().get(space).copied().filter(|(rev, _)| *rev >= head.rev);
    if known.is_some_and(|(_, at)| at < since) {
        return Ok(None);
    }
    let _turn = hub.looking.acquire().await.map_err(|_| Error::Closed)?;
    let log = caller.corkboard().log(kind, space.name())?;
    let RevisionTime::Held(at) = time_of(&log, head.rev).await? else {
        // The space was changed or deleted meanwhile. Reading it will tell.
        return Ok(Some(SpaceReading { log, rev: head.rev.saturating_sub(1), head: head.rev, compacted: None }));
    };
    hub.times.lock().insert(space.clone(), (head.rev, at));
    if at < since {
        return Ok(None);
    }
    // Invariant: everything up to `before` is older than `since`, and `found` is not.
    let (mut before, mut found, mut compacted) = (0, head.rev, None);
    while before + 1 < found {
        let middle = before + (found - before) / 2;
        match time_of(&log, middle).await? {
            RevisionTime::Held(at) if at >= since => found = middle,
            RevisionTime::Held(_) => before = middle,
            RevisionTime::Gone { oldest } => {
                before = oldest.saturating_sub(1).max(middle);
                found = found.max(before + 1);
                compacted = Some(oldest);
            }
        }
    }
    // Revisions are missing only if the first one wanted is also the oldest one left.
    let compacted = compacted.filter(|oldest| *oldest == found);
    Ok(Some(SpaceReading { log, rev: found - 1, head: head.rev, compacted }))
}

/// When a revision was decided.
enum RevisionTime {
    Held(Timestamp),
    Gone { oldest: u64 },
}

async fn time_of(log: &SpaceLog, rev: u64) -> Result<RevisionTime, Error> {
    match log.after(Cursor { rev: rev.saturating_sub(1), commit: None }, 1).await {
        Ok(page) => Ok(page
            .records
            .first()
            .map_or(RevisionTime::Gone { oldest: rev + 1 }, |record| RevisionTime::Held(record.at))),
        Err(Error::Store(StoreError::Compacted { oldest })) => Ok(RevisionTime::Gone { oldest }),
        Err(error) => Err(error),
    }
}
