//! `file:`: a human-readable folder with a log and a snapshot per space, for one process at a time.

mod bytes;
mod catalogue;
mod disk;
mod head;
mod jobs;
mod line;
mod log;
mod names;
mod reader;
mod repair;
mod replace;
mod snapshot;
mod space;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::sync::{broadcast, watch};

use super::writer_thread::{WriteJob, WriterThread};
use super::{
    Append, Appended, ChangeNotifier, Cursor, Import, ListedSpace, Loaded, Ownership, Page, Rewrite, Snapshot, Store,
    StoreError, StoreFuture, StoreInfo, Trim,
};
use catalogue::Catalogue;
use disk::Root;
use jobs::{DataFolder, Scrub};

/// How many spaces to scrub at once. Few, because other writers wait in the meantime.
const SCRUBBED: usize = 16;

/// Keeps each log in a file of a folder.
pub struct FileStore {
    ownership: Ownership,
    folder: Arc<DataFolder>,
    writer: WriterThread<Scrub>,
    notifier: Arc<ChangeNotifier>,
}

impl FileStore {
    /// Opens the folder, and creates it if it is missing. No other process can open it until it is closed.
    ///
    /// Use [`Ownership::Shared`] if several Corkboards of this process share the opened store.
    pub async fn open(path: PathBuf, ownership: Ownership) -> Result<Self, StoreError> {
        let opened = tokio::task::spawn_blocking(move || Self::open_blocking(path, ownership)).await;
        opened.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }

    fn open_blocking(path: PathBuf, ownership: Ownership) -> Result<Self, StoreError> {
        let (root, lock) = Root::open(path)?;
        let catalogue = Catalogue::read(root.path())?;
        let folder = Arc::new(DataFolder::new(root, catalogue, lock));
        let notifier = Arc::new(ChangeNotifier::default());
        let writer = writer::start(folder.clone(), notifier.clone())?;
        Ok(Self { ownership, folder, writer, notifier })
    }

    /// Number of writes to logs and snapshots. Each cost one fsync, or a few if a file was created.
    pub fn writes(&self) -> u64 {
        self.folder.writes.load(Ordering::Relaxed)
    }

    fn check_open(&self) -> Result<(), StoreError> {
        self.folder.fatal.check()?;
        if self.folder.lock.lock().is_none() { Err(StoreError::Closed) } else { Ok(()) }
    }

    fn now<'a, T: Send + 'a>(&self, look: impl FnOnce(&Catalogue) -> T) -> StoreFuture<'a, T> {
        Box::pin(std::future::ready(self.check_open().map(|()| look(&self.folder.catalogue))))
    }

    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&DataFolder) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let folder = self.folder.clone();
        Box::pin(async move {
            self.check_open()?;
            // In the blocking task, so that a fatal error is recorded even if the caller has stopped waiting.
            let result = tokio::task::spawn_blocking(move || {
                read(&folder).inspect_err(|error| {
                    folder.fatal.record(error);
                })
            });
            result.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        })
    }
}

/// Rejects an append that would break the log.
fn check_append(append: &Append) -> Result<(), StoreError> {
    let refuse = |text: &str| Err(StoreError::Unavailable(text.into()));
    if append.summary.len() > Append::SUMMARY_BYTES {
        return refuse("the summary is too long");
    }
    let revs = append.records.iter().map(|record| record.rev);
    if append.records.is_empty() || !revs.eq((append.expected.rev + 1..).take(append.records.len())) {
        return refuse("the records do not follow the expected head");
    }
    Ok(())
}

impl Store for FileStore {
    fn info(&self) -> StoreInfo {
        let details = vec![
            ("format", line::FORMAT.to_string()),
            ("durability", "acknowledged writes are fsynced (file and folder)".into()),
        ];
        StoreInfo {
            kind: "file",
            location: self.folder.root.path().display().to_string(),
            ownership: self.ownership,
            details,
            warnings: self.folder.root.warning().into_iter().collect(),
        }
    }

    fn append(&self, append: Append) -> StoreFuture<'_, Appended> {
        Box::pin(async move {
            check_append(&append)?;
            self.writer.append(WriteJob::Append(append)).await
        })
    }

    fn head<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Head> {
        match self.folder.catalogue.known_head(space) {
            Some(head) => self.now(|_| head),
            // The first access to a space reads its log: it may be damaged.
            None => {
                let space = space.clone();
                self.read(move |folder| folder.look(&space).with(|index| Ok(index.head)))
            }
        }
    }

    fn load<'a>(&'a self, space: &'a SpaceId) -> StoreFuture<'a, Loaded> {
        let space = space.clone();
        self.read(move |folder| reader::load(&folder.look(&space)))
    }

    fn read_after<'a>(&'a self, space: &'a SpaceId, cursor: Cursor, limit: usize) -> StoreFuture<'a, Page> {
        let space = space.clone();
        self.read(move |folder| reader::read_after(&folder.look(&space), cursor, limit))
    }

    fn write_snapshot<'a>(&'a self, space: &'a SpaceId, snapshot: Snapshot) -> StoreFuture<'a, ()> {
        self.writer.perform(WriteJob::Snapshot { space: space.clone(), snapshot })
    }

    fn trim<'a>(&'a self, space: &'a SpaceId, trim: Trim) -> StoreFuture<'a, u64> {
        self.writer.trim(space, trim)
    }

    fn list<'a>(
        &'a self,
        kind: SpaceKind,
        after: Option<&'a SpaceId>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<ListedSpace>> {
        self.now(|catalogue| catalogue.list(kind, after, limit))
    }

    fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> StoreFuture<'_, Vec<SpaceId>> {
        self.now(|catalogue| catalogue.due(kind, now, limit))
    }

    fn delete<'a>(&'a self, space: &'a SpaceId, expected: Head, tombstone: CommitId) -> StoreFuture<'a, Appended> {
        self.writer.append(WriteJob::Delete { space: space.clone(), expected, tombstone })
    }

    fn import(&self, import: Import) -> StoreFuture<'_, Appended> {
        self.writer.append(WriteJob::Import(import))
    }

    fn rewrite(&self, rewrite: Rewrite) -> StoreFuture<'_, Appended> {
        self.writer.append(WriteJob::Rewrite(rewrite))
    }

    /// Removes every file that is not a log, its snapshot or its head. It cannot erase what the disk keeps of removed
    /// files.
    fn scrub(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            let mut scrubbed = Ok(());
            for spaces in self.folder.catalogue.all().chunks(SCRUBBED) {
                // Read the logs here, not in the thread that all writers wait for. The scrub below reports errors.
                let unread = spaces.to_vec();
                let read = move |_: &DataFolder| {
                    unread.iter().for_each(|files| drop(files.with(|_| Ok(()))));
                    Ok(())
                };
                self.read(read).await?;
                let answers =
                    spaces.iter().map(|files| self.writer.perform(WriteJob::Own(Scrub(files.space().clone()))));
                // A damaged space must not prevent scrubbing the others.
                scrubbed = join_all(answers).await.into_iter().fold(scrubbed, Result::and);
            }
            scrubbed
        })
    }

    fn changes(&self, space: &SpaceId) -> watch::Receiver<u64> {
        self.notifier.subscribe(space)
    }

    fn all_changes(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        self.notifier.subscribe_all()
    }

    fn check(&self) -> StoreFuture<'_, Vec<String>> {
        self.read(|folder| {
            let catalogue = &folder.catalogue;
            let nameless = catalogue.nameless().iter();
            let mut problems: Vec<_> = nameless
                .map(|folder| format!("{}: cannot tell which space this log belongs to", folder.display()))
                .collect();
            problems.extend(catalogue.all().iter().flat_map(|files| reader::check(files)));
            Ok(problems)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.writer.close().await;
            if let Some(lock) = self.folder.lock.lock().take() {
                disk::clear_holder(&lock);
            }
            Ok(())
        })
    }
}
