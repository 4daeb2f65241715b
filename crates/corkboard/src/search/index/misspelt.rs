//! Terms that are spelt alike: they share most of their pairs of letters.

/// Shorter query terms, and terms with digits, are never taken for misspelt.
const MIN_QUERY_CHARS: usize = 4;
const MIN_TERM_CHARS: usize = 3;
/// How much of their pairs two terms must share (Dice's coefficient).
const MIN_SIMILARITY: f32 = 0.6;

/// Which pairs of letters a term has, roughly: each pair sets one of 64 bits. Rules out most terms without looking at
/// their letters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bigrams {
    bits: u64,
    /// Number of different pairs; 0 if the term is never suggested.
    count: u8,
}

impl Bigrams {
    pub(super) fn of(term: &str) -> Self {
        let is_suggested =
            term.chars().count() >= MIN_TERM_CHARS && !term.starts_with(|first: char| first.is_ascii_digit());
        if !is_suggested {
            return Self::default();
        }
        let pairs = pairs(term);
        let bits = pairs.iter().map(|pair| 1 << bit(*pair)).fold(0, |bits: u64, bit: u64| bits | bit);
        Self { bits, count: u8::try_from(pairs.len()).unwrap_or(u8::MAX) }
    }
}

/// A misspelt term, to be compared with many others.
pub(super) struct Misspelt {
    /// Sorted.
    pairs: Vec<(char, char)>,
    bigrams: Bigrams,
}

impl Misspelt {
    /// `None` if the term is too short to guess what was meant, or contains digits.
    pub(super) fn new(term: &str) -> Option<Self> {
        let is_word = term.chars().count() >= MIN_QUERY_CHARS && !term.chars().any(|letter| letter.is_ascii_digit());
        is_word.then(|| Self { pairs: pairs(term), bigrams: Bigrams::of(term) })
    }

    /// How similar a term is, if it is similar enough.
    pub(super) fn similarity(&self, term: &str, bigrams: Bigrams) -> Option<f32> {
        if bigrams.count == 0 {
            return None;
        }
        let total = (self.pairs.len() + usize::from(bigrams.count)) as f32;
        // A bit that only one of the two has belongs to at least one pair that only one of them has.
        let missing = (self.bigrams.bits & !bigrams.bits).count_ones() as usize;
        if ((self.pairs.len() - missing.min(self.pairs.len())) * 2) as f32 / total < MIN_SIMILARITY {
            return None;
        }
        let others = pairs(term);
        let shared = others.iter().filter(|pair| self.pairs.binary_search(pair).is_ok()).count();
        let similarity = (2 * shared) as f32 / (self.pairs.len() + others.len()) as f32;
        (similarity >= MIN_SIMILARITY).then_some(similarity)
    }
}

/// What a misspelt word may mean: in each, two neighbouring letters changed places. Short words lose most of their pairs by
/// that, so [`Misspelt`] does not find them.
pub(super) fn swapped(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().collect();
    let is_word = letters.len() >= MIN_QUERY_CHARS && letters.iter().all(|letter| letter.is_alphabetic());
    let places = if is_word { 1..letters.len() } else { 0..0 };
    places.filter_map(move |at| {
        let mut letters = letters.clone();
        letters.swap(at - 1, at);
        (letters.get(at - 1) != letters.get(at)).then(|| letters.into_iter().collect())
    })
}

/// The different pairs of neighbouring letters, sorted, with marks for beginning and end.
fn pairs(term: &str) -> Vec<(char, char)> {
    let letters = || std::iter::once('^').chain(term.chars()).chain(std::iter::once('$'));
    let mut pairs: Vec<(char, char)> = letters().zip(letters().skip(1)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn bit((first, second): (char, char)) -> u32 {
    (u32::from(first).wrapping_mul(31).wrapping_add(u32::from(second))).wrapping_mul(0x9E37_79B1) >> 26
}
