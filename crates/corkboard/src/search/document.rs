//! What is searched: documents, and where they come from.

use std::borrow::Cow;
use std::sync::Arc;

use corkboard_core::{EntryMetadata, Space};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::words::Stems;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document<'a> {
    pub(crate) body: Cow<'a, str>,
    pub(crate) key: &'a str,
    pub(crate) tags: &'a [Arc<str>],
    pub(crate) author: &'a str,
    /// When it was said: found by its words, and of two equals the newer comes first.
    pub(crate) written: Timestamp,
    /// From 0 to 1: of two equals the more important comes first.
    pub(crate) importance: f32,
}

/// A part of a document, which may count more or less than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Body,
    Key,
    Tags,
    Author,
    Date,
}

impl<'a> Document<'a> {
    /// A text of usual importance, with neither name nor tags.
    pub(crate) fn plain(body: impl Into<Cow<'a, str>>, author: &'a str, written: Timestamp) -> Self {
        let importance = EntryMetadata::IMPORTANCE;
        Self { body: body.into(), key: "", tags: &[], author, written, importance }
    }

    pub(super) fn each_term(&self, stems: &mut Stems, mut each: impl FnMut(Field, &str)) {
        stems.each_term(&self.body, |term| each(Field::Body, term));
        stems.each_term(self.key, |term| each(Field::Key, term));
        for tag in self.tags {
            stems.each_term(tag, |term| each(Field::Tags, term));
        }
        stems.each_term(self.author, |term| each(Field::Author, term));
        // As a program writes it, and as a person says it.
        let date = self.written.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %-d %B").to_string();
        stems.each_term(&date, |term| each(Field::Date, term));
    }
}

/// A kind of space whose content can be searched.
pub(crate) trait Searchable: Space {
    /// What tells its documents apart. The order decides where nothing else does.
    type DocumentId: Ord + Clone + Send + Sync + 'static;

    /// Calls `each` with all that became of the documents between two states, each document once, in time proportional to
    /// what changed. Before the first state there was nothing.
    fn changes(before: Option<&Self>, after: &Self, each: impl FnMut(Self::DocumentId, Change<'_>));
}

pub(crate) enum Change<'a> {
    Put(Document<'a>),
    Removed,
}
