//! The entries of a memory core, page by page.

use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;

use corkboard_core::MemoryKind;
use corkboard_core::knowledge::{CoreEntry, CoreEntryId, Trust};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Core;
use crate::Result;

/// What a list does with entries that were forgotten and can be restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForgottenEntries {
    /// Leave them out.
    #[default]
    LeaveOut,
    /// Show only these.
    Only,
    /// Show them too.
    Include,
}

impl ForgottenEntries {
    pub(super) fn shows(self, entry: &CoreEntry, now: Timestamp) -> bool {
        let is_meant = match self {
            Self::LeaveOut => entry.forgotten.is_none(),
            Self::Only => entry.forgotten.is_some(),
            Self::Include => true,
        };
        is_meant && !entry.is_expired(now)
    }
}

/// Lists entries. Made by [`Core::entries`].
#[derive(Clone)]
#[must_use = "nothing is read until this is awaited"]
pub struct CoreEntries<'a> {
    core: &'a Core,
    after: Option<CoreEntryId>,
    limit: usize,
    tag: Option<String>,
    kind: Option<MemoryKind>,
    trust: Option<Trust>,
    forgotten: ForgottenEntries,
    updated_since: Option<Timestamp>,
}

/// A page of a core's entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorePage {
    /// The entries, oldest first.
    pub items: Vec<Arc<CoreEntry>>,
    /// What to go on after, if there are more.
    pub next: Option<CoreEntryId>,
    /// The revision that is shown.
    pub rev: u64,
}

impl Core {
    /// The entries that are remembered, oldest first, a page at a time. Await it.
    pub fn entries(&self) -> CoreEntries<'_> {
        let limit = CoreEntries::LIMIT;
        CoreEntries {
            core: self,
            after: None,
            limit,
            tag: None,
            kind: None,
            trust: None,
            forgotten: ForgottenEntries::default(),
            updated_since: None,
        }
    }
}

impl CoreEntries<'_> {
    /// How many entries there are on a page, unless it is said.
    pub const LIMIT: usize = 100;
    /// How many entries can be asked for at once.
    pub const MAX_LIMIT: usize = 10_000;

    /// Only those after this one.
    pub fn after(mut self, entry: CoreEntryId) -> Self {
        self.after = Some(entry);
        self
    }

    /// At most so many: at least 1, at most [`CoreEntries::MAX_LIMIT`].
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.clamp(1, Self::MAX_LIMIT);
        self
    }

    /// Only those with this tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Only those of this kind.
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Only those that are trusted just so far.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Includes forgotten entries, or shows only them.
    pub fn forgotten(mut self, forgotten: ForgottenEntries) -> Self {
        self.forgotten = forgotten;
        self
    }

    /// Only those that changed at this time or later.
    pub fn updated_since(mut self, since: Timestamp) -> Self {
        self.updated_since = Some(since);
        self
    }

    fn is_wanted(&self, entry: &CoreEntry, now: Timestamp) -> bool {
        self.forgotten.shows(entry, now)
            && self.updated_since.is_none_or(|since| entry.updated_at >= since)
            && self.kind.is_none_or(|kind| entry.kind == kind)
            && self.trust.is_none_or(|trust| entry.trust() == trust)
            && self.tag.as_deref().is_none_or(|tag| entry.tags.iter().any(|other| **other == *tag))
    }
}

impl<'a> IntoFuture for CoreEntries<'a> {
    type Output = Result<CorePage>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (current, now) = self.core.current().await?;
            let from = self.after.map_or(Bound::Unbounded, Bound::Excluded);
            let rest = current.state.entries().range((from, Bound::Unbounded)).map(|(_, entry)| entry);
            let mut wanted = rest.filter(|entry| self.is_wanted(entry, now));
            let entries: Vec<_> = wanted.by_ref().take(self.limit).cloned().collect();
            let next = wanted.next().and(entries.last()).map(|entry| entry.id);
            Ok(CorePage { items: entries, next, rev: current.head.rev })
        })
    }
}
