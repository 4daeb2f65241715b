//! The one thread that writes. What waits together is committed together: one fsync for a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use corkboard_core::{CommitId, Head, SpaceId};
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::checkpoint::{self, Checkpoints};
use super::jobs::{KnownRows, Statements, WriteJob, WriteOutcome, perform};
use super::schema::{error, retry};
use super::stream::{self, SpentStreams, StreamPart};
use super::wal::WalNotes;
use crate::store::{
    Append, Appended, Appending, ChangeNotifier, Import, Record, Rewrite, Snapshot, StoreError, StoreFuture, Trim,
};

type Result<T> = std::result::Result<T, StoreError>;

/// The most jobs in one transaction: enough to share an fsync, few enough to answer soon.
const BATCH: usize = 512;

/// How long the next job is waited for while jobs come in quick succession.
const GATHER: Duration = Duration::from_micros(20);

/// A way to the writing thread.
pub(super) struct Writer {
    jobs: Mutex<Option<Sender<QueuedJob>>>,
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// What the thread and its callers share.
struct Shared {
    /// Why the store has ended, if it has.
    failure: Mutex<Option<StoreError>>,
    commits: AtomicU64,
    spent: SpentStreams,
}

impl Shared {
    /// Whether the store has ended by this error.
    fn end_if_failed(&self, error: &StoreError) -> bool {
        let ends = matches!(error, StoreError::Failed(_) | StoreError::Corrupt(_));
        if ends {
            tracing::error!(%error, "the SQLite store has ended");
            *self.failure.lock() = Some(error.clone());
        }
        ends
    }
}

/// Something to write, and whom to tell.
struct QueuedJob {
    job: WriteJob,
    done: oneshot::Sender<Result<WriteOutcome>>,
}

impl Writer {
    pub(super) fn start(
        mut connection: Connection,
        notes: WalNotes,
        notifier: Arc<ChangeNotifier>,
        runtime: tokio::runtime::Handle,
        busy_timeout: Duration,
    ) -> Result<Self> {
        let checkpoints = Checkpoints::take_over(&mut connection)?;
        let (sender, jobs) = channel();
        let shared =
            Arc::new(Shared { failure: Mutex::new(None), commits: AtomicU64::new(0), spent: SpentStreams::default() });
        let thread =
            Thread { connection, checkpoints, notes, jobs, shared: shared.clone(), notifier, runtime, busy_timeout };
        let thread = std::thread::Builder::new()
            .name("corkboard-sqlite".into())
            .spawn(move || thread.run())
            .map_err(|error| StoreError::Unavailable(format!("cannot start the writing thread: {error}")))?;
        Ok(Self { jobs: Mutex::new(Some(sender)), shared, thread: Mutex::new(Some(thread)) })
    }

    pub(super) async fn append(&self, append: Append) -> Result<Appended> {
        self.conditional(WriteJob::Append(append)).await
    }

    pub(super) fn begin_append(&self, space: &SpaceId, expected: Head) -> Option<Box<dyn Appending>> {
        let (parts, stream) = stream::open(space.clone(), expected);
        // If it cannot be sent, an append says why.
        let answer = self.send(WriteJob::Stream(stream)).ok()?;
        Some(Box::new(StreamedAppend { parts, answer, shared: self.shared.clone() }))
    }

    pub(super) async fn delete(&self, space: &SpaceId, expected: Head, tombstone: CommitId) -> Result<Appended> {
        self.conditional(WriteJob::Delete { space: space.clone(), expected, tombstone }).await
    }

    pub(super) async fn import(&self, import: Import) -> Result<Appended> {
        self.conditional(WriteJob::Import(import)).await
    }

    pub(super) async fn rewrite(&self, rewrite: Rewrite) -> Result<Appended> {
        self.conditional(WriteJob::Rewrite(rewrite)).await
    }

    pub(super) async fn snapshot(&self, space: &SpaceId, snapshot: Snapshot) -> Result<()> {
        self.submit(WriteJob::Snapshot { space: space.clone(), snapshot }).await.map(|_| ())
    }

    pub(super) async fn trim(&self, space: &SpaceId, trim: Trim) -> Result<u64> {
        match self.submit(WriteJob::Trim { space: space.clone(), trim }).await? {
            WriteOutcome::Trimmed(oldest) => Ok(oldest),
            WriteOutcome::Appended(_) | WriteOutcome::Kept | WriteOutcome::Withdrawn => Ok(0),
        }
    }

    /// Wipes leftovers of deleted content in these pages.
    pub(super) async fn wipe(&self, pages: Vec<u32>) -> Result<()> {
        self.submit(WriteJob::Wipe(pages)).await.map(|_| ())
    }

    /// Empties the write-ahead log between two commits. Busy: someone still reads from it, or another process writes.
    pub(super) async fn empty_log(&self) -> Result<()> {
        self.submit(WriteJob::EmptyLog).await.map(|_| ())
    }

    /// Ends the store if copying the write-ahead log failed on another connection: another fsync might wrongly succeed.
    pub(super) fn copied(&self, copied: Result<()>) -> Result<()> {
        if let Err(error) = &copied {
            self.shared.end_if_failed(error);
        }
        copied
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

    async fn conditional(&self, job: WriteJob) -> Result<Appended> {
        appended(self.submit(job).await?)
    }

    async fn submit(&self, job: WriteJob) -> Result<WriteOutcome> {
        answered(self.send(job)?).await
    }

    fn send(&self, job: WriteJob) -> Result<oneshot::Receiver<Result<WriteOutcome>>> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let (done, answer) = oneshot::channel();
        let sender = self.jobs.lock().clone().ok_or(StoreError::Closed)?;
        sender.send(QueuedJob { job, done }).map_err(|_| StoreError::Closed)?;
        Ok(answer)
    }
}

async fn answered(answer: oneshot::Receiver<Result<WriteOutcome>>) -> Result<WriteOutcome> {
    let gone = || StoreError::OutcomeUnknown("the writing thread ended before it answered".into());
    answer.await.map_err(|_| gone())?
}

fn appended(done: WriteOutcome) -> Result<Appended> {
    match done {
        WriteOutcome::Appended(appended) => Ok(appended),
        WriteOutcome::Trimmed(_) | WriteOutcome::Kept | WriteOutcome::Withdrawn => {
            Err(StoreError::Failed("the writing thread mixed up its answers".into()))
        }
    }
}

/// An append that the thread has begun.
struct StreamedAppend {
    parts: Sender<StreamPart>,
    answer: oneshot::Receiver<Result<WriteOutcome>>,
    shared: Arc<Shared>,
}

impl Appending for StreamedAppend {
    fn add(&mut self, records: Vec<Record>) {
        // A thread that listens no longer has answered.
        let _ = self.parts.send(StreamPart::Records(records));
    }

    fn finish(self: Box<Self>, last: Append) -> StoreFuture<'static, Appended> {
        let _ = self.parts.send(StreamPart::Last(last));
        self.shared.spent.let_go();
        Box::pin(async move { appended(answered(self.answer).await?) })
    }
}

/// The thread, and all it works with.
struct Thread {
    connection: Connection,
    checkpoints: Checkpoints,
    notes: WalNotes,
    jobs: Receiver<QueuedJob>,
    shared: Arc<Shared>,
    notifier: Arc<ChangeNotifier>,
    runtime: tokio::runtime::Handle,
    busy_timeout: Duration,
}

impl Thread {
    fn run(mut self) {
        let mut known = KnownRows::default();
        let mut answered = 0;
        while let Ok(first) = self.jobs.recv() {
            answered = self.write_and_answer(&mut known, vec![first], answered);
            if self.checkpoints.is_due() {
                self.checkpoint();
            }
        }
    }

    /// Returns how many there were.
    fn write_and_answer(&mut self, known: &mut KnownRows, mut batch: Vec<QueuedJob>, just_answered: usize) -> usize {
        let failed = self.shared.failure.lock().clone();
        let written = match failed {
            Some(error) => Err(WriteFailure { error, in_commit: false }),
            None => {
                let mut gathering = Gathering::new(&self.jobs, just_answered);
                write(&mut self.connection, known, &mut batch, &mut gathering, self.busy_timeout)
            }
        };
        let count = batch.len();
        match written {
            Ok(answers) => {
                self.shared.commits.fetch_add(1, Ordering::Relaxed);
                if let Some(pages) = self.checkpoints.committed() {
                    self.notes.write(pages);
                }
                for (job, done) in batch.iter().zip(&answers) {
                    wake(&self.notifier, &job.job, done);
                }
                let answers = batch.into_iter().zip(answers);
                let (last, answers): (Vec<_>, _) = answers.partition(|(job, _)| matches!(job.job, WriteJob::EmptyLog));
                answer(&self.runtime, &self.shared, answers);
                if !last.is_empty() {
                    let emptied = checkpoint::empty(&self.connection).map(|()| WriteOutcome::Kept);
                    if let Err(error) = &emptied {
                        self.end_if_failed(error);
                    }
                    last.into_iter().for_each(|(job, _)| drop(job.done.send(emptied.clone())));
                }
            }
            Err(WriteFailure { error, in_commit }) => {
                let ends = self.end_if_failed(&error);
                // What fails before the commit is undone. A commit that fails may have reached the disk or not, and the
                // next opening may find it.
                let answer = if ends && in_commit { StoreError::OutcomeUnknown(error.to_string()) } else { error };
                for job in batch {
                    let _ = job.done.send(Err(answer.clone()));
                }
            }
        }
        count
    }

    fn checkpoint(&self) {
        if let Err(error) = self.checkpoints.run(&self.connection)
            && !self.end_if_failed(&error)
        {
            // A full disk, perhaps. Nothing is lost by it: what is not in the database is in the log.
            tracing::warn!(%error, "the write-ahead log could not be emptied");
        }
    }

    fn end_if_failed(&self, error: &StoreError) -> bool {
        self.shared.end_if_failed(error)
    }
}

/// Tells those who wait. Waking a task from outside its runtime costs a system call or two, so a crowd is woken by a task,
/// which lets go of what was written when they have run.
fn answer(runtime: &tokio::runtime::Handle, shared: &Shared, answers: Vec<(QueuedJob, WriteOutcome)>) {
    const CROWD: usize = 4;
    let tell = |answers: Vec<(QueuedJob, WriteOutcome)>| -> Vec<WriteJob> {
        let told = answers.into_iter().map(|(job, done)| {
            let _ = job.done.send(Ok(done));
            job.job
        });
        told.collect()
    };
    match answers.len() {
        0..CROWD => shared.spent.keep(tell(answers)),
        _ => drop(runtime.spawn(async move {
            let spent = tell(answers);
            tokio::task::yield_now().await;
            drop(spent);
        })),
    }
}

/// Takes what waits. Where several were just answered, those who are about to come again are waited for, as long as they
/// come thick and fast: it spares them an fsync of their own.
struct Gathering<'a> {
    jobs: &'a Receiver<QueuedJob>,
    just_answered: usize,
    last: Instant,
}

impl<'a> Gathering<'a> {
    fn new(jobs: &'a Receiver<QueuedJob>, just_answered: usize) -> Self {
        Self { jobs, just_answered, last: Instant::now() }
    }

    /// Adds to the batch what has come. False: enough was waited for.
    fn more(&mut self, batch: &mut Vec<QueuedJob>) -> bool {
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

fn wake(notifier: &ChangeNotifier, job: &WriteJob, done: &WriteOutcome) {
    if !matches!(done, WriteOutcome::Appended(Appended::Committed)) {
        return;
    }
    match job {
        WriteJob::Stream(stream) => notifier.notify(stream.space(), stream.last_rev()),
        WriteJob::Append(append) => notifier.notify(&append.space, append.new_head().rev),
        WriteJob::Delete { space, expected, .. } => notifier.notify(space, expected.rev + 1),
        WriteJob::Import(import) => notifier.notify(&import.space, import.head().rev),
        WriteJob::Rewrite(_)
        | WriteJob::Snapshot { .. }
        | WriteJob::Trim { .. }
        | WriteJob::Wipe(_)
        | WriteJob::EmptyLog => {}
    }
}

/// Why a batch was not written.
struct WriteFailure {
    error: StoreError,
    /// Whether it failed when all was done but the commit.
    in_commit: bool,
}

/// One transaction for the whole batch, and for what comes while it is written. A conflict fails its own job only; an error
/// undoes all of it.
fn write(
    connection: &mut Connection,
    known: &mut KnownRows,
    batch: &mut Vec<QueuedJob>,
    gathering: &mut Gathering<'_>,
    busy_timeout: Duration,
) -> std::result::Result<Vec<WriteOutcome>, WriteFailure> {
    let mut in_commit = false;
    let written = retry(busy_timeout, || {
        loop {
            in_commit = false;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error)?;
            known.check(&transaction)?;
            let performed = perform_all(&transaction, known, batch, gathering);
            let committed = performed.and_then(|answers| match answers {
                Some(answers) => {
                    in_commit = true;
                    transaction.commit().map_err(error).map(|()| Some(answers))
                }
                None => transaction.rollback().map_err(error).map(|()| None),
            });
            if !matches!(committed, Ok(Some(_))) {
                // What was remembered of this transaction never was.
                known.forget();
            }
            if let Some(done) = committed.transpose() {
                return done;
            }
        }
    });
    written.map_err(|error| WriteFailure { error, in_commit })
}

/// None: one of them was withdrawn half-way, and the others are to be done again without it.
fn perform_all(
    transaction: &Transaction<'_>,
    known: &mut KnownRows,
    batch: &mut Vec<QueuedJob>,
    gathering: &mut Gathering<'_>,
) -> Result<Option<Vec<WriteOutcome>>> {
    let mut statements = Statements::of(transaction)?;
    let mut answers = Vec::with_capacity(batch.len());
    loop {
        for job in batch.iter_mut().skip(answers.len()) {
            let done = perform(transaction, &mut statements, known, &mut job.job)?;
            if matches!(done, WriteOutcome::Withdrawn) {
                return Ok(None);
            }
            answers.push(done);
        }
        if !gathering.more(batch) {
            return Ok(Some(answers));
        }
    }
}
