//! Writes all waiting appends together: one statement, one transaction and one fsync for a batch.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corkboard_core::{Head, SpaceId};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::error::PostgresCallError;
use super::notifier::Notifier;
use super::pool::{Effect, Pool};
use super::queries::Query;
use super::reader::{Result, at, optional_head_at, stored};
use crate::backoff::jitter;
use crate::store::{Append, Appended, ChangeNotifier, Record, StoreError};

/// Maximum number of appends in one transaction: enough to share an fsync, few enough to answer soon.
const BATCH: usize = 512;
/// A batch ends with the append that reaches this size.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of batches in progress: while one waits for the disk, the next is sent.
const BATCHES: usize = 2;
/// Delay between attempts of a batch that collided with another process.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) struct Writer {
    pool: Arc<Pool>,
    changes: Arc<ChangeNotifier>,
    notifier: Arc<Notifier>,
    queue: Mutex<Queue>,
    ended: Notify,
    commits: AtomicU64,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<QueuedAppend>,
    writing: usize,
    is_closed: bool,
}

struct QueuedAppend {
    append: Append,
    done: oneshot::Sender<Result<Appended>>,
}

impl Writer {
    pub(super) fn new(pool: Arc<Pool>, changes: Arc<ChangeNotifier>, notifier: Arc<Notifier>) -> Self {
        let (queue, ended) = (Mutex::default(), Notify::new());
        Self { pool, changes, notifier, queue, ended, commits: AtomicU64::new(0) }
    }

    /// Number of committed transactions; each cost at most one fsync.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Appends together with all other waiting appends. Completes even if the caller stops waiting.
    pub(super) async fn append(self: &Arc<Self>, append: Append) -> Result<Appended> {
        let (done, answer) = oneshot::channel();
        {
            let mut queue = self.queue.lock();
            if queue.is_closed {
                return Err(StoreError::Closed);
            }
            queue.jobs.push_back(QueuedAppend { append, done });
            if queue.writing < BATCHES {
                queue.writing += 1;
                tokio::spawn(run(Writing { writer: self.clone(), is_counted: true }));
            }
        }
        let gone = |_| StoreError::OutcomeUnknown("the writing task ended before it answered".into());
        answer.await.map_err(gone)?
    }

    /// Refuses new appends, and waits until all others are answered.
    pub(super) async fn close(&self) {
        self.queue.lock().is_closed = true;
        loop {
            let ended = self.ended.notified();
            {
                let queue = self.queue.lock();
                if queue.writing == 0 && queue.jobs.is_empty() {
                    return;
                }
            }
            ended.await;
        }
    }

    /// Notifies subscribers in this and other processes of a commit.
    pub(super) fn wake(&self, space: &SpaceId, rev: u64) {
        self.changes.notify(space, rev);
        self.notifier.notify(&self.pool, space, rev);
    }

    async fn write(&self, batch: Vec<QueuedAppend>) {
        let appends: Vec<&Append> = batch.iter().map(|job| &job.append).collect();
        let answers = match self.try_write(&appends).await {
            Ok(answers) => answers,
            // One append of the batch was refused, and with it all others: write each by itself.
            Err(PostgresCallError::Refused { .. }) if appends.len() > 1 => {
                let mut answers = Vec::with_capacity(appends.len());
                for append in &appends {
                    let alone = self.try_write(std::slice::from_ref(append)).await.map_err(PostgresCallError::writing);
                    answers.extend(alone.unwrap_or_else(|error| vec![Err(error)]));
                }
                answers
            }
            Err(error) => vec![Err(error.writing()); appends.len()],
        };
        for (job, answer) in batch.into_iter().zip(answers) {
            if answer == Ok(Appended::Committed) {
                self.wake(&job.append.space, job.append.new_head().rev);
            }
            let _ = job.done.send(answer);
        }
    }

    /// Writes a batch, and retries on collisions. The server rolls these back, so nothing is written twice.
    async fn try_write(&self, appends: &[&Append]) -> std::result::Result<Vec<Result<Appended>>, PostgresCallError> {
        let batch = AppendColumns::new(appends);
        let started = Instant::now();
        loop {
            match batch.send(&self.pool).await {
                Err(error) if error.is_collision() && started.elapsed() < self.pool.patience() => {
                    tokio::time::sleep(jitter(PAUSE, fastrand::f64())).await;
                }
                Ok(answers) => {
                    self.commits.fetch_add(1, Ordering::Relaxed);
                    return Ok(answers);
                }
                failed => return failed,
            }
        }
    }
}

/// A writing task. If it ends for any reason, the next caller starts another.
struct Writing {
    writer: Arc<Writer>,
    is_counted: bool,
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.is_counted {
            self.writer.queue.lock().writing -= 1;
        }
        self.writer.ended.notify_waiters();
    }
}

async fn run(mut writing: Writing) {
    while let Some(batch) = writing.next_batch() {
        writing.writer.write(batch).await;
    }
}

impl Writing {
    /// Takes the next batch from the queue: one append per space, in the order of arrival. `None`: the queue is empty,
    /// and this task no longer counts as writing.
    fn next_batch(&mut self) -> Option<Vec<QueuedAppend>> {
        let mut queue = self.writer.queue.lock();
        if queue.jobs.is_empty() {
            queue.writing -= 1;
            self.is_counted = false;
            return None;
        }
        let (mut batch, mut later) = (Vec::new(), VecDeque::new());
        let (mut spaces, mut bytes) = (HashSet::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(job) = queue.jobs.pop_front() else { break };
            if spaces.insert(job.append.space.clone()) {
                bytes += job.append.records.iter().map(|record| record.body.len()).sum::<usize>();
                batch.push(job);
            } else {
                later.push_back(job);
            }
        }
        later.append(&mut queue.jobs);
        queue.jobs = later;
        Some(batch)
    }
}

/// Appends as columns, for the parameters of the statement.
#[derive(Default)]
struct AppendColumns<'a> {
    names: Vec<&'a str>,
    expected: HeadColumns,
    new: HeadColumns,
    dues: Vec<Option<i64>>,
    summaries: Vec<&'a [u8]>,
    places: Vec<i32>,
    events: EventColumns<'a>,
}

#[derive(Default)]
struct HeadColumns {
    revs: Vec<i64>,
    commits: Vec<uuid::Uuid>,
}

impl HeadColumns {
    fn push(&mut self, head: Head) {
        self.revs.push(stored(head.rev));
        self.commits.push(head.commit.0);
    }
}

/// Records as columns, a row per part.
#[derive(Default)]
pub(super) struct EventColumns<'a> {
    pub(super) revs: Vec<i64>,
    pub(super) parts: Vec<i32>,
    pub(super) commits: Vec<uuid::Uuid>,
    pub(super) times: Vec<i64>,
    pub(super) bodies: Vec<&'a [u8]>,
}

impl<'a> EventColumns<'a> {
    /// Adds a record. Returns its number of rows.
    pub(super) fn push(&mut self, record: &'a Record) -> usize {
        let before = self.revs.len();
        for (part, body) in (0..).zip(record.parts()) {
            self.revs.push(stored(record.rev));
            self.parts.push(part);
            self.commits.push(record.commit.0);
            self.times.push(record.at.as_millisecond());
            self.bodies.push(body);
        }
        self.revs.len() - before
    }
}

impl<'a> AppendColumns<'a> {
    fn new(appends: &[&'a Append]) -> Self {
        let mut batch = Self::default();
        for (place, append) in (1..).zip(appends) {
            batch.names.push(append.space.as_str());
            batch.expected.push(append.expected);
            batch.new.push(append.new_head());
            batch.dues.push(append.next_due.map(|at| at.as_millisecond()));
            batch.summaries.push(&append.summary);
            for record in &append.records {
                let rows = batch.events.push(record);
                batch.places.extend(std::iter::repeat_n(place, rows));
            }
        }
        batch
    }

    async fn send(&self, pool: &Pool) -> std::result::Result<Vec<Result<Appended>>, PostgresCallError> {
        let Self { names, expected, new, dues, summaries, places, events } = self;
        let EventColumns { revs, parts, commits, times, bodies } = events;
        let rows = pool
            .query(
                Query::Append,
                &[
                    names,
                    &expected.revs,
                    &expected.commits,
                    &new.revs,
                    &new.commits,
                    dues,
                    summaries,
                    places,
                    revs,
                    parts,
                    commits,
                    times,
                    bodies,
                ],
                Effect::Writes,
            )
            .await?;
        let mut answers = vec![Ok(Appended::Committed); names.len()];
        for row in rows {
            let conflict = || {
                let head = optional_head_at(&row, 1)?.unwrap_or(Head::EMPTY);
                Ok((at::<i32>(&row, 0)?, Appended::Conflict { head }))
            };
            let (place, conflict) =
                conflict().map_err(|error: StoreError| PostgresCallError::Lost(error.to_string()))?;
            let place = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
            if let Some(answer) = place.and_then(|place| answers.get_mut(place)) {
                *answer = Ok(conflict);
            }
        }
        Ok(answers)
    }
}
