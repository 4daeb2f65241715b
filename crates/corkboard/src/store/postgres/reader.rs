//! Queries. Each is one statement, so its result is consistent.

use corkboard_core::{CommitId, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use super::connection::Parameter;
use super::error::PostgresCallError;
use super::pool::{Effect, Pool};
use super::queries::{PAGE_BYTES, Query};
use crate::store::{Cursor, ListedSpace, Loaded, Page, Record, Snapshot, StoreError};

pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// The maximum number of revisions in a page, even if more are requested: the server reads all of them to find where
/// the page ends.
const PAGE: usize = 10_000;

async fn rows(pool: &Pool, query: Query, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
    pool.query(query, parameters, Effect::Reads).await.map_err(PostgresCallError::reading)
}

pub(super) async fn load(pool: &Pool, space: &SpaceId) -> Result<Loaded> {
    let rows = rows(pool, Query::Load, &[&space.as_str()]).await?;
    let Some(row) = rows.first() else {
        return Ok(Loaded { head: Head::EMPTY, born: Head::EMPTY, snapshot: None });
    };
    let snapshot = match optional_head_at(row, 4)? {
        Some(head) => Some(Snapshot { head, body: at(row, 6)? }),
        None => None,
    };
    Ok(Loaded { head: head_at(row, 0)?, born: head_at(row, 2)?, snapshot })
}

pub(super) async fn read_after(pool: &Pool, space: &SpaceId, cursor: Cursor, limit: usize) -> Result<Page> {
    let limit = i64::try_from(limit.min(PAGE)).unwrap_or(i64::MAX);
    let (name, after) = (space.as_str(), stored(cursor.rev).min(i64::MAX - limit));
    let rows = rows(pool, Query::ReadAfter, &[&name, &after, &limit, &PAGE_BYTES]).await?;
    let (head, born, oldest, at_cursor) = match rows.first() {
        Some(row) => {
            let (head, born) = (head_at(row, 0)?, head_at(row, 2)?);
            let oldest = at::<Option<i64>>(row, 4)?.map(loaded).transpose()?;
            (head, born, oldest.unwrap_or(head.rev + 1), at::<Option<Uuid>>(row, 5)?)
        }
        None => (Head::EMPTY, Head::EMPTY, 1, None),
    };
    cursor.check(head, born, oldest, || Ok(at_cursor.map(CommitId)))?;
    Ok(Page { records: records(&rows)?, head })
}

/// Combines rows, which are parts, into records.
fn records(rows: &[Row]) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    for row in rows {
        let Some(Head { rev, commit }) = optional_head_at(row, 6)? else { break };
        let body: &[u8] = at(row, 9)?;
        match records.last_mut() {
            Some(record) if record.rev == rev => record.body.extend_from_slice(body),
            _ => records.push(Record { rev, commit, at: time(at(row, 8)?), body: body.to_vec() }),
        }
    }
    Ok(records)
}

pub(super) async fn list(
    pool: &Pool,
    kind: SpaceKind,
    after: Option<&SpaceId>,
    limit: usize,
) -> Result<Vec<ListedSpace>> {
    // Names of one kind lie between "kind/" and "kind0", the character after the slash.
    let (first, end) = (format!("{}/", kind.as_str()), format!("{}0", kind.as_str()));
    let first = after.map_or(first.as_str(), SpaceId::as_str);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = rows(pool, Query::List, &[&first, &end, &limit]).await?;
    let listed = rows.iter().map(|row| {
        Ok(ListedSpace {
            space: SpaceId::from_stored(at(row, 0)?),
            head: head_at(row, 1)?,
            next_due: at::<Option<i64>>(row, 3)?.map(time),
            summary: at(row, 4)?,
        })
    });
    listed.collect()
}

pub(super) async fn due(pool: &Pool, kind: SpaceKind, now: Timestamp, limit: usize) -> Result<Vec<SpaceId>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = rows(pool, Query::Due, &[&kind.as_str(), &now.as_millisecond(), &limit]).await?;
    rows.iter().map(|row| Ok(SpaceId::from_stored(at(row, 0)?))).collect()
}

pub(super) async fn check(pool: &Pool) -> Result<Vec<String>> {
    let part = i32::try_from(Record::PART_BYTES).unwrap_or(i32::MAX);
    let rows = rows(pool, Query::Check, &[&part]).await?;
    rows.iter().map(|row| text_at(row, 0)).collect()
}

/// Reads a column. Corkboard did not write a value that cannot be read.
pub(super) fn at<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| StoreError::Corrupt(error.to_string()))
}

pub(super) fn text_at(row: &Row, column: usize) -> Result<String> {
    at(row, column)
}

pub(super) fn head_at(row: &Row, column: usize) -> Result<Head> {
    Ok(Head { rev: loaded(at(row, column)?)?, commit: CommitId(at(row, column + 1)?) })
}

pub(super) fn optional_head_at(row: &Row, column: usize) -> Result<Option<Head>> {
    match at::<Option<i64>>(row, column)? {
        Some(_) => head_at(row, column).map(Some),
        None => Ok(None),
    }
}

/// Converts a revision to its stored form. No real revision exceeds the maximum.
pub(super) fn stored(rev: u64) -> i64 {
    i64::try_from(rev).unwrap_or(i64::MAX)
}

pub(super) fn loaded(rev: i64) -> Result<u64> {
    u64::try_from(rev).map_err(|_| StoreError::Corrupt(format!("revision {rev}")))
}

fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::UNIX_EPOCH)
}
