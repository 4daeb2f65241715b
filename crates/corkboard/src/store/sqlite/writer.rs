//! The writer thread of the SQLite store: one transaction and one fsync for all waiting jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::checkpoint::{self, Checkpoints};
use super::jobs::{KnownRows, OwnSqliteJob, SqliteJob, Statements, perform};
use super::schema::{error, retry};
use super::stream::SpentStreams;
use super::wal::WalNotes;
use crate::store::writer_thread::{BATCH, FatalError, QueuedJob, WriteFailure, WriteJob, WriteOutcome, WriterThread};
use crate::store::{ChangeNotifier, Result, StoreError};
type QueuedSqliteJob = QueuedJob<OwnSqliteJob>;

/// How long to wait for the next job while jobs arrive in quick succession.
const GATHER: Duration = Duration::from_micros(20);

/// State shared by the writer thread and its callers.
pub(super) struct WriterState {
    pub(super) fatal: Arc<FatalError>,
    /// Number of committed transactions; each cost one fsync.
    pub(super) commits: AtomicU64,
    pub(super) spent: SpentStreams,
}

pub(super) fn start(
    mut connection: Connection,
    notes: WalNotes,
    notifier: Arc<ChangeNotifier>,
    runtime: tokio::runtime::Handle,
    busy_timeout: Duration,
) -> Result<(WriterThread<OwnSqliteJob>, Arc<WriterState>)> {
    let checkpoints = Checkpoints::take_over(&mut connection)?;
    let fatal = FatalError::new("SQLite", |error| matches!(error, StoreError::Failed(_) | StoreError::Corrupt(_)));
    let state =
        Arc::new(WriterState { fatal: fatal.clone(), commits: AtomicU64::new(0), spent: SpentStreams::default() });
    let (known, shared) = (KnownRows::default(), state.clone());
    let mut writer = Writer { connection, known, checkpoints, notes, state: shared, notifier, runtime, busy_timeout };
    let mut answered = 0;
    let thread = WriterThread::start("corkboard-sqlite", fatal, move |first, queue| {
        answered = writer.write_and_answer(vec![first], queue, answered);
        if writer.checkpoints.is_due() {
            writer.checkpoint();
        }
    })?;
    Ok((thread, state))
}

struct Writer {
    connection: Connection,
    known: KnownRows,
    checkpoints: Checkpoints,
    notes: WalNotes,
    state: Arc<WriterState>,
    notifier: Arc<ChangeNotifier>,
    runtime: tokio::runtime::Handle,
    busy_timeout: Duration,
}

impl Writer {
    /// Returns the number of jobs in the batch.
    fn write_and_answer(
        &mut self,
        mut batch: Vec<QueuedSqliteJob>,
        queue: &Receiver<QueuedSqliteJob>,
        just_answered: usize,
    ) -> usize {
        let written = self.state.fatal.check().map_err(WriteFailure::from).and_then(|()| {
            let mut gathering = Gathering::new(queue, just_answered);
            self.write(&mut batch, &mut gathering)
        });
        let count = batch.len();
        match written {
            Ok(outcomes) => self.committed(batch, outcomes),
            Err(failure) => failure.answer(batch),
        }
        count
    }

    fn committed(&mut self, batch: Vec<QueuedSqliteJob>, outcomes: Vec<WriteOutcome>) {
        self.state.commits.fetch_add(1, Ordering::Relaxed);
        if let Some(pages) = self.checkpoints.committed() {
            self.notes.write(pages);
        }
        for (queued, outcome) in batch.iter().zip(&outcomes) {
            queued.job.notify(&self.notifier, outcome);
        }
        let is_empty_log = |job: &SqliteJob| matches!(job, WriteJob::Own(OwnSqliteJob::EmptyLog));
        let answers = batch.into_iter().zip(outcomes);
        let (last, answers): (Vec<_>, _) = answers.partition(|(queued, _)| is_empty_log(&queued.job));
        self.answer(answers);
        if !last.is_empty() {
            let emptied = checkpoint::empty(&self.connection).map(|()| WriteOutcome::Done);
            if let Err(error) = &emptied {
                self.state.fatal.record(error);
            }
            last.into_iter().for_each(|(queued, _)| drop(queued.answer.send(emptied.clone())));
        }
    }

    /// Answers the callers. Waking a task from outside its runtime costs one or two system calls, so a separate task
    /// wakes large groups. It drops the written jobs after the callers have run.
    fn answer(&self, answers: Vec<(QueuedSqliteJob, WriteOutcome)>) {
        const CROWD: usize = 4;
        let tell = |answers: Vec<(QueuedSqliteJob, WriteOutcome)>| -> Vec<SqliteJob> {
            let told = answers.into_iter().map(|(QueuedJob { job, answer }, outcome)| {
                let _ = answer.send(Ok(outcome));
                job
            });
            told.collect()
        };
        match answers.len() {
            0..CROWD => self.state.spent.keep(tell(answers)),
            _ => drop(self.runtime.spawn(async move {
                let spent = tell(answers);
                tokio::task::yield_now().await;
                drop(spent);
            })),
        }
    }

    fn checkpoint(&self) {
        if let Err(error) = self.checkpoints.run(&self.connection)
            && !self.state.fatal.record(&error)
        {
            // The disk may be full. Nothing is lost: data that is not in the database is in the log.
            tracing::warn!(%error, "failed to checkpoint the write-ahead log");
        }
    }

    /// Runs one transaction for the whole batch, and for the jobs that arrive meanwhile. A conflict fails only its own
    /// job; an error rolls back all of them.
    fn write(
        &mut self,
        batch: &mut Vec<QueuedSqliteJob>,
        gathering: &mut Gathering<'_>,
    ) -> Result<Vec<WriteOutcome>, WriteFailure> {
        let Self { connection, known, .. } = self;
        let mut in_commit = false;
        let written = retry(self.busy_timeout, || {
            loop {
                in_commit = false;
                let transaction =
                    connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error)?;
                known.check(&transaction)?;
                let performed = perform_all(&transaction, known, batch, gathering);
                let committed = performed.and_then(|outcomes| match outcomes {
                    Some(outcomes) => {
                        in_commit = true;
                        transaction.commit().map_err(error).map(|()| Some(outcomes))
                    }
                    None => transaction.rollback().map_err(error).map(|()| None),
                });
                if !matches!(committed, Ok(Some(_))) {
                    // The rows cached in this transaction were rolled back.
                    known.forget();
                }
                if let Some(done) = committed.transpose() {
                    return done;
                }
            }
        });
        written.map_err(|error| {
            // A failure before the commit is rolled back. A failed commit may have reached the disk, and the next
            // opening may find it.
            let in_doubt = self.state.fatal.record(&error) && in_commit;
            WriteFailure { error, in_doubt }
        })
    }
}

/// Performs all jobs. `None`: a streamed append was withdrawn, and the other jobs must be repeated without it.
fn perform_all(
    transaction: &Transaction<'_>,
    known: &mut KnownRows,
    batch: &mut Vec<QueuedSqliteJob>,
    gathering: &mut Gathering<'_>,
) -> Result<Option<Vec<WriteOutcome>>> {
    let mut statements = Statements::of(transaction)?;
    let mut outcomes = Vec::with_capacity(batch.len());
    loop {
        for queued in batch.iter_mut().skip(outcomes.len()) {
            match perform(transaction, &mut statements, known, &mut queued.job)? {
                Some(outcome) => outcomes.push(outcome),
                None => return Ok(None),
            }
        }
        if !gathering.more(batch) {
            return Ok(Some(outcomes));
        }
    }
}

/// Collects waiting jobs. If several callers were just answered, waits briefly for their next jobs while jobs keep
/// arriving, because sharing an fsync is cheaper.
struct Gathering<'a> {
    jobs: &'a Receiver<QueuedSqliteJob>,
    just_answered: usize,
    last: Instant,
}

impl<'a> Gathering<'a> {
    fn new(jobs: &'a Receiver<QueuedSqliteJob>, just_answered: usize) -> Self {
        Self { jobs, just_answered, last: Instant::now() }
    }

    /// Adds newly arrived jobs to the batch. Returns false when it is time to commit.
    fn more(&mut self, batch: &mut Vec<QueuedSqliteJob>) -> bool {
        loop {
            let before = batch.len();
            batch.extend(self.jobs.try_iter().take(BATCH - before));
            if batch.len() > before {
                self.last = Instant::now();
                return true;
            }
            let all_are_back = before >= self.just_answered;
            if all_are_back || before == BATCH || self.last.elapsed() > GATHER {
                return false;
            }
            std::thread::yield_now();
        }
    }
}
