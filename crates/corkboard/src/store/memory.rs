//! `memory:`: logs in process memory. The strictest store: it checks input that the others trust.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

use super::{
    Append, Appended, ChangeNotifier, Cursor, Import, ListedSpace, Loaded, Ownership, Page, Record, Rewrite, Snapshot,
    Store, StoreError, StoreFuture, StoreInfo, Trim,
};

/// Keeps logs in memory until it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    ownership: Ownership,
    spaces: Mutex<BTreeMap<SpaceId, Log>>,
    notifier: ChangeNotifier,
}

#[derive(Debug)]
struct Log {
    head: Head,
    born: Head,
    records: Vec<Record>,
    snapshot: Option<Snapshot>,
    next_due: Option<Timestamp>,
    summary: Vec<u8>,
}

impl Log {
    fn new() -> Self {
        let (head, born) = (Head::EMPTY, Head::EMPTY);
        Self { head, born, records: Vec::new(), snapshot: None, next_due: None, summary: Vec::new() }
    }

    fn oldest(&self) -> u64 {
        self.records.first().map_or(self.head.rev + 1, |record| record.rev)
    }
}

impl MemoryStore {
    /// An empty store for one Corkboard.
    pub fn new() -> Self {
        Self { ownership: Ownership::Sole, spaces: Mutex::default(), notifier: ChangeNotifier::default() }
    }

    /// An empty store for several Corkboards in this process.
    pub fn shared() -> Self {
        Self { ownership: Ownership::Shared, ..Self::new() }
    }

    /// Number of subscribers to its spaces.
    pub fn listeners(&self) -> usize {
        self.notifier.subscriber_count()
    }

    fn with<T>(&self, space: &SpaceId, read: impl FnOnce(&Log) -> T) -> T {
        match self.spaces.lock().get(space) {
            Some(log) => read(log),
            None => read(&Log::new()),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for MemoryStore {
    fn info(&self) -> StoreInfo {
        StoreInfo {
            kind: "memory",
            location: "process memory".into(),
            ownership: self.ownership,
            details: vec![("durability", "none: lost when the process ends".into())],
            warnings: vec!["everything is lost when the process ends".into()],
        }
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        if append.summary.len() > Append::SUMMARY_BYTES {
            return ready(Err(StoreError::Unavailable("the summary is too long".into())));
        }
        let first = append.expected.rev + 1;
        if append.records.is_empty()
            || !append.records.iter().map(|record| record.rev).eq(first..first + append.records.len() as u64)
        {
            return ready(Err(StoreError::Unavailable("the records do not follow the expected head".into())));
        }
        let mut spaces = self.spaces.lock();
        let log = spaces.entry(append.space.clone()).or_insert_with(Log::new);
        if log.head != append.expected {
            return ready(Ok(Appended::Conflict { head: log.head }));
        }
        log.head = append.new_head();
        log.records.extend(append.records);
        log.next_due = append.next_due;
        log.summary = append.summary;
        let rev = log.head.rev;
        drop(spaces);
        self.notifier.notify(&append.space, rev);
        ready(Ok(Appended::Committed))
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        ready(Ok(self.with(space, |log| log.head)))
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        let loaded = self.with(space, |log| Loaded { head: log.head, born: log.born, snapshot: log.snapshot.clone() });
        ready(Ok(loaded))
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        ready(self.with(space, |log| {
            let at_cursor = cursor.rev.checked_sub(log.oldest()).and_then(|index| log.records.get(index as usize));
            cursor.check(log.head, log.born, log.oldest(), || Ok(at_cursor.map(|record| record.commit)))?;
            // Revisions have no gaps, so the index of the next one can be computed.
            let next = (cursor.rev + 1 - log.oldest()) as usize;
            Page::fill(log.records.iter().skip(next).take(limit).cloned().map(Ok), log.head)
        }))
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        if let Entry::Occupied(mut log) = self.spaces.lock().entry(space.clone()) {
            let log = log.get_mut();
            let lives = snapshot.head.rev > log.born.rev && snapshot.head.rev <= log.head.rev;
            if lives && log.snapshot.as_ref().is_none_or(|old| old.head.rev < snapshot.head.rev) {
                log.snapshot = Some(snapshot);
            }
        }
        ready(Ok(()))
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        let mut spaces = self.spaces.lock();
        let Some(log) = spaces.get_mut(space) else { return ready(Ok(1)) };
        // The last record stays: it is the head.
        let last = log.head.rev.saturating_sub(1);
        let covered = log.snapshot.as_ref().map_or(0, |snapshot| snapshot.head.rev).min(trim.up_to).min(last);
        let goes = |record: &Record| record.rev <= covered && trim.older_than.is_none_or(|time| record.at < time);
        let going = log.records.iter().take_while(|record| goes(record)).count();
        log.records.drain(..going);
        ready(Ok(log.oldest()))
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        let spaces = self.spaces.lock();
        let listed = spaces
            .iter()
            .filter(|(space, log)| space.kind() == Some(kind) && log.head != log.born)
            .filter(|(space, _)| after.is_none_or(|after| *space > after))
            .take(limit);
        ready(Ok(listed
            .map(|(space, log)| ListedSpace {
                space: space.clone(),
                head: log.head,
                next_due: log.next_due,
                summary: log.summary.clone(),
            })
            .collect()))
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        let spaces = self.spaces.lock();
        let mut due: Vec<_> = spaces
            .iter()
            .filter(|(space, _)| space.kind() == Some(kind))
            .filter_map(|(space, log)| log.next_due.filter(|at| *at <= now).map(|at| (at, space.clone())))
            .collect();
        due.sort();
        ready(Ok(due.into_iter().take(limit).map(|(_, space)| space).collect()))
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        let mut spaces = self.spaces.lock();
        let log = spaces.entry(space.clone()).or_insert_with(Log::new);
        if log.head != expected {
            return ready(Ok(Appended::Conflict { head: log.head }));
        }
        let head = Head { rev: expected.rev + 1, commit: tombstone };
        *log = Log { head, born: head, ..Log::new() };
        drop(spaces);
        self.notifier.notify(space, head.rev);
        ready(Ok(Appended::Committed))
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        let mut spaces = self.spaces.lock();
        let log = spaces.entry(import.space.clone()).or_insert_with(Log::new);
        if log.head != Head::EMPTY {
            return ready(Ok(Appended::Conflict { head: log.head }));
        }
        let head = import.head();
        let Import { space, born, snapshot, records, next_due, summary } = import;
        *log = Log { head, born, records, snapshot, next_due, summary };
        drop(spaces);
        self.notifier.notify(&space, head.rev);
        ready(Ok(Appended::Committed))
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        let mut spaces = self.spaces.lock();
        let log = spaces.entry(rewrite.space).or_insert_with(Log::new);
        if log.head != rewrite.expected {
            return ready(Ok(Appended::Conflict { head: log.head }));
        }
        let oldest = log.oldest();
        for record in rewrite.records {
            let held = record.rev.checked_sub(oldest).and_then(|index| log.records.get_mut(index as usize));
            if let Some(held) = held {
                held.body = record.body;
            }
        }
        if rewrite.snapshot.is_some() {
            log.snapshot = rewrite.snapshot;
        }
        ready(Ok(Appended::Committed))
    }

    fn scrub(&self) -> StoreFuture<'_, ()> {
        ready(Ok(()))
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        self.notifier.subscribe(space)
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        self.notifier.subscribe_all()
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        ready(Ok(Vec::new()))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        ready(Ok(()))
    }
}
