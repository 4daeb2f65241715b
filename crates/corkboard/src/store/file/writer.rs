//! The writer thread of the file store. Waiting appends to the same space are one write and one fsync.
//!
//! A batch for many spaces costs an fsync per log, because each log is a file. The fsyncs run in parallel, so that the
//! disk can combine them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::jobs::{DataFolder, Scrub, space_of};
use crate::store::writer_thread::{BATCH, QueuedJob, WriteJob, WriterThread};
use crate::store::{ChangeNotifier, StoreError};

type QueuedFileJob = QueuedJob<Scrub>;

/// How many logs to write in parallel, and so the maximum number of files open for writing.
const PARALLEL: usize = 16;

const THREAD: &str = "corkboard-file";

pub(super) fn start(folder: Arc<DataFolder>, notifier: Arc<ChangeNotifier>) -> Result<WriterThread<Scrub>, StoreError> {
    WriterThread::start(THREAD, folder.fatal.clone(), move |first, queue| {
        let mut groups = by_space(std::iter::once(first).chain(queue.try_iter().take(BATCH - 1)));
        let threads = groups.len().min(PARALLEL);
        groups.reverse();
        let groups = Mutex::new(groups);
        let next = || groups.lock().pop();
        let work = || {
            while let Some(group) = next() {
                write(&folder, &notifier, group);
            }
        };
        if threads <= 1 {
            work();
            return;
        }
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If a thread cannot start, the others do its work.
                let _ = std::thread::Builder::new().name(THREAD.into()).spawn_scoped(scope, work);
            }
            work();
        });
    })
}

/// Groups the jobs by space, in their order.
fn by_space(batch: impl Iterator<Item = QueuedFileJob>) -> Vec<Vec<QueuedFileJob>> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<QueuedFileJob>> = Vec::new();
    for queued in batch {
        let place = *places.entry(space_of(&queued.job).clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(queued),
            None => groups.push(vec![queued]),
        }
    }
    groups
}

/// Performs the jobs of one space: consecutive appends together, everything else one by one.
fn write(folder: &DataFolder, notifier: &ChangeNotifier, group: Vec<QueuedFileJob>) {
    let mut group = group.into_iter().peekable();
    while let Some(first) = group.next() {
        let mut jobs = vec![first];
        let is_append = |queued: &QueuedFileJob| matches!(queued.job, WriteJob::Append(_));
        if jobs.iter().all(is_append) {
            jobs.extend(std::iter::from_fn(|| group.next_if(is_append)));
        }
        let written = folder.fatal.check().map_err(Into::into).and_then(|()| folder.perform(&jobs));
        match written {
            Ok(outcomes) => {
                for (QueuedJob { job, answer }, outcome) in jobs.into_iter().zip(outcomes) {
                    job.notify(notifier, &outcome);
                    let _ = answer.send(Ok(outcome));
                }
            }
            Err(failure) => {
                folder.fatal.record(&failure.error);
                failure.answer(jobs);
            }
        }
    }
}
