//! Writes other than appends. Each is one statement, and so one transaction.

use std::time::{Duration, Instant};

use corkboard_core::{CommitId, Head, SpaceId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::connection::Parameter;
use super::error::PostgresCallError;
use super::pool::{Effect, Pool};
use super::queries::Query;
use super::reader::{Result, at, loaded, optional_head_at, stored, text_at};
use super::writer::EventColumns;
use crate::backoff::jitter;
use crate::store::{Appended, Import, Rewrite, Snapshot, StoreError, Trim};

/// Delay between attempts of a write that collided with others.
const PAUSE: Duration = Duration::from_millis(5);
/// Delay between attempts to scrub rows that other transactions still see.
const SCRUB_PAUSE: Duration = Duration::from_millis(200);

/// Runs a write, and retries while it collides with others.
async fn write(pool: &Pool, query: Query, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
    let started = Instant::now();
    loop {
        match pool.query(query, parameters, Effect::Writes).await {
            Err(error) if error.is_collision() && started.elapsed() < pool.patience() => {
                tokio::time::sleep(jitter(PAUSE, fastrand::f64())).await;
            }
            written => return written.map_err(PostgresCallError::writing),
        }
    }
}

/// Decodes the result of a statement that returns a row only for a conflict.
fn appended(rows: &[Row]) -> Result<Appended> {
    match rows.first() {
        Some(row) => Ok(Appended::Conflict { head: optional_head_at(row, 0)?.unwrap_or(Head::EMPTY) }),
        None => Ok(Appended::Committed),
    }
}

pub(super) async fn delete(pool: &Pool, space: &SpaceId, expected: Head, tombstone: CommitId) -> Result<Appended> {
    let (name, rev) = (space.as_str(), stored(expected.rev));
    appended(&write(pool, Query::Delete, &[&name, &rev, &expected.commit.0, &tombstone.0]).await?)
}

pub(super) async fn import(pool: &Pool, import: &Import) -> Result<Appended> {
    let (head, born) = (import.head(), import.born);
    let due = import.next_due.map(|at| at.as_millisecond());
    let mut events = EventColumns::default();
    import.records.iter().for_each(|record| {
        events.push(record);
    });
    let EventColumns { revs, parts, commits, times, bodies } = &events;
    let (snapshot_rev, snapshot_commit, snapshot_body) = columns(import.snapshot.as_ref());
    let parameters: [Parameter<'_>; 15] = [
        &import.space.as_str(),
        &stored(head.rev),
        &head.commit.0,
        &stored(born.rev),
        &born.commit.0,
        &due,
        &import.summary,
        revs,
        parts,
        commits,
        times,
        bodies,
        &snapshot_rev,
        &snapshot_commit,
        &snapshot_body,
    ];
    appended(&write(pool, Query::Import, &parameters).await?)
}

pub(super) async fn rewrite(pool: &Pool, rewrite: &Rewrite) -> Result<Appended> {
    let mut events = EventColumns::default();
    rewrite.records.iter().for_each(|record| {
        events.push(record);
    });
    let EventColumns { revs, parts, bodies, .. } = &events;
    let (snapshot_rev, snapshot_commit, snapshot_body) = columns(rewrite.snapshot.as_ref());
    let parameters: [Parameter<'_>; 9] = [
        &rewrite.space.as_str(),
        &stored(rewrite.expected.rev),
        &rewrite.expected.commit.0,
        revs,
        parts,
        bodies,
        &snapshot_rev,
        &snapshot_commit,
        &snapshot_body,
    ];
    appended(&write(pool, Query::Rewrite, &parameters).await?)
}

fn columns(snapshot: Option<&Snapshot>) -> (Option<i64>, Option<Uuid>, Option<&[u8]>) {
    let head = snapshot.map(|snapshot| snapshot.head);
    (head.map(|head| stored(head.rev)), head.map(|head| head.commit.0), snapshot.map(|snapshot| &*snapshot.body))
}

pub(super) async fn write_snapshot(pool: &Pool, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
    let (name, rev) = (space.as_str(), stored(snapshot.head.rev));
    write(pool, Query::WriteSnapshot, &[&name, &rev, &snapshot.head.commit.0, &snapshot.body]).await?;
    Ok(())
}

pub(super) async fn trim(pool: &Pool, space: &SpaceId, trim: Trim) -> Result<u64> {
    let older_than = trim.older_than.map(|time| time.as_millisecond());
    let rows = write(pool, Query::Trim, &[&space.as_str(), &stored(trim.up_to), &older_than]).await?;
    rows.first().map_or(Ok(1), |row| loaded(at(row, 0)?))
}

/// Removes all deleted rows from the tables. Does not block readers and writers. The bytes stay in the free space of
/// the tables' files until the server reuses it. Only `VACUUM FULL` removes them at once, and it locks each table while
/// it runs.
pub(super) async fn scrub(pool: &Pool) -> Result<()> {
    let refuse = |text: &str| Err(StoreError::Unavailable(text.into()));
    let rows = write(pool, Query::MayScrub, &[]).await?;
    if !rows.first().map_or(Ok(false), |row| at(row, 0))? {
        return refuse("only the owner of the tables can scrub them");
    }
    // All earlier deletions belong to transactions before this one.
    let rows = write(pool, Query::Mark, &[]).await?;
    let mark = rows.first().map_or(Ok(String::new()), |row| text_at(row, 0))?;
    let started = Instant::now();
    loop {
        let connection = pool.take().await?;
        for table in ["events", "snapshots", "spaces", "due"] {
            let vacuum = pool.settings().schema.fill(&format!("VACUUM (FREEZE) {{schema}}.{table}"));
            connection.execute(&vacuum).await.map_err(PostgresCallError::reading)?;
        }
        let rows = connection.query(Query::ScrubbedUpTo, &[&mark]).await.map_err(PostgresCallError::reading)?;
        if rows.first().map_or(Ok(false), |row| at(row, 0))? {
            // Lets the server remove old files and the part of its log that it no longer needs. Few users may do this.
            if let Err(error) = connection.execute("CHECKPOINT").await {
                tracing::debug!(failure = ?error, "no checkpoint after scrubbing");
            }
            return Ok(());
        }
        drop(connection);
        if started.elapsed() > pool.patience() {
            return refuse(
                "a transaction, a standby or a replication slot still needs the deleted rows; try again later",
            );
        }
        tokio::time::sleep(jitter(SCRUB_PAUSE, fastrand::f64())).await;
    }
}
