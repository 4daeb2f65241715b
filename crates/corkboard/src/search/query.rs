//! A query: words, phrases in quotes, and filters such as `tag:work` and `before:2026-05-08`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use corkboard_core::{LimitName, Limits, Refusal};
use foldhash::fast::RandomState;
use jiff::tz::TimeZone;

use super::dates::{MentionedDate, day_number, filter_days, mentioned_dates};
use super::document::Document;
use super::languages::{Evidence, Language, Languages, is_stop_word, signs, stem};
use super::vectors::Vector;
use super::words::each_word;
use crate::{Error, Result};

/// What a search looks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Query {
    text: String,
    /// All words, in lower case.
    words: Vec<Box<str>>,
    /// The languages whose stems are looked for. English is always one of them.
    languages: Languages,
    terms: Vec<QueryTerm>,
    /// The place of a stem's term in the list.
    places: HashMap<Arc<str>, usize, RandomState>,
    /// First characters of stems.
    begins: HashSet<char, RandomState>,
    /// The words of each phrase, in lower case.
    phrases: Vec<Vec<Box<str>>>,
    filters: Vec<Filter>,
    /// The first filter whose value is invalid. It counts as words.
    invalid_filter: Option<InvalidFilter>,
    dates: Vec<MentionedDate>,
    is_explained: bool,
    is_words_only: bool,
    /// The vector of its text by the configured embedding model.
    vector: Option<Arc<Vector>>,
}

/// A word that a query looks for. What it looks like in the index depends on the language of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct QueryTerm {
    /// Words of the query with the same stem in the query's language, such as "test" and "tests".
    pub(super) words: Vec<Box<str>>,
    /// Each stem, with the languages of the documents in which to look for it. The English stem comes first.
    pub(super) stems: Vec<(Arc<str>, Languages)>,
}

#[derive(Debug, Clone, PartialEq)]
struct InvalidFilter {
    filter: String,
    expected: String,
}

/// What the filter `kind:` accepts. Which of them a space has depends on what it is.
const KINDS: [&str; 13] = [
    "fact",
    "event",
    "insight",
    "preference",
    "correction",
    "conversation",
    "note",
    "notebook",
    "task",
    "decision",
    "discovery",
    "artifact",
    "choice",
];

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

impl QueryTerm {
    pub(super) fn has_stem(&self, wanted: &str) -> bool {
        self.stems.iter().any(|(stem, _)| **stem == *wanted)
    }
}

impl Query {
    /// Parses a user's query; refuses one that is too long or blank, or has a filter with an invalid value.
    pub(crate) fn checked(text: &str, limits: &Limits) -> Result<Self> {
        Limits::check(LimitName::QueryBytes, text.len() as u64, limits.query_bytes)?;
        if text.chars().all(|character| character.is_whitespace() || character.is_control()) {
            return Err(Refusal::Blank { what: "query".into() }.into());
        }
        let query = Self::new(text);
        match query.invalid_filter {
            Some(InvalidFilter { filter, expected }) => Err(Error::SearchFilter { filter, expected }),
            None => Ok(query),
        }
    }

    /// Parses a query. What cannot be read as a phrase or filter counts as words.
    pub(crate) fn new(text: &str) -> Self {
        let mut query = Self::default();
        for part in parts(text) {
            match part {
                Part::Filter(filter) => query.filters.push(filter),
                Part::Words(words) => query.text.push_str(words),
                Part::InvalidFilter(expected, words) => {
                    query.text.push_str(words);
                    let filter = words.to_owned();
                    query.invalid_filter.get_or_insert(InvalidFilter { filter, expected });
                }
                Part::Phrase(phrase) => {
                    let words = words(phrase);
                    if !words.is_empty() {
                        query.phrases.push(words);
                    }
                    query.text.push_str(phrase);
                }
            }
            query.text.push(' ');
        }
        query.dates = mentioned_dates(&query.text);
        query.words = words(&query.text);
        query.look_for_stems_of(Languages::ENGLISH);
        query
    }

    /// The query for an index with documents in these languages.
    pub(crate) fn in_languages(&self, languages: Languages) -> Cow<'_, Self> {
        if languages == self.languages {
            return Cow::Borrowed(self);
        }
        let mut query = self.clone();
        query.look_for_stems_of(languages);
        Cow::Owned(query)
    }

    fn look_for_stems_of(&mut self, languages: Languages) {
        self.languages = languages;
        self.terms.clear();
        self.places.clear();
        self.begins.clear();
        let mut evidence = Evidence::default();
        self.words.iter().for_each(|word| evidence.add(signs(word)));
        let language = evidence.language(languages);
        let words = std::mem::take(&mut self.words);
        let is_telling = |word: &str| !is_stop_word(word, language);
        // Stop words count if there is nothing else.
        match words.iter().any(|word| is_telling(word)) {
            true => words.iter().filter(|word| is_telling(word)).for_each(|word| self.add(word, language)),
            false => words.iter().for_each(|word| self.add(word, language)),
        }
        self.words = words;
    }

    /// Adds a word: to a term with the same stem in the query's language, or as a new term.
    fn add(&mut self, word: &str, language: Language) {
        let own = stem(word, language);
        let is_own = |term: &QueryTerm| {
            term.stems.iter().any(|(known, languages)| languages.contains(language) && **known == *own)
        };
        let place = self.terms.iter().position(is_own).unwrap_or(self.terms.len());
        if place == self.terms.len() {
            self.terms.push(QueryTerm::default());
        }
        let Some(term) = self.terms.get_mut(place) else { return };
        if term.words.iter().any(|known| **known == *word) {
            return;
        }
        term.words.push(word.into());
        for language in self.languages.latin() {
            let stem = stem(word, language);
            match term.stems.iter_mut().find(|(known, _)| **known == *stem) {
                Some((_, languages)) => *languages = languages.and(Languages::of(&[language])),
                None => {
                    let stem: Arc<str> = stem.into();
                    self.begins.extend(stem.chars().next());
                    self.places.entry(stem.clone()).or_insert(place);
                    term.stems.push((stem, Languages::of(&[language])));
                }
            }
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

    /// The words to look for, without stop words unless there is nothing else.
    pub(crate) fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The query without filters.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn languages(&self) -> Languages {
        self.languages
    }

    pub(super) fn has_stem(&self, stem: &str) -> bool {
        self.places.contains_key(stem)
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
                texts.into_iter().any(|text| self.contains_phrase(text, phrase))
            })
    }

    /// The places of the query's terms in a text: which term, and its bytes.
    pub(super) fn matches(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let mut found = Vec::new();
        each_word(text, |word, range| {
            // Most words need no stemming: a stem begins as its word does, or as the base form of an irregular word.
            let may_match = !word.is_ascii() || word.chars().next().is_some_and(|first| self.begins.contains(&first));
            let place = |language| self.places.get(&*stem(word, language)).copied();
            if may_match && let Some(place) = self.languages.latin().find_map(place) {
                found.push((place, range));
            }
        });
        found
    }

    /// Whether a text has these words, in one of the languages.
    fn contains_phrase(&self, text: &str, phrase: &[Box<str>]) -> bool {
        let words = words(text);
        self.languages.latin().any(|language| {
            let stems =
                |words: &[Box<str>]| words.iter().map(|word| stem(word, language).into()).collect::<Vec<String>>();
            let (words, phrase) = (stems(&words), stems(phrase));
            words.windows(phrase.len()).any(|window| window == phrase)
        })
    }
}

impl Filter {
    /// `None` if there is no such filter, or if its value is missing. The error contains the expected form.
    fn new(name: &str, value: &str) -> Option<Result<Self, String>> {
        if value.is_empty() {
            return None;
        }
        let days = || filter_days(value).ok_or_else(|| "a date such as 2026-05-08, 2026-05 or 2026".to_owned());
        Some(match name {
            "tag" => Ok(Self::Tag(value.to_lowercase())),
            "key" => Ok(Self::Key(value.to_owned())),
            "kind" => match value.to_lowercase() {
                kind if KINDS.contains(&&*kind) => Ok(Self::Kind(kind)),
                _ => Err(format!("one of {}", KINDS.join(", "))),
            },
            "author" => Ok(Self::Author(value.to_lowercase())),
            "before" => days().map(|days| Self::Before(*days.start())),
            "after" => days().map(|days| Self::After(*days.end())),
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
    /// What was expected instead, and the whole filter.
    InvalidFilter(String, &'a str),
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
            Some((Filter::new(name, value)?, after))
        });
        match filter {
            Some((filter, after)) => {
                let whole = rest.get(..rest.len() - after.len()).unwrap_or_default();
                parts.push(match filter {
                    Ok(filter) => Part::Filter(filter),
                    Err(expected) => Part::InvalidFilter(expected, whole),
                });
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

/// The words of a text in lower case.
fn words(text: &str) -> Vec<Box<str>> {
    let mut words = Vec::new();
    each_word(text, |word, _| words.push(word.into()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn terms(text: &str) -> Vec<String> {
        Query::new(text).terms().iter().map(|term| term.stems[0].0.to_string()).collect()
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
            query.matches(text).into_iter().map(|(at, range)| (&*query.terms()[at].stems[0].0, &text[range])).collect();
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

    #[test]
    fn invalid_filters_are_refused() {
        let checked = |text: &str| Query::checked(text, &Limits::default()).map_err(|error| error.to_string());
        let dates = "expected a date such as 2026-05-08, 2026-05 or 2026";
        let kinds = "expected one of fact, event, insight, preference, correction, conversation, note, notebook, task, \
                     decision, discovery, artifact, choice";
        for (text, expected) in [
            ("kind:foo x", Some(format!("invalid filter \"kind:foo\": {kinds}"))),
            ("x after:\"no date\" kind:foo", Some(format!("invalid filter \"after:\\\"no date\\\"\": {dates}"))),
            ("before:2026-13", Some(format!("invalid filter \"before:2026-13\": {dates}"))),
            ("kind:Fact before:2026", None),
            ("\"before:foo\" \"kind:foo\"", None),
            ("kind: before: tag: after:", None),
            ("http://x mind:foo", None),
        ] {
            let found = checked(text).err().map(|error| error.split("; ").next().unwrap().to_owned());
            assert_eq!(found, expected, "{text}");
        }
        assert!(checked("kind:foo").unwrap_err().ends_with("; to search for these words, put them in quotes"));
        assert_eq!(terms("kind:foo"), ["foo", "kindfoo"], "a text that is not a user's query has words only");
    }

    #[test]
    fn every_kind_is_accepted() {
        use corkboard_core::MemoryKind::*;
        for kind in [Fact, Event, Insight, Preference, Correction, Conversation] {
            // A new kind belongs into both lists.
            match kind {
                Fact | Event | Insight | Preference | Correction | Conversation => {}
            }
            assert!(KINDS.contains(&kind.as_str()), "{kind:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in "([a-c:\"“” ]|tag:|before:|kind:|2023-0|\u{202e}|🚀|\\PC){0,40}") {
            let query = Query::new(&text);
            if let Err(error) = Query::checked(&text, &Limits::default()) {
                prop_assert!(matches!(error.code(), "blank" | "search_filter"), "{error}");
            }
            query.admits(|| Some(Document::plain("fact", text.as_str(), "", Timestamp::UNIX_EPOCH)));
            query.matches(&text);
        }
    }
}
