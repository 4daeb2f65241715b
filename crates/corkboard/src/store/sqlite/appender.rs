//! Adds records at the end of the log, each linked to the previous one of its space.

use corkboard_core::{Head, SpaceId};
use rusqlite::{Transaction, params};

use super::checksum;
use super::jobs::Statements;
use super::reader::SpaceRow;
use super::schema::{MARK, error};
use crate::store::{Record, Result, StoreError};

pub(super) struct LogAppender {
    space: i64,
    previous: Option<i64>,
    first: Option<u64>,
    head: Option<Head>,
}

impl LogAppender {
    pub(super) fn after(row: &SpaceRow) -> Self {
        Self { space: row.id, previous: row.last, first: None, head: None }
    }

    /// Writes the records. The summary is stored with the last one, because no other is read.
    pub(super) fn add(
        &mut self,
        transaction: &Transaction<'_>,
        statements: &mut Statements<'_>,
        space: &SpaceId,
        records: &[Record],
        summary: Option<&[u8]>,
    ) -> Result<()> {
        let Some(last) = records.last() else { return Ok(()) };
        for record in records {
            let summary = summary.filter(|_| record.rev == last.rev);
            let (commit, at) = (record.commit.0.as_bytes(), record.at.as_millisecond());
            let sum = checksum::of_record(space.as_str(), record.rev, commit, at, summary, &record.body);
            let body = record.parts().next();
            let values = params![self.space, record.rev, self.previous, commit, at, summary, body, sum];
            let position = statements.insert_record.insert(values).map_err(error)?;
            insert_parts(transaction, self.space, record)?;
            if record.rev % MARK == 0 {
                transaction
                    .prepare_cached("INSERT INTO marks (space, rev, position) VALUES (?1, ?2, ?3)")
                    .and_then(|mut insert| insert.execute(params![self.space, record.rev, position]))
                    .map_err(error)?;
            }
            self.previous = Some(position);
            self.first = self.first.or(Some(record.rev));
        }
        self.head = Some(Head { rev: last.rev, commit: last.commit });
        Ok(())
    }

    /// Moves the space's head to the last record. Returns the new row of the space.
    pub(super) fn end(self, statements: &mut Statements<'_>, row: SpaceRow) -> Result<SpaceRow> {
        let (Some(first), Some(head)) = (self.first, self.head) else { return Ok(row) };
        let (id, commit, position) = (row.id, head.commit.0.as_bytes(), self.previous);
        let (oldest, written) = match row.last {
            Some(_) => (row.oldest, statements.move_head.execute(params![id, head.rev, commit, position])),
            // A copied log can begin at any revision.
            None => (first, statements.insert_head.execute(params![id, head.rev, commit, position, first])),
        };
        match written.map_err(error)? {
            1 => Ok(SpaceRow { head, last: position, oldest, ..row }),
            _ => Err(StoreError::Corrupt(format!("the head of space {id} is missing"))),
        }
    }
}

/// Writes the parts of a long body that do not fit in the row of the log.
pub(super) fn insert_parts(transaction: &Transaction<'_>, id: i64, record: &Record) -> Result<()> {
    for (part, body) in record.parts().enumerate().skip(1) {
        transaction
            .prepare_cached("INSERT INTO parts (space, rev, part, body) VALUES (?1, ?2, ?3, ?4)")
            .and_then(|mut insert| insert.execute(params![id, record.rev, part as i64, body]))
            .map_err(error)?;
    }
    Ok(())
}
