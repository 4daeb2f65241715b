//! Wipes leftovers of deleted content from the pages of the database, a few pages at a time.
//!
//! `secure_delete` overwrites deleted content in place. Two kinds of leftovers remain: SQLite moves rows between pages
//! and leaves copies in the unused part of a page, and files from before `secure_delete` was on have old content in
//! free pages.

use std::collections::HashMap;
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension};

use super::schema::{error, pragma};
use crate::store::Result;

/// Maximum number of pages wiped in one transaction, so that other writers do not wait long.
const WIPED_AT_ONCE: usize = 64;
/// Maximum number of pages read in one transaction, so that the write-ahead log can be emptied in between.
const READ_AT_ONCE: u32 = 4096;

/// Result of searching some pages.
pub(super) struct LeftoverPages {
    pub(super) pages: Vec<u32>,
    /// The page to continue at; `None` at the end of the file.
    pub(super) next: Option<u32>,
}

/// Whether pages can be wiped one by one. Otherwise only `VACUUM` removes all leftovers.
pub(super) fn is_possible(connection: &Connection) -> Result<bool> {
    let module = connection.query_row("SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage'", [], |_| Ok(()));
    let has_module = module.optional().map_err(error)?.is_some();
    // In a larger file, an overflow page could begin like a tree page: with the number of the next page.
    Ok(has_module && pragma::<u32>(connection, "page_count")? < 0x0200_0000)
}

pub(super) fn find(connection: &mut Connection, from: u32) -> Result<LeftoverPages> {
    let transaction = connection.transaction().map_err(error)?;
    let last: u32 = pragma(&transaction, "page_count")?;
    let layout = Layout::read(&transaction)?;
    let mut pages = Vec::new();
    let mut number = from;
    while number <= last && number - from < READ_AT_ONCE && pages.len() < WIPED_AT_ONCE {
        let mut page = read(&transaction, number)?;
        if layout.wipe(number, &mut page) {
            pages.push(number);
        }
        number += 1;
    }
    Ok(LeftoverPages { pages, next: (number <= last).then_some(number) })
}

/// Wipes the leftovers in the current content of these pages.
pub(super) fn wipe(transaction: &Connection, pages: &[u32]) -> Result<()> {
    let layout = Layout::read(transaction)?;
    let mut write = transaction.prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1").map_err(error)?;
    for number in pages {
        let mut page = read(transaction, *number)?;
        if layout.wipe(*number, &mut page) {
            write.execute((number, &page)).map_err(error)?;
        }
    }
    Ok(())
}

/// Returns a page's bytes; empty if the file has become shorter.
fn read(connection: &Connection, number: u32) -> Result<Vec<u8>> {
    let mut read = connection.prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1").map_err(error)?;
    let page = read.query_row([number], |row| row.get(0)).optional().map_err(error)?;
    Ok(page.unwrap_or_default())
}

struct Layout {
    /// Number of bytes of a page that SQLite uses.
    usable: usize,
    /// Free pages, and how many bytes at the start of each are used for a list of other free pages.
    free: HashMap<u32, usize>,
}

impl Layout {
    fn read(connection: &Connection) -> Result<Self> {
        let first = read(connection, 1)?;
        let reserved = first.get(20).copied().map_or(0, usize::from);
        let usable = first.len().saturating_sub(reserved);
        let mut free = HashMap::new();
        let mut trunk = number(&first, 32);
        // A cyclic list is damage, which `check` reports.
        while trunk != 0 && !free.contains_key(&trunk) {
            let page = read(connection, trunk)?;
            let count = (number(&page, 4) as usize).min(usable / 4);
            free.insert(trunk, 8 + 4 * count);
            free.extend((0..count).map(|index| (number(&page, 8 + 4 * index), 0)));
            trunk = number(&page, 0);
        }
        Ok(Self { usable, free })
    }

    /// Overwrites unused bytes with zeros. Returns whether there was anything to overwrite.
    fn wipe(&self, number: u32, page: &mut [u8]) -> bool {
        let unused = match self.free.get(&number) {
            Some(used) => Some(std::iter::once(*used..self.usable).collect()),
            None => self.unused_in_tree(page, if number == 1 { 100 } else { 0 }),
        };
        let mut found = false;
        for range in unused.unwrap_or_default() {
            if let Some(bytes) = page.get_mut(range) {
                found |= bytes.iter().any(|byte| *byte != 0);
                bytes.fill(0);
            }
        }
        found
    }

    /// Returns the unused parts of a tree page: between the list of cells and the cells, and between cells. `None` if
    /// it is not a valid tree page.
    fn unused_in_tree(&self, page: &[u8], header: usize) -> Option<Vec<Range<usize>>> {
        let short = |at: usize| Some(usize::from(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?])));
        let cells = match page.get(header)? {
            2 | 5 => header + 12,
            10 | 13 => header + 8,
            _ => return None,
        };
        let content = match short(header + 5)? {
            0 => 65536,
            content => content,
        };
        let gap = cells + 2 * short(header + 3)?..content;
        if gap.start > gap.end || gap.end > self.usable {
            return None;
        }
        let mut unused = vec![gap];
        let mut end = content;
        let mut block = short(header + 1)?;
        while block != 0 {
            let (next, size) = (short(block)?, short(block + 2)?);
            if block < end || size < 4 || block + size > self.usable {
                return None;
            }
            end = block + size;
            unused.push(block + 4..end);
            block = next;
        }
        Some(unused)
    }
}

/// Reads a number from a page; 0 beyond its end.
fn number(page: &[u8], at: usize) -> u32 {
    let bytes = page.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::HashSet;
    use std::path::Path;
    use std::time::Duration;

    use rusqlite::Connection;

    use crate::store::sqlite::schema;
    use crate::store::{Ownership, SqliteStore, Store};

    async fn open(path: &Path) -> SqliteStore {
        SqliteStore::open(path.to_owned(), Ownership::Shared, Duration::from_secs(60)).await.unwrap()
    }

    /// Finds the numbers of all texts like "secret 17." anywhere in the database and its write-ahead log.
    fn found(path: &Path) -> HashSet<u64> {
        let log = path.with_extension("db-wal");
        let raw = [std::fs::read(path).unwrap(), std::fs::read(log).unwrap_or_default()].concat();
        let text = String::from_utf8_lossy(&raw);
        let numbers = text.split("secret ").skip(1).filter_map(|rest| rest.split_once('.')?.0.parse().ok());
        numbers.collect()
    }

    fn kept(connection: &Connection) -> HashSet<u64> {
        let mut rows = connection.prepare("SELECT id FROM things WHERE body LIKE 'secret %'").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn leftovers_from_before_secure_delete_are_wiped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = open(&path).await;
        let careless = Connection::open(&path).unwrap();
        careless
            .execute_batch(
                "PRAGMA secure_delete = OFF;
                 CREATE TABLE things (id INTEGER PRIMARY KEY, body TEXT);
                 WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 3000)
                     INSERT INTO things SELECT id, 'secret ' || id || '.' || printf('%.*c', id % 700, 'x') FROM ids;
                 INSERT INTO things VALUES (9000, printf('%.*c', 5000, 'y') || 'secret 9000.');
                 DELETE FROM things WHERE id % 3 <> 0 OR id > 1500;",
            )
            .unwrap();
        let left = &found(&path) - &kept(&careless);
        assert!(left.len() > 100 && left.contains(&9000), "{}: deleted content must remain at first", left.len());
        store.scrub().await.unwrap();
        assert_eq!((found(&path), store.check().await), (kept(&careless), Ok(vec![])));
    }

    /// Rows that SQLite moves to another page leave copies behind, which stay when the row is changed or deleted.
    #[tokio::test]
    async fn copies_of_moved_rows_are_wiped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = open(&path).await;
        let writer = schema::connect(&path).unwrap();
        writer
            .execute_batch("PRAGMA synchronous = OFF; CREATE TABLE things (id INTEGER PRIMARY KEY, body TEXT)")
            .unwrap();
        let mut dice = fastrand::Rng::with_seed(1);
        let mut ids: Vec<u64> = Vec::new();
        for id in 1..12_000 {
            match dice.u8(..60) {
                0..40 => {
                    let body = format!("secret {id}.{}", "x".repeat(dice.usize(..600)));
                    writer.execute("INSERT INTO things VALUES (?1, ?2)", (id, body)).unwrap();
                    ids.push(id);
                }
                40..58 if !ids.is_empty() => {
                    let id = ids.swap_remove(dice.usize(..ids.len()));
                    writer.execute("UPDATE things SET body = 'nothing' WHERE id = ?1", [id]).unwrap();
                }
                _ => {
                    let (first, step) = (dice.u64(..=id), dice.u64(2..20));
                    let delete = "DELETE FROM things WHERE id > ?1 AND id < ?1 + 300 AND id % ?2 = 0";
                    writer.execute(delete, [first, step]).unwrap();
                    ids.retain(|id| !(*id > first && *id < first + 300 && id % step == 0));
                }
            }
        }
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let left = &found(&path) - &kept(&writer);
        assert!(!left.is_empty(), "the test needs leftovers that secure_delete does not overwrite");
        store.scrub().await.unwrap();
        assert_eq!((found(&path), store.check().await), (kept(&writer), Ok(vec![])));
    }
}
