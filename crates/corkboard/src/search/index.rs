//! An inverted index in memory. Adding or removing a document takes time proportional to its size.

mod fold;
mod misspelt;
mod rank;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::dates::day_number;
use super::document::Document;
use super::interned::Interned;
use super::languages::{Evidence, Language, Languages, stem};
use super::meaning::{Meaning, WordPieces};
use super::vectors::{TextHash, Vector, VectorRows};
use super::words::{KnownWords, each_word};
use misspelt::Bigrams;

pub(crate) use rank::Found;
pub use rank::{Explanation, ScorePart, ScoreReason};

/// Documents by their words, each under an ID.
pub(crate) struct Index<Id> {
    slots: BTreeMap<Id, u32>,
    /// By slot. The slots of removed documents are used again.
    documents: Vec<Option<Indexed<Id>>>,
    /// By slot: what ranking reads of every document that it meets.
    traits: Vec<Traits>,
    /// By slot; empty without the built-in model.
    meanings: Vec<Meaning>,
    has_meanings: bool,
    /// By slot; none without a configured embedding model.
    vectors: Option<VectorRows>,
    free_slots: Vec<u32>,
    terms: Interned<Term>,
    authors: Interned<Author>,
    sessions: Interned<Session>,
    total_length: u64,
    postings: u64,
    name_bytes: u64,
    /// Number of documents by language.
    languages: [u32; Language::LATIN.len()],
    /// Kept while many documents are added.
    words: KnownWords,
    /// Grows when a term loses its number; at least 1.
    generation: u32,
    word_pieces: WordPieces,
}

struct Indexed<Id> {
    id: Id,
    terms: Box<[Occurrence]>,
    importance: f32,
    written: Timestamp,
    version: u64,
}

/// No slot, author or session.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Traits {
    /// Number of words in the body.
    length: u32,
    author: u32,
    session: u32,
    /// The neighbours in the session.
    previous: u32,
    next: u32,
    /// The day it was written, counted from 1970-01-01.
    day: i32,
    is_question: bool,
    language: Language,
}

impl Traits {
    const NONE: Self = Self {
        length: 0,
        author: NONE,
        session: NONE,
        previous: NONE,
        next: NONE,
        day: 0,
        is_question: false,
        language: Language::English,
    };
}

impl Default for Traits {
    fn default() -> Self {
        Self::NONE
    }
}

/// A term of a document: its number, and where in the term's postings the document is.
#[derive(Clone, Copy)]
struct Occurrence {
    number: u32,
    position: u32,
    is_in_body: bool,
}

#[derive(Default)]
struct Term {
    postings: Vec<Posting>,
    bigrams: Bigrams,
}

#[derive(Clone, Copy)]
struct Posting {
    slot: u32,
    /// Where in the document's list the term is.
    within: u32,
    frequency: u32,
}

#[derive(Default)]
struct Author {
    /// The words of the name, stemmed like English ones.
    words: Box<[Box<str>]>,
    documents: u32,
}

/// The documents of a session by version, with their slots.
#[derive(Default)]
struct Session(BTreeSet<(u64, u32)>);

impl<Id> Index<Id> {
    /// An empty index. With meanings, it also finds what says the same in other words.
    pub(crate) fn new(has_meanings: bool) -> Self {
        Self {
            slots: BTreeMap::new(),
            documents: Vec::new(),
            traits: Vec::new(),
            meanings: Vec::new(),
            has_meanings,
            vectors: None,
            free_slots: Vec::new(),
            terms: Interned::default(),
            authors: Interned::default(),
            sessions: Interned::default(),
            total_length: 0,
            postings: 0,
            name_bytes: 0,
            languages: Default::default(),
            words: KnownWords::default(),
            generation: 1,
            word_pieces: WordPieces::default(),
        }
    }

    /// Keeps a place for the vector of every document.
    pub(crate) fn with_vectors(self) -> Self {
        Self { vectors: Some(VectorRows::default()), ..self }
    }
}

impl<Id: Ord + Clone> Index<Id> {
    /// Adds a document, or replaces the one with that ID.
    pub(crate) fn put(&mut self, id: Id, document: &Document<'_>) {
        self.remove(&id);
        let mut words = std::mem::take(&mut self.words);
        words.limit();
        let (mut evidence, mut read) = (Evidence::default(), Vec::new());
        words.read(&document.body, &mut read, &mut evidence);
        let (language, length) = (evidence.language(Languages::LATIN), read.len());
        for text in std::iter::once(document.key).chain(document.tags.iter().map(|tag| &**tag)) {
            words.read(text, &mut read, &mut evidence);
        }
        // Number, frequency, and whether the term is in the body.
        let mut found: Vec<(u32, u32, bool)> = Vec::with_capacity(read.len());
        for (at, word) in read.into_iter().enumerate() {
            let Some(stem) = words.stem(word, language) else { continue };
            if stem.generation != self.generation {
                (stem.number, stem.generation) = (self.term_number(&stem.text), self.generation);
            }
            found.push((stem.number, 1, at < length));
        }
        self.words = words;
        let length = length as u32;
        let author = self.author_number(document.author);
        found.sort_unstable_by_key(|(number, ..)| *number);
        found.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
                kept.2 |= next.2;
            }
            is_same
        });
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.documents.push(None);
            self.traits.push(Traits::default());
            self.documents.len() as u32 - 1
        });
        let mut terms = Vec::with_capacity(found.len());
        for (within, (number, frequency, is_in_body)) in found.into_iter().enumerate() {
            let Some(term) = self.terms.get_mut(number) else { continue };
            terms.push(Occurrence { number, position: term.postings.len() as u32, is_in_body });
            term.postings.push(Posting { slot, within: within as u32, frequency });
        }
        self.postings += terms.len() as u64;
        if let Some(documents) = self.languages.get_mut(language as usize) {
            *documents += 1;
        }
        self.total_length += u64::from(length);
        let Document { importance, written, version, .. } = *document;
        let day = day_number(written.to_zoned(TimeZone::UTC).date());
        let is_question = is_question(&document.body);
        if let Some(place) = self.traits.get_mut(slot as usize) {
            *place = Traits { length, author, day, is_question, language, ..Traits::default() };
        }
        if self.has_meanings {
            self.meanings.resize(self.documents.len(), Meaning::default());
            if let Some(place) = self.meanings.get_mut(slot as usize) {
                *place = Meaning::of_document(document, &mut self.word_pieces);
            }
        }
        if let Some(vectors) = &mut self.vectors {
            vectors.put(slot, document);
        }
        if let Some(place) = self.documents.get_mut(slot as usize) {
            *place = Some(Indexed { id: id.clone(), terms: terms.into(), importance, written, version });
        }
        if let Some(session) = document.session.filter(|session| !session.is_empty()) {
            self.join_session(session, version, slot);
        }
        self.slots.insert(id, slot);
    }

    /// Removes a document. Does nothing if it is not there.
    pub(crate) fn remove(&mut self, id: &Id) {
        let Some(slot) = self.slots.remove(id) else { return };
        let Some(removed) = self.documents.get_mut(slot as usize).and_then(Option::take) else { return };
        self.free_slots.push(slot);
        self.leave_session(removed.version, slot);
        let Some(traits) = self.traits.get_mut(slot as usize).map(std::mem::take) else { return };
        if let Some(meaning) = self.meanings.get_mut(slot as usize) {
            *meaning = Meaning::default();
        }
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(slot);
        }
        self.total_length -= u64::from(traits.length);
        self.postings -= removed.terms.len() as u64;
        if let Some(documents) = self.languages.get_mut(traits.language as usize) {
            *documents -= 1;
        }
        if let Some(author) = self.authors.get_mut(traits.author) {
            author.documents -= 1;
            if author.documents == 0 {
                self.name_bytes -= self.authors.name(traits.author).len() as u64;
                self.authors.remove(traits.author);
            }
        }
        for Occurrence { number, position, .. } in removed.terms {
            let Some(term) = self.terms.get_mut(number) else { continue };
            term.postings.swap_remove(position as usize);
            // The last posting took its place; update its document.
            if let Some(moved) = term.postings.get(position as usize).copied()
                && let Some(Some(document)) = self.documents.get_mut(moved.slot as usize)
                && let Some(occurrence) = document.terms.get_mut(moved.within as usize)
            {
                occurrence.position = position;
            }
            if term.postings.is_empty() {
                self.name_bytes -= self.terms.name(number).len() as u64;
                self.terms.remove(number);
                self.generation += 1;
            } else if term.postings.len() * 4 < term.postings.capacity() {
                term.postings.shrink_to(term.postings.len() * 2);
            }
        }
    }

    /// The languages of the documents, and English.
    pub(crate) fn languages(&self) -> Languages {
        let present = Language::LATIN.into_iter().zip(self.languages).filter(|(_, documents)| *documents > 0);
        present.fold(Languages::ENGLISH, |all, (language, _)| all.and(Languages::of(&[language])))
    }

    /// An empty index of the same kind.
    pub(crate) fn emptied(&self) -> Self {
        Self { vectors: self.vectors.as_ref().map(|_| VectorRows::default()), ..Self::new(self.has_meanings) }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Number of documents without a vector.
    pub(crate) fn without_vector(&self) -> usize {
        self.vectors.as_ref().map_or(0, VectorRows::missing)
    }

    /// Number of documents whose text the model refused.
    pub(crate) fn refused(&self) -> usize {
        self.vectors.as_ref().map_or(0, VectorRows::refused)
    }

    /// Notes that the model refused a text.
    pub(crate) fn refuse(&mut self, hash: TextHash) {
        if let Some(vectors) = &mut self.vectors {
            vectors.refuse(hash);
        }
    }

    /// The hash of a document's text, if its vector can be computed and is missing.
    pub(crate) fn lacks_vector(&self, id: &Id) -> Option<TextHash> {
        self.vectors.as_ref()?.missing_at(*self.slots.get(id)?)
    }

    pub(crate) fn has_text(&self, hash: &TextHash) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.has_text(hash))
    }

    /// Sets the vector of all documents with a text.
    pub(crate) fn set_vector(&mut self, hash: &TextHash, vector: &Vector) {
        if let Some(vectors) = &mut self.vectors {
            vectors.set(hash, vector);
        }
    }

    /// The vectors of all texts that have one.
    pub(crate) fn vectors(&self) -> Vec<(TextHash, Vector)> {
        self.vectors.iter().flat_map(VectorRows::all).collect()
    }

    /// The length of the vectors, if there are any.
    pub(crate) fn dimensions(&self) -> Option<usize> {
        self.vectors.as_ref().map(VectorRows::dimensions).filter(|dimensions| *dimensions > 0)
    }

    pub(crate) fn forget_vectors(&mut self) {
        if let Some(vectors) = &mut self.vectors {
            vectors.clear();
        }
    }

    /// Drops what only helps while documents are added.
    pub(crate) fn settle(&mut self) {
        self.words = KnownWords::default();
        self.word_pieces = WordPieces::default();
    }

    fn term_number(&mut self, text: &str) -> u32 {
        let name_bytes = &mut self.name_bytes;
        self.terms.number(text, || {
            *name_bytes += text.len() as u64;
            Term { postings: Vec::new(), bigrams: Bigrams::of(text) }
        })
    }

    fn author_number(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return NONE;
        }
        let name_bytes = &mut self.name_bytes;
        let number = self.authors.number(name, || {
            *name_bytes += name.len() as u64;
            let mut words = Vec::new();
            each_word(name, |word, _| words.push(stem(word, Language::English).into()));
            Author { words: words.into(), documents: 0 }
        });
        if let Some(author) = self.authors.get_mut(number) {
            author.documents += 1;
        }
        number
    }

    fn join_session(&mut self, session: &str, version: u64, slot: u32) {
        let name_bytes = &mut self.name_bytes;
        let number = self.sessions.number(session, || {
            *name_bytes += session.len() as u64;
            Session::default()
        });
        let Some(Session(members)) = self.sessions.get_mut(number) else { return };
        let place = (version, slot);
        let previous = members.range(..place).next_back().map_or(NONE, |(_, slot)| *slot);
        let next = members.range(place..).next().map_or(NONE, |(_, slot)| *slot);
        members.insert(place);
        self.link(previous, slot);
        self.link(slot, next);
        if let Some(traits) = self.traits.get_mut(slot as usize) {
            traits.session = number;
        }
    }

    fn leave_session(&mut self, version: u64, slot: u32) {
        let Some(Traits { session, previous, next, .. }) = self.traits.get(slot as usize).copied() else { return };
        let Some(Session(members)) = self.sessions.get_mut(session) else { return };
        members.remove(&(version, slot));
        if members.is_empty() {
            self.name_bytes -= self.sessions.name(session).len() as u64;
            self.sessions.remove(session);
        }
        self.link(previous, next);
    }

    /// Makes two documents neighbours; either may be [`NONE`].
    fn link(&mut self, previous: u32, next: u32) {
        if let Some(traits) = self.traits.get_mut(previous as usize) {
            traits.next = next;
        }
        if let Some(traits) = self.traits.get_mut(next as usize) {
            traits.previous = previous;
        }
    }

    /// Approximate memory use in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        /// A posting and an occurrence, with the spare capacity of lists.
        const PER_POSTING: u64 = 32;
        const PER_TERM: u64 = 190;
        const PER_DOCUMENT: u64 = 250;
        self.postings * PER_POSTING
            + (self.terms.len() + self.authors.len() + self.sessions.len()) as u64 * PER_TERM
            + self.name_bytes
            + self.vectors.as_ref().map_or(0, VectorRows::bytes)
            + self.slots.len() as u64 * (PER_DOCUMENT + if self.has_meanings { Meaning::BYTES } else { 0 })
    }
}

/// Whether the last sentence of a text is a question.
fn is_question(text: &str) -> bool {
    let is_end = |character: &char| matches!(character, '.' | '!' | '?' | '。' | '！' | '？' | '؟');
    text.chars().rev().find(is_end).is_some_and(|last| matches!(last, '?' | '？' | '؟'))
}

#[cfg(test)]
mod tests;
