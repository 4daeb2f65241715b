//! A search while it is put together: the same for an agent's memory, a board and a memory core.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corkboard_core::{Refusal, Revisioned};
use jiff::Timestamp;

use super::{Index, Query, Searchable, checked_query};
use crate::engine::{Engine, Slot};
use crate::{Limits, Result, SearchHit};

/// A search; await it. Made by [`AgentMemory::search`](crate::AgentMemory::search), [`Board::search`](crate::Board::search) and
/// [`Core::search`](crate::Core::search), which differ in what a hit tells.
#[must_use = "nothing is looked for until this is awaited"]
pub struct Search<'a, Hit> {
    query: &'a str,
    limit: usize,
    limits: &'a Limits,
    find: Find<'a, Hit>,
    /// Where the revision that was searched is noted.
    seen: Option<&'a AtomicU64>,
}

/// Answers with the revision that was searched and the hits, unless what was read refuses.
type Find<'a, Hit> = Box<dyn FnOnce(Query, usize) -> SearchFuture<'a, (u64, Result<Vec<Hit>, Refusal>)> + Send + 'a>;
type SearchFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Finds the best hits in a state, by an index that is in step with it.
type Hits<S, Hit> =
    fn(&Revisioned<S>, &Index<<S as Searchable>::DocumentId>, &Query, usize, Timestamp) -> Result<Vec<Hit>, Refusal>;

impl Search<'_, SearchHit> {
    /// The default limit of any search.
    pub const LIMIT: usize = 10;
    /// The maximum limit of any search.
    pub const MAX_LIMIT: usize = 50;
    /// The maximum number of characters in a snippet.
    pub const SNIPPET: usize = 200;
}

impl<'a, Hit: Send + 'static> Search<'a, Hit> {
    pub(crate) fn new<S: Searchable>(
        engine: &'a Arc<Engine<S>>,
        slot: &'a Arc<Slot<S>>,
        query: &'a str,
        hits: Hits<S, Hit>,
    ) -> Self {
        let find = move |query: Query, limit: usize| -> SearchFuture<'a, _> {
            Box::pin(
                engine.search(slot, move |state, index, now| (state.head.rev, hits(state, index, &query, limit, now))),
            )
        };
        Self { query, limit: Search::LIMIT, limits: &engine.options.limits, find: Box::new(find), seen: None }
    }

    pub(crate) fn noting_revision(mut self, seen: &'a AtomicU64) -> Self {
        self.seen = Some(seen);
        self
    }

    /// Sets the maximum number of hits, from 1 to [`Search::MAX_LIMIT`]; the default is [`Search::LIMIT`].
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.clamp(1, Search::MAX_LIMIT);
        self
    }

    /// Returns the revision that was searched along with the hits.
    pub async fn with_rev(self) -> Result<(u64, Vec<Hit>)> {
        let query = checked_query(self.query, self.limits)?;
        let (rev, hits) = (self.find)(query, self.limit).await?;
        if let Some(seen) = self.seen {
            seen.fetch_max(rev, Ordering::Relaxed);
        }
        Ok((rev, hits?))
    }
}

impl<'a, Hit: Send + 'static> IntoFuture for Search<'a, Hit> {
    type Output = Result<Vec<Hit>>;
    type IntoFuture = SearchFuture<'a, Vec<Hit>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.with_rev().await?.1) })
    }
}
