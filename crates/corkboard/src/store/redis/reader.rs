//! Reads of one space. Each is one command or one script, so its answer is consistent.

use corkboard_core::{Head, SpaceId};
use redis::Value;

use super::RedisShared;
use super::answer::{array, bytes, entry_id, head, records, text};
use super::connection::RedisCallError;
use super::script::{LOAD, READ};
use crate::store::{Cursor, Loaded, Page, Result, Snapshot, StoreError};

impl RedisShared {
    pub(super) async fn head(&self, space: &SpaceId) -> Result<Head> {
        let mut query = redis::cmd("HMGET");
        query.arg(self.keys.head(space)).arg("rev").arg("commit");
        let answer = self.connection_of(space).ask_again(&query).await.map_err(RedisCallError::of_reading)?;
        head_of(answer)
    }

    /// Reads the heads of several spaces in one round trip.
    pub(super) async fn heads(&self, spaces: &[SpaceId]) -> Result<Vec<Head>> {
        let mut queries = redis::pipe();
        for space in spaces {
            queries.cmd("HMGET").arg(self.keys.head(space)).arg("rev").arg("commit");
        }
        let heads = self.first().ask_all_again(&queries).await.map_err(RedisCallError::of_reading)?;
        heads.into_iter().map(head_of).collect()
    }

    pub(super) async fn load(&self, space: &SpaceId) -> Result<Loaded> {
        let keys = self.keys.of(space);
        let answer = LOAD.run_again(&self.bulk, |call| {
            call.arg(2).arg(&keys.head).arg(&keys.snapshot);
        });
        let [held, kept] = array(answer.await.map_err(RedisCallError::of_reading)?, "space")?;
        let [rev, commit, born_rev, born_commit] = array(held, "head of a log")?;
        let [snapshot_rev, snapshot_commit, body] = array(kept, "snapshot")?;
        let (head, born, snapshot) =
            (head(rev, commit)?, head(born_rev, born_commit)?, head(snapshot_rev, snapshot_commit)?);
        let snapshot = (snapshot != Head::EMPTY).then(|| Snapshot { head: snapshot, body: bytes(body) });
        Ok(Loaded { head, born, snapshot })
    }

    pub(super) async fn read_after(&self, space: &SpaceId, cursor: Cursor, limit: usize) -> Result<Page> {
        let keys = self.keys.of(space);
        let next = cursor.rev.saturating_add(1);
        let answer = READ.run_again(&self.pages, |call| {
            call.arg(2).arg(&keys.head).arg(&keys.log).arg(cursor.rev).arg(next).arg(limit).arg(Page::BYTES);
        });
        let answer = answer.await.map_err(RedisCallError::of_reading)?;
        let [rev, commit, born_rev, born_commit, at_cursor, oldest, entries] = array(answer, "page of a log")?;
        let (head, born) = (head(rev, commit)?, head(born_rev, born_commit)?);
        if cursor.rev > head.rev {
            return Err(StoreError::Future { asked: cursor.rev, head: head.rev });
        }
        let records = records(entries)?;
        if records.is_empty() && cursor.rev < head.rev && limit > 0 {
            let oldest = entry_id(&text(oldest)).map_or(head.rev + 1, |(rev, _)| rev);
            if next < oldest {
                return Err(StoreError::Compacted { oldest });
            }
            return Err(StoreError::Corrupt(format!("the log of {space} has a gap after revision {}", cursor.rev)));
        }
        if let Some(expected) = cursor.commit {
            let found = match cursor.rev {
                rev if rev == head.rev => head.commit.0.as_bytes().to_vec(),
                rev if rev == born.rev => born.commit.0.as_bytes().to_vec(),
                _ => bytes(at_cursor),
            };
            if !found.is_empty() && found != expected.0.as_bytes() {
                return Err(StoreError::Diverged);
            }
        }
        Ok(Page { records, head })
    }
}

fn head_of(answer: Value) -> Result<Head> {
    let [rev, commit] = array(answer, "head of a log")?;
    head(rev, commit)
}
