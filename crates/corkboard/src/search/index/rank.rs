//! How well documents fit a query.
//!
//! 1. BM25 for each term of the query. Documents of one session lend each other the score of a term, because what was
//!    said before and after belongs to a text.
//! 2. A part of the session's best score.
//! 3. A bonus for documents of a date that the query mentions, and a factor for those of an author that it names.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::fold::are_alike;
use super::misspelt::{Misspelt, swapped};
use super::{Author, Index, Indexed, NONE, Posting, Term, Traits};
use crate::search::dates::Days;
use crate::search::languages::{Languages, stem};
use crate::search::meaning::Meaning;
use crate::search::query::{Query, QueryTerm};
use crate::search::top::Top;
use crate::search::vectors::{Vector, VectorRows};

// Chosen on conversations and notes; every value is in the middle of a range with nearly equal results
// (docs/decisions/0032).
/// BM25 k1: how soon repeated words stop adding to the score.
const K1: f32 = 0.9;
/// BM25 b: how much a long document is penalized. A longer memory usually says more, so only a little.
const B: f32 = 0.2;
/// What a document lends to the next ones of its session, of its score for a term.
const LENT_FORWARD: [f32; 2] = [0.5, 0.25];
/// What a question lends to its answer.
const LENT_BY_QUESTION: f32 = 1.0;
/// What a document lends to the previous ones of its session.
const LENT_BACKWARD: [f32; 2] = [0.25, 0.125];
/// What a document gets of its session's best score.
const SESSION: f32 = 0.3;
/// Weight of a term that is an author's name: it more likely says whose words are meant.
const NAME: f32 = 0.5;
/// Bonus for documents by a named author.
const AUTHOR: f32 = 0.5;
/// Weight of a mentioned date, compared with a term that as many documents contain.
const DATE: f32 = 2.0;
/// Weight of terms that are spelt like an unknown one, and their maximum number.
const SIMILAR: f32 = 0.8;
const MAX_SIMILAR: usize = 3;
/// Similarity of a word whose neighbouring letters changed places.
const SWAPPED: f32 = 0.9;
/// Weight of closeness in meaning, compared with a document that has all words.
const MEANING: f32 = 0.4;
/// Documents without any of the words are found if they are at least this close.
const MIN_CLOSENESS: f32 = 0.4;
/// Number of documents, the best for the words, whose meaning is compared with the query's.
const MIN_CANDIDATES: usize = 100;
/// Weight of the vector of a configured model, compared with a document that has all words.
const VECTOR: f32 = 0.5;
/// Documents without any of the words are found if their vector is at least this close, on a scale from 0 to 1.
const MIN_VECTOR_CLOSENESS: f32 = 0.2;
/// The cosine of unrelated texts, before a space's own texts tell more, and how many texts that counts for.
const UNRELATED: f32 = 0.1;
const UNRELATED_COUNT: f32 = 20.0;
/// How many documents are compared with the query to find the cosine of unrelated texts.
const SAMPLE: usize = 1000;
/// All vectors of up to this many documents are compared with the query's; of more, only those of the best for the words.
const MAX_SCANNED: usize = 200_000;
/// A document with this score contains what the query asks for.
const COVERED: f32 = 0.8;
/// A longer query is cut to its rarest terms.
pub(super) const MAX_QUERY_TERMS: usize = 64;

/// A document that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found<Id> {
    pub(crate) id: Id,
    /// 1: it contains every term once, and everything else of the query fits, too. Comparable between indexes.
    pub(crate) score: f32,
    /// Number of similar documents that were left out because of this one.
    pub(crate) folded: usize,
    /// How the score came about, if that was asked for.
    pub(crate) explanation: Option<Explanation>,
}

/// How a hit got its score: the sum of its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// What the hit scored for, in the order of the query.
    pub parts: Vec<ScorePart>,
}

/// A part of a hit's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScorePart {
    /// Why it counts.
    pub reason: ScoreReason,
    /// The stemmed word, if the reason is a word.
    pub word: Option<String>,
    /// How much it adds to the score.
    pub score: f32,
}

/// Why a hit scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScoreReason {
    /// It contains the word.
    Word,
    /// A neighbour in its session contains the word.
    Neighbour,
    /// Its session fits the query.
    Session,
    /// It was written on a date that the query mentions.
    Date,
    /// The query names its author.
    Author,
    /// Its meaning is close to the query's.
    Meaning,
    /// The query has nothing but filters.
    Filter,
}

impl ScoreReason {
    /// The reason's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Neighbour => "neighbour",
            Self::Session => "session",
            Self::Date => "date",
            Self::Author => "author",
            Self::Meaning => "meaning",
            Self::Filter => "filter",
        }
    }
}

/// A word that a query asks for.
struct AskedTerm<'a> {
    stems: Vec<AskedStem<'a>>,
    /// Number of documents that contain one of the stems.
    documents: usize,
    /// What a document of average length scores that contains it once.
    weight: f32,
}

/// A term of the index that a query asks for.
#[derive(Clone, Copy)]
struct AskedStem<'a> {
    number: u32,
    text: &'a str,
    term: &'a Term,
    /// Looked for in documents of these languages; `None`: in all.
    languages: Option<Languages>,
}

impl AskedStem<'_> {
    fn is_for(&self, traits: &Traits) -> bool {
        self.languages.is_none_or(|languages| languages.contains(traits.language))
    }
}

/// What a query asks of one index.
struct Asked<'a> {
    terms: Vec<AskedTerm<'a>>,
    dates: Vec<Days>,
    /// What a document of the dates gets.
    date_weight: f32,
    /// Whether documents of the dates are found if nothing else fits.
    finds_dates: bool,
    /// Numbers of the authors that the query names.
    authors: Vec<u32>,
    /// What all documents of the named authors get, because the query says nothing else.
    author_weight: f32,
    /// Whether the query has only filters, so every document fits.
    is_open: bool,
    meaning: Option<Meaning>,
    vector: Option<AskedVector<'a>>,
    /// Scores for words are divided by this.
    whole: f32,
}

/// The vector of a query, and those to compare it with.
struct AskedVector<'a> {
    vector: &'a Vector,
    rows: &'a VectorRows,
    /// The cosine of unrelated texts. Models differ much in it.
    unrelated: f32,
}

impl AskedVector<'_> {
    /// How close a document's vector is, from 0 for unrelated texts to 1 for the same; `None` without a vector.
    fn closeness(&self, slot: u32) -> Option<f32> {
        let cosine = self.rows.cosine(slot, self.vector)?;
        Some(((cosine - self.unrelated) / (1.0 - self.unrelated).max(0.01)).clamp(0.0, 1.0))
    }
}

/// Buffers by slot that are used again, so that a search for a rare word costs no time for the other documents.
#[derive(Default)]
struct Scratch {
    scores: Vec<f32>,
    touched: Vec<u32>,
    /// Scores for one term.
    term_scores: Vec<f32>,
    term_touched: Vec<u32>,
    session_best: Vec<f32>,
    sessions_touched: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Raises a value, and notes where the first one is.
fn raise(values: &mut [f32], touched: &mut Vec<u32>, at: u32, to: f32) {
    if let Some(value) = values.get_mut(at as usize) {
        if *value == 0.0 {
            touched.push(at);
        }
        *value = value.max(to);
    }
}

fn add(values: &mut [f32], touched: &mut Vec<u32>, at: u32, more: f32) {
    if let Some(value) = values.get_mut(at as usize) {
        if *value == 0.0 {
            touched.push(at);
        }
        *value += more;
    }
}

impl<Id: Ord + Clone> Index<Id> {
    /// The best documents that `admit` lets in, best first. Of two with the same score the more important comes first,
    /// then the newer, then the one with the smaller ID.
    pub(crate) fn search(
        &self,
        query: &Query,
        limit: usize,
        now: Timestamp,
        admit: impl Fn(&Id) -> bool,
    ) -> Vec<Found<Id>> {
        let asked = self.asked(query, now);
        SCRATCH.with_borrow_mut(|scratch| {
            self.score(&asked, scratch);
            let admit = |document: &Indexed<Id>| admit(&document.id);
            // Some are left out as duplicates.
            let wanted = 2 * limit;
            let candidates =
                if asked.meaning.is_some() || asked.vector.is_some() { wanted.max(MIN_CANDIDATES) } else { wanted };
            let mut top = self.best(
                scratch.touched.iter().map(|slot| (*slot, self.text_score(&asked, scratch, *slot))),
                candidates,
                admit,
            );
            if asked.vector.is_some() && self.slots.len() <= MAX_SCANNED {
                let scores = self.slots.values().filter_map(|slot| {
                    let (closeness, weight, least) = self.closeness(&asked, *slot);
                    let is_found = scratch.score_of(*slot) > 0.0 || closeness >= least;
                    is_found.then(|| (*slot, self.text_score(&asked, scratch, *slot) + weight * closeness))
                });
                top = self.best(scores, wanted, admit);
            } else if asked.meaning.is_some() || asked.vector.is_some() {
                for ranked in &mut top {
                    let (closeness, weight, _) = self.closeness(&asked, ranked.slot);
                    ranked.score += weight * closeness;
                }
                // Where the words tell enough, other documents would only come after those found.
                let is_covered = top.iter().any(|ranked| ranked.score >= COVERED);
                if asked.vector.is_none() && top.len() < limit && !is_covered {
                    let others = self.slots.values().filter(|slot| scratch.score_of(**slot) == 0.0);
                    let others = others.filter_map(|slot| {
                        let (closeness, weight, least) = self.closeness(&asked, *slot);
                        (closeness >= least).then_some((*slot, weight * closeness))
                    });
                    top.extend(self.best(others, wanted, admit));
                }
                top.sort_unstable_by(|mine, its| its.cmp(mine));
            }
            let mut kept: Vec<(Ranked<'_, Id>, usize)> = Vec::with_capacity(limit);
            for ranked in top.into_iter().take(wanted) {
                let is_full = kept.len() >= limit;
                match kept.iter_mut().find(|(kept, _)| are_alike(&kept.document.terms, &ranked.document.terms)) {
                    Some((_, folded)) => *folded += 1,
                    None if is_full => {}
                    None => kept.push((ranked, 0)),
                }
            }
            let found = |(ranked, folded): (Ranked<'_, Id>, usize)| Found {
                id: ranked.document.id.clone(),
                score: ranked.score,
                folded,
                explanation: query.is_explained().then(|| self.explanation(&asked, scratch, ranked.slot)),
            };
            let found = kept.into_iter().map(found).collect();
            scratch.clear();
            found
        })
    }

    /// About how many steps a search takes: postings, and documents or terms if it looks at all of them.
    pub(crate) fn effort(&self, query: &Query, limit: usize) -> usize {
        let postings = |term: &QueryTerm| -> usize {
            let found = term.stems.iter().filter_map(|(stem, _)| self.terms.get(self.terms.find(stem)?));
            found.map(|term| term.postings.len()).sum()
        };
        let postings: Vec<usize> = query.terms().iter().map(postings).collect();
        // A document with the only word, or enough documents with one of the words, need no others that are close in meaning.
        let compares_meanings = self.has_meanings
            && !query.is_words_only()
            && postings.len() > 1
            && postings.iter().all(|postings| *postings < limit);
        let names =
            |author: &Author| query.terms().iter().any(|term| author.words.iter().any(|word| term.has_stem(word)));
        let looks_at_all = query.is_open()
            || query.vector().is_some()
            || !query.dates().is_empty()
            || postings.contains(&0)
            || compares_meanings
            || self.authors.iter().any(|(_, _, author)| names(author));
        postings.iter().sum::<usize>() + if looks_at_all { self.slots.len().max(self.terms.bound()) } else { 0 }
    }

    /// The best of these documents that `admit` lets in, best first.
    fn best(
        &self,
        scores: impl Iterator<Item = (u32, f32)>,
        limit: usize,
        admit: impl Fn(&Indexed<Id>) -> bool,
    ) -> Vec<Ranked<'_, Id>> {
        let mut top: Top<Ranked<'_, Id>> = Top::new(limit);
        for (slot, score) in scores {
            // Most documents are ruled out without looking at them.
            if top.least().is_some_and(|least| score < least.score) {
                continue;
            }
            let Some(Some(document)) = self.documents.get(slot as usize) else { continue };
            let ranked = Ranked { score, slot, document };
            if top.takes(&ranked) && admit(document) {
                top.offer(ranked);
            }
        }
        top.into_sorted()
    }

    /// How close a document is in meaning, the weight of that, and how close a document without any of the words must
    /// be.
    fn closeness(&self, asked: &Asked<'_>, slot: u32) -> (f32, f32, f32) {
        if let Some(closeness) = asked.vector.as_ref().and_then(|vector| vector.closeness(slot)) {
            return (closeness, VECTOR, MIN_VECTOR_CLOSENESS);
        }
        let built_in = asked.meaning.as_ref().zip(self.meanings.get(slot as usize));
        (built_in.map_or(0.0, |(meaning, its)| meaning.closeness(its).max(0.0)), MEANING, MIN_CLOSENESS)
    }

    /// The query's vector, if the documents' are of the same model.
    fn asked_vector<'a>(&'a self, query: &'a Query) -> Option<AskedVector<'a>> {
        let (vector, rows) = (query.vector()?, self.vectors.as_ref()?);
        if vector.values().len() != rows.dimensions() || query.is_open() || query.is_words_only() {
            return None;
        }
        let step = self.slots.len().div_ceil(SAMPLE).max(1);
        let cosines = self.slots.values().step_by(step).filter_map(|slot| rows.cosine(*slot, vector));
        let (count, sum) = cosines
            .fold((UNRELATED_COUNT, UNRELATED * UNRELATED_COUNT), |(count, sum), cosine| (count + 1.0, sum + cosine));
        Some(AskedVector { vector, rows, unrelated: sum / count })
    }

    /// A document's score for the words of a query, its dates and its authors.
    fn text_score(&self, asked: &Asked<'_>, scratch: &Scratch, slot: u32) -> f32 {
        let traits = self.traits(slot);
        let own = scratch.score_of(slot);
        let session = scratch.session_best.get(traits.session as usize).copied().unwrap_or_default();
        (own + SESSION * session) * asked.author_factor(traits) / asked.whole
    }

    fn asked<'a>(&'a self, query: &'a Query, now: Timestamp) -> Asked<'a> {
        let mut asked = Asked {
            terms: Vec::new(),
            dates: Vec::new(),
            date_weight: 0.0,
            finds_dates: false,
            authors: Vec::new(),
            author_weight: 0.0,
            is_open: query.is_open(),
            meaning: (self.has_meanings && !query.is_open() && !query.is_words_only())
                .then(|| Meaning::of_query(query.text()))
                .filter(Meaning::is_known),
            vector: self.asked_vector(query),
            whole: 0.0,
        };
        let mut says_more_than_names = false;
        for term in query.terms() {
            let authors_before = asked.authors.len();
            let is_named = |author: &Author| author.words.iter().any(|word| term.has_stem(word));
            let named = self.authors.iter().filter(|(_, _, author)| is_named(author));
            asked.authors.extend(named.map(|(number, ..)| number));
            let is_name = asked.authors.len() > authors_before;
            let stems = self.asked_stems(term);
            says_more_than_names |= !is_name && !stems.is_empty();
            if !stems.is_empty() {
                self.ask(&mut asked, stems, if is_name { NAME } else { 1.0 });
                continue;
            }
            let similar = if is_name { Vec::new() } else { self.similar(term, query) };
            if similar.is_empty() && !is_name {
                asked.whole += self.idf(0);
            }
            for (number, weight) in similar {
                let Some(found) = self.terms.get(number) else { continue };
                let stem = AskedStem { number, text: self.terms.name(number), term: found, languages: None };
                self.ask(&mut asked, vec![stem], weight);
            }
        }
        if asked.terms.len() > MAX_QUERY_TERMS {
            asked.terms.sort_by_key(|asked| asked.documents);
            asked.terms.truncate(MAX_QUERY_TERMS);
        }
        asked.whole += asked.terms.iter().map(|asked| asked.weight).sum::<f32>();
        if self.sessions.len() > 0 {
            asked.whole *= 1.0 + SESSION;
        }
        self.ask_dates(&mut asked, query, now);
        asked.authors.sort_unstable();
        asked.authors.dedup();
        if !asked.authors.is_empty() {
            if !says_more_than_names {
                let documents = asked.authors.iter().filter_map(|number| self.authors.get(*number));
                asked.author_weight = self.idf(documents.map(|author| author.documents as usize).sum());
                asked.whole += asked.author_weight;
            }
            asked.whole *= 1.0 + AUTHOR;
        }
        if asked.whole == 0.0 {
            asked.whole = 1.0;
        }
        asked
    }

    /// The stems of a word that documents contain.
    fn asked_stems(&self, term: &QueryTerm) -> Vec<AskedStem<'_>> {
        let all = self.languages();
        let stems = term.stems.iter().filter_map(|(text, languages)| {
            let number = self.terms.find(text)?;
            let languages = (!languages.contains_all(all)).then_some(*languages);
            Some(AskedStem { number, text: self.terms.name(number), term: self.terms.get(number)?, languages })
        });
        stems.filter(|stem| self.documents_of(stem) > 0).collect()
    }

    /// The number of documents that contain a stem.
    fn documents_of(&self, stem: &AskedStem<'_>) -> usize {
        match stem.languages {
            None => stem.term.postings.len(),
            Some(_) => stem.term.postings.iter().filter(|posting| stem.is_for(self.traits(posting.slot))).count(),
        }
    }

    fn ask<'a>(&'a self, asked: &mut Asked<'a>, stems: Vec<AskedStem<'a>>, weight: f32) {
        let documents = stems.iter().map(|stem| self.documents_of(stem)).sum();
        let weight = weight * self.idf(documents);
        let is_same = |asked: &&mut AskedTerm<'_>| match (&*asked.stems, &*stems) {
            ([asked], [stem]) => asked.number == stem.number && asked.languages == stem.languages,
            _ => false,
        };
        match asked.terms.iter_mut().find(is_same) {
            Some(there) => there.weight = there.weight.max(weight),
            None => asked.terms.push(AskedTerm { stems, documents, weight }),
        }
    }

    /// Known terms that are spelt like an unknown one, with their weights.
    fn similar(&self, term: &QueryTerm, query: &Query) -> Vec<(u32, f32)> {
        let misspelt: Vec<Misspelt> = term.stems.iter().filter_map(|(stem, _)| Misspelt::new(stem)).collect();
        let similarity = |name: &str, term: &Term| {
            misspelt.iter().filter_map(|it| it.similarity(name, term.bigrams)).max_by(f32::total_cmp)
        };
        let similar = self
            .terms
            .iter()
            .filter(|(_, _, term)| !term.postings.is_empty())
            .filter_map(|(number, name, term)| Some((similarity(name, term)?, name, number)));
        let mut similar: Vec<(f32, &str, u32)> = similar.collect();
        // Letters that changed places.
        let swapped = term.words.iter().flat_map(|word| swapped(word)).filter_map(|word| {
            let stems = query.languages().latin().map(|language| stem(&word, language).into_owned());
            let mut numbers = stems.filter_map(|stem| self.terms.find(&stem));
            numbers.next().map(|number| (SWAPPED, self.terms.name(number), number))
        });
        similar.extend(swapped);
        similar.sort_by(|mine, its| its.0.total_cmp(&mine.0).then_with(|| mine.1.cmp(its.1)));
        let mut seen = BTreeSet::new();
        similar.retain(|(_, _, number)| seen.insert(*number));
        similar.truncate(MAX_SIMILAR);
        similar.retain(|(_, name, _)| !query.has_stem(name));
        similar.into_iter().map(|(similarity, _, number)| (number, SIMILAR * similarity)).collect()
    }

    fn ask_dates(&self, asked: &mut Asked<'_>, query: &Query, now: Timestamp) {
        if query.dates().is_empty() {
            return;
        }
        let written = || self.documents.iter().flatten().map(|document| document.written);
        let year = |time: Timestamp| time.to_zoned(TimeZone::UTC).year();
        let years = written().min().map_or(1, year)..=written().max().map_or(0, year);
        let today = now.to_zoned(TimeZone::UTC).date();
        asked.dates = query.dates().iter().flat_map(|date| date.days(today, years.clone())).collect();
        let of_dates = self.slots.values().filter(|slot| asked.is_of_dates(self.traits(**slot))).count();
        if of_dates > 0 {
            asked.date_weight = DATE * self.idf(of_dates);
            asked.whole += asked.date_weight;
            // A date of most documents does not tell enough to find them by it alone.
            asked.finds_dates = of_dates * 4 <= self.slots.len() || asked.terms.is_empty();
        } else {
            asked.dates.clear();
        }
    }

    /// Leaves every document's score in the scratch buffers, without the parts of its session and author.
    fn score(&self, asked: &Asked<'_>, scratch: &mut Scratch) {
        scratch.clear();
        scratch.resize(self.documents.len(), self.sessions.bound());
        for term in &asked.terms {
            self.score_term(term, scratch);
        }
        let Scratch { scores, touched, session_best, sessions_touched, .. } = scratch;
        for slot in touched.iter() {
            let session = self.traits(*slot).session;
            if session != NONE {
                let score = scores.get(*slot as usize).copied().unwrap_or_default();
                raise(session_best, sessions_touched, session, score);
            }
        }
        if asked.is_open || asked.author_weight > 0.0 || !asked.dates.is_empty() {
            for slot in self.slots.values() {
                let traits = self.traits(*slot);
                let weight = asked.weight_without_words(traits);
                if weight > 0.0 {
                    add(scores, touched, *slot, weight);
                }
                let is_found = asked.finds_dates || scores.get(*slot as usize).is_some_and(|score| *score > 0.0);
                if is_found && asked.is_of_dates(traits) {
                    add(scores, touched, *slot, asked.date_weight);
                }
            }
        }
    }

    fn score_term(&self, term: &AskedTerm<'_>, scratch: &mut Scratch) {
        let Scratch { scores, touched, term_scores, term_touched, .. } = scratch;
        // A text can contain two stems of a word; the better one counts.
        let has_one_stem = term.stems.len() == 1;
        for stem in &term.stems {
            for posting in &stem.term.postings {
                let traits = self.traits(posting.slot);
                if !stem.is_for(traits) {
                    continue;
                }
                let score = self.term_score(term, posting, traits);
                if traits.session == NONE && has_one_stem {
                    add(scores, touched, posting.slot, score);
                    continue;
                }
                raise(term_scores, term_touched, posting.slot, score);
                self.each_neighbour(posting.slot, traits, |neighbour, share| {
                    raise(term_scores, term_touched, neighbour, score * share);
                });
            }
        }
        for slot in term_touched.drain(..) {
            if let Some(score) = term_scores.get_mut(slot as usize) {
                add(scores, touched, slot, std::mem::take(score));
            }
        }
    }

    fn term_score(&self, term: &AskedTerm<'_>, posting: &Posting, traits: &Traits) -> f32 {
        let frequency = posting.frequency as f32;
        let relative_length = match self.total_length {
            0 => 0.0,
            total => traits.length as f32 * self.slots.len() as f32 / total as f32,
        };
        term.weight * frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * relative_length))
    }

    /// Calls `each` with the neighbours that a document lends score to, and their share of it.
    fn each_neighbour(&self, slot: u32, traits: &Traits, mut each: impl FnMut(u32, f32)) {
        let mut at = *traits;
        for (distance, share) in LENT_FORWARD.into_iter().enumerate() {
            let Some(next) = self.traits.get(at.next as usize) else { break };
            each(at.next, if distance == 0 && traits.is_question { LENT_BY_QUESTION } else { share });
            at = *next;
        }
        at = *traits;
        for share in LENT_BACKWARD {
            let Some(previous) = self.traits.get(at.previous as usize) else { break };
            each(at.previous, share);
            at = *previous;
        }
        debug_assert!(traits.previous != slot && traits.next != slot);
    }

    /// The parts of a document's score, found from the document instead of from the postings.
    fn explanation(&self, asked: &Asked<'_>, scratch: &Scratch, slot: u32) -> Explanation {
        let traits = self.traits(slot);
        let mut parts = Vec::new();
        for term in &asked.terms {
            let own = self.own_score(term, slot, traits);
            let mut lent = 0.0_f32;
            for neighbour in self.lenders(traits) {
                let of_neighbour = self.traits(neighbour);
                let score = self.own_score(term, neighbour, of_neighbour);
                if score > 0.0 {
                    self.each_neighbour(neighbour, of_neighbour, |borrower, share| {
                        if borrower == slot {
                            lent = lent.max(score * share);
                        }
                    });
                }
            }
            let reason = if own >= lent { ScoreReason::Word } else { ScoreReason::Neighbour };
            let score = own.max(lent) / asked.whole;
            if score > 0.0 {
                let stem = term.stems.iter().find(|stem| stem.is_for(traits)).or(term.stems.first());
                parts.push(ScorePart { reason, word: stem.map(|stem| stem.text.to_owned()), score });
            }
        }
        let weight = asked.weight_without_words(traits);
        let (words, is_found) = (parts.len(), asked.finds_dates || weight > 0.0);
        let mut part = |reason, score: f32| {
            if score != 0.0 {
                parts.push(ScorePart { reason, word: None, score: score / asked.whole });
            }
        };
        part(ScoreReason::Session, SESSION * scratch.session_best.get(traits.session as usize).unwrap_or(&0.0));
        if asked.is_of_dates(traits) && (is_found || words > 0) {
            part(ScoreReason::Date, asked.date_weight);
        }
        part(if asked.is_open { ScoreReason::Filter } else { ScoreReason::Author }, weight);
        let sum: f32 = parts.iter().map(|part| part.score).sum();
        if asked.is_by_named(traits) && sum > 0.0 {
            parts.push(ScorePart { reason: ScoreReason::Author, word: None, score: sum * AUTHOR });
        }
        if asked.meaning.is_some() || asked.vector.is_some() {
            let (closeness, weight, _) = self.closeness(asked, slot);
            let score = weight * closeness;
            parts.push(ScorePart { reason: ScoreReason::Meaning, word: None, score });
        }
        Explanation { parts }
    }

    /// The documents that may lend score to one.
    fn lenders(&self, traits: &Traits) -> Vec<u32> {
        let mut lenders = Vec::new();
        let mut at = *traits;
        for _ in LENT_FORWARD {
            let Some(previous) = self.traits.get(at.previous as usize) else { break };
            lenders.push(at.previous);
            at = *previous;
        }
        at = *traits;
        for _ in LENT_BACKWARD {
            let Some(next) = self.traits.get(at.next as usize) else { break };
            lenders.push(at.next);
            at = *next;
        }
        lenders
    }

    /// A document's score for a term, without its neighbours.
    fn own_score(&self, term: &AskedTerm<'_>, slot: u32, traits: &Traits) -> f32 {
        let stems = term.stems.iter().filter(|stem| stem.is_for(traits));
        let postings = stems.filter_map(|stem| self.posting(stem, slot));
        postings.map(|posting| self.term_score(term, posting, traits)).fold(0.0, f32::max)
    }

    fn posting<'a>(&self, stem: &AskedStem<'a>, slot: u32) -> Option<&'a Posting> {
        let document = self.documents.get(slot as usize)?.as_ref()?;
        let at = document.terms.binary_search_by_key(&stem.number, |occurrence| occurrence.number).ok()?;
        stem.term.postings.get(document.terms.get(at)?.position as usize)
    }

    fn traits(&self, slot: u32) -> &Traits {
        self.traits.get(slot as usize).unwrap_or(&Traits::NONE)
    }

    /// Inverse document frequency: the fewer documents contain a term, the more it tells.
    fn idf(&self, documents: usize) -> f32 {
        let (all, having) = (self.slots.len() as f32, documents as f32);
        (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln()
    }
}

impl Asked<'_> {
    fn is_of_dates(&self, traits: &Traits) -> bool {
        self.dates.iter().any(|days| days.contains(&traits.day))
    }

    fn is_by_named(&self, traits: &Traits) -> bool {
        self.authors.binary_search(&traits.author).is_ok()
    }

    /// What a document gets because the query has nothing but filters, or nothing but the names of authors.
    fn weight_without_words(&self, traits: &Traits) -> f32 {
        match self.is_open {
            true => 1.0,
            false if self.is_by_named(traits) => self.author_weight,
            false => 0.0,
        }
    }

    fn author_factor(&self, traits: &Traits) -> f32 {
        if self.is_by_named(traits) { 1.0 + AUTHOR } else { 1.0 }
    }
}

impl Scratch {
    fn score_of(&self, slot: u32) -> f32 {
        self.scores.get(slot as usize).copied().unwrap_or_default()
    }

    fn resize(&mut self, documents: usize, sessions: usize) {
        if self.scores.len() < documents {
            self.scores.resize(documents, 0.0);
            self.term_scores.resize(documents, 0.0);
        }
        if self.session_best.len() < sessions {
            self.session_best.resize(sessions, 0.0);
        }
    }

    fn clear(&mut self) {
        let reset = |values: &mut [f32], at: u32| {
            if let Some(value) = values.get_mut(at as usize) {
                *value = 0.0;
            }
        };
        self.touched.drain(..).for_each(|slot| reset(&mut self.scores, slot));
        self.sessions_touched.drain(..).for_each(|session| reset(&mut self.session_best, session));
    }
}

/// A document with its score, ordered by rank.
struct Ranked<'a, Id> {
    score: f32,
    slot: u32,
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
