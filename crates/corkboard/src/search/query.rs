//! A query: words, phrases in quotes, and filters such as `tag:work` and `before:2026-05-08`.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use corkboard_core::{LimitName, Limits, Refusal};
use jiff::tz::TimeZone;

use super::dates::{MentionedDate, day_number, filter_days, mentioned_dates};
use super::document::Document;
use super::stop_words::is_stop_word;
use super::vectors::Vector;
use super::words::{each_word, stem};

/// What a search looks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Query {
    text: String,
    terms: Vec<Arc<str>>,
    /// The place of a term in the list.
    places: HashMap<Arc<str>, usize>,
    /// First characters of terms.
    begins: HashSet<char>,
    phrases: Vec<Vec<Box<str>>>,
    filters: Vec<Filter>,
    dates: Vec<MentionedDate>,
    is_explained: bool,
    is_words_only: bool,
    /// The vector of its text by the configured embedding model.
    vector: Option<Arc<Vector>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Filter {
    Tag(String),
    /// The beginning of a key.
    Key(String),
    Kind(String),
    Author(String),
    /// Days since 1970-01-01.
    Before(i32),
    After(i32),
}

impl Query {
    /// Parses a user's query; refuses one that is too long or blank.
    pub(crate) fn checked(text: &str, limits: &Limits) -> Result<Self, Refusal> {
        Limits::check(LimitName::QueryBytes, text.len() as u64, limits.query_bytes)?;
        if text.chars().all(|character| character.is_whitespace() || character.is_control()) {
            return Err(Refusal::Blank { what: "query".into() });
        }
        Ok(Self::new(text))
    }

    /// Parses a query. What cannot be read as a phrase or filter counts as words.
    pub(crate) fn new(text: &str) -> Self {
        let mut query = Self::default();
        for part in parts(text) {
            match part {
                Part::Filter(filter) => query.filters.push(filter),
                Part::Words(words) => query.text.push_str(words),
                Part::Phrase(phrase) => {
                    let stems = stems(phrase);
                    if !stems.is_empty() {
                        query.phrases.push(stems);
                    }
                    query.text.push_str(phrase);
                }
            }
            query.text.push(' ');
        }
        query.dates = mentioned_dates(&query.text);
        let (mut telling, mut others) = (Vec::new(), Vec::new());
        each_word(&query.text, |word, _| {
            if is_stop_word(word) { &mut others } else { &mut telling }.push(stem(word).into_owned());
        });
        // Stop words count if there is nothing else.
        let terms = if telling.is_empty() { others } else { telling };
        terms.into_iter().for_each(|term| query.add(&term));
        query
    }

    fn add(&mut self, term: &str) {
        if !self.places.contains_key(term) {
            let term: Arc<str> = term.into();
            self.begins.extend(term.chars().next());
            self.places.insert(term.clone(), self.terms.len());
            self.terms.push(term);
        }
    }

    /// Asks for an explanation of every hit.
    pub(crate) fn explained(self, is_explained: bool) -> Self {
        Self { is_explained, ..self }
    }

    pub(super) fn is_explained(&self) -> bool {
        self.is_explained
    }

    /// Ignores closeness in meaning.
    pub(crate) fn words_only(self, is_words_only: bool) -> Self {
        Self { is_words_only, ..self }
    }

    pub(crate) fn with_vector(self, vector: Option<Arc<Vector>>) -> Self {
        Self { vector, ..self }
    }

    pub(super) fn vector(&self) -> Option<&Vector> {
        self.vector.as_deref()
    }

    pub(super) fn is_words_only(&self) -> bool {
        self.is_words_only
    }

    /// The stemmed words, without stop words unless there is nothing else.
    pub(crate) fn terms(&self) -> &[Arc<str>] {
        &self.terms
    }

    /// The query without filters.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has_term(&self, term: &str) -> bool {
        self.places.contains_key(term)
    }

    pub(super) fn dates(&self) -> &[MentionedDate] {
        &self.dates
    }

    /// Whether the query consists of filters.
    pub(super) fn is_open(&self) -> bool {
        self.terms.is_empty() && !self.filters.is_empty()
    }

    /// Whether a document passes the filters and contains the phrases.
    pub(crate) fn admits<'d>(&self, document: impl FnOnce() -> Option<Document<'d>>) -> bool {
        if self.filters.is_empty() && self.phrases.is_empty() {
            return true;
        }
        let Some(document) = document() else { return false };
        self.filters.iter().all(|filter| filter.admits(&document))
            && self.phrases.iter().all(|phrase| {
                let texts = [&*document.body, document.key].into_iter().chain(document.tags.iter().map(|tag| &**tag));
                texts.into_iter().any(|text| contains_phrase(text, phrase))
            })
    }

    /// The places of the query's terms in a text: which term, and its bytes.
    pub(super) fn matches(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let mut found = Vec::new();
        each_word(text, |word, range| {
            // Most words need no stemming: a stem begins as its word does, or as the base form of an irregular word.
            if word.chars().next().is_some_and(|first| self.begins.contains(&first))
                && let Some(place) = self.places.get(&*stem(word))
            {
                found.push((*place, range));
            }
        });
        found
    }
}

impl Filter {
    fn new(name: &str, value: &str) -> Option<Self> {
        let days = || filter_days(value);
        Some(match name {
            "tag" => Self::Tag(value.to_lowercase()),
            "key" => Self::Key(value.to_owned()),
            "kind" => Self::Kind(value.to_lowercase()),
            "author" => Self::Author(value.to_lowercase()),
            "before" => Self::Before(*days()?.start()),
            "after" => Self::After(*days()?.end()),
            _ => return None,
        })
    }

    fn admits(&self, document: &Document<'_>) -> bool {
        let day = || day_number(document.written.to_zoned(TimeZone::UTC).date());
        match self {
            Self::Tag(wanted) => document.tags.iter().any(|tag| tag.to_lowercase() == *wanted),
            Self::Key(beginning) => !document.key.is_empty() && document.key.starts_with(beginning),
            Self::Kind(kind) => document.kind == kind,
            Self::Author(name) => document.author.to_lowercase() == *name,
            Self::Before(first) => day() < *first,
            Self::After(last) => day() > *last,
        }
    }
}

enum Part<'a> {
    Words(&'a str),
    Phrase(&'a str),
    Filter(Filter),
}

/// Splits a query at quotes and filters. A quote without an end, and a filter without a value, are words.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| !character.is_whitespace()) {
        rest = rest.get(start..).unwrap_or_default();
        if let Some((phrase, after)) = quoted(rest) {
            parts.push(Part::Phrase(phrase));
            rest = after;
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let filter = word.split_once(':').and_then(|(name, _)| {
            let value = rest.get(name.len() + 1..)?;
            let (value, after) = quoted(value).unwrap_or_else(|| value.split_at(word.len() - name.len() - 1));
            Some((Filter::new(name, value).filter(|_| !value.is_empty())?, after))
        });
        match filter {
            Some((filter, after)) => {
                parts.push(Part::Filter(filter));
                rest = after;
            }
            None => {
                parts.push(Part::Words(word));
                rest = after;
            }
        }
    }
    parts
}

/// A text in quotes that the text begins with, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let end = match text.chars().next()? {
        '"' => '"',
        '“' => '”',
        _ => return None,
    };
    let inside = text.get(text.chars().next()?.len_utf8()..)?;
    let (quoted, after) = inside.split_once(end)?;
    Some((quoted, after))
}

fn stems(text: &str) -> Vec<Box<str>> {
    let mut stems = Vec::new();
    each_word(text, |word, _| stems.push(stem(word).into()));
    stems
}

fn contains_phrase(text: &str, phrase: &[Box<str>]) -> bool {
    let words = stems(text);
    words.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn terms(text: &str) -> Vec<String> {
        Query::new(text).terms().iter().map(|term| term.to_string()).collect()
    }

    #[test]
    fn queries_drop_stop_words() {
        for (text, expected) in [
            ("When did Melanie paint a sunrise?", &["melani", "paint", "sunris"] as &[&str]),
            ("test tests testing", &["test"]),
            ("What kind of books did she mention recently?", &["book"]),
            ("bought children's books", &["buy", "children", "book"]),
            ("in May", &["may"]),
            ("what is this", &["what", "is", "this"]),
            ("Who's who", &["who"]),
            ("!?", &[]),
        ] {
            assert_eq!(terms(text), expected, "{text:?}");
        }
    }

    #[test]
    fn matches_tell_their_places() {
        let query = Query::new("user name 東京");
        let text = "The userName of 東京: Users";
        let found: Vec<(&str, &str)> =
            query.matches(text).into_iter().map(|(at, range)| (&*query.terms()[at], &text[range])).collect();
        assert_eq!(
            found,
            [("user", "user"), ("name", "Name"), ("東", "東"), ("京", "京"), ("東京", "東京"), ("user", "Users")]
        );
    }

    #[test]
    fn filters_and_phrases_restrict_a_search() {
        let tags: [Arc<str>; 2] = ["Work".into(), "two words".into()];
        let document = Document {
            key: "deploy/plan",
            tags: &tags,
            ..Document::plain("fact", "We deploy every Friday, as agreed.", "Grace", Timestamp::UNIX_EPOCH)
        };
        for (text, is_admitted) in [
            ("anything", true),
            ("tag:work", true),
            ("tag:\"two words\"", true),
            ("tag:two words", false),
            ("key:deploy/", true),
            ("key:plan", false),
            ("kind:fact author:grace", true),
            ("kind:event", false),
            ("author:ada", false),
            ("before:1970-01-02", true),
            ("before:1970-01-01", false),
            ("after:1969", true),
            ("after:1970-01", false),
            ("\"every Fridays\"", true),
            ("“deploys every”", true),
            ("\"Friday every\"", false),
            ("\"deploy plan\"", true),
            ("\"as agreed\" tag:work", true),
            ("\"as agreed", true),
            ("tag: before: after:soon http://x", true),
            ("\"\" \"?\"", true),
        ] {
            assert_eq!(Query::new(text).admits(|| Some(document.clone())), is_admitted, "{text}");
        }
        assert!(Query::new("tag:work").is_open() && !Query::new("tag:work deploy").is_open());
        assert_eq!(terms("tag: after:soon"), ["tag", "soon", "aftersoon"]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in "([a-c:\"“” ]|tag:|before:|2023-0|\u{202e}|🚀|\\PC){0,40}") {
            let query = Query::new(&text);
            query.admits(|| Some(Document::plain("fact", text.as_str(), "", Timestamp::UNIX_EPOCH)));
            query.matches(&text);
        }
    }
}
