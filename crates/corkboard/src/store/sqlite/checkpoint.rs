//! Copies the write-ahead log into the database, between two commits.
//!
//! By default, SQLite does this inside a commit: all callers of that commit wait for it, and a failure is not reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::schema::error;
use crate::store::StoreError;

/// Number of pages in the log that triggers a checkpoint, as in SQLite.
const PAGES: u64 = 1000;

pub(super) struct Checkpoints {
    /// Pages in the log after the last commit; 0 after a checkpoint.
    pages: Arc<AtomicU64>,
    /// Pages in the log after the last commit; reset to 0 by [`Self::committed`].
    committed: Arc<AtomicU64>,
}

impl Checkpoints {
    /// Replaces SQLite's automatic checkpoints.
    pub(super) fn take_over(connection: &mut Connection) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicU64::new(0));
        let committed = Arc::new(AtomicU64::new(0));
        let counted = [pages.clone(), committed.clone()];
        let count = move |_: &mut rusqlite::hooks::Wal, pages: std::ffi::c_int| {
            counted.iter().for_each(|counted| counted.store(pages.unsigned_abs().into(), Ordering::Relaxed));
            Ok(())
        };
        connection.wal_hook(Some(count)).map_err(error)?;
        Ok(Self { pages, committed })
    }

    /// Returns the number of pages in the log after a commit. `None`: nothing was committed since the last call.
    pub(super) fn committed(&self) -> Option<u64> {
        match self.committed.swap(0, Ordering::Relaxed) {
            0 => None,
            pages => Some(pages),
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= PAGES
    }

    pub(super) fn run(&self, connection: &Connection) -> Result<(), StoreError> {
        self.pages.store(0, Ordering::Relaxed);
        copy(connection)
    }
}

/// Copies the log into the database, except pages that readers still need. Does nothing if another process is doing it.
pub(super) fn copy(connection: &Connection) -> Result<(), StoreError> {
    match connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(error) {
        Err(StoreError::Busy { .. }) => Ok(()),
        done => done,
    }
}

/// Copies the whole log into the database and empties the file. Fails with `Busy` if another connection is reading or
/// writing.
pub(super) fn empty(connection: &Connection) -> Result<(), StoreError> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(error)?;
    if busy == 0 { Ok(()) } else { Err(StoreError::Busy { waited: Duration::ZERO }) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::path::{Path, PathBuf};

    use corkboard_core::{CommitId, Head, SpaceId};
    use jiff::Timestamp;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::*;
    use crate::store::{Append, Appended, Ownership, Record, SqliteStore, Store};

    const PAGE: u64 = 4096;

    struct Written {
        folder: TempDir,
        store: SqliteStore,
        head: Head,
    }

    impl Written {
        async fn nothing() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.db");
            let store = SqliteStore::open(path, Ownership::Shared, Duration::from_secs(5)).await.unwrap();
            Self { folder, store, head: Head::EMPTY }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("a.db")
        }

        /// Appends a record of about `pages` pages.
        async fn add(&mut self, pages: u64) {
            let rev = self.head.rev + 1;
            let body = vec![b'x'; (pages * PAGE) as usize];
            let record = Record { rev, commit: CommitId(Uuid::from_u128(rev.into())), at: Timestamp::UNIX_EPOCH, body };
            let space = SpaceId::from_stored("agent/a");
            let (expected, summary) = (self.head, b"{}".to_vec());
            let append = Append { space, expected, records: vec![record], next_due: None, summary };
            self.head = append.new_head();
            assert_eq!(self.store.append(append).await, Ok(Appended::Committed));
        }

        /// Waits until the database file has at least `pages` pages.
        async fn database_has(&self, pages: u64) {
            let arrived = async {
                while length(&self.path()) < pages * PAGE {
                    tokio::task::yield_now().await;
                }
            };
            let in_time = tokio::time::timeout(Duration::from_secs(30), arrived).await;
            assert!(in_time.is_ok(), "the database only has {} bytes", length(&self.path()));
        }
    }

    fn length(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().len()
    }

    #[tokio::test]
    async fn the_log_is_copied_into_the_database() {
        let mut written = Written::nothing().await;
        for _ in 0..6 {
            written.add(200).await;
        }
        written.database_has(PAGES).await;
        // Afterwards the log restarts from its beginning.
        let log = length(&written.path().with_extension("db-wal"));
        written.add(200).await;
        assert_eq!(length(&written.path().with_extension("db-wal")), log);
        assert_eq!(written.store.check().await, Ok(vec![]));
    }

    #[tokio::test]
    async fn the_log_does_not_grow_forever() {
        let mut written = Written::nothing().await;
        for _ in 0..60 {
            written.add(100).await;
        }
        let log = length(&written.path().with_extension("db-wal")) / PAGE;
        assert!(log < PAGES + 200, "{log} pages");
        assert_eq!(written.store.check().await, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_reader_delays_only_the_checkpoint() {
        let mut written = Written::nothing().await;
        written.add(1).await;
        let reader = Connection::open(written.path()).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        let seen = |reader: &Connection| reader.query_row("SELECT count(*) FROM log", [], |row| row.get::<_, u64>(0));
        assert_eq!(seen(&reader), Ok(1));
        for _ in 0..30 {
            written.add(100).await;
        }
        assert_eq!(seen(&reader), Ok(1));
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(seen(&reader), Ok(31));
        written.add(1).await;
        written.database_has(3000).await;
        assert_eq!(written.store.check().await, Ok(vec![]));
    }
}
