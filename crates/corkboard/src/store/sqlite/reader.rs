//! Queries. Each runs in one read transaction, so that what it returns belongs together.

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::schema::error;
use crate::store::{Cursor, ListedSpace, Loaded, Page, Record, Snapshot, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// What is known of one space.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpaceRow {
    pub(super) id: i64,
    pub(super) head: Head,
    pub(super) born: Head,
    pub(super) next_due: Option<i64>,
}

pub(super) fn space_row(connection: &Connection, space: &SpaceId) -> Result<Option<SpaceRow>> {
    let mut query = connection
        .prepare_cached(
            "SELECT spaces.id, born_rev, born_commit, log.rev, log.commit_id, due.at FROM spaces
             LEFT JOIN log ON log.space = spaces.id AND log.rev = (SELECT max(rev) FROM log WHERE space = spaces.id)
             LEFT JOIN due ON due.space = spaces.id WHERE name = ?1",
        )
        .map_err(error)?;
    query
        .query_row([space.as_str()], |row| {
            let born = head_at(row, 1)?;
            let head = row.get::<_, Option<u64>>(3)?.map_or(Ok(born), |_| head_at(row, 3))?;
            Ok(SpaceRow { id: row.get(0)?, head, born, next_due: row.get(5)? })
        })
        .optional()
        .map_err(error)
}

pub(super) fn data_version(connection: &Connection) -> Result<i64> {
    let mut query = connection.prepare_cached("PRAGMA data_version").map_err(error)?;
    query.query_row([], |row| row.get(0)).map_err(error)
}

pub(super) fn load(connection: &mut Connection, space: &SpaceId) -> Result<Loaded> {
    let transaction = connection.transaction().map_err(error)?;
    let Some(row) = space_row(&transaction, space)? else {
        return Ok(Loaded { head: Head::EMPTY, born: Head::EMPTY, snapshot: None });
    };
    let mut query =
        transaction.prepare_cached("SELECT rev, commit_id, body FROM snapshots WHERE space = ?1").map_err(error)?;
    let snapshot = query
        .query_row([row.id], |found| Ok(Snapshot { head: head_at(found, 0)?, body: found.get(2)? }))
        .optional()
        .map_err(error)?;
    Ok(Loaded { head: row.head, born: row.born, snapshot })
}

pub(super) fn read_after(connection: &mut Connection, space: &SpaceId, cursor: Cursor, limit: usize) -> Result<Page> {
    let transaction = connection.transaction().map_err(error)?;
    let row = space_row(&transaction, space)?;
    let (id, head, born) = row.map_or((0, Head::EMPTY, Head::EMPTY), |row| (row.id, row.head, row.born));
    if cursor.rev > head.rev {
        return Err(StoreError::Future { asked: cursor.rev, head: head.rev });
    }
    let oldest = oldest(&transaction, id, head)?;
    if cursor.rev + 1 < oldest {
        return Err(StoreError::Compacted { oldest });
    }
    if let Some(expected) = cursor.commit {
        let found = match cursor.rev {
            rev if rev == head.rev => Some(head.commit),
            rev if rev == born.rev => Some(born.commit),
            rev => commit_at(&transaction, id, rev)?,
        };
        if found.is_some_and(|found| found != expected) {
            return Err(StoreError::Diverged);
        }
    }
    let mut query = transaction
        .prepare_cached("SELECT rev, commit_id, at, body FROM log WHERE space = ?1 AND rev > ?2 ORDER BY rev LIMIT ?3")
        .map_err(error)?;
    let records = query
        .query_map(params![id, cursor.rev, limit as i64], |row| {
            let Head { rev, commit } = head_at(row, 0)?;
            let mut body: Vec<u8> = row.get(3)?;
            if body.len() == Record::PART_BYTES {
                read_parts(&transaction, id, rev, &mut body)?;
            }
            Ok(Record { rev, commit, at: time(row.get(2)?), body })
        })
        .map_err(error)?;
    Page::fill(records, head).map_err(error)
}

/// What the row of the log does not hold: a full first part may have more after it.
fn read_parts(connection: &Connection, id: i64, rev: u64, body: &mut Vec<u8>) -> rusqlite::Result<()> {
    let mut query = connection.prepare_cached("SELECT body FROM parts WHERE space = ?1 AND rev = ?2 ORDER BY part")?;
    let mut rows = query.query(params![id, rev])?;
    while let Some(row) = rows.next()? {
        body.extend_from_slice(row.get_ref(0)?.as_blob()?);
    }
    Ok(())
}

pub(super) fn oldest(connection: &Connection, id: i64, head: Head) -> Result<u64> {
    let mut query = connection.prepare_cached("SELECT min(rev) FROM log WHERE space = ?1").map_err(error)?;
    let oldest: Option<u64> = query.query_row([id], |row| row.get(0)).map_err(error)?;
    Ok(oldest.unwrap_or(head.rev + 1))
}

fn commit_at(connection: &Connection, id: i64, rev: u64) -> Result<Option<CommitId>> {
    let mut query =
        connection.prepare_cached("SELECT commit_id FROM log WHERE space = ?1 AND rev = ?2").map_err(error)?;
    query.query_row(params![id, rev], |row| commit(row.get(0)?)).optional().map_err(error)
}

pub(super) fn list(
    connection: &Connection,
    kind: SpaceKind,
    after: Option<&SpaceId>,
    limit: usize,
) -> Result<Vec<ListedSpace>> {
    let (first, end) = names_of(kind);
    let first = after.map_or(first, |after| after.as_str().into());
    let mut query = connection
        .prepare_cached(
            "SELECT log.rev, commit_id, name, due.at, summary FROM spaces
             JOIN log ON log.space = spaces.id AND log.rev = (SELECT max(rev) FROM log WHERE space = spaces.id)
             LEFT JOIN due ON due.space = spaces.id WHERE name > ?1 AND name < ?2 ORDER BY name LIMIT ?3",
        )
        .map_err(error)?;
    let listed = query
        .query_map(params![first, end, limit as i64], |row| {
            let name: String = row.get(2)?;
            Ok(ListedSpace {
                space: SpaceId::from_stored(&name),
                head: head_at(row, 0)?,
                next_due: row.get::<_, Option<i64>>(3)?.map(time),
                summary: row.get::<_, Option<Vec<u8>>>(4)?.unwrap_or_default(),
            })
        })
        .map_err(error)?;
    listed.collect::<rusqlite::Result<_>>().map_err(error)
}

pub(super) fn due(connection: &Connection, kind: SpaceKind, now: Timestamp, limit: usize) -> Result<Vec<SpaceId>> {
    let mut query = connection
        .prepare_cached(
            "SELECT name FROM due JOIN spaces ON id = space
             WHERE at <= ?1 AND name > ?3 AND name < ?4 ORDER BY at LIMIT ?2",
        )
        .map_err(error)?;
    let (first, end) = names_of(kind);
    let due = query
        .query_map(params![now.as_millisecond(), limit as i64, first, end], |row| {
            let name: String = row.get(0)?;
            Ok(SpaceId::from_stored(&name))
        })
        .map_err(error)?;
    due.collect::<rusqlite::Result<_>>().map_err(error)
}

/// Names of one kind lie between "kind/" and "kind0", the character after the slash.
fn names_of(kind: SpaceKind) -> (String, String) {
    (format!("{}/", kind.as_str()), format!("{}0", kind.as_str()))
}

/// Rebuilds the file from what is in it, and empties the write-ahead log. Free pages, and the free space in pages, go.
pub(super) fn scrub(connection: &mut Connection) -> Result<()> {
    connection.execute_batch("VACUUM").map_err(error)?;
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(error)?;
    if busy == 0 { Ok(()) } else { Err(StoreError::Busy { waited: std::time::Duration::ZERO }) }
}

/// SQLite's own check, and ours: every log is without gaps, and begins where its space or its snapshot does.
pub(super) fn check(connection: &mut Connection) -> Result<Vec<String>> {
    let transaction = connection.transaction().map_err(error)?;
    let mut problems = Vec::new();
    let mut integrity = transaction.prepare("PRAGMA integrity_check(20)").map_err(error)?;
    let lines = integrity.query_map([], |row| row.get::<_, String>(0)).map_err(error)?;
    for line in lines {
        let line = line.map_err(error)?;
        if line != "ok" {
            problems.push(format!("SQLite: {line}"));
        }
    }
    let mut gaps = transaction
        .prepare(
            "SELECT name, count(*), min(rev), max(rev) FROM log LEFT JOIN spaces ON id = space GROUP BY space
             HAVING name IS NULL OR min(rev) <= born_rev OR count(*) <> max(rev) - min(rev) + 1
                 OR (min(rev) > born_rev + 1
                     AND min(rev) > (SELECT coalesce(max(rev), 0) FROM snapshots WHERE space = log.space) + 1)",
        )
        .map_err(error)?;
    let gaps = gaps
        .query_map([], |row| {
            let (name, count, first, last): (Option<String>, u64, u64, u64) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let name = name.unwrap_or_else(|| "without a name".into());
            Ok(format!("space {name}: {count} records from {first} to {last} that do not make a log"))
        })
        .map_err(error)?;
    for problem in gaps {
        problems.push(problem.map_err(error)?);
    }
    Ok(problems)
}

fn head_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Head> {
    Ok(Head { rev: row.get(column)?, commit: commit(row.get(column + 1)?)? })
}

fn commit(bytes: [u8; 16]) -> rusqlite::Result<CommitId> {
    Ok(CommitId(Uuid::from_bytes(bytes)))
}

fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::UNIX_EPOCH)
}
