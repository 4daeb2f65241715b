//! Reads the head of a log, with which every read begins. Concurrent callers share one query.

use std::collections::HashMap;
use std::sync::Arc;

use corkboard_core::{Head, SpaceId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::error::PostgresCallError;
use super::pool::Pool;
use super::queries::Query;
use super::reader::{Result, head_at};
use crate::store::StoreError;

/// This many callers query by themselves, which is fastest. The others wait and share the next query.
const ALONE: usize = 2;

/// Batches concurrent reads of heads.
#[derive(Default)]
pub(super) struct HeadReader {
    asking: Mutex<HeadRequests>,
}

#[derive(Default)]
struct HeadRequests {
    /// How many callers query by themselves at the moment.
    alone: usize,
    /// Whether a task is querying for the waiting callers.
    together: bool,
    waiting: Vec<(SpaceId, oneshot::Sender<Result<Head>>)>,
}

impl HeadReader {
    /// Returns the head of a log, at the time of this call or later.
    pub(super) async fn head(self: &Arc<Self>, pool: &Arc<Pool>, space: &SpaceId) -> Result<Head> {
        let answer = {
            let mut asking = self.asking.lock();
            if asking.alone < ALONE {
                asking.alone += 1;
                None
            } else {
                let (sender, answer) = oneshot::channel();
                asking.waiting.push((space.clone(), sender));
                if !std::mem::replace(&mut asking.together, true) {
                    tokio::spawn(ask_together(self.clone(), pool.clone()));
                }
                Some(answer)
            }
        };
        match answer {
            None => {
                let _done = LoneReader(self);
                let rows =
                    pool.query_shared(Query::Head, &[&space.as_str()]).await.map_err(PostgresCallError::reading)?;
                rows.first().map_or(Ok(Head::EMPTY), |row| head_at(row, 0))
            }
            Some(answer) => answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the runtime ended".into()))),
        }
    }
}

/// Frees the caller's place when dropped.
struct LoneReader<'a>(&'a HeadReader);

impl Drop for LoneReader<'_> {
    fn drop(&mut self) {
        self.0.asking.lock().alone -= 1;
    }
}

async fn ask_together(heads: Arc<HeadReader>, pool: Arc<Pool>) {
    loop {
        let waiting = {
            let mut asking = heads.asking.lock();
            if asking.waiting.is_empty() {
                asking.together = false;
                return;
            }
            std::mem::take(&mut asking.waiting)
        };
        let found = find(&pool, &waiting).await;
        for (space, sender) in waiting {
            let head = found.as_ref().map(|found| found.get(space.as_str()).copied().unwrap_or(Head::EMPTY));
            let _ = sender.send(head.map_err(StoreError::clone));
        }
    }
}

async fn find<T>(pool: &Pool, wanted: &[(SpaceId, T)]) -> Result<HashMap<String, Head>> {
    let names: Vec<&str> = wanted.iter().map(|(space, _)| space.as_str()).collect();
    let rows = pool.query_shared(Query::Heads, &[&names]).await.map_err(PostgresCallError::reading)?;
    rows.iter().map(|row| Ok((super::reader::text_at(row, 0)?, head_at(row, 1)?))).collect()
}
