//! What the writing thread does inside a transaction.

use std::collections::HashMap;

use corkboard_core::{CommitId, Head, SpaceId};
use rusqlite::{Transaction, params};

use super::reader::{SpaceRow, data_version, oldest, space_row};
use super::schema::error;
use crate::store::{Append, Appended, Snapshot, StoreError, Trim};

type Result<T> = std::result::Result<T, StoreError>;

/// Something to write.
pub(super) enum Task {
    Append(Append),
    Delete { space: SpaceId, expected: Head, tombstone: CommitId },
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
    let row = match row {
        Some(row) => {
            // Naming a column costs its index, so the due date is named only where it changes.
            let (sql, due) = if row.next_due == next_due {
                ("UPDATE spaces SET rev = ?2, commit_id = ?3, summary = ?4 WHERE id = ?1", None)
            } else {
                (
                    "UPDATE spaces SET rev = ?2, commit_id = ?3, summary = ?4, next_due = ?5 WHERE id = ?1",
                    Some(next_due),
                )
            };
            let mut update = transaction.prepare_cached(sql).map_err(error)?;
            let commit = new.commit.0.as_bytes();
            match due {
                None => update.execute(params![row.id, new.rev, commit, append.summary]),
                Some(due) => update.execute(params![row.id, new.rev, commit, append.summary, due]),
            }
            .map_err(error)?;
            SpaceRow { head: new, next_due, ..row }
        }
        None => {
            let id = insert_space(transaction, &append.space, new, Head::EMPTY, next_due, &append.summary)?;
            SpaceRow { id, head: new, born: Head::EMPTY, next_due }
        }
    };
    let mut insert = transaction
        .prepare_cached("INSERT INTO log (space, rev, commit_id, at, body) VALUES (?1, ?2, ?3, ?4, ?5)")
        .map_err(error)?;
    for record in &append.records {
        insert
            .execute(params![row.id, record.rev, record.commit.0.as_bytes(), record.at.as_millisecond(), record.body])
            .map_err(error)?;
    }
    known.rows.insert(append.space.clone(), row);
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
    let Some(SpaceRow { id, .. }) = row else {
        insert_space(transaction, space, new, new, None, &[])?;
        return Ok(Appended::Committed);
    };
    transaction.execute("DELETE FROM log WHERE space = ?1", [id]).map_err(error)?;
    transaction.execute("DELETE FROM snapshots WHERE space = ?1", [id]).map_err(error)?;
    transaction
        .execute(
            "UPDATE spaces SET rev = ?2, commit_id = ?3, born_rev = ?2, born_commit = ?3, next_due = NULL,
             summary = x'' WHERE id = ?1",
            params![id, new.rev, new.commit.0.as_bytes()],
        )
        .map_err(error)?;
    Ok(Appended::Committed)
}

fn insert_space(
    transaction: &Transaction<'_>,
    space: &SpaceId,
    head: Head,
    born: Head,
    next_due: Option<i64>,
    summary: &[u8],
) -> Result<i64> {
    let mut insert = transaction
        .prepare_cached(
            "INSERT INTO spaces (name, rev, commit_id, born_rev, born_commit, next_due, summary)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .map_err(error)?;
    insert
        .insert(params![
            space.as_str(),
            head.rev,
            head.commit.0.as_bytes(),
            born.rev,
            born.commit.0.as_bytes(),
            next_due,
            summary
        ])
        .map_err(error)
}

fn perform_snapshot(transaction: &Transaction<'_>, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
    let Some(row) = space_row(transaction, space)? else { return Ok(()) };
    let lives = snapshot.head.rev > row.born.rev && snapshot.head.rev <= row.head.rev;
    if lives {
        transaction
            .execute(
                "INSERT INTO snapshots (space, rev, commit_id, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (space) DO UPDATE SET rev = ?2, commit_id = ?3, body = ?4 WHERE rev < ?2",
                params![row.id, snapshot.head.rev, snapshot.head.commit.0.as_bytes(), snapshot.body],
            )
            .map_err(error)?;
    }
    Ok(())
}

fn perform_trim(transaction: &Transaction<'_>, space: &SpaceId, trim: Trim) -> Result<u64> {
    let Some(row) = space_row(transaction, space)? else { return Ok(1) };
    // The log stays without gaps: only what lies before the first record that must stay may go.
    transaction
        .execute(
            "DELETE FROM log WHERE space = ?1 AND rev < (
                 SELECT coalesce(min(rev), ?4) FROM log WHERE space = ?1 AND (
                     rev > min(?2, coalesce((SELECT rev FROM snapshots WHERE space = ?1), 0)) OR at >= ?3))",
            params![
                row.id,
                trim.up_to.min(row.head.rev),
                trim.older_than.map_or(i64::MAX, |time| time.as_millisecond()),
                row.head.rev + 1
            ],
        )
        .map_err(error)?;
    oldest(transaction, row.id, row.head)
}
