//! The one thread that writes. What waits together is written together: one write and one fsync for a space's log.
//!
//! A batch for many spaces costs an fsync per log, for each is a file of its own. They run in parallel, so that the disk can
//! do them in one go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use corkboard_core::{CommitId, Head, SpaceId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::jobs::{DataFolder, WriteFailure, WriteJob, WriteOutcome};
use crate::store::{Append, Appended, ChangeNotifier, Import, Rewrite, Snapshot, StoreError, Trim};

type Result<T> = std::result::Result<T, StoreError>;

/// The most jobs in one batch: enough to share an fsync, few enough to answer soon.
const BATCH: usize = 512;

/// How many logs are written at the same time, and so the most files that are open for writing.
const HANDS: usize = 16;

/// A way to the writing thread.
pub(super) struct Writer {
    jobs: Mutex<Option<Sender<QueuedJob>>>,
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// What the thread and its callers share.
struct Shared {
    folder: Arc<DataFolder>,
    notifier: Arc<ChangeNotifier>,
    writes: AtomicU64,
}

/// Something to write, and whom to tell.
struct QueuedJob {
    job: WriteJob,
    done: oneshot::Sender<Result<WriteOutcome>>,
}

impl Writer {
    pub(super) fn start(folder: Arc<DataFolder>, notifier: Arc<ChangeNotifier>) -> Result<Self> {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared { folder, notifier, writes: AtomicU64::new(0) });
        let thread_shared = shared.clone();
        let thread = std::thread::Builder::new()
            .name("corkboard-file".into())
            .spawn(move || run(&receiver, &thread_shared))
            .map_err(|error| StoreError::Unavailable(format!("cannot start the writing thread: {error}")))?;
        Ok(Self { jobs: Mutex::new(Some(sender)), shared, thread: Mutex::new(Some(thread)) })
    }

    pub(super) async fn append(&self, append: Append) -> Result<Appended> {
        self.conditional(WriteJob::Append(append)).await
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
            WriteOutcome::Appended(_) | WriteOutcome::Kept => Ok(0),
        }
    }

    pub(super) async fn scrub(&self, space: &SpaceId) -> Result<()> {
        self.submit(WriteJob::Scrub { space: space.clone() }).await.map(|_| ())
    }

    /// How often a log was written to: each time cost one fsync.
    pub(super) fn writes(&self) -> u64 {
        self.shared.writes.load(Ordering::Relaxed)
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
        match self.submit(job).await? {
            WriteOutcome::Appended(appended) => Ok(appended),
            WriteOutcome::Trimmed(_) | WriteOutcome::Kept => {
                Err(StoreError::Failed("the writing thread mixed up its answers".into()))
            }
        }
    }

    async fn submit(&self, job: WriteJob) -> Result<WriteOutcome> {
        if let Some(failure) = self.shared.folder.failure() {
            return Err(failure);
        }
        let (done, answer) = oneshot::channel();
        let sender = self.jobs.lock().clone().ok_or(StoreError::Closed)?;
        sender.send(QueuedJob { job, done }).map_err(|_| StoreError::Closed)?;
        drop(sender);
        let gone = || StoreError::OutcomeUnknown("the writing thread ended before it answered".into());
        answer.await.map_err(|_| gone())?
    }
}

fn run(jobs: &Receiver<QueuedJob>, shared: &Shared) {
    while let Ok(first) = jobs.recv() {
        let batch = std::iter::once(first).chain(jobs.try_iter().take(BATCH - 1));
        let mut groups = by_space(batch);
        if groups.len() <= 1 {
            groups.into_iter().for_each(|group| shared.write(group));
            continue;
        }
        let hands = groups.len().min(HANDS);
        groups.reverse();
        let groups = Mutex::new(groups);
        let next = || groups.lock().pop();
        let work = || {
            while let Some(group) = next() {
                shared.write(group);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..hands {
                // Without another hand it takes longer.
                let _ = std::thread::Builder::new().name("corkboard-file".into()).spawn_scoped(scope, work);
            }
            work();
        });
    }
}

/// The jobs of each space, in their order.
fn by_space(batch: impl Iterator<Item = QueuedJob>) -> Vec<Vec<QueuedJob>> {
    let mut places = std::collections::HashMap::new();
    let mut groups: Vec<Vec<QueuedJob>> = Vec::new();
    for job in batch {
        let place = *places.entry(job.job.space().clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

impl Shared {
    /// Does what waits for one space: appends in a row together, everything else one by one.
    fn write(&self, group: Vec<QueuedJob>) {
        let mut group = group.into_iter().peekable();
        while let Some(first) = group.next() {
            let mut jobs = vec![first];
            let is_append = |job: &QueuedJob| matches!(job.job, WriteJob::Append(_));
            if jobs.iter().all(is_append) {
                jobs.extend(std::iter::from_fn(|| group.next_if(is_append)));
            }
            let written = match self.folder.failure() {
                Some(error) => Err(error.into()),
                None => self.perform(&jobs),
            };
            self.answer(jobs, written);
        }
    }

    fn perform(&self, jobs: &[QueuedJob]) -> std::result::Result<Vec<WriteOutcome>, WriteFailure> {
        let appends: Vec<&Append> = jobs
            .iter()
            .filter_map(|job| match &job.job {
                WriteJob::Append(append) => Some(append),
                _ => None,
            })
            .collect();
        let done: Vec<WriteOutcome> = match appends.first() {
            Some(first) => {
                let files = self.folder.files(&first.space);
                self.folder.append(&files, &appends)?.into_iter().map(WriteOutcome::Appended).collect()
            }
            None => jobs.iter().map(|job| self.folder.perform(&job.job)).collect::<std::result::Result<_, _>>()?,
        };
        if done.iter().any(|done| !matches!(done, WriteOutcome::Appended(Appended::Conflict { .. }))) {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(done)
    }

    fn answer(&self, jobs: Vec<QueuedJob>, written: std::result::Result<Vec<WriteOutcome>, WriteFailure>) {
        match written {
            Ok(answers) => {
                for (job, done) in jobs.into_iter().zip(answers) {
                    self.wake(&job.job, &done);
                    let _ = job.done.send(Ok(done));
                }
            }
            Err(WriteFailure { error, in_doubt }) => {
                self.folder.met(&error);
                let answer = if in_doubt { StoreError::OutcomeUnknown(error.to_string()) } else { error };
                for job in jobs {
                    let _ = job.done.send(Err(answer.clone()));
                }
            }
        }
    }

    fn wake(&self, job: &WriteJob, done: &WriteOutcome) {
        if !matches!(done, WriteOutcome::Appended(Appended::Committed)) {
            return;
        }
        match job {
            WriteJob::Append(append) => self.notifier.notify(&append.space, append.new_head().rev),
            WriteJob::Delete { space, expected, .. } => self.notifier.notify(space, expected.rev + 1),
            WriteJob::Import(import) => self.notifier.notify(&import.space, import.head().rev),
            WriteJob::Rewrite(_) | WriteJob::Snapshot { .. } | WriteJob::Trim { .. } | WriteJob::Scrub { .. } => {}
        }
    }
}
