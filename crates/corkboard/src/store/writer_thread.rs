//! A thread that performs write jobs and answers each of them. The file and the SQLite store use it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use corkboard_core::{CommitId, Head, SpaceId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Append, Appended, ChangeNotifier, Import, Result, Rewrite, Snapshot, StoreError, StoreFuture, Trim};

/// The most jobs in one batch: enough to share an fsync, few enough to answer soon.
pub(super) const BATCH: usize = 512;

/// A write to perform. `O` is a job type that only one store has.
pub(super) enum WriteJob<O> {
    Append(Append),
    Delete { space: SpaceId, expected: Head, tombstone: CommitId },
    Import(Import),
    Rewrite(Rewrite),
    Snapshot { space: SpaceId, snapshot: Snapshot },
    Trim { space: SpaceId, trim: Trim },
    Own(O),
}

pub(super) trait OwnJob: Send + 'static {
    /// The space and the revision that subscribers are notified of after the commit.
    fn committed(&self) -> Option<(&SpaceId, u64)> {
        None
    }
}

impl<O: OwnJob> WriteJob<O> {
    /// Notifies subscribers if the job committed a revision.
    pub(super) fn notify(&self, notifier: &ChangeNotifier, outcome: &WriteOutcome) {
        let committed = match self {
            Self::Append(append) => Some((&append.space, append.new_head().rev)),
            Self::Delete { space, expected, .. } => Some((space, expected.rev + 1)),
            Self::Import(import) => Some((&import.space, import.head().rev)),
            Self::Own(own) => own.committed(),
            Self::Rewrite(_) | Self::Snapshot { .. } | Self::Trim { .. } => None,
        };
        if let (Some((space, rev)), WriteOutcome::Appended(Appended::Committed)) = (committed, outcome) {
            notifier.notify(space, rev);
        }
    }
}

#[derive(Clone)]
pub(super) enum WriteOutcome {
    Appended(Appended),
    /// The oldest revision that is left.
    Trimmed(u64),
    Done,
}

impl WriteOutcome {
    fn appended(self) -> Result<Appended> {
        match self {
            Self::Appended(appended) => Ok(appended),
            Self::Trimmed(_) | Self::Done => {
                Err(StoreError::Failed("wrong type of answer from the writer thread".into()))
            }
        }
    }
}

pub(super) struct WriteFailure {
    pub(super) error: StoreError,
    /// Whether the data may have been written after all, and be there when the store is next opened.
    pub(super) in_doubt: bool,
}

impl WriteFailure {
    pub(super) fn in_doubt(error: StoreError) -> Self {
        Self { error, in_doubt: true }
    }

    pub(super) fn answer<O>(self, jobs: Vec<QueuedJob<O>>) {
        let Self { error, in_doubt } = self;
        let error = if in_doubt { StoreError::OutcomeUnknown(error.to_string()) } else { error };
        for job in jobs {
            let _ = job.answer.send(Err(error.clone()));
        }
    }
}

impl From<StoreError> for WriteFailure {
    fn from(error: StoreError) -> Self {
        Self { error, in_doubt: false }
    }
}

/// A job, and the sender for its outcome.
pub(super) struct QueuedJob<O> {
    pub(super) job: WriteJob<O>,
    pub(super) answer: oneshot::Sender<Result<WriteOutcome>>,
}

/// The error that stopped a store. Nothing is read or written after it: a disk that failed once may wrongly report
/// success.
pub(super) struct FatalError {
    store: &'static str,
    is_fatal: fn(&StoreError) -> bool,
    error: Mutex<Option<StoreError>>,
}

impl FatalError {
    pub(super) fn new(store: &'static str, is_fatal: fn(&StoreError) -> bool) -> Arc<Self> {
        Arc::new(Self { store, is_fatal, error: Mutex::new(None) })
    }

    pub(super) fn check(&self) -> Result<()> {
        self.error.lock().clone().map_or(Ok(()), Err)
    }

    /// Stops the store if this error is fatal. Returns whether it is.
    pub(super) fn record(&self, error: &StoreError) -> bool {
        let is_fatal = (self.is_fatal)(error);
        let mut first = self.error.lock();
        if is_fatal && first.is_none() {
            tracing::error!(%error, "the {} store has stopped", self.store);
            *first = Some(error.clone());
        }
        is_fatal
    }
}

/// The queue of the writer thread.
pub(super) struct WriterThread<O> {
    jobs: Mutex<Option<Sender<QueuedJob<O>>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    fatal: Arc<FatalError>,
}

impl<O: OwnJob> WriterThread<O> {
    /// Starts the thread. `write` receives the first job of a batch and takes further jobs of the batch from the queue.
    pub(super) fn start(
        name: &str,
        fatal: Arc<FatalError>,
        mut write: impl FnMut(QueuedJob<O>, &Receiver<QueuedJob<O>>) + Send + 'static,
    ) -> Result<Self> {
        let (sender, jobs) = channel();
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                while let Ok(first) = jobs.recv() {
                    write(first, &jobs);
                }
            })
            .map_err(|error| StoreError::Unavailable(format!("cannot start the writer thread: {error}")))?;
        Ok(Self { jobs: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), fatal })
    }

    /// Performs a job with a conditional write.
    pub(super) fn append(&self, job: WriteJob<O>) -> StoreFuture<'_, Appended> {
        Box::pin(async move { answered(self.send(job)?).await?.appended() })
    }

    pub(super) fn trim(&self, space: &SpaceId, trim: Trim) -> StoreFuture<'_, u64> {
        let space = space.clone();
        Box::pin(async move {
            match answered(self.send(WriteJob::Trim { space, trim })?).await? {
                WriteOutcome::Trimmed(oldest) => Ok(oldest),
                WriteOutcome::Appended(_) | WriteOutcome::Done => Ok(0),
            }
        })
    }

    /// Performs a job without a result.
    pub(super) fn perform(&self, job: WriteJob<O>) -> StoreFuture<'_, ()> {
        Box::pin(async move { answered(self.send(job)?).await.map(|_| ()) })
    }

    /// Queues a job and returns the receiver for its outcome.
    pub(super) fn send(&self, job: WriteJob<O>) -> Result<oneshot::Receiver<Result<WriteOutcome>>> {
        self.fatal.check()?;
        let (answer, outcome) = oneshot::channel();
        let sender = self.jobs.lock().clone().ok_or(StoreError::Closed)?;
        sender.send(QueuedJob { job, answer }).map_err(|_| StoreError::Closed)?;
        Ok(outcome)
    }

    /// Waits until the thread has written all queued jobs and ended.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().take());
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

async fn answered(outcome: oneshot::Receiver<Result<WriteOutcome>>) -> Result<WriteOutcome> {
    let gone = || StoreError::OutcomeUnknown("the writer thread ended before it answered".into());
    outcome.await.map_err(|_| gone())?
}

/// Waits for the outcome of an append that [`WriterThread::send`] queued.
#[cfg(feature = "sqlite")]
pub(super) async fn appended(outcome: oneshot::Receiver<Result<WriteOutcome>>) -> Result<Appended> {
    answered(outcome).await?.appended()
}
