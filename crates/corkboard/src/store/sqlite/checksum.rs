//! The checksum stored with every record and snapshot, because SQLite does not detect a changed bit in them.

use rusqlite::{OptionalExtension, Transaction, params};

use super::reader::read_parts;
use super::schema::error;
use crate::store::{Record, StoreError};

/// Number of upgraded records between two progress messages.
const PROGRESS: u64 = 100_000;

/// The checksum of a complete record, including its whole body.
pub(super) fn of_record(space: &str, rev: u64, commit: &[u8], at: i64, summary: Option<&[u8]>, body: &[u8]) -> u32 {
    let summary = summary.unwrap_or_default();
    let numbers = [rev, at.cast_unsigned(), space.len() as u64, summary.len() as u64];
    of(&numbers, &[commit, space.as_bytes(), summary, body])
}

pub(super) fn of_snapshot(space: &str, rev: u64, commit: &[u8], body: &[u8]) -> u32 {
    of(&[rev, space.len() as u64], &[commit, space.as_bytes(), body])
}

/// CRC-32, which detects every change within 32 consecutive bits.
pub(super) fn of(numbers: &[u64], bytes: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    numbers.iter().for_each(|number| hasher.update(&number.to_be_bytes()));
    bytes.iter().for_each(|bytes| hasher.update(bytes));
    hasher.finalize()
}

/// Adds checksums to the records and snapshots of a store without them.
pub(super) fn fill(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    fill_log(transaction).and_then(|()| fill_snapshots(transaction)).map_err(error)
}

fn fill_log(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let total: u64 = transaction.query_row("SELECT count(*) FROM log", [], |row| row.get(0))?;
    if total > 0 {
        tracing::info!(records = total, "upgrading the store: adding checksums to its records");
    }
    let mut next = transaction.prepare(
        "SELECT log.position, log.space, log.rev, name, commit_id, at, summary, body FROM log
         JOIN spaces ON spaces.id = log.space WHERE log.position > ?1 ORDER BY log.position LIMIT 1",
    )?;
    let mut update = transaction.prepare("UPDATE log SET sum = ?2 WHERE position = ?1")?;
    let (mut position, mut done) = (i64::MIN, 0);
    loop {
        let found = next.query_row([position], |row| {
            let (space, rev, name): (i64, u64, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let mut body: Vec<u8> = row.get(7)?;
            if body.len() == Record::PART_BYTES {
                read_parts(transaction, space, rev, &mut body)?;
            }
            let (commit, summary) = (row.get_ref(4)?.as_blob()?, row.get_ref(6)?.as_blob_or_null()?);
            Ok((row.get(0)?, of_record(&name, rev, commit, row.get(5)?, summary, &body)))
        });
        let Some((found, sum)) = found.optional()? else { return Ok(()) };
        update.execute(params![found, sum])?;
        position = found;
        done += 1;
        if done % PROGRESS == 0 {
            tracing::info!(done, total, "upgrading the store");
        }
    }
}

fn fill_snapshots(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut spaces = transaction.prepare("SELECT space, name FROM snapshots JOIN spaces ON spaces.id = space")?;
    let spaces = spaces.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (space, name) in spaces.collect::<rusqlite::Result<Vec<(i64, String)>>>()? {
        let sum =
            transaction.query_row("SELECT rev, commit_id, body FROM snapshots WHERE space = ?1", [space], |row| {
                Ok(of_snapshot(&name, row.get(0)?, row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?))
            })?;
        transaction.execute("UPDATE snapshots SET sum = ?2 WHERE space = ?1", params![space, sum])?;
    }
    Ok(())
}
