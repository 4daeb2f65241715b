//! The tables, and opening a connection to them.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::store::StoreError;

/// "CORK", so that no other program's database is taken for ours.
const APPLICATION_ID: i64 = 0x434f_524b;
/// What leads from each version of the tables to the next. Their number is the version.
const STEPS: &[&str] = &[TABLES, PARTS];
const FORMAT: u32 = STEPS.len() as u32;

/// The log is in the order of appending: every commit writes at its end, and an index finds a space's part of it. A
/// space's head is its last record, so that an append changes nothing else; only a due date that moved is written too.
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

/// What a row of the log does not hold of a long body.
const PARTS: &str = "
CREATE TABLE parts (
    space       INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    body        BLOB NOT NULL,
    PRIMARY KEY (space, rev, part)
) STRICT;
";

/// Whether a file may become, or may be, a Corkboard database: it is missing, empty, or looks like SQLite's.
pub(super) fn is_ours_to_open(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut start = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)) {
        Ok(_) => start.is_empty() || start == MAGIC,
        // Missing, or unreadable: opening says which.
        Err(_) => true,
    }
}

/// Opens a connection with the settings that durability rests on.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // A path is a path, even if it begins like an SQLite URI.
    let path = if path.is_relative() { Path::new(".").join(path) } else { path.to_owned() };
    let connection = Connection::open_with_flags(path, flags).map_err(error)?;
    // Waiting is ours: SQLite's own backs off to 100 ms, far more than a commit takes.
    connection.busy_timeout(Duration::ZERO).map_err(error)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Makes the file ours: write-ahead log, full synchronisation, tables.
pub(super) fn prepare(connection: &mut Connection, busy_timeout: Duration) -> Result<(), StoreError> {
    let (application, tables) = retry(busy_timeout, || {
        // One transaction: another process may be making the tables right now.
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
            transaction
                .execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}"))
                .map_err(error)?;
        }
        transaction.commit().map_err(error)
    })
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> Result<T, StoreError> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).map_err(error)
}

/// Tries again while others hold the lock: jittered, at most 2 ms apart, until the deadline.
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

/// SQLite's errors in our words. What may have left the file in doubt ends the store.
pub(super) fn error(error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    // A row that is not what we wrote.
    if error.sqlite_error_code().is_none() && !matches!(error, rusqlite::Error::QueryReturnedNoRows) {
        return StoreError::Corrupt(text);
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { waited: Duration::ZERO },
        Some(ErrorCode::SystemIoFailure) => StoreError::Failed(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation) => {
            StoreError::Corrupt(text)
        }
        _ => StoreError::Unavailable(text),
    }
}
