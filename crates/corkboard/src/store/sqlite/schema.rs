//! The tables, and opening connections.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::checksum;
use crate::store::StoreError;

/// "CORK"; distinguishes a Corkboard database from other programs' databases.
const APPLICATION_ID: i64 = 0x434f_524b;
/// The migrations from each version of the tables to the next. Their number is the current version.
const STEPS: &[&str] = &[TABLES, PARTS, CHAINS, SUMS];
const FORMAT: u32 = STEPS.len() as u32;

/// The log is in the order of appending. Due dates are written only when they change.
const TABLES: &str = "
CREATE TABLE spaces (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    born_rev    INTEGER NOT NULL,
    born_commit BLOB NOT NULL
) STRICT;
CREATE TABLE log (
    position    INTEGER PRIMARY KEY,
    space       INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    commit_id   BLOB NOT NULL,
    at          INTEGER NOT NULL,
    summary     BLOB,
    body        BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_by_space ON log (space, rev);
CREATE TABLE due (
    space       INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL
) STRICT;
CREATE INDEX due_by_time ON due (at);
CREATE TABLE snapshots (
    space       INTEGER PRIMARY KEY,
    rev         INTEGER NOT NULL,
    commit_id   BLOB NOT NULL,
    body        BLOB NOT NULL
) STRICT;
";

/// Further parts of long bodies.
const PARTS: &str = "
CREATE TABLE parts (
    space       INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    body        BLOB NOT NULL,
    PRIMARY KEY (space, rev, part)
) STRICT;
";

/// Every record links to the one before it in its space, and the heads are close together. An append then writes at the
/// end of the log and in one of few pages, even for many spaces. This replaces an index over all records, which had a
/// separate page for every space. Every 64th revision has a mark (later: every 256th), so that no reader follows the
/// chain far.
const CHAINS: &str = "
CREATE TABLE heads (
    space       INTEGER PRIMARY KEY,
    rev         INTEGER NOT NULL,
    commit_id   BLOB NOT NULL,
    position    INTEGER NOT NULL,
    oldest      INTEGER NOT NULL
) STRICT;
CREATE TABLE marks (
    space       INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    PRIMARY KEY (space, rev)
) STRICT, WITHOUT ROWID;
CREATE TABLE chained (
    position    INTEGER PRIMARY KEY,
    space       INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    previous    INTEGER,
    commit_id   BLOB NOT NULL,
    at          INTEGER NOT NULL,
    summary     BLOB,
    body        BLOB NOT NULL
) STRICT;
INSERT INTO chained SELECT position, space, rev,
    (SELECT position FROM log AS before WHERE before.space = log.space AND before.rev = log.rev - 1),
    commit_id, at, summary, body FROM log ORDER BY position;
INSERT INTO heads SELECT space, rev, commit_id, position,
    (SELECT min(rev) FROM log AS all_of_it WHERE all_of_it.space = log.space)
    FROM log WHERE rev = (SELECT max(rev) FROM log AS all_of_it WHERE all_of_it.space = log.space);
INSERT INTO marks SELECT space, rev, position FROM log WHERE rev % 64 = 0 ORDER BY space, rev;
DROP TABLE log;
ALTER TABLE chained RENAME TO log;
";

/// Every record and snapshot has a checksum; `checksum.rs` fills them in.
const SUMS: &str = "
ALTER TABLE log ADD COLUMN sum INTEGER;
ALTER TABLE snapshots ADD COLUMN sum INTEGER;
";
const WITH_SUMS: u32 = 4;

pub(super) const MARK: u64 = 256;

/// Whether a file can be opened as a Corkboard database: it is missing, empty, or an SQLite file.
pub(super) fn is_ours_to_open(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut start = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)) {
        Ok(_) => start.is_empty() || start == MAGIC,
        // Missing or unreadable: opening reports which.
        Err(_) => true,
    }
}

/// Opens a connection with the settings that durability requires.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Prevents SQLite from interpreting the path as a URI.
    let path = if path.is_relative() { Path::new(".").join(path) } else { path.to_owned() };
    let connection = Connection::open_with_flags(path, flags).map_err(error)?;
    // This module waits itself: SQLite's handler backs off to 100 ms, far longer than a commit takes.
    connection.busy_timeout(Duration::ZERO).map_err(error)?;
    // Overwrite deleted content with zeros at once.
    connection.execute_batch("PRAGMA secure_delete = ON").map_err(error)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Initializes or migrates the file: write-ahead log, full synchronization, tables.
pub(super) fn prepare(connection: &mut Connection, busy_timeout: Duration) -> Result<(), StoreError> {
    let (application, tables) = retry(busy_timeout, || {
        // One transaction, because another process may be creating the tables right now.
        let transaction = connection.transaction().map_err(error)?;
        let tables = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        let tables = tables.map_err(error)?;
        Ok((pragma::<i64>(&transaction, "application_id")?, tables))
    })?;
    if application != APPLICATION_ID && (application != 0 || tables != 0) {
        return Err(StoreError::Url {
            url: "sqlite:".into(),
            reason: "this is another program's database, not Corkboard's".into(),
        });
    }
    let mode: String =
        retry(busy_timeout, || connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(error))?;
    if mode != "wal" {
        return Err(StoreError::Unavailable(format!("SQLite cannot use a write-ahead log here (journal mode {mode})")));
    }
    connection.execute_batch("PRAGMA synchronous = FULL").map_err(error)?;
    retry(busy_timeout, || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error)?;
        let found: u32 = pragma(&transaction, "user_version")?;
        if found > FORMAT {
            return Err(StoreError::NewerFormat { found, known: FORMAT });
        }
        if found < FORMAT {
            for step in STEPS.iter().skip(found as usize) {
                transaction.execute_batch(step).map_err(error)?;
            }
            if found < WITH_SUMS {
                checksum::fill(&transaction)?;
            }
            transaction
                .execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}"))
                .map_err(error)?;
        }
        transaction.commit().map_err(error)
    })
}

pub(super) fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> Result<T, StoreError> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).map_err(error)
}

/// Retries while others hold the lock: jittered, at most 2 ms apart, until the deadline.
pub(super) fn retry<T>(
    deadline: Duration,
    mut attempt: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let start = Instant::now();
    let mut longest = 200;
    loop {
        match attempt() {
            Err(StoreError::Busy { .. }) if start.elapsed() >= deadline => {
                return Err(StoreError::Busy { waited: start.elapsed() });
            }
            Err(StoreError::Busy { .. }) => {
                std::thread::sleep(Duration::from_micros(fastrand::u64(50..=longest)));
                longest = (longest * 2).min(2000);
            }
            other => return other,
        }
    }
}

/// Converts SQLite's errors. An error that may leave the file in doubt stops the store.
pub(super) fn error(error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    // A row that Corkboard did not write.
    if error.sqlite_error_code().is_none() && !matches!(error, rusqlite::Error::QueryReturnedNoRows) {
        return StoreError::Corrupt(text);
    }
    // The system refused a write, for example because of a quota. SQLite rolls it back, so nothing is in doubt as after
    // a failed fsync.
    let refused_writes = [rusqlite::ffi::SQLITE_IOERR_WRITE, rusqlite::ffi::SQLITE_IOERR_SHMSIZE];
    if error.sqlite_error().is_some_and(|error| refused_writes.contains(&error.extended_code)) {
        return StoreError::Unavailable(text);
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::NoSpace(text),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { waited: Duration::ZERO },
        Some(ErrorCode::SystemIoFailure) => StoreError::Failed(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation) => {
            StoreError::Corrupt(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

    use corkboard_core::{CommitId, SpaceId};
    use jiff::Timestamp;

    use super::*;
    use crate::store::{Append, Appended, Cursor, Ownership, Record, SqliteStore, Store};

    /// Creates a file with the first version of the tables.
    fn first_version(path: &Path) {
        let connection = connect(path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        connection.execute_batch(TABLES).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;
                 INSERT INTO spaces VALUES (1, 'agent/whole', 0, zeroblob(16)), (2, 'agent/trimmed', 3, zeroblob(16)),
                     (3, 'agent/deleted', 9, zeroblob(16));
                 WITH RECURSIVE revs (rev) AS (SELECT 1 UNION ALL SELECT rev + 1 FROM revs WHERE rev < 150)
                 INSERT INTO log (space, rev, commit_id, at, summary, body)
                     SELECT space, rev, randomblob(16), rev, CAST('{{}}' AS BLOB), CAST(space || '@' || rev AS BLOB)
                     FROM revs, (SELECT 1 AS space UNION ALL SELECT 2) WHERE space = 1 OR rev BETWEEN 70 AND 75;
                 INSERT INTO snapshots SELECT space, rev, commit_id, CAST('state' AS BLOB) FROM log
                     WHERE space = 2 AND rev = 72;
                 INSERT INTO due VALUES (1, 5);"
            ))
            .unwrap();
    }

    /// Creates a file of the version before checksums. One record is long.
    fn third_version(path: &Path) {
        let connection = connect(path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        [TABLES, PARTS, CHAINS].iter().for_each(|step| connection.execute_batch(step).unwrap());
        let part = Record::PART_BYTES;
        connection
            .execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 3;
                 INSERT INTO spaces VALUES (1, 'agent/a', 0, zeroblob(16)), (2, 'agent/trimmed', 0, zeroblob(16));
                 WITH RECURSIVE revs (rev) AS (SELECT 1 UNION ALL SELECT rev + 1 FROM revs WHERE rev < 600)
                 INSERT INTO log (space, rev, previous, commit_id, at, summary, body)
                     SELECT 1, rev, nullif(rev - 1, 0), randomblob(16), rev, CAST('{{}}' AS BLOB),
                         CAST('{{\"rev\":' || rev || '}}' AS BLOB) FROM revs;
                 UPDATE log SET body = zeroblob({part}), summary = NULL WHERE rev = 9;
                 INSERT INTO parts VALUES (1, 9, 1, zeroblob({part})), (1, 9, 2, CAST('end' AS BLOB));
                 INSERT INTO log (position, space, rev, commit_id, at, body)
                     VALUES (700, 2, 5, randomblob(16), 5, CAST('five' AS BLOB));
                 INSERT INTO snapshots SELECT 2, rev, commit_id, CAST('state' AS BLOB) FROM log WHERE position = 700;
                 INSERT INTO heads SELECT space, rev, commit_id, position, 1 FROM log WHERE position = 600;
                 INSERT INTO heads SELECT space, rev, commit_id, position, 5 FROM log WHERE position = 700;
                 INSERT INTO marks SELECT space, rev, position FROM log WHERE rev % 256 = 0;"
            ))
            .unwrap();
    }

    #[tokio::test]
    async fn the_version_before_checksums_is_upgraded_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        third_version(&path);
        let store = SqliteStore::open(path.clone(), Ownership::Shared, Duration::from_secs(5)).await.unwrap();
        assert_eq!(store.check().await, Ok(vec![]));
        let (space, trimmed) = (SpaceId::from_stored("agent/a"), SpaceId::from_stored("agent/trimmed"));
        let mut cursor = Cursor { rev: 0, commit: None };
        while cursor.rev < 600 {
            for record in store.read_after(&space, cursor, 1000).await.unwrap().records {
                let rev = record.rev;
                match rev {
                    9 => assert!(record.body.ends_with(b"\0end") && record.body.len() == 2 * Record::PART_BYTES + 3),
                    _ => assert_eq!(record.body, format!("{{\"rev\":{rev}}}").as_bytes()),
                }
                assert_eq!((rev, record.at.as_millisecond()), (cursor.rev + 1, rev as i64));
                cursor = Cursor { rev, commit: Some(record.commit) };
            }
        }
        assert_eq!(store.load(&trimmed).await.unwrap().snapshot.unwrap().body, b"state");
        // The upgraded log can be appended to.
        let commit = CommitId(uuid::Uuid::from_u128(6));
        let record = Record { rev: 6, commit, at: Timestamp::UNIX_EPOCH, body: b"six".to_vec() };
        let expected = store.head(&trimmed).await.unwrap();
        let append = Append { space: trimmed, expected, records: vec![record], next_due: None, summary: vec![] };
        assert_eq!(store.append(append).await, Ok(Appended::Committed));
        store.close().await.unwrap();
        let connection = connect(&path).unwrap();
        assert_eq!(pragma::<u32>(&connection, "user_version"), Ok(4));
        let without =
            "SELECT (SELECT count(*) FROM log WHERE sum IS NULL) + (SELECT count(*) FROM snapshots WHERE sum IS NULL)";
        assert_eq!(connection.query_row(without, [], |row| row.get::<_, u64>(0)), Ok(0));
    }

    #[tokio::test]
    async fn the_first_version_of_the_tables_is_upgraded_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        first_version(&path);
        let store = SqliteStore::open(path, Ownership::Shared, Duration::from_secs(5)).await.unwrap();
        assert_eq!(store.check().await, Ok(vec![]));
        let (whole, trimmed) = (SpaceId::from_stored("agent/whole"), SpaceId::from_stored("agent/trimmed"));
        let page = store.read_after(&whole, Cursor { rev: 0, commit: None }, 1000).await.unwrap();
        assert!(page.records.iter().map(|record| record.rev).eq(1..=150));
        assert!(page.records.iter().all(|record| record.body == format!("1@{}", record.rev).as_bytes()));
        let from = |rev| Cursor { rev, commit: None };
        assert_eq!(store.read_after(&trimmed, from(4), 9).await, Err(StoreError::Compacted { oldest: 70 }));
        let page = store.read_after(&trimmed, from(72), 2).await.unwrap();
        assert!(page.records.iter().map(|record| record.rev).eq([73, 74]));
        assert_eq!(store.load(&trimmed).await.unwrap().snapshot.unwrap().head.rev, 72);
        assert_eq!(store.head(&SpaceId::from_stored("agent/deleted")).await.unwrap().rev, 9);
        assert_eq!(store.list(corkboard_core::SpaceKind::Agent, None, 9).await.unwrap().len(), 2);
    }
}
