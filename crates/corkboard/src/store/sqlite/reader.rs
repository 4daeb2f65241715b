//! Queries. Each runs in one read transaction, so its result is consistent.

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::checksum;
use super::schema::error;
use crate::store::{Cursor, ListedSpace, Loaded, Page, Record, Result, Snapshot, StoreError};

/// Maximum number of records with a wrong checksum to report.
const PROBLEMS: usize = 20;

/// The stored data of one space.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpaceRow {
    pub(super) id: i64,
    pub(super) head: Head,
    pub(super) born: Head,
    pub(super) next_due: Option<i64>,
    /// The position of the last record. `None`: there are no records.
    pub(super) last: Option<i64>,
    /// The oldest revision in the log; after the head if the log is empty.
    pub(super) oldest: u64,
}

pub(super) fn space_row(connection: &Connection, space: &SpaceId) -> Result<Option<SpaceRow>> {
    let mut query = connection
        .prepare_cached(
            "SELECT spaces.id, born_rev, born_commit, heads.rev, heads.commit_id, due.at, heads.position, heads.oldest
             FROM spaces LEFT JOIN heads ON heads.space = spaces.id LEFT JOIN due ON due.space = spaces.id
             WHERE name = ?1",
        )
        .map_err(error)?;
    query
        .query_row([space.as_str()], |row| {
            let born = head_at(row, 1)?;
            let head = row.get::<_, Option<u64>>(3)?.map_or(Ok(born), |_| head_at(row, 3))?;
            let oldest = row.get::<_, Option<u64>>(7)?.unwrap_or(head.rev + 1);
            Ok(SpaceRow { id: row.get(0)?, head, born, next_due: row.get(5)?, last: row.get(6)?, oldest })
        })
        .optional()
        .map_err(error)
}

/// Returns the positions of the records with these revisions, in order. Follows the chain of records back from the next
/// mark or from the head. `first` must not be before the oldest record.
pub(super) fn positions(connection: &Connection, row: &SpaceRow, first: u64, last: u64) -> Result<Vec<i64>> {
    let Some(head) = row.last.filter(|_| first <= last) else { return Ok(Vec::new()) };
    let mut mark = connection
        .prepare_cached("SELECT position FROM marks WHERE space = ?1 AND rev >= ?2 ORDER BY rev LIMIT 1")
        .map_err(error)?;
    let start: Option<i64> = mark.query_row(params![row.id, last], |row| row.get(0)).optional().map_err(error)?;
    let mut chain = connection
        .prepare_cached(
            "WITH RECURSIVE appender (position, rev, previous) AS (
                 SELECT position, rev, previous FROM log WHERE position = ?1 AND space = ?2
                 UNION ALL
                 SELECT log.position, log.rev, log.previous FROM appender
                 JOIN log ON log.position = appender.previous WHERE appender.rev > ?3)
             SELECT position FROM appender WHERE rev <= ?4",
        )
        .map_err(error)?;
    let found = chain.query_map(params![start.unwrap_or(head), row.id, first, last], |row| row.get(0));
    let mut found: Vec<i64> = found.and_then(Iterator::collect).map_err(error)?;
    if found.len() as u64 != last - first + 1 {
        return Err(StoreError::Corrupt(format!("the log does not contain revisions {first} to {last}")));
    }
    found.reverse();
    Ok(found)
}

pub(super) fn data_version(connection: &Connection) -> Result<i64> {
    let mut query = connection.prepare_cached("PRAGMA data_version").map_err(error)?;
    query.query_row([], |row| row.get(0)).map_err(error)
}

/// The newest record of all spaces.
#[derive(Clone)]
pub(super) struct LogEnd {
    position: i64,
    commit: [u8; 16],
}

/// Spaces with their newest revisions, and the newest record of all at that time.
type ChangedHeads = (Vec<(SpaceId, u64)>, Option<LogEnd>);

/// Returns the spaces that changed since then, with their newest revisions. Returns all spaces if the changes cannot be
/// determined.
pub(super) fn moved(connection: &mut Connection, since: Option<&LogEnd>) -> Result<ChangedHeads> {
    let transaction = connection.transaction().map_err(error)?;
    let end = |condition: &str, position: i64| {
        let query = format!("SELECT position, commit_id FROM log WHERE {condition} ORDER BY position DESC LIMIT 1");
        let mut query = transaction.prepare_cached(&query).map_err(error)?;
        let end = query.query_row([position], |row| Ok(LogEnd { position: row.get(0)?, commit: row.get(1)? }));
        end.optional().map_err(error)
    };
    // The position of a deleted newest record is reused. Positions after it are a complete list of changes only if it
    // still exists.
    let known = match since {
        Some(since) => end("position = ?1", since.position)?.filter(|found| found.commit == since.commit),
        None => None,
    };
    let (query, after) = match known {
        Some(LogEnd { position, .. }) => (
            "SELECT name, max(rev) FROM log JOIN spaces ON spaces.id = log.space WHERE position > ?1 GROUP BY log.space",
            position,
        ),
        None => (
            "SELECT name, coalesce(heads.rev, born_rev) FROM spaces LEFT JOIN heads ON heads.space = spaces.id
             WHERE spaces.id > ?1",
            i64::MIN,
        ),
    };
    let mut query = transaction.prepare_cached(query).map_err(error)?;
    let moved = query.query_map([after], |row| {
        let name: String = row.get(0)?;
        Ok((SpaceId::from_stored(&name), row.get(1)?))
    });
    let moved = moved.and_then(Iterator::collect).map_err(error)?;
    Ok((moved, end("position > ?1", i64::MIN)?))
}

pub(super) fn load(connection: &mut Connection, space: &SpaceId) -> Result<Loaded> {
    let transaction = connection.transaction().map_err(error)?;
    let Some(row) = space_row(&transaction, space)? else {
        return Ok(Loaded { head: Head::EMPTY, born: Head::EMPTY, snapshot: None });
    };
    let snapshot = match snapshot(&transaction, space, row.id) {
        Err(StoreError::Corrupt(problem)) if row.oldest == row.born.rev + 1 => {
            tracing::warn!(problem, "cannot use the snapshot; the log is complete");
            None
        }
        snapshot => snapshot?,
    };
    Ok(Loaded { head: row.head, born: row.born, snapshot })
}

/// Reads the snapshot of a space and checks its checksum.
pub(super) fn snapshot(connection: &Connection, space: &SpaceId, id: i64) -> Result<Option<Snapshot>> {
    let mut query =
        connection.prepare_cached("SELECT rev, commit_id, body, sum FROM snapshots WHERE space = ?1").map_err(error)?;
    let found = query.query_row([id], |found| {
        let snapshot = Snapshot { head: head_at(found, 0)?, body: found.get(2)? };
        Ok((snapshot, found.get::<_, Option<u32>>(3)?))
    });
    let Some((snapshot, sum)) = found.optional().map_err(error)? else { return Ok(None) };
    let Head { rev, commit } = snapshot.head;
    if sum != Some(checksum::of_snapshot(space.as_str(), rev, commit.0.as_bytes(), &snapshot.body)) {
        return Err(damaged(space.as_str(), rev, "the checksum of the snapshot does not match"));
    }
    Ok(Some(snapshot))
}

fn damaged(space: &str, rev: u64, problem: &str) -> StoreError {
    StoreError::Corrupt(format!("space {space}, revision {rev}: {problem}"))
}

pub(super) fn read_after(connection: &mut Connection, space: &SpaceId, cursor: Cursor, limit: usize) -> Result<Page> {
    let transaction = connection.transaction().map_err(error)?;
    let Some(row) = space_row(&transaction, space)? else {
        return match cursor.rev {
            0 => Ok(Page { records: Vec::new(), head: Head::EMPTY }),
            asked => Err(StoreError::Future { asked, head: 0 }),
        };
    };
    let SpaceRow { head, born, oldest, .. } = row;
    cursor.check(head, born, oldest, || {
        (cursor.rev >= oldest).then(|| commit_at(&transaction, &row, cursor.rev)).transpose()
    })?;
    let last = cursor.rev.saturating_add(limit as u64).min(head.rev);
    let mut query = transaction
        .prepare_cached("SELECT commit_id, at, summary, body, sum FROM log WHERE position = ?1")
        .map_err(error)?;
    let positions = positions(&transaction, &row, cursor.rev + 1, last)?;
    let records = (cursor.rev + 1..).zip(positions).map(|(rev, position)| {
        let record = query.query_row([position], |found| record(&transaction, (space.as_str(), row.id), rev, found));
        record.map_err(error)?
    });
    Page::fill(records, head)
}

/// Reads a record from a row of the log, with all parts of its body, and checks its checksum. The row begins with
/// `commit_id`, `at`, `summary`, `body` and `sum`.
fn record(
    connection: &Connection,
    (space, id): (&str, i64),
    rev: u64,
    row: &Row<'_>,
) -> rusqlite::Result<Result<Record>> {
    let (at, summary) = (row.get(1)?, row.get_ref(2)?.as_blob_or_null()?);
    let mut body: Vec<u8> = row.get(3)?;
    if body.len() == Record::PART_BYTES {
        read_parts(connection, id, rev, &mut body)?;
    }
    let commit = commit(row.get(0)?)?;
    let sum = checksum::of_record(space, rev, commit.0.as_bytes(), at, summary, &body);
    Ok(match row.get::<_, Option<u32>>(4)? {
        Some(stored) if stored == sum => Ok(Record { rev, commit, at: time(at), body }),
        _ => Err(damaged(space, rev, "the checksum of the record does not match")),
    })
}

/// Appends the further parts of a body: if its first part is full, there may be more.
pub(super) fn read_parts(connection: &Connection, id: i64, rev: u64, body: &mut Vec<u8>) -> rusqlite::Result<()> {
    let mut query = connection.prepare_cached("SELECT body FROM parts WHERE space = ?1 AND rev = ?2 ORDER BY part")?;
    let mut rows = query.query(params![id, rev])?;
    while let Some(row) = rows.next()? {
        body.extend_from_slice(row.get_ref(0)?.as_blob()?);
    }
    Ok(())
}

fn commit_at(connection: &Connection, row: &SpaceRow, rev: u64) -> Result<CommitId> {
    let position = positions(connection, row, rev, rev)?;
    let mut query = connection.prepare_cached("SELECT commit_id FROM log WHERE position = ?1").map_err(error)?;
    query.query_row([position.first()], |row| commit(row.get(0)?)).map_err(error)
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
            "SELECT heads.rev, heads.commit_id, name, due.at, summary FROM spaces
             JOIN heads ON heads.space = spaces.id JOIN log ON log.position = heads.position
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

/// Runs SQLite's own check, then checks that every log is a chain without gaps, from the start of its space or its
/// snapshot to its head, and that every checksum is correct.
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
    let mut logs = transaction
        .prepare(
            "SELECT log.space, name, log.rev, log.position, previous, born_rev, heads.rev, heads.position, oldest,
                    (SELECT coalesce(max(rev), 0) FROM snapshots WHERE space = log.space)
             FROM log LEFT JOIN spaces ON id = log.space LEFT JOIN heads ON heads.space = log.space
             ORDER BY log.space, log.rev",
        )
        .map_err(error)?;
    let mut rows = logs.query([]).map_err(error)?;
    let mut before: Option<RecordPosition> = None;
    while let Some(row) = rows.next().map_err(error)? {
        let place = RecordPosition::read(row).map_err(error)?;
        match &before {
            Some(before) if before.space == place.space => problems.extend(place.problem_after(before)),
            last => {
                problems.extend(last.as_ref().and_then(RecordPosition::problem_at_end));
                problems.extend(place.problem_at_start());
            }
        }
        before = Some(place);
    }
    problems.extend(before.and_then(|last| last.problem_at_end()));
    let mut marks = transaction
        .prepare(
            "SELECT count(*) FROM marks WHERE NOT EXISTS (
                 SELECT 1 FROM log WHERE position = marks.position AND space = marks.space AND rev = marks.rev)",
        )
        .map_err(error)?;
    let astray: u64 = marks.query_row([], |row| row.get(0)).map_err(error)?;
    if astray > 0 {
        problems.push(format!("{astray} marks do not lead to a record"));
    }
    check_heads(&transaction, &mut problems).map_err(error)?;
    check_sums(&transaction, &mut problems).map_err(error)?;
    Ok(problems)
}

fn check_heads(connection: &Connection, problems: &mut Vec<String>) -> rusqlite::Result<()> {
    let mut heads = connection.prepare(
        "SELECT name, heads.rev FROM heads JOIN spaces ON spaces.id = heads.space
         JOIN log ON log.position = heads.position WHERE heads.commit_id != log.commit_id",
    )?;
    let mut rows = heads.query([])?;
    while let Some(row) = rows.next()? {
        let (name, rev): (String, u64) = (row.get(0)?, row.get(1)?);
        problems.push(format!("space {name}, revision {rev}: the head has another commit ID than the record"));
    }
    Ok(())
}

fn check_sums(connection: &Connection, problems: &mut Vec<String>) -> rusqlite::Result<()> {
    let mut logs = connection.prepare(
        "SELECT commit_id, at, summary, body, sum, name, log.space, rev FROM log
         JOIN spaces ON spaces.id = log.space ORDER BY position",
    )?;
    let mut rows = logs.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()?
        && found.len() < PROBLEMS
    {
        let (name, id, rev): (String, i64, u64) = (row.get(5)?, row.get(6)?, row.get(7)?);
        let read = record(connection, (&name, id), rev, row);
        found.extend(read.map_err(error).flatten().err());
    }
    let mut snapshots = connection.prepare("SELECT name, space FROM snapshots JOIN spaces ON spaces.id = space")?;
    let mut rows = snapshots.query([])?;
    while let Some(row) = rows.next()? {
        let (name, id): (String, i64) = (row.get(0)?, row.get(1)?);
        found.extend(snapshot(connection, &SpaceId::from_stored(&name), id).err());
    }
    problems.extend(found.into_iter().map(StoreError::into_problem));
    Ok(())
}

/// A record's position in its log, and the expected ends of the log.
struct RecordPosition {
    space: i64,
    name: Option<String>,
    rev: u64,
    position: i64,
    previous: Option<i64>,
    born: u64,
    head: (u64, i64),
    oldest: u64,
    snapshot: u64,
}

impl RecordPosition {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            space: row.get(0)?,
            name: row.get(1)?,
            rev: row.get(2)?,
            position: row.get(3)?,
            previous: row.get(4)?,
            born: row.get::<_, Option<u64>>(5)?.unwrap_or_default(),
            head: (
                row.get::<_, Option<u64>>(6)?.unwrap_or_default(),
                row.get::<_, Option<i64>>(7)?.unwrap_or_default(),
            ),
            oldest: row.get::<_, Option<u64>>(8)?.unwrap_or_default(),
            snapshot: row.get(9)?,
        })
    }

    fn says(&self, problem: &str) -> String {
        format!("space {}, revision {}: {problem}", self.name.as_deref().unwrap_or("without a name"), self.rev)
    }

    fn problem_at_start(&self) -> Option<String> {
        let begins = self.rev == self.born + 1 || (self.rev > self.born && self.rev <= self.snapshot + 1);
        if self.name.is_none() || !begins {
            return Some(self.says("the log does not begin where its space or its snapshot does"));
        }
        (self.rev != self.oldest).then(|| self.says("it should be the oldest revision, but is not"))
    }

    fn problem_after(&self, before: &Self) -> Option<String> {
        let follows = self.rev == before.rev + 1 && self.previous == Some(before.position);
        (!follows).then(|| self.says("the log has a gap before this revision"))
    }

    fn problem_at_end(&self) -> Option<String> {
        ((self.rev, self.position) != self.head).then(|| self.says("it should be the head, but is not"))
    }
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
