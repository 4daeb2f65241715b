//! The one thread that writes. What waits together is committed together: one fsync for a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use corkboard_core::{CommitId, Head, SpaceId};
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::reader::{SpaceRow, oldest, space_row};
use super::schema::{error, retry};
use crate::store::{Append, Appended, Snapshot, StoreError, Trim, Wakes};

type Result<T> = std::result::Result<T, StoreError>;

/// The most jobs in one transaction: enough to share an fsync, few enough to answer soon.
const BATCH: usize = 512;

/// A way to the writing thread.
pub(super) struct Writer {
    jobs: Mutex<Option<Sender<Job>>>,
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// What the thread and its callers share.
struct Shared {
    /// Why the store has ended, if it has.
    failure: Mutex<Option<StoreError>>,
    commits: AtomicU64,
}

/// Something to write, and whom to tell.
struct Job {
    task: Task,
    done: oneshot::Sender<Result<Done>>,
}

enum Task {
    Append(Append),
    Delete { space: SpaceId, expected: Head, tombstone: CommitId },
    Snapshot { space: SpaceId, snapshot: Snapshot },
    Trim { space: SpaceId, trim: Trim },
}

#[derive(Clone)]
enum Done {
    Appended(Appended),
    Trimmed(u64),
    Kept,
}

impl Writer {
    pub(super) fn start(connection: Connection, wakes: Arc<Wakes>, busy_timeout: Duration) -> Result<Self> {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared { failure: Mutex::new(None), commits: AtomicU64::new(0) });
        let thread_shared = shared.clone();
        let thread = std::thread::Builder::new()
            .name("corkboard-sqlite".into())
            .spawn(move || run(connection, &receiver, &thread_shared, &wakes, busy_timeout))
            .map_err(|error| StoreError::Unavailable(format!("cannot start the writing thread: {error}")))?;
        Ok(Self { jobs: Mutex::new(Some(sender)), shared, thread: Mutex::new(Some(thread)) })
    }

    pub(super) async fn append(&self, append: Append) -> Result<Appended> {
        self.conditional(Task::Append(append)).await
    }

    pub(super) async fn delete(&self, space: &SpaceId, expected: Head, tombstone: CommitId) -> Result<Appended> {
        self.conditional(Task::Delete { space: space.clone(), expected, tombstone }).await
    }

    pub(super) async fn snapshot(&self, space: &SpaceId, snapshot: Snapshot) -> Result<()> {
        self.submit(Task::Snapshot { space: space.clone(), snapshot }).await.map(|_| ())
    }

    pub(super) async fn trim(&self, space: &SpaceId, trim: Trim) -> Result<u64> {
        match self.submit(Task::Trim { space: space.clone(), trim }).await? {
            Done::Trimmed(oldest) => Ok(oldest),
            Done::Appended(_) | Done::Kept => Ok(0),
        }
    }

    /// How many transactions were committed: each cost one fsync.
    pub(super) fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// Why the store has ended, if it has.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.shared.failure.lock().clone()
    }

    /// Waits for the thread to write what it was given, and to end.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().take());
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    async fn conditional(&self, task: Task) -> Result<Appended> {
        match self.submit(task).await? {
            Done::Appended(appended) => Ok(appended),
            Done::Trimmed(_) | Done::Kept => Err(StoreError::Failed("the writing thread mixed up its answers".into())),
        }
    }

    async fn submit(&self, task: Task) -> Result<Done> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let (done, answer) = oneshot::channel();
        let sender = self.jobs.lock().clone().ok_or(StoreError::Closed)?;
        sender.send(Job { task, done }).map_err(|_| StoreError::Closed)?;
        drop(sender);
        let gone = || StoreError::OutcomeUnknown("the writing thread ended before it answered".into());
        answer.await.map_err(|_| gone())?
    }
}

fn run(mut connection: Connection, jobs: &Receiver<Job>, shared: &Shared, wakes: &Wakes, busy_timeout: Duration) {
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(BATCH - 1));
        let failed = shared.failure.lock().clone();
        let written = match failed {
            Some(failure) => Err(failure),
            None => write(&mut connection, &batch, busy_timeout),
        };
        match written {
            Ok(answers) => {
                shared.commits.fetch_add(1, Ordering::Relaxed);
                for (job, done) in batch.into_iter().zip(answers) {
                    wake(wakes, &job.task, &done);
                    let _ = job.done.send(Ok(done));
                }
            }
            Err(failure) => {
                if matches!(failure, StoreError::Failed(_) | StoreError::Corrupt(_)) {
                    tracing::error!(%failure, "the SQLite store has ended");
                    *shared.failure.lock() = Some(failure.clone());
                }
                for job in batch {
                    let _ = job.done.send(Err(failure.clone()));
                }
            }
        }
    }
}

fn wake(wakes: &Wakes, task: &Task, done: &Done) {
    if !matches!(done, Done::Appended(Appended::Committed)) {
        return;
    }
    match task {
        Task::Append(append) => wakes.wake(&append.space, append.new_head().rev),
        Task::Delete { space, expected, .. } => wakes.wake(space, expected.rev + 1),
        Task::Snapshot { .. } | Task::Trim { .. } => {}
    }
}

/// One transaction for the whole batch. A conflict fails its own job only; an error undoes all of it.
fn write(connection: &mut Connection, batch: &[Job], busy_timeout: Duration) -> Result<Vec<Done>> {
    retry(busy_timeout, || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error)?;
        let answers = batch.iter().map(|job| perform(&transaction, &job.task)).collect::<Result<Vec<_>>>()?;
        // A commit that fails on I/O may have reached the disk or not, and what the kernel dropped it never writes:
        // `error` makes that the end of the store.
        transaction.commit().map_err(error)?;
        Ok(answers)
    })
}

fn perform(transaction: &Transaction<'_>, task: &Task) -> Result<Done> {
    match task {
        Task::Append(append) => perform_append(transaction, append).map(Done::Appended),
        Task::Delete { space, expected, tombstone } => {
            perform_delete(transaction, space, *expected, *tombstone).map(Done::Appended)
        }
        Task::Snapshot { space, snapshot } => perform_snapshot(transaction, space, snapshot).map(|()| Done::Kept),
        Task::Trim { space, trim } => perform_trim(transaction, space, *trim).map(Done::Trimmed),
    }
}

fn perform_append(transaction: &Transaction<'_>, append: &Append) -> Result<Appended> {
    let row = space_row(transaction, &append.space)?;
    let head = row.map_or(Head::EMPTY, |row| row.head);
    if head != append.expected {
        return Ok(Appended::Conflict { head });
    }
    let new = append.new_head();
    let next_due = append.next_due.map(|at| at.as_millisecond());
    let id = match row {
        Some(SpaceRow { id, .. }) => {
            let mut update = transaction
                .prepare_cached("UPDATE spaces SET rev = ?2, commit_id = ?3, next_due = ?4, summary = ?5 WHERE id = ?1")
                .map_err(error)?;
            update.execute(params![id, new.rev, new.commit.0.as_bytes(), next_due, append.summary]).map_err(error)?;
            id
        }
        None => insert_space(transaction, &append.space, new, Head::EMPTY, next_due, &append.summary)?,
    };
    let mut insert = transaction
        .prepare_cached("INSERT INTO log (space, rev, commit_id, at, body) VALUES (?1, ?2, ?3, ?4, ?5)")
        .map_err(error)?;
    for record in &append.records {
        insert
            .execute(params![id, record.rev, record.commit.0.as_bytes(), record.at.as_millisecond(), record.body])
            .map_err(error)?;
    }
    Ok(Appended::Committed)
}

fn perform_delete(
    transaction: &Transaction<'_>,
    space: &SpaceId,
    expected: Head,
    tombstone: CommitId,
) -> Result<Appended> {
    let row = space_row(transaction, space)?;
    let head = row.map_or(Head::EMPTY, |row| row.head);
    if head != expected {
        return Ok(Appended::Conflict { head });
    }
    let new = Head { rev: expected.rev + 1, commit: tombstone };
    let Some(SpaceRow { id, .. }) = row else {
        insert_space(transaction, space, new, new, None, &[])?;
        return Ok(Appended::Committed);
    };
    transaction.execute("DELETE FROM log WHERE space = ?1", [id]).map_err(error)?;
    transaction.execute("DELETE FROM snapshots WHERE space = ?1", [id]).map_err(error)?;
    transaction
        .execute(
            "UPDATE spaces SET rev = ?2, commit_id = ?3, born_rev = ?2, born_commit = ?3, next_due = NULL,
             summary = x'' WHERE id = ?1",
            params![id, new.rev, new.commit.0.as_bytes()],
        )
        .map_err(error)?;
    Ok(Appended::Committed)
}

fn insert_space(
    transaction: &Transaction<'_>,
    space: &SpaceId,
    head: Head,
    born: Head,
    next_due: Option<i64>,
    summary: &[u8],
) -> Result<i64> {
    let mut insert = transaction
        .prepare_cached(
            "INSERT INTO spaces (name, rev, commit_id, born_rev, born_commit, next_due, summary)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .map_err(error)?;
    insert
        .insert(params![
            space.as_str(),
            head.rev,
            head.commit.0.as_bytes(),
            born.rev,
            born.commit.0.as_bytes(),
            next_due,
            summary
        ])
        .map_err(error)
}

fn perform_snapshot(transaction: &Transaction<'_>, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
    let Some(row) = space_row(transaction, space)? else { return Ok(()) };
    let lives = snapshot.head.rev > row.born.rev && snapshot.head.rev <= row.head.rev;
    if lives {
        transaction
            .execute(
                "INSERT INTO snapshots (space, rev, commit_id, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (space) DO UPDATE SET rev = ?2, commit_id = ?3, body = ?4 WHERE rev < ?2",
                params![row.id, snapshot.head.rev, snapshot.head.commit.0.as_bytes(), snapshot.body],
            )
            .map_err(error)?;
    }
    Ok(())
}

fn perform_trim(transaction: &Transaction<'_>, space: &SpaceId, trim: Trim) -> Result<u64> {
    let Some(row) = space_row(transaction, space)? else { return Ok(1) };
    // The log stays without gaps: only what lies before the first record that must stay may go.
    transaction
        .execute(
            "DELETE FROM log WHERE space = ?1 AND rev < (
                 SELECT coalesce(min(rev), ?4) FROM log WHERE space = ?1 AND (
                     rev > min(?2, coalesce((SELECT rev FROM snapshots WHERE space = ?1), 0)) OR at >= ?3))",
            params![
                row.id,
                trim.up_to.min(row.head.rev),
                trim.older_than.map_or(i64::MAX, |time| time.as_millisecond()),
                row.head.rev + 1
            ],
        )
        .map_err(error)?;
    oldest(transaction, row.id, row.head)
}
