//! Builder for a search of an agent's memory, a board or a memory core.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corkboard_core::{Refusal, Revisioned, SpaceId};
use jiff::Timestamp;
use serde::Deserialize;

use super::{Found, Index, Query, SearchHit, Searchable};
use crate::context::tokens;
use crate::embed::{EmbedError, Indexer, SearchEmbedder};
use crate::engine::{Engine, RemoteEngine, RemoteSearch, Slot};
use crate::{Limits, Result, Tier};

/// A search; await it. Made by [`AgentMemory::search`](crate::AgentMemory::search), [`Board::search`](crate::Board::search) and
/// [`Core::search`](crate::Core::search).
///
/// A query contains words, phrases in quotes, and the filters `tag:`, `key:` (the beginning of a key), `kind:`,
/// `author:`, `before:` and `after:` (`2026-05-08`, `2026-05` or `2026`).
#[must_use = "a search does nothing until it is awaited"]
pub struct Search<'a> {
    query: &'a str,
    limit: usize,
    budget: Option<u64>,
    is_explained: bool,
    is_words_only: bool,
    limits: &'a Limits,
    indexer: &'a Indexer,
    /// The server that searches because it has an embedding model, and the space.
    remote: Option<(&'a Arc<dyn RemoteEngine>, &'a SpaceId)>,
    find: Find<'a>,
    /// Records the searched revision.
    seen: Option<&'a AtomicU64>,
}

type Find<'a> = Box<dyn FnOnce(Arc<Query>, usize) -> SearchFuture<'a, Searched> + Send + 'a>;
type SearchFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// What a search found in a space.
struct Searched {
    rev: u64,
    hits: Result<Vec<SearchHit>, Refusal>,
    without_vector: usize,
    refused: usize,
    /// The length of the space's vectors, if there are any.
    dimensions: Option<usize>,
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SearchAnswer {
    /// The revision that was searched.
    pub rev: u64,
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// The configured embedding model; `None` without one, and if only words were searched.
    #[serde(default)]
    pub embedder: Option<SearchEmbedder>,
}

/// A state that a search examines, with an index that is current.
pub(crate) struct SearchedState<'a, S: Searchable> {
    pub(crate) state: &'a Revisioned<S>,
    pub(crate) index: &'a Index<S::DocumentId>,
    pub(crate) query: &'a Query,
    pub(crate) limit: usize,
    pub(crate) now: Timestamp,
}

impl<S: Searchable> SearchedState<'_, S> {
    /// The best documents among those that `admit` lets in, as hits.
    pub(crate) fn hits(
        &self,
        admit: impl Fn(&S::DocumentId) -> bool,
        hit: impl Fn(Found<S::DocumentId>) -> Option<SearchHit>,
    ) -> Vec<SearchHit> {
        self.index.search(self.query, self.limit, self.now, admit).into_iter().filter_map(hit).collect()
    }
}

impl Search<'_> {
    /// The default limit of any search.
    pub const LIMIT: usize = 10;
    /// The maximum limit of any search.
    pub const MAX_LIMIT: usize = 50;
    /// The maximum number of characters in a snippet.
    pub const SNIPPET: usize = 200;
}

impl<'a> Search<'a> {
    pub(crate) fn new<S: Searchable>(
        engine: &'a Arc<Engine<S>>,
        slot: &'a Arc<Slot<S>>,
        query: &'a str,
        hits: fn(&SearchedState<'_, S>) -> Result<Vec<SearchHit>, Refusal>,
    ) -> Self {
        let find = move |query: Arc<Query>, limit: usize| -> SearchFuture<'a, _> {
            let asked = query.clone();
            let effort = move |index: &Index<_>| index.effort(&asked.in_languages(index.languages()), limit);
            Box::pin(async move {
                let search = move |state: &Revisioned<S>, index: &Index<S::DocumentId>, now| {
                    let query = &*query.in_languages(index.languages());
                    Searched {
                        rev: state.head.rev,
                        hits: hits(&SearchedState { state, index, query, limit, now }),
                        without_vector: index.without_vector(),
                        refused: index.refused(),
                        dimensions: index.dimensions(),
                    }
                };
                let searched = engine.search(slot, effort, search).await?;
                if searched.without_vector > searched.refused {
                    engine.indexer.wake(&slot.id);
                }
                Ok(searched)
            })
        };
        let (limits, indexer) = (&engine.options.limits, &*engine.indexer);
        let remote = engine.remote().filter(|remote| remote.has_embedder() && engine.options.tier > Tier::Core);
        let remote = remote.map(|remote| (remote, &slot.id));
        let (limit, budget, is_explained, is_words_only) = (Search::LIMIT, None, false, false);
        Self {
            query,
            limit,
            budget,
            is_explained,
            is_words_only,
            limits,
            indexer,
            remote,
            find: Box::new(find),
            seen: None,
        }
    }

    pub(crate) fn noting_revision(mut self, seen: &'a AtomicU64) -> Self {
        self.seen = Some(seen);
        self
    }

    /// Sets the maximum number of hits, from 1 to [`Search::MAX_LIMIT`]; the default is [`Search::LIMIT`].
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the maximum number of tokens of all snippets together. The best hit is returned in any case.
    pub fn budget(mut self, tokens: u64) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Whether to explain the score of every hit.
    pub fn explain(mut self, is_explained: bool) -> Self {
        self.is_explained = is_explained;
        self
    }

    /// Whether to find only what fits the words, authors and dates of the query. By default, a search also finds what
    /// means nearly the same, with a small model that is part of this library.
    pub fn words_only(mut self, is_words_only: bool) -> Self {
        self.is_words_only = is_words_only;
        self
    }

    /// Returns the hits with what is known about the search.
    pub async fn answer(self) -> Result<SearchAnswer> {
        Limits::check_range("limit", self.limit as u64, 1..=Search::MAX_LIMIT as u64)?;
        let query = Query::checked(self.query, self.limits)?.explained(self.is_explained);
        if let Some((remote, space)) = self.remote.filter(|_| !self.is_words_only) {
            let Self { query, limit, budget, is_explained, .. } = self;
            let answer = remote.search(space, RemoteSearch { query, limit, budget, is_explained }).await?;
            if let Some(seen) = self.seen {
                seen.fetch_max(answer.rev, Ordering::Relaxed);
            }
            return Ok(answer);
        }
        let query = query.words_only(self.is_words_only);
        let model = self.indexer.embedder().filter(|_| !self.is_words_only).map(|embedder| embedder.model());
        let vector = match model {
            Some(_) => self.indexer.query(query.text()).await,
            None => Ok(None),
        };
        let (vector, mut problem) = match vector {
            Ok(vector) => (vector.map(Arc::new), None),
            Err(error) => (None, Some(error)),
        };
        let searched = (self.find)(Arc::new(query.with_vector(vector.clone())), self.limit).await?;
        let Searched { rev, hits, without_vector, dimensions, .. } = searched;
        if let Some(seen) = self.seen {
            seen.fetch_max(rev, Ordering::Relaxed);
        }
        if let (Some(vector), Some(expected)) = (vector, dimensions)
            && vector.values().len() != expected
        {
            problem = Some(EmbedError::WrongDimensions { expected, got: vector.values().len() });
        }
        let embedder = model.map(|model| SearchEmbedder {
            model: model.to_owned(),
            without_vector: without_vector as u64,
            problem: problem.map(|problem| problem.to_string()),
        });
        let mut hits = hits?;
        if let Some(most) = self.budget {
            let mut used = 0;
            let fitting = hits.iter().take_while(|hit| {
                used += tokens::count(&hit.snippet);
                used <= most
            });
            let fitting = fitting.count();
            hits.truncate(fitting.max(1));
        }
        Ok(SearchAnswer { rev, hits, embedder })
    }
}

impl<'a> IntoFuture for Search<'a> {
    type Output = Result<Vec<SearchHit>>;
    type IntoFuture = SearchFuture<'a, Vec<SearchHit>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.answer().await?.hits) })
    }
}
