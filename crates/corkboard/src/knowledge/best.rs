//! What several memory cores know about something: the best of all, whichever core it is in.

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

/// An entry that was found, and how much of what was asked for it has: 1 for all of it, said once. Unlike scores, these
/// compare between cores.
struct Fitting {
    known: SourcedEntry,
    fit: f32,
    /// Which of the cores it is in.
    place: usize,
}

impl Fitting {
    /// The best first: what fits better, then the more important, then by the order of the cores and of their entries.
    fn before(&self, other: &Self) -> Ordering {
        let (mine, its) = (&self.known.entry, &other.known.entry);
        let by_fit = other.fit.total_cmp(&self.fit).then_with(|| its.importance.total_cmp(&mine.importance));
        by_fit.then_with(|| (self.place, mine.id).cmp(&(other.place, its.id)))
    }
}

/// What an entry must be to be found.
pub(crate) type Admit = fn(&CoreEntry) -> bool;

/// The best entries of these cores for a text, the best first. A core that cannot be read has nothing to say.
pub(crate) async fn best(cores: &[Core], text: &str, limit: usize, admit: Admit) -> Result<Vec<SourcedEntry>> {
    let Some(core) = cores.first() else { return Ok(Vec::new()) };
    let query = Arc::new(query_of(text, &core.engine.options.limits));
    if query.terms().is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
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

/// A text as a query. Of a long one the beginning is enough.
fn query_of(text: &str, limits: &Limits) -> Query {
    let most = usize::try_from(limits.query_bytes).unwrap_or(usize::MAX);
    Query::new(text.get(..text.floor_char_boundary(most)).unwrap_or(text))
}

/// Nothing, if the core itself cannot be read: its log is damaged, or newer than this program. Where the store fails, so
/// does whoever asks.
pub(crate) fn if_readable<T>(core: &Core, read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::Store(StoreError::Failed(message))) => Err(StoreError::Failed(message).into()),
        Err(error) if error.kind() == ErrorKind::Damaged => {
            tracing::warn!(core = %core.id, %error, "a memory core cannot be read, and is left out");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Core {
    /// The most important entries, of two alike the newer first.
    pub(crate) async fn most_important(&self, limit: usize) -> Result<Vec<SourcedEntry>> {
        let (current, now) = self.current().await?;
        let remembered = current.state.entries().values().filter(|entry| ForgottenEntries::LeaveOut.shows(entry, now));
        let mut top = Top::new(limit);
        // No importance is negative: the order of their bits is theirs. Adding nothing makes minus zero zero.
        remembered.for_each(|entry| top.offer(((entry.importance + 0.0).to_bits(), entry.id)));
        let best = top.into_sorted().into_iter().filter_map(|(_, id)| current.state.entries().get(&id));
        Ok(best.map(|entry| SourcedEntry { core: self.id.clone(), entry: entry.clone() }).collect())
    }

    async fn fitting(&self, query: Arc<Query>, limit: usize, admit: Admit) -> Result<Vec<(Arc<CoreEntry>, f32)>> {
        let search = move |current: &Revisioned<CoreState>, index: &Index<CoreEntryId>, now: Timestamp| {
            let entries = current.state.entries();
            let is_meant = |entry: &CoreEntry| ForgottenEntries::LeaveOut.shows(entry, now) && admit(entry);
            let ranked = index.search(&query, limit, |id| entries.get(id).is_some_and(|entry| is_meant(entry)));
            let whole = index.whole(&query).max(f32::MIN_POSITIVE);
            let found = ranked.into_iter().filter_map(|(id, score)| Some((entries.get(&id)?.clone(), score / whole)));
            found.collect()
        };
        self.engine.search(&self.slot, search).await
    }
}
