//! Performs write jobs inside a transaction.

use std::collections::HashMap;

use corkboard_core::{CommitId, Head, SpaceId};
use rusqlite::{CachedStatement, Transaction, params};

use super::appender::{LogAppender, insert_parts};
use super::checksum;
use super::reader::{self, SpaceRow, data_version, positions, space_row};
use super::schema::error;
use super::stream::{Stream, perform_stream};
use super::wipe::wipe;
use crate::store::writer_thread::{OwnJob, WriteJob, WriteOutcome};
use crate::store::{Append, Appended, Import, Result, Rewrite, Snapshot, StoreError, Trim};

pub(super) type SqliteJob = WriteJob<OwnSqliteJob>;

pub(super) enum OwnSqliteJob {
    Stream(Stream),
    Wipe(Vec<u32>),
    /// Empties the write-ahead log, after the transaction.
    EmptyLog,
}

impl OwnJob for OwnSqliteJob {
    fn committed(&self) -> Option<(&SpaceId, u64)> {
        match self {
            Self::Stream(stream) => Some((stream.space(), stream.last_rev())),
            Self::Wipe(_) | Self::EmptyLog => None,
        }
    }
}

/// Cache of the rows that this thread wrote last. Valid until another connection writes.
#[derive(Default)]
pub(super) struct KnownRows {
    data_version: i64,
    rows: HashMap<SpaceId, SpaceRow>,
}

impl KnownRows {
    /// Maximum number of rows; beyond it, the cache is cleared.
    const MOST: usize = 10_000;

    /// Clears the cache if another connection wrote. Call it inside the write transaction, where no other connection
    /// can write.
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

    /// Returns the space's row, creating it if necessary, or the head if it is not the expected one.
    pub(super) fn row(
        &self,
        transaction: &Transaction<'_>,
        space: &SpaceId,
        expected: Head,
    ) -> Result<Result<SpaceRow, Head>> {
        let row = match self.rows.get(space) {
            Some(row) => Some(*row),
            None => space_row(transaction, space)?,
        };
        let head = row.map_or(Head::EMPTY, |row| row.head);
        if head != expected {
            return Ok(Err(head));
        }
        match row {
            Some(row) => Ok(Ok(row)),
            None => Ok(Ok(new_row(insert_space(transaction, space, Head::EMPTY)?, Head::EMPTY))),
        }
    }
}

/// The statements of every append, prepared once for a batch.
pub(super) struct Statements<'a> {
    pub(super) insert_record: CachedStatement<'a>,
    pub(super) insert_head: CachedStatement<'a>,
    pub(super) move_head: CachedStatement<'a>,
}

impl<'a> Statements<'a> {
    pub(super) fn of(transaction: &'a Transaction<'_>) -> Result<Self> {
        let prepare = |sql| transaction.prepare_cached(sql).map_err(error);
        Ok(Self {
            insert_record: prepare(
                "INSERT INTO log (space, rev, previous, commit_id, at, summary, body, sum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?,
            insert_head: prepare(
                "INSERT INTO heads (space, rev, commit_id, position, oldest) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
            move_head: prepare("UPDATE heads SET rev = ?2, commit_id = ?3, position = ?4 WHERE space = ?1")?,
        })
    }
}

/// Performs one job inside a transaction. `None`: a streamed append was withdrawn, and the transaction must be rolled
/// back.
pub(super) fn perform(
    transaction: &Transaction<'_>,
    statements: &mut Statements<'_>,
    known: &mut KnownRows,
    job: &mut SqliteJob,
) -> Result<Option<WriteOutcome>> {
    let outcome = match job {
        WriteJob::Own(OwnSqliteJob::Stream(stream)) => {
            return perform_stream(transaction, statements, known, stream);
        }
        WriteJob::Append(append) => perform_append(transaction, statements, known, append).map(WriteOutcome::Appended),
        WriteJob::Delete { space, expected, tombstone } => {
            known.rows.remove(space);
            perform_delete(transaction, space, *expected, *tombstone).map(WriteOutcome::Appended)
        }
        WriteJob::Import(import) => perform_import(transaction, statements, import).map(WriteOutcome::Appended),
        WriteJob::Rewrite(rewrite) => perform_rewrite(transaction, rewrite).map(WriteOutcome::Appended),
        WriteJob::Snapshot { space, snapshot } => {
            perform_snapshot(transaction, space, snapshot).map(|()| WriteOutcome::Done)
        }
        WriteJob::Trim { space, trim } => {
            known.rows.remove(space);
            perform_trim(transaction, space, *trim).map(WriteOutcome::Trimmed)
        }
        WriteJob::Own(OwnSqliteJob::Wipe(pages)) => wipe(transaction, pages).map(|()| WriteOutcome::Done),
        WriteJob::Own(OwnSqliteJob::EmptyLog) => Ok(WriteOutcome::Done),
    };
    outcome.map(Some)
}

fn perform_append(
    transaction: &Transaction<'_>,
    statements: &mut Statements<'_>,
    known: &mut KnownRows,
    append: &Append,
) -> Result<Appended> {
    let row = match known.row(transaction, &append.space, append.expected)? {
        Ok(row) => row,
        Err(head) => return Ok(Appended::Conflict { head }),
    };
    let appender = LogAppender::after(&row);
    finish_append(transaction, statements, known, (row, appender), append)?;
    Ok(Appended::Committed)
}

/// Writes the last records of an append, and the data beside the log.
pub(super) fn finish_append(
    transaction: &Transaction<'_>,
    statements: &mut Statements<'_>,
    known: &mut KnownRows,
    (row, mut appender): (SpaceRow, LogAppender),
    append: &Append,
) -> Result<()> {
    appender.add(transaction, statements, &append.space, &append.records, Some(&append.summary))?;
    let next_due = append.next_due.map(|at| at.as_millisecond());
    if row.next_due != next_due {
        set_due(transaction, row.id, next_due)?;
    }
    let row = SpaceRow { next_due, ..appender.end(statements, row)? };
    match known.rows.get_mut(&append.space) {
        Some(known_row) => *known_row = row,
        None => drop(known.rows.insert(append.space.clone(), row)),
    }
    Ok(())
}

fn new_row(id: i64, born: Head) -> SpaceRow {
    SpaceRow { id, head: born, born, next_due: None, last: None, oldest: born.rev + 1 }
}

fn perform_import(transaction: &Transaction<'_>, statements: &mut Statements<'_>, import: &Import) -> Result<Appended> {
    if let Some(row) = space_row(transaction, &import.space)? {
        return Ok(Appended::Conflict { head: row.head });
    }
    let id = insert_space(transaction, &import.space, import.born)?;
    let row = new_row(id, import.born);
    let mut appender = LogAppender::after(&row);
    appender.add(transaction, statements, &import.space, &import.records, Some(&import.summary))?;
    appender.end(statements, row)?;
    set_due(transaction, id, import.next_due.map(|at| at.as_millisecond()))?;
    if let Some(snapshot) = &import.snapshot {
        put_snapshot(transaction, id, &import.space, snapshot)?;
    }
    Ok(Appended::Committed)
}

fn perform_rewrite(transaction: &Transaction<'_>, rewrite: &Rewrite) -> Result<Appended> {
    let row = space_row(transaction, &rewrite.space)?;
    let head = row.map_or(Head::EMPTY, |row| row.head);
    let Some(row) = row.filter(|_| head == rewrite.expected) else { return Ok(Appended::Conflict { head }) };
    for record in rewrite.records.iter().filter(|record| (row.oldest..=head.rev).contains(&record.rev)) {
        let position = positions(transaction, &row, record.rev, record.rev)?;
        transaction
            .execute("DELETE FROM parts WHERE space = ?1 AND rev = ?2", params![row.id, record.rev])
            .and_then(|_| {
                let mut kept =
                    transaction.prepare_cached("SELECT commit_id, at, summary FROM log WHERE position = ?1")?;
                kept.query_row([position.first()], |kept| {
                    let (commit, summary) = (kept.get_ref(0)?.as_blob()?, kept.get_ref(2)?.as_blob_or_null()?);
                    // Only the newest summary is read. An older one may contain what is to be forgotten.
                    let summary = summary.filter(|_| record.rev == head.rev);
                    let space = rewrite.space.as_str();
                    let sum = checksum::of_record(space, record.rev, commit, kept.get(1)?, summary, &record.body);
                    Ok((summary.map(<[u8]>::to_vec), sum))
                })
            })
            .and_then(|(summary, sum)| {
                let values = params![position.first(), record.parts().next(), summary, sum];
                transaction.execute("UPDATE log SET body = ?2, summary = ?3, sum = ?4 WHERE position = ?1", values)
            })
            .map_err(error)?;
        insert_parts(transaction, row.id, record)?;
    }
    if let Some(snapshot) = &rewrite.snapshot {
        transaction.execute("DELETE FROM snapshots WHERE space = ?1", [row.id]).map_err(error)?;
        put_snapshot(transaction, row.id, &rewrite.space, snapshot)?;
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
        Some(row) => {
            delete_records(transaction, &positions(transaction, &row, row.oldest, row.head.rev)?)?;
            row.id
        }
        None => insert_space(transaction, space, new)?,
    };
    for table in ["heads", "marks", "parts", "snapshots"] {
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

fn delete_records(transaction: &Transaction<'_>, positions: &[i64]) -> Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM log WHERE position = ?1").map_err(error)?;
    positions.iter().try_for_each(|position| delete.execute([position]).map(|_| ())).map_err(error)
}

fn insert_space(transaction: &Transaction<'_>, space: &SpaceId, born: Head) -> Result<i64> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO spaces (name, born_rev, born_commit) VALUES (?1, ?2, ?3)")
        .map_err(error)?;
    insert.insert(params![space.as_str(), born.rev, born.commit.0.as_bytes()]).map_err(error)
}

fn set_due(transaction: &Transaction<'_>, id: i64, at: Option<i64>) -> Result<()> {
    let prepare = |sql| transaction.prepare_cached(sql);
    match at {
        Some(at) => prepare("INSERT OR REPLACE INTO due (space, at) VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute([id, at])),
        None => prepare("DELETE FROM due WHERE space = ?1").and_then(|mut delete| delete.execute([id])),
    }
    .map(|_| ())
    .map_err(error)
}

fn perform_snapshot(transaction: &Transaction<'_>, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
    let Some(row) = space_row(transaction, space)? else { return Ok(()) };
    let lives = snapshot.head.rev > row.born.rev && snapshot.head.rev <= row.head.rev;
    if lives { put_snapshot(transaction, row.id, space, snapshot) } else { Ok(()) }
}

fn put_snapshot(transaction: &Transaction<'_>, id: i64, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
    let Snapshot { head, body } = snapshot;
    let commit = head.commit.0.as_bytes();
    let sum = checksum::of_snapshot(space.as_str(), head.rev, commit, body);
    transaction
        .execute(
            "INSERT INTO snapshots (space, rev, commit_id, body, sum) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (space) DO UPDATE SET rev = ?2, commit_id = ?3, body = ?4, sum = ?5 WHERE rev < ?2",
            params![id, head.rev, commit, body, sum],
        )
        .map(|_| ())
        .map_err(error)
}

fn perform_trim(transaction: &Transaction<'_>, space: &SpaceId, trim: Trim) -> Result<u64> {
    let Some(row) = space_row(transaction, space)? else { return Ok(1) };
    // Read the snapshot again to verify it: after the trim, it alone has the old state. A damaged one covers nothing.
    let covered = match reader::snapshot(transaction, space, row.id) {
        Err(StoreError::Corrupt(_)) => 0,
        snapshot => snapshot?.map_or(0, |snapshot| snapshot.head.rev),
    };
    // Keep the last record: the head points to it.
    let newest = covered.min(trim.up_to).min(row.head.rev.saturating_sub(1));
    let older_than = trim.older_than.map_or(i64::MAX, |time| time.as_millisecond());
    let mut going = positions(transaction, &row, row.oldest, newest)?;
    let mut at = transaction.prepare_cached("SELECT at FROM log WHERE position = ?1").map_err(error)?;
    // The log must not get gaps: stop at the first record that must be kept.
    let mut count = 0;
    for position in &going {
        if at.query_row([position], |row| row.get::<_, i64>(0)).map_err(error)? >= older_than {
            break;
        }
        count += 1;
    }
    going.truncate(count);
    delete_records(transaction, &going)?;
    let oldest = row.oldest + going.len() as u64;
    for sql in [
        "UPDATE heads SET oldest = ?2 WHERE space = ?1",
        "DELETE FROM marks WHERE space = ?1 AND rev < ?2",
        "DELETE FROM parts WHERE space = ?1 AND rev < ?2",
    ] {
        transaction.execute(sql, params![row.id, oldest]).map_err(error)?;
    }
    Ok(oldest)
}
