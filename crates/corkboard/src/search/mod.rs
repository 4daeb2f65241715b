//! Ranked search.
//!
//! [`Index`] stores documents under caller-chosen IDs and ranks them for a [`Query`]. [`Searchable`] lists a space's
//! documents and how they changed between two states; the engine uses it to keep the index current.

mod builder;
mod dates;
mod document;
mod hit;
mod index;
mod interned;
mod irregular;
mod languages;
mod meaning;
mod query;
mod snippet;
mod stop_words;
mod text;
mod top;
mod vectors;
mod words;

pub(crate) use builder::SearchedState;
pub use builder::{Search, SearchAnswer};
pub(crate) use document::{Change, Document, Searchable};
pub use hit::{FoundItem, FoundScope, SearchHit};
pub use index::{Explanation, ScorePart, ScoreReason};
pub(crate) use index::{Found, Index};
pub(crate) use query::Query;
pub(crate) use snippet::snippet;
pub(crate) use text::text_of;
pub(crate) use top::Top;
pub(crate) use vectors::{TextHash, Vector, embedded_text};
