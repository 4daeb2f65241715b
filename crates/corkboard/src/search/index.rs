//! An inverted index in memory: documents come and go in time proportional to themselves, and are found at once.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::document::{Document, Field};
use super::top::Top;
use super::words::{Query, Stems};

// Measured on short memories (`examples/retrieval.rs`). Among these a longer one says more, it does not only have more words:
// hence little of `B`.
/// How soon a word that is said again stops counting more.
const K1: f32 = 0.9;
/// How much a long document is held to have more words by chance.
const B: f32 = 0.2;
/// A longer query is cut to its rarest terms.
const MAX_QUERY_TERMS: usize = 64;

/// Documents by their words, each under an id.
pub(crate) struct Index<Id> {
    slots: BTreeMap<Id, u32>,
    /// By slot; the slots of removed documents are used again.
    documents: Vec<Option<Indexed<Id>>>,
    free_slots: Vec<u32>,
    numbers: HashMap<Arc<str>, u32>,
    /// By number; the numbers of terms that are in no document are used again.
    terms: Vec<Term>,
    free_numbers: Vec<u32>,
    total_length: u64,
    postings: u64,
    term_bytes: u64,
    /// Kept while many documents are put in.
    stems: Stems,
}

struct Indexed<Id> {
    id: Id,
    terms: Box<[Occurrence]>,
    length: u32,
    importance: f32,
    written: Timestamp,
}

/// A term of a document: its number, and where in the term's postings the document is.
#[derive(Clone, Copy)]
struct Occurrence {
    number: u32,
    position: u32,
}

#[derive(Default)]
struct Term {
    text: Arc<str>,
    postings: Vec<Posting>,
}

#[derive(Clone, Copy)]
struct Posting {
    slot: u32,
    /// Where in the document's list the term is.
    within: u32,
    /// How often it is there, by the weight of the fields.
    frequency: f32,
}

impl<Id> Default for Index<Id> {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
            documents: Vec::new(),
            free_slots: Vec::new(),
            numbers: HashMap::new(),
            terms: Vec::new(),
            free_numbers: Vec::new(),
            total_length: 0,
            postings: 0,
            term_bytes: 0,
            stems: Stems::default(),
        }
    }
}

impl<Id: Ord + Clone> Index<Id> {
    /// Adds a document, or replaces the one with that id.
    pub(crate) fn put(&mut self, id: Id, document: &Document<'_>) {
        self.remove(&id);
        let mut length = 0;
        let mut found: Vec<(u32, f32)> = Vec::new();
        let mut stems = std::mem::take(&mut self.stems);
        document.each_term(&mut stems, |field, term| {
            found.push((self.number(term), weight(field)));
            length += u32::from(field == Field::Body);
        });
        self.stems = stems;
        found.sort_unstable_by_key(|(number, _)| *number);
        found.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.documents.push(None);
            self.documents.len() as u32 - 1
        });
        let mut terms = Vec::with_capacity(found.len());
        for (within, (number, frequency)) in found.into_iter().enumerate() {
            let Some(term) = self.terms.get_mut(number as usize) else { continue };
            terms.push(Occurrence { number, position: term.postings.len() as u32 });
            term.postings.push(Posting { slot, within: within as u32, frequency });
        }
        self.postings += terms.len() as u64;
        self.total_length += u64::from(length);
        let (importance, written) = (document.importance, document.written);
        if let Some(place) = self.documents.get_mut(slot as usize) {
            *place = Some(Indexed { id: id.clone(), terms: terms.into(), length, importance, written });
        }
        self.slots.insert(id, slot);
    }

    /// Takes a document out. Nothing happens if it is not there.
    pub(crate) fn remove(&mut self, id: &Id) {
        let Some(slot) = self.slots.remove(id) else { return };
        let Some(removed) = self.documents.get_mut(slot as usize).and_then(Option::take) else { return };
        self.free_slots.push(slot);
        self.total_length -= u64::from(removed.length);
        self.postings -= removed.terms.len() as u64;
        for Occurrence { number, position } in removed.terms {
            let Some(term) = self.terms.get_mut(number as usize) else { continue };
            term.postings.swap_remove(position as usize);
            // The last posting has taken its place; its document must know.
            if let Some(moved) = term.postings.get(position as usize).copied()
                && let Some(Some(document)) = self.documents.get_mut(moved.slot as usize)
                && let Some(occurrence) = document.terms.get_mut(moved.within as usize)
            {
                occurrence.position = position;
            }
            if term.postings.is_empty() {
                let text = std::mem::take(term).text;
                self.term_bytes -= text.len() as u64;
                self.numbers.remove(&text);
                self.free_numbers.push(number);
            } else if term.postings.len() * 4 < term.postings.capacity() {
                term.postings.shrink_to(term.postings.len() * 2);
            }
        }
    }

    /// Lets go of what only helps while documents are put in.
    pub(crate) fn settle(&mut self) {
        self.stems = Stems::default();
    }

    /// The number of a term, which is new if the term is.
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let shared: Arc<str> = text.into();
        let term = Term { text: shared.clone(), postings: Vec::new() };
        let number = match self.free_numbers.pop() {
            Some(number) => {
                if let Some(free) = self.terms.get_mut(number as usize) {
                    *free = term;
                }
                number
            }
            None => {
                self.terms.push(term);
                self.terms.len() as u32 - 1
            }
        };
        self.term_bytes += text.len() as u64;
        self.numbers.insert(shared, number);
        number
    }

    /// The best documents that have any of the query's terms and that `admit` lets in, best first, with their scores. Of
    /// two with the same score the more important comes first, then the newer, then the one with the smaller id.
    pub(crate) fn search(&self, query: &Query, limit: usize, admit: impl Fn(&Id) -> bool) -> Vec<(Id, f32)> {
        let mut asked: Vec<&Term> = query.terms().iter().filter_map(|term| self.term(term)).collect();
        if asked.len() > MAX_QUERY_TERMS {
            asked.sort_by_key(|term| term.postings.len());
            asked.truncate(MAX_QUERY_TERMS);
        }
        let mut scores = vec![0.0_f32; self.documents.len()];
        let mut touched: Vec<u32> = Vec::new();
        let scale = if self.total_length > 0 { B * self.slots.len() as f32 / self.total_length as f32 } else { 0.0 };
        for term in asked {
            let idf = self.idf(term);
            for posting in &term.postings {
                let Some(Some(document)) = self.documents.get(posting.slot as usize) else { continue };
                let Some(score) = scores.get_mut(posting.slot as usize) else { continue };
                if *score == 0.0 {
                    touched.push(posting.slot);
                }
                let crowd = K1 * (1.0 - B + scale * document.length as f32);
                *score += idf * posting.frequency * (K1 + 1.0) / (posting.frequency + crowd);
            }
        }
        let mut top = Top::new(limit);
        for slot in touched {
            let (Some(score), Some(Some(document))) = (scores.get(slot as usize), self.documents.get(slot as usize))
            else {
                continue;
            };
            let ranked = Ranked { score: *score, document };
            if top.takes(&ranked) && admit(&document.id) {
                top.offer(ranked);
            }
        }
        top.into_sorted().into_iter().map(|ranked| (ranked.document.id.clone(), ranked.score)).collect()
    }

    /// What a document of average length would score that has each of the query's terms once. A score divided by it compares
    /// with scores of other indexes: it tells how much of the query is there.
    pub(crate) fn whole(&self, query: &Query) -> f32 {
        let nowhere = Term::default();
        query.terms().iter().map(|term| self.idf(self.term(term).unwrap_or(&nowhere))).sum()
    }

    fn term(&self, text: &str) -> Option<&Term> {
        self.numbers.get(text).and_then(|number| self.terms.get(*number as usize))
    }

    /// How much a term tells: the fewer documents have it, the more.
    fn idf(&self, term: &Term) -> f32 {
        let (all, having) = (self.slots.len() as f32, term.postings.len() as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        /// A posting and an occurrence, with the room that lists have to grow.
        const PER_POSTING: u64 = 32;
        const PER_TERM: u64 = 190;
        const PER_DOCUMENT: u64 = 220;
        self.postings * PER_POSTING
            + self.numbers.len() as u64 * PER_TERM
            + self.term_bytes
            + self.slots.len() as u64 * PER_DOCUMENT
    }
}

/// How much a word counts in a field.
fn weight(field: Field) -> f32 {
    match field {
        Field::Author => 2.0,
        Field::Body | Field::Key | Field::Tags | Field::Date => 1.0,
    }
}

/// A document with its score, ordered by rank.
struct Ranked<'a, Id> {
    score: f32,
    document: &'a Indexed<Id>,
}

impl<Id: Ord> Ord for Ranked<'_, Id> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mine, its) = (self.document, other.document);
        self.score
            .total_cmp(&other.score)
            .then_with(|| mine.importance.total_cmp(&its.importance))
            .then_with(|| mine.written.cmp(&its.written))
            .then_with(|| its.id.cmp(&mine.id))
    }
}

impl<Id: Ord> PartialOrd for Ranked<'_, Id> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<Id: Ord> PartialEq for Ranked<'_, Id> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<Id: Ord> Eq for Ranked<'_, Id> {}

#[cfg(test)]
mod tests;
