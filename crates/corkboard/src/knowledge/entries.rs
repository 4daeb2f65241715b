//! The entries of a memory core, page by page.

use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;

use corkboard_core::MemoryKind;
use corkboard_core::knowledge::{CoreEntry, CoreEntryId, Trust};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Core;
use crate::{Limits, Result};

/// Whether a list shows forgotten entries, which can be restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForgottenEntries {
    /// Leave out forgotten entries.
    #[default]
    LeaveOut,
    /// Show only forgotten entries.
    Only,
    /// Show forgotten entries too.
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

/// Lists entries. Created by [`Core::entries`].
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
    /// The cursor for the next page, if there are more entries.
    pub next: Option<CoreEntryId>,
    /// The revision shown.
    pub rev: u64,
}

impl Core {
    /// Lists the entries that are not forgotten, oldest first, page by page. Await it.
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
    /// Default number of entries per page.
    pub const LIMIT: usize = 100;
    /// Maximum number of entries per page.
    pub const MAX_LIMIT: usize = 10_000;

    /// Starts after this entry.
    pub fn after(mut self, entry: CoreEntryId) -> Self {
        self.after = Some(entry);
        self
    }

    /// Sets the page size, from 1 to [`CoreEntries::MAX_LIMIT`].
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Lists only entries with this tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Lists only entries of this kind.
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Lists only entries with exactly this trust.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Includes forgotten entries, or shows only them.
    pub fn forgotten(mut self, forgotten: ForgottenEntries) -> Self {
        self.forgotten = forgotten;
        self
    }

    /// Lists only entries that changed at this time or later.
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
            Limits::check_range("limit", self.limit as u64, 1..=Self::MAX_LIMIT as u64)?;
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
