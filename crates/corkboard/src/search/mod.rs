//! Ranked search: texts become terms, terms find documents, BM25 ranks them, a snippet shows why.
//!
//! [`Index`] is the one interface: whoever has documents puts them in under ids of his own, takes them out, and asks. It knows
//! nothing of spaces. [`Searchable`] says which documents a space has, and what became of them between two of its states;
//! the engine keeps an index in step by that.

mod builder;
mod document;
mod index;
mod snippet;
mod stop_words;
mod text;
mod top;
mod words;

use corkboard_core::{LimitName, Limits, Refusal};

pub use builder::Search;
pub(crate) use document::{Change, Document, Searchable};
pub(crate) use index::Index;
pub(crate) use snippet::snippet;
pub(crate) use text::text_of;
pub(crate) use top::Top;
pub(crate) use words::Query;

/// A query that somebody typed, unless it is too long or says nothing.
pub(crate) fn checked_query(text: &str, limits: &Limits) -> Result<Query, Refusal> {
    Limits::check(LimitName::QueryBytes, text.len() as u64, limits.query_bytes)?;
    if text.chars().all(|character| character.is_whitespace() || character.is_control()) {
        return Err(Refusal::Blank { what: "query".into() });
    }
    Ok(Query::new(text))
}
