//! What is searched: documents, and where they come from.

use std::borrow::Cow;
use std::sync::Arc;

use corkboard_core::{EntryMetadata, Space};
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document<'a> {
    pub(crate) body: Cow<'a, str>,
    pub(crate) key: &'a str,
    pub(crate) tags: &'a [Arc<str>],
    /// What the filter `kind:` compares.
    pub(crate) kind: &'static str,
    pub(crate) author: &'a str,
    /// When it was said. Queries can name the date, and the newer of two equals comes first.
    pub(crate) written: Timestamp,
    /// From 0 to 1. The more important of two equals comes first.
    pub(crate) importance: f32,
    /// Documents of one session lend each other score, in the order of their versions.
    pub(crate) session: Option<&'a str>,
    pub(crate) version: u64,
}

impl<'a> Document<'a> {
    /// A text of usual importance, without key, tags and session.
    pub(crate) fn plain(
        kind: &'static str,
        body: impl Into<Cow<'a, str>>,
        author: &'a str,
        written: Timestamp,
    ) -> Self {
        let importance = EntryMetadata::IMPORTANCE;
        Self { body: body.into(), key: "", tags: &[], kind, author, written, importance, session: None, version: 0 }
    }
}

/// A kind of space whose content can be searched.
pub(crate) trait Searchable: Space {
    /// Identifies a document. Its order decides between documents that are equal otherwise.
    type DocumentId: Ord + Clone + Send + Sync + 'static;

    /// Calls `each` once for every document that differs between two states, in time proportional to the difference.
    /// Without an earlier state, every document differs.
    fn changes(before: Option<&Self>, after: &Self, each: impl FnMut(Self::DocumentId, Change<'_>));
}

pub(crate) enum Change<'a> {
    Put(Document<'a>),
    Removed,
}
