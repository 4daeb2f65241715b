//! An append whose first records are written while later ones are still being created: one thread decides, the other
//! writes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use corkboard_core::{Head, SpaceId};
use parking_lot::Mutex;
use rusqlite::Transaction;
use tokio::sync::oneshot;

use super::appender::LogAppender;
use super::jobs::{KnownRows, OwnSqliteJob, SqliteJob, Statements, finish_append};
use super::writer::WriterState;
use crate::store::writer_thread::{WriteJob, WriteOutcome, WriterThread, appended};
use crate::store::{Append, Appended, Appending, Record, StoreError, StoreFuture};

/// How long to spin for the next records before the thread blocks.
const PATIENCE: Duration = Duration::from_micros(20);

pub(super) enum StreamPart {
    Records(Vec<Record>),
    Last(Append),
}

/// A streamed append as the writer thread sees it. Received records are kept, because the transaction may have to be
/// repeated.
pub(super) struct Stream {
    space: SpaceId,
    expected: Head,
    parts: Receiver<StreamPart>,
    /// Kept in the received vectors. Taking them apart would free memory of another thread, which then waits for the
    /// allocator.
    records: Vec<Vec<Record>>,
    ending: StreamEnd,
}

enum StreamEnd {
    Open,
    Last(Append),
    /// The caller dropped the append.
    Withdrawn,
}

/// Begins a streamed append. `None`: the writer is closed or stopped; [`Store::append`](crate::store::Store::append)
/// returns the error.
pub(super) fn begin(
    writer: &WriterThread<OwnSqliteJob>,
    state: &Arc<WriterState>,
    space: SpaceId,
    expected: Head,
) -> Option<Box<dyn Appending>> {
    let (sender, parts) = channel();
    let stream = Stream { space, expected, parts, records: Vec::new(), ending: StreamEnd::Open };
    let outcome = writer.send(WriteJob::Own(OwnSqliteJob::Stream(stream))).ok()?;
    Some(Box::new(StreamedAppend { parts: sender, outcome, state: state.clone() }))
}

struct StreamedAppend {
    parts: Sender<StreamPart>,
    outcome: oneshot::Receiver<Result<WriteOutcome, StoreError>>,
    state: Arc<WriterState>,
}

impl Appending for StreamedAppend {
    fn add(&mut self, records: Vec<Record>) {
        // If the writer thread no longer receives, it has already answered.
        let _ = self.parts.send(StreamPart::Records(records));
    }

    fn finish(self: Box<Self>, last: Append) -> StoreFuture<'static, Appended> {
        let _ = self.parts.send(StreamPart::Last(last));
        self.state.spent.let_go();
        Box::pin(appended(self.outcome))
    }
}

impl Stream {
    pub(super) fn space(&self) -> &SpaceId {
        &self.space
    }

    pub(super) fn last_rev(&self) -> u64 {
        match &self.ending {
            StreamEnd::Last(last) => last.new_head().rev,
            StreamEnd::Open | StreamEnd::Withdrawn => self.expected.rev,
        }
    }

    fn bytes(&self) -> usize {
        let last = match &self.ending {
            StreamEnd::Last(last) => last.records.as_slice(),
            StreamEnd::Open | StreamEnd::Withdrawn => &[],
        };
        self.records.iter().flatten().chain(last).map(|record| record.body.len()).sum()
    }

    fn receive(&mut self) {
        let began = Instant::now();
        let part = loop {
            match self.parts.try_recv() {
                Err(TryRecvError::Empty) if began.elapsed() < PATIENCE => std::thread::yield_now(),
                Err(TryRecvError::Empty) => break self.parts.recv().ok(),
                received => break received.ok(),
            }
        };
        match part {
            Some(StreamPart::Records(records)) => self.records.push(records),
            Some(StreamPart::Last(last)) => self.ending = StreamEnd::Last(last),
            None => self.ending = StreamEnd::Withdrawn,
        }
    }
}

/// Answered appends. The caller that sends the next append drops them while that is being written. Dropping them in the
/// writer thread would delay the callers that were just answered.
#[derive(Default)]
pub(super) struct SpentStreams(Mutex<Vec<Stream>>);

impl SpentStreams {
    /// Larger appends are not kept.
    const BYTES: usize = 1024 * 1024;

    pub(super) fn keep(&self, jobs: Vec<SqliteJob>) {
        let streams = jobs.into_iter().filter_map(|job| match job {
            WriteJob::Own(OwnSqliteJob::Stream(stream)) if stream.bytes() <= Self::BYTES => Some(stream),
            _ => None,
        });
        let streams = streams.collect();
        drop(std::mem::replace(&mut *self.0.lock(), streams));
    }

    pub(super) fn let_go(&self) {
        let spent = std::mem::take(&mut *self.0.lock());
        drop(spent);
    }
}

/// Writes the records as they arrive. `None`: the append was withdrawn after records were written.
pub(super) fn perform_stream(
    transaction: &Transaction<'_>,
    statements: &mut Statements<'_>,
    known: &mut KnownRows,
    stream: &mut Stream,
) -> Result<Option<WriteOutcome>, StoreError> {
    if matches!(stream.ending, StreamEnd::Withdrawn) {
        // No caller waits for an answer.
        return Ok(Some(WriteOutcome::Done));
    }
    let row = match known.row(transaction, &stream.space, stream.expected)? {
        Ok(row) => row,
        Err(head) => return Ok(Some(WriteOutcome::Appended(Appended::Conflict { head }))),
    };
    let mut appender = LogAppender::after(&row);
    let mut written = 0;
    loop {
        for records in stream.records.iter().skip(written) {
            appender.add(transaction, statements, &stream.space, records, None)?;
        }
        written = stream.records.len();
        match &stream.ending {
            StreamEnd::Open => stream.receive(),
            StreamEnd::Withdrawn => return Ok(None),
            StreamEnd::Last(last) => {
                finish_append(transaction, statements, known, (row, appender), last)?;
                return Ok(Some(WriteOutcome::Appended(Appended::Committed)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use corkboard_core::CommitId;
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::store::{Cursor, Ownership, SqliteStore, Store};

    async fn store(folder: &tempfile::TempDir) -> SqliteStore {
        SqliteStore::open(folder.path().join("a.db"), Ownership::Shared, Duration::from_secs(5)).await.unwrap()
    }

    fn record(rev: u64) -> Record {
        let body = format!("body {rev}").into_bytes();
        Record { rev, commit: CommitId(Uuid::from_u128(u128::from(rev))), at: Timestamp::UNIX_EPOCH, body }
    }

    fn append(space: &SpaceId, expected: Head, records: Vec<Record>) -> Append {
        Append { space: space.clone(), expected, records, next_due: None, summary: b"{}".to_vec() }
    }

    fn begin(store: &SqliteStore, space: &SpaceId, expected: Head) -> Box<dyn Appending> {
        store.begin_append(space, expected).unwrap()
    }

    async fn revs(store: &SqliteStore, space: &SpaceId) -> Vec<u64> {
        let page = store.read_after(space, Cursor { rev: 0, commit: None }, 1000).await.unwrap();
        assert!(page.records.iter().all(|read| *read == record(read.rev)), "each record is unchanged");
        page.records.iter().map(|record| record.rev).collect()
    }

    #[tokio::test]
    async fn records_added_in_steps_are_one_append() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        let space = SpaceId::from_stored("agent/a");
        let mut expected = Head::EMPTY;
        for first in [1, 301] {
            let mut opened = begin(&store, &space, expected);
            (first..first + 299).for_each(|rev| opened.add(vec![record(rev)]));
            let last = append(&space, expected, vec![record(first + 299)]);
            expected = last.new_head();
            assert_eq!(opened.finish(last).await, Ok(Appended::Committed));
            assert_eq!(store.head(&space).await, Ok(expected));
        }
        assert_eq!(store.commits(), 2);
        assert_eq!(revs(&store, &space).await, (1..=600).collect::<Vec<_>>());
        assert_eq!(store.check().await, Ok(vec![]));
    }

    #[tokio::test]
    async fn an_append_dropped_unfinished_writes_nothing_and_others_proceed() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        let (dropped, other) = (SpaceId::from_stored("agent/dropped"), SpaceId::from_stored("agent/other"));
        let mut opened = begin(&store, &dropped, Head::EMPTY);
        opened.add(vec![record(1), record(2)]);
        let waiting = store.append(append(&other, Head::EMPTY, vec![record(1)]));
        let (written, ()) = tokio::join!(waiting, async {
            tokio::task::yield_now().await;
            drop(opened);
        });
        assert_eq!(written, Ok(Appended::Committed));
        assert_eq!(store.head(&dropped).await, Ok(Head::EMPTY));
        let again = append(&dropped, Head::EMPTY, vec![record(1)]);
        assert_eq!(store.append(again).await, Ok(Appended::Committed));
        assert_eq!((revs(&store, &dropped).await, revs(&store, &other).await), (vec![1], vec![1]));
        assert_eq!(store.check().await, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_changed_log_is_a_conflict_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        let space = SpaceId::from_stored("agent/a");
        let first = append(&space, Head::EMPTY, vec![record(1)]);
        let head = first.new_head();
        store.append(first).await.unwrap();
        let mut opened = begin(&store, &space, Head::EMPTY);
        opened.add(vec![record(1)]);
        let last = append(&space, Head::EMPTY, vec![record(2)]);
        assert_eq!(opened.finish(last).await, Ok(Appended::Conflict { head }));
        assert_eq!(revs(&store, &space).await, [1]);
    }

    #[tokio::test]
    async fn a_closed_store_begins_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        store.close().await.unwrap();
        assert!(store.begin_append(&SpaceId::from_stored("agent/a"), Head::EMPTY).is_none());
    }
}
