//! Finds the best entries for a text in several memory cores.

use std::cmp::Ordering;
use std::sync::Arc;

use corkboard_core::board::CoreRef;
use corkboard_core::knowledge::{CoreEntry, CoreEntryId, CoreState};
use corkboard_core::{CoreId, Revisioned};
use futures_util::future::try_join_all;
use jiff::Timestamp;

use super::{Core, ForgottenEntries};
use crate::search::{Index, Query, Top};
use crate::store::StoreError;
use crate::{Error, ErrorKind};
use crate::{Limits, Result};

#[derive(Debug, Clone)]
pub(crate) struct SourcedEntry {
    pub(crate) core: CoreId,
    pub(crate) entry: Arc<CoreEntry>,
}

impl SourcedEntry {
    pub(crate) fn reference(&self) -> CoreRef {
        CoreRef { core: self.core.as_str().to_owned(), entry: self.entry.id }
    }
}

/// A found entry and how well it fits: 1 if it contains all words of the query once. Unlike scores, these values are
/// comparable between cores.
struct Fitting {
    known: SourcedEntry,
    fit: f32,
    /// The position of its core in the list of cores.
    place: usize,
}

impl Fitting {
    /// The best first: by fit, then by importance, then by the order of the cores and of their entries.
    fn before(&self, other: &Self) -> Ordering {
        let (mine, its) = (&self.known.entry, &other.known.entry);
        let by_fit = other.fit.total_cmp(&self.fit).then_with(|| its.importance.total_cmp(&mine.importance));
        by_fit.then_with(|| (self.place, mine.id).cmp(&(other.place, its.id)))
    }
}

/// A filter for entries.
pub(crate) type Admit = fn(&CoreEntry) -> bool;

/// The best entries of these cores for a text, the best first. Unreadable cores are skipped.
pub(crate) async fn best(cores: &[Core], text: &str, limit: usize, admit: Admit) -> Result<Vec<SourcedEntry>> {
    let Some(core) = cores.first() else { return Ok(Vec::new()) };
    let query = query_of(text, &core.engine.options.limits);
    if query.terms().is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    // Without a vector, the built-in model is used.
    let vector = core.engine.indexer.query(query.text()).await.unwrap_or_default();
    let query = Arc::new(query.with_vector(vector.map(Arc::new)));
    let found = cores.iter().enumerate().map(async |(place, core)| {
        let found = if_readable(core, core.fitting(query.clone(), limit, admit).await)?.unwrap_or_default();
        let known = |entry| SourcedEntry { core: core.id.clone(), entry };
        Ok::<_, Error>(found.into_iter().map(move |(entry, fit)| Fitting { known: known(entry), fit, place }))
    });
    let mut found: Vec<Fitting> = try_join_all(found).await?.into_iter().flatten().collect();
    found.sort_by(Fitting::before);
    found.truncate(limit);
    Ok(found.into_iter().map(|fitting| fitting.known).collect())
}

/// Makes a query from a text. A long text is cut off at the limit.
fn query_of(text: &str, limits: &Limits) -> Query {
    let most = usize::try_from(limits.query_bytes).unwrap_or(usize::MAX);
    Query::new(text.get(..text.floor_char_boundary(most)).unwrap_or(text))
}

/// `None` if the core itself cannot be read because its log is damaged or newer than this program. Other errors, such
/// as a failing store, are returned.
pub(crate) fn if_readable<T>(core: &Core, read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::Store(StoreError::Failed(message))) => Err(StoreError::Failed(message).into()),
        Err(error) if error.kind() == ErrorKind::Damaged => {
            tracing::warn!(core = %core.id, %error, "skipping a memory core that cannot be read");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Core {
    /// The most important entries; among equals, the newer first.
    pub(crate) async fn most_important(&self, limit: usize) -> Result<Vec<SourcedEntry>> {
        let (current, now) = self.current().await?;
        let remembered = current.state.entries().values().filter(|entry| ForgottenEntries::LeaveOut.shows(entry, now));
        let mut top = Top::new(limit);
        // Importance is never negative, so its bits sort like its value. Adding 0.0 turns -0.0 into 0.0.
        remembered.for_each(|entry| top.offer(((entry.importance + 0.0).to_bits(), entry.id)));
        let best = top.into_sorted().into_iter().filter_map(|(_, id)| current.state.entries().get(&id));
        Ok(best.map(|entry| SourcedEntry { core: self.id.clone(), entry: entry.clone() }).collect())
    }

    async fn fitting(&self, query: Arc<Query>, limit: usize, admit: Admit) -> Result<Vec<(Arc<CoreEntry>, f32)>> {
        let asked = query.clone();
        let effort = move |index: &Index<CoreEntryId>| index.effort(&asked.in_languages(index.languages()), limit);
        let search = move |current: &Revisioned<CoreState>, index: &Index<CoreEntryId>, now: Timestamp| {
            let entries = current.state.entries();
            let is_meant = |entry: &CoreEntry| ForgottenEntries::LeaveOut.shows(entry, now) && admit(entry);
            let query = query.in_languages(index.languages());
            let ranked = index.search(&query, limit, now, |id| entries.get(id).is_some_and(|entry| is_meant(entry)));
            ranked.into_iter().filter_map(|found| Some((entries.get(&found.id)?.clone(), found.score))).collect()
        };
        self.engine.search(&self.slot, effort, search).await
    }
}
