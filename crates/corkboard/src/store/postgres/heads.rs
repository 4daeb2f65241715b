//! The question that every read begins with: where a log is. Who asks while others do asks with them.

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

/// So many ask for themselves at a time, which is quickest. The rest waits for the next question, which is one for all.
const ALONE: usize = 2;

/// Those who ask.
#[derive(Default)]
pub(super) struct HeadReader {
    asking: Mutex<HeadRequests>,
}

#[derive(Default)]
struct HeadRequests {
    alone: usize,
    /// Whether a task asks for those who wait.
    together: bool,
    waiting: Vec<(SpaceId, oneshot::Sender<Result<Head>>)>,
}

impl HeadReader {
    /// Where a log is now: at the earliest when this was called.
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
                let _done = Alone(self);
                let rows =
                    pool.query_shared(Query::Head, &[&space.as_str()]).await.map_err(PostgresCallError::reading)?;
                rows.first().map_or(Ok(Head::EMPTY), |row| head_at(row, 0))
            }
            Some(answer) => answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the runtime ended".into()))),
        }
    }
}

/// Makes room for the next one, however this one ends.
struct Alone<'a>(&'a HeadReader);

impl Drop for Alone<'_> {
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
