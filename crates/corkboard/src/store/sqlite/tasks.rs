//! What the writing thread does inside a transaction.

use std::collections::HashMap;

use corkboard_core::{CommitId, Head, SpaceId};
use rusqlite::{Transaction, params};

use super::reader::{SpaceRow, data_version, oldest, space_row};
use super::schema::error;
use crate::store::{Append, Appended, Import, Record, Rewrite, Snapshot, StoreError, Trim};

type Result<T> = std::result::Result<T, StoreError>;

/// Something to write.
pub(super) enum Task {
    Append(Append),
    Delete { space: SpaceId, expected: Head, tombstone: CommitId },
    Import(Import),
    Rewrite(Rewrite),
    Snapshot { space: SpaceId, snapshot: Snapshot },
    Trim { space: SpaceId, trim: Trim },
}

/// What was written.
#[derive(Clone)]
pub(super) enum Done {
    Appended(Appended),
    Trimmed(u64),
    Kept,
}

/// The rows that this thread wrote last. They hold until another connection writes.
#[derive(Default)]
pub(super) struct KnownRows {
    data_version: i64,
    rows: HashMap<SpaceId, SpaceRow>,
}

impl KnownRows {
    /// So many are remembered; then it starts anew.
    const MOST: usize = 10_000;

    /// Forgets everything if another connection wrote. Must be called inside the write transaction: from then on nobody
    /// else writes.
    pub(super) fn check(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        let data_version = data_version(transaction)?;
        if data_version != self.data_version || self.rows.len() > Self::MOST {
            self.forget();
            self.data_version = data_version;
        }
        Ok(())
    }

    pub(super) fn forget(&mut self) {
        self.rows.clear();
    }
}

/// Does one task inside a transaction.
pub(super) fn perform(transaction: &Transaction<'_>, known: &mut KnownRows, task: &Task) -> Result<Done> {
    match task {
        Task::Append(append) => perform_append(transaction, known, append).map(Done::Appended),
        Task::Delete { space, expected, tombstone } => {
            known.rows.remove(space);
            perform_delete(transaction, space, *expected, *tombstone).map(Done::Appended)
        }
        Task::Import(import) => perform_import(transaction, import).map(Done::Appended),
        Task::Rewrite(rewrite) => perform_rewrite(transaction, rewrite).map(Done::Appended),
        Task::Snapshot { space, snapshot } => perform_snapshot(transaction, space, snapshot).map(|()| Done::Kept),
        Task::Trim { space, trim } => perform_trim(transaction, space, *trim).map(Done::Trimmed),
    }
}

fn perform_append(transaction: &Transaction<'_>, known: &mut KnownRows, append: &Append) -> Result<Appended> {
    let row = match known.rows.get(&append.space) {
        Some(row) => Some(*row),
        None => space_row(transaction, &append.space)?,
    };
    let head = row.map_or(Head::EMPTY, |row| row.head);
    if head != append.expected {
        return Ok(Appended::Conflict { head });
    }
    let new = append.new_head();
    let next_due = append.next_due.map(|at| at.as_millisecond());
    let (id, born) = match row {
        Some(row) => (row.id, row.born),
        None => (insert_space(transaction, &append.space, Head::EMPTY)?, Head::EMPTY),
    };
    insert_records(transaction, id, &append.records, &append.summary)?;
    if row.and_then(|row| row.next_due) != next_due {
        set_due(transaction, id, next_due)?;
    }
    let row = SpaceRow { id, head: new, born, next_due };
    known.rows.insert(append.space.clone(), row);
    Ok(Appended::Committed)
}

fn insert_records(transaction: &Transaction<'_>, id: i64, records: &[Record], summary: &[u8]) -> Result<()> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO log (space, rev, commit_id, at, summary, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        .map_err(error)?;
    let last = records.last().map(|record| record.rev);
    for record in records {
        // Only the last one is ever asked for its summary.
        let summary = (Some(record.rev) == last).then_some(summary);
        let (commit, at) = (record.commit.0.as_bytes(), record.at.as_millisecond());
        let first = record.parts().next();
        insert.execute(params![id, record.rev, commit, at, summary, first]).map_err(error)?;
        insert_parts(transaction, id, record)?;
    }
    Ok(())
}

/// What a row of the log does not hold of a long body.
fn insert_parts(transaction: &Transaction<'_>, id: i64, record: &Record) -> Result<()> {
    for (part, body) in record.parts().enumerate().skip(1) {
        transaction
            .prepare_cached("INSERT INTO parts (space, rev, part, body) VALUES (?1, ?2, ?3, ?4)")
            .and_then(|mut insert| insert.execute(params![id, record.rev, part as i64, body]))
            .map_err(error)?;
    }
    Ok(())
}

fn perform_import(transaction: &Transaction<'_>, import: &Import) -> Result<Appended> {
    if let Some(row) = space_row(transaction, &import.space)? {
        return Ok(Appended::Conflict { head: row.head });
    }
    let id = insert_space(transaction, &import.space, import.born)?;
    insert_records(transaction, id, &import.records, &import.summary)?;
    set_due(transaction, id, import.next_due.map(|at| at.as_millisecond()))?;
    if let Some(snapshot) = &import.snapshot {
        put_snapshot(transaction, id, snapshot)?;
    }
    Ok(Appended::Committed)
}

fn perform_rewrite(transaction: &Transaction<'_>, rewrite: &Rewrite) -> Result<Appended> {
    let row = space_row(transaction, &rewrite.space)?;
    let head = row.map_or(Head::EMPTY, |row| row.head);
    let Some(row) = row.filter(|_| head == rewrite.expected) else { return Ok(Appended::Conflict { head }) };
    for record in &rewrite.records {
        transaction
            .execute("DELETE FROM parts WHERE space = ?1 AND rev = ?2", params![row.id, record.rev])
            .map_err(error)?;
        let body = record.parts().next();
        let held = transaction
            .execute("UPDATE log SET body = ?3 WHERE space = ?1 AND rev = ?2", params![row.id, record.rev, body])
            .map_err(error)?;
        if held > 0 {
            insert_parts(transaction, row.id, record)?;
        }
    }
    if let Some(snapshot) = &rewrite.snapshot {
        transaction.execute("DELETE FROM snapshots WHERE space = ?1", [row.id]).map_err(error)?;
        put_snapshot(transaction, row.id, snapshot)?;
    }
    Ok(Appended::Committed)
}

fn perform_delete(
    transaction: &Transaction<'_>,
    space: &SpaceId,
    expected: Head,
    tombstone: CommitId,
) -> Result<Appended> {
    let row = space_row(transaction, space)?;
    let head = row.map_or(Head::EMPTY, |row| row.head);
    if head != expected {
        return Ok(Appended::Conflict { head });
    }
    let new = Head { rev: expected.rev + 1, commit: tombstone };
    let id = match row {
        Some(row) => row.id,
        None => insert_space(transaction, space, new)?,
    };
    for table in ["log", "parts", "snapshots"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE space = ?1"), [id]).map_err(error)?;
    }
    set_due(transaction, id, None)?;
    transaction
        .execute(
            "UPDATE spaces SET born_rev = ?2, born_commit = ?3 WHERE id = ?1",
            params![id, new.rev, new.commit.0.as_bytes()],
        )
        .map_err(error)?;
    Ok(Appended::Committed)
}

fn insert_space(transaction: &Transaction<'_>, space: &SpaceId, born: Head) -> Result<i64> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO spaces (name, born_rev, born_commit) VALUES (?1, ?2, ?3)")
        .map_err(error)?;
    insert.insert(params![space.as_str(), born.rev, born.commit.0.as_bytes()]).map_err(error)
}

fn set_due(transaction: &Transaction<'_>, id: i64, at: Option<i64>) -> Result<()> {
    match at {
        Some(at) => transaction.execute("INSERT OR REPLACE INTO due (space, at) VALUES (?1, ?2)", [id, at]),
        None => transaction.execute("DELETE FROM due WHERE space = ?1", [id]),
    }
    .map(|_| ())
    .map_err(error)
}

fn perform_snapshot(transaction: &Transaction<'_>, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
    let Some(row) = space_row(transaction, space)? else { return Ok(()) };
    let lives = snapshot.head.rev > row.born.rev && snapshot.head.rev <= row.head.rev;
    if lives { put_snapshot(transaction, row.id, snapshot) } else { Ok(()) }
}

fn put_snapshot(transaction: &Transaction<'_>, id: i64, snapshot: &Snapshot) -> Result<()> {
    transaction
        .execute(
            "INSERT INTO snapshots (space, rev, commit_id, body) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (space) DO UPDATE SET rev = ?2, commit_id = ?3, body = ?4 WHERE rev < ?2",
            params![id, snapshot.head.rev, snapshot.head.commit.0.as_bytes(), snapshot.body],
        )
        .map(|_| ())
        .map_err(error)
}

fn perform_trim(transaction: &Transaction<'_>, space: &SpaceId, trim: Trim) -> Result<u64> {
    let Some(row) = space_row(transaction, space)? else { return Ok(1) };
    // The log stays without gaps: only what lies before the first record that must stay may go. The last one must: it is
    // the head.
    transaction
        .execute(
            "DELETE FROM log WHERE space = ?1 AND rev < (
                 SELECT min(rev) FROM log WHERE space = ?1 AND (
                     rev > min(?2, coalesce((SELECT rev FROM snapshots WHERE space = ?1), 0)) OR at >= ?3 OR rev = ?4))",
            params![
                row.id,
                trim.up_to.min(row.head.rev),
                trim.older_than.map_or(i64::MAX, |time| time.as_millisecond()),
                row.head.rev
            ],
        )
        .map_err(error)?;
    let oldest = oldest(transaction, row.id, row.head)?;
    transaction.execute("DELETE FROM parts WHERE space = ?1 AND rev < ?2", params![row.id, oldest]).map_err(error)?;
    Ok(oldest)
}
