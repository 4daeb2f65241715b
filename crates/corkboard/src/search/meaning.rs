//! Closeness in meaning: a small static embedding model, built into the program.
//!
//! Each word piece has a vector; a text's vector is the sum of its pieces' vectors, divided by its length. The model is
//! distilled from all-MiniLM-L6-v2 (`meaning/NOTICE.md`) by `scripts/distil-model/distil.py`, which also describes the
//! file's format.

mod pieces;

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use super::document::Document;
use pieces::each_word;

const DIMENSIONS: usize = 192;
/// A row has two values in each byte.
const ROW_BYTES: usize = DIMENSIONS / 2;
/// Longer texts have the vector of their beginning.
const MAX_TEXT_BYTES: usize = 8 * 1024;
/// Longer words are ignored.
const MAX_WORD_CHARS: usize = 100;

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(include_bytes!("meaning/model.bin")).unwrap_or_default());

/// The meaning of a text: a vector of length 1 with values from -127 to 127, and the factor that they were divided by.
/// The vector of a text without known words is zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Meaning {
    values: [i8; DIMENSIONS],
    scale: f32,
}

impl Default for Meaning {
    fn default() -> Self {
        Self { values: [0; DIMENSIONS], scale: 0.0 }
    }
}

impl Meaning {
    pub(super) const BYTES: u64 = size_of::<Self>() as u64;

    pub(super) fn of_query(text: &str) -> Self {
        let mut sum = [0.0; DIMENSIONS];
        MODEL.add(text, &mut WordPieces::default(), &mut sum);
        Self::new(&sum)
    }

    pub(super) fn of_document(document: &Document<'_>, known: &mut WordPieces) -> Self {
        let mut sum = [0.0; DIMENSIONS];
        let heading = [document.author, document.key].into_iter().chain(document.tags.iter().map(|tag| &**tag));
        for text in heading.chain([&*document.body]) {
            MODEL.add(text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default(), known, &mut sum);
        }
        Self::new(&sum)
    }

    fn new(sum: &[f32; DIMENSIONS]) -> Self {
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        let largest = sum.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        if length == 0.0 {
            return Self::default();
        }
        let values = sum.map(|value| (value / largest * 127.0).round() as i8);
        Self { values, scale: largest / length / 127.0 }
    }

    /// The cosine of two meanings: 1 for the same, about 0.3 for unrelated ones.
    pub(super) fn closeness(&self, other: &Self) -> f32 {
        let products = self.values.iter().zip(&other.values).map(|(mine, its)| i32::from(*mine) * i32::from(*its));
        products.sum::<i32>() as f32 * self.scale * other.scale
    }

    pub(super) fn is_known(&self) -> bool {
        self.scale > 0.0
    }
}

/// A cache of the pieces of words. Most words of a text have occurred before.
#[derive(Default)]
pub(super) struct WordPieces(HashMap<Box<str>, Box<[u32]>, RandomState>);

/// Maximum number of words in the cache.
const MAX_CACHED_WORDS: usize = 10_000;

#[derive(Default)]
struct Model {
    pieces: HashMap<&'static str, u32, RandomState>,
    scales: &'static [u8],
    rows: &'static [u8],
    unit: f32,
}

impl Model {
    /// Reads a model file; `None` if it is damaged.
    fn read(file: &'static [u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
        let rows = number(8)? as usize;
        if !file.starts_with(b"CORKVEC1") || number(12)? as usize != DIMENSIONS {
            return None;
        }
        let unit = f32::from_bits(number(20)?);
        let (vocabulary, rest) = file.get(24..)?.split_at_checked(number(16)? as usize)?;
        let (scales, rows) = rest.split_at_checked(rows * 2)?;
        let pieces = std::str::from_utf8(vocabulary).ok()?.split('\n').zip(0..).collect();
        Some(Self { pieces, scales, rows, unit })
    }

    /// Adds the vectors of a text's pieces.
    fn add(&self, text: &str, known: &mut WordPieces, sum: &mut [f32; DIMENSIONS]) {
        self.each_piece(text, known, |piece| {
            let at = piece as usize;
            let (Some(scale), Some(row)) =
                (self.scales.get(at * 2..at * 2 + 2), self.rows.get(at * ROW_BYTES..(at + 1) * ROW_BYTES))
            else {
                return;
            };
            let scale = scale.try_into().map_or(0.0, |bytes| f32::from(u16::from_le_bytes(bytes))) * self.unit;
            let values: [f32; 16] = std::array::from_fn(|at| (at as f32 - 8.0) * scale);
            let value = |at: u8| values.get(usize::from(at)).copied().unwrap_or_default();
            for (sums, byte) in sum.chunks_exact_mut(2).zip(row) {
                if let [low, high] = sums {
                    *low += value(byte & 15);
                    *high += value(byte >> 4);
                }
            }
        });
    }

    /// Calls `each` with the numbers of a text's pieces.
    fn each_piece(&self, text: &str, known: &mut WordPieces, mut each: impl FnMut(u32)) {
        let WordPieces(known) = known;
        each_word(text, |word| {
            if let Some(pieces) = known.get(word) {
                return pieces.iter().for_each(|piece| each(*piece));
            }
            let pieces = self.pieces_of(word).unwrap_or_default();
            pieces.iter().for_each(|piece| each(*piece));
            if known.len() < MAX_CACHED_WORDS {
                known.insert(word.into(), pieces.into());
            }
        });
    }

    /// The longest known beginning of a word, then of its rest, and so on. `None` if a part is unknown.
    fn pieces_of(&self, word: &str) -> Option<Vec<u32>> {
        let (mut pieces, mut candidate) = (Vec::new(), String::new());
        let mut rest = word;
        while !rest.is_empty() {
            let mut ends = rest.char_indices().map(|(at, character)| at + character.len_utf8()).rev();
            let (piece, end) = ends.find_map(|end| {
                candidate.clear();
                if rest.len() < word.len() {
                    candidate.push_str("##");
                }
                candidate.push_str(rest.get(..end)?);
                Some((*self.pieces.get(&*candidate)?, end))
            })?;
            pieces.push(piece);
            rest = rest.get(end..).unwrap_or_default();
        }
        Some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_into_known_pieces() {
        for (text, expected) in [
            ("vehicle wheels", &[4316_u32, 7787] as &[u32]),
            ("We bought new automobile tyres on Saturday.", &[2057, 4149, 2047, 9935, 24656, 2006, 5095, 1012]),
            ("Ünïcödé naïve CAFÉ, cafe\u{301}!", &[27260, 15743, 7668, 1010, 7668, 999]),
            (
                "user_name don't re-run src/main.rs:12",
                &[
                    5310, 1035, 2171, 2123, 1005, 1056, 2128, 1011, 2448, 5034, 2278, 1013, 2364, 1012, 12667, 1024,
                    2260,
                ],
            ),
            ("東京都へ行く 猫 GPT猫x", &[1879, 1755, 1961, 1675, 1945, 1653, 14246, 2102, 1060]),
            (
                "tab\tnew\nline\u{3000}wide\u{a0}nb a\u{200d}b c\u{ad}d",
                &[21628, 2047, 2240, 2898, 1050, 2497, 11113, 3729],
            ),
            ("ship 🚀 it: 1,234.56$ €5 ½", &[2911, 2009, 1024, 1015, 1010, 22018, 1012, 5179, 1002, 1574, 2629, 1092]),
            (
                "İstanbul ΣΊΣΥΦΟΣ ﬁn Straße",
                &[9960, 1173, 18199, 29733, 29735, 29736, 29730, 29733, 1984, 2078, 2358, 27807],
            ),
            (
                "한국어 שלום العربية हिन्दी ไทย",
                &[
                    1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1266, 29799, 29792, 29800, 1270, 23673,
                    29830, 17149, 29816, 14498, 19433, 1339, 29877, 29863, 29861, 29878,
                ],
            ),
            (&format!("{} ok", "x".repeat(101)), &[7929]),
            ("", &[]),
        ] {
            let mut pieces = Vec::new();
            MODEL.each_piece(text, &mut WordPieces::default(), |piece| pieces.push(piece));
            assert_eq!(pieces, expected, "{text}");
        }
    }

    #[test]
    fn meanings_are_those_of_the_model() {
        let vector = |text: &str| {
            let Meaning { values, scale } = Meaning::of_query(text);
            values.map(|value| f32::from(value) * scale)
        };
        for (text, expected) in [
            ("vehicle wheels", [0.12316, -0.26646, -0.16571, -0.14406, -0.08361, 0.02015, -0.0403, 0.00075]),
            (
                "user_name don't re-run src/main.rs:12",
                [0.13854, -0.06698, 0.05168, -0.3189, 0.10401, 0.12812, -0.00748, 0.08132],
            ),
        ] {
            for (value, expected) in vector(text).iter().zip(expected) {
                assert!((value - expected).abs() < 0.002, "{text}: {value} {expected}");
            }
        }
    }

    #[test]
    fn related_texts_are_closer_than_others() {
        let close = |one, other| Meaning::of_query(one).closeness(&Meaning::of_query(other));
        let tyres = close("vehicle wheels", "We bought new automobile tyres on Saturday.");
        assert!((tyres - 0.52).abs() < 0.01, "{tyres}");
        assert!(close("vehicle wheels", "The soup needs salt.") < 0.3);
        assert!((close("the same", "the same") - 1.0).abs() < 0.01);
        assert_eq!(close("", "anything"), 0.0);
        assert!(!Meaning::of_query("🚀").is_known());
    }
}
