//! Splits texts into terms: stemmed lower-case words, identifiers and their parts, and single characters and pairs in
//! scripts without spaces.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use unicode_normalization::char::compose;

use super::languages::{Evidence, Language, Languages, signs, stem};

/// Longer words are cut off, in texts and queries alike.
const MAX_TERM_BYTES: usize = 64;
/// An identifier with more parts than this is found only by its parts.
const MAX_PARTS: usize = 8;

/// With more words than this, the cache is emptied before the next document.
const MAX_KNOWN_WORDS: usize = 10_000;

/// A cache of words. Most words of a text have occurred before, and a look-up takes a tenth of the time of stemming.
#[derive(Default)]
pub(super) struct KnownWords {
    numbers: HashMap<Arc<str>, u32, RandomState>,
    words: Vec<KnownWord>,
}

struct KnownWord {
    text: Arc<str>,
    signs: Languages,
    /// For each language in which it occurred.
    stems: Vec<KnownStem>,
}

pub(super) struct KnownStem {
    language: Language,
    pub(super) text: Box<str>,
    /// The number of the term in the index, which sets both. Valid while the index has the same generation.
    pub(super) number: u32,
    pub(super) generation: u32,
}

impl KnownWords {
    /// Empties the cache if it is large.
    pub(super) fn limit(&mut self) {
        if self.words.len() > MAX_KNOWN_WORDS {
            *self = Self::default();
        }
    }

    /// Adds the words of a text to a list, and what they tell about its language.
    pub(super) fn read(&mut self, text: &str, words: &mut Vec<u32>, evidence: &mut Evidence) {
        each_word(text, |word, _| {
            let number = match self.numbers.get(word) {
                Some(number) => *number,
                None => {
                    let (number, text) = (self.words.len() as u32, Arc::<str>::from(word));
                    self.numbers.insert(text.clone(), number);
                    self.words.push(KnownWord { text, signs: signs(word), stems: Vec::new() });
                    number
                }
            };
            if let Some(word) = self.words.get(number as usize) {
                evidence.add(word.signs);
            }
            words.push(number);
        });
    }

    /// The stem of a word of a text in a language.
    pub(super) fn stem(&mut self, word: u32, language: Language) -> Option<&mut KnownStem> {
        let KnownWord { text, stems, .. } = self.words.get_mut(word as usize)?;
        let at = stems.iter().position(|stem| stem.language == language).unwrap_or_else(|| {
            stems.push(KnownStem { language, text: stem(text, language).into(), number: 0, generation: 0 });
            stems.len() - 1
        });
        stems.get_mut(at)
    }
}

/// Character class for splitting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    /// Joins the parts of an identifier.
    Joint,
    /// A letter of a script without spaces between words.
    Unspaced,
    Symbol,
    /// Modifies the character before it.
    Mark,
    Gap,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '\'' | '’' => Class::Word,
        '_' | '-' | '/' | '.' | ':' | '@' | '\\' => Class::Joint,
        '\0'..='\u{7f}' => Class::Gap,
        '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}' => Class::Mark,
        // Thai to Burmese, Khmer, Hangul, kana, Han.
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{312f}'
        | '\u{3130}'..='\u{318f}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Class::Unspaced,
        '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}' => Class::Symbol,
        // Vowel signs and the like are parts of words in Devanagari and its relatives.
        '\u{900}'..='\u{dff}' if !matches!(character, '\u{964}' | '\u{965}' | '\u{970}' | '\u{df4}') => Class::Word,
        other if other.is_alphanumeric() => Class::Word,
        _ => Class::Gap,
    }
}

/// Calls `each` with every word of a text, in lower case and not stemmed, and its bytes.
pub(super) fn each_word(text: &str, mut each: impl FnMut(&str, Range<usize>)) {
    let mut words = Words::default();
    let mut run: Option<usize> = None;
    let mut before: Option<(usize, char)> = None;
    for (at, character) in text.char_indices() {
        let class = class(character);
        if matches!(class, Class::Word | Class::Joint | Class::Mark) {
            before = None;
            run.get_or_insert(at);
            continue;
        }
        if let Some(start) = run.take() {
            words.identifier(text, start..at, &mut each);
        }
        let end = at + character.len_utf8();
        if matches!(class, Class::Unspaced | Class::Symbol) {
            words.one(&[character], at..end, &mut each);
        }
        if class == Class::Unspaced {
            if let Some((start, first)) = before {
                words.one(&[first, character], start..end, &mut each);
            }
            before = Some((at, character));
        } else {
            before = None;
        }
    }
    if let Some(start) = run {
        words.identifier(text, start..text.len(), &mut each);
    }
}

/// Buffers, reused for every word.
#[derive(Default)]
struct Words {
    part: String,
    whole: String,
}

impl Words {
    fn one(&mut self, characters: &[char], range: Range<usize>, each: &mut impl FnMut(&str, Range<usize>)) {
        self.part.clear();
        self.part.extend(characters);
        each(&self.part, range);
    }

    /// The parts of an identifier, and if there are several, the whole without what joins them.
    fn identifier(&mut self, text: &str, range: Range<usize>, each: &mut impl FnMut(&str, Range<usize>)) {
        let Some(run) = text.get(range.clone()) else { return };
        self.whole.clear();
        let (mut parts, mut whole) = (0, range.start..range.start);
        let mut part: Option<usize> = None;
        let mut characters = run.char_indices().peekable();
        let mut last = ' ';
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map_or(' ', |(_, next)| *next);
            let class = class(character);
            if class == Class::Mark {
                if part.is_some() {
                    push_mark(&mut self.whole, character);
                }
                continue;
            }
            let is_inside = match character {
                // An apostrophe is part of a word between letters only.
                '\'' | '’' => last.is_alphabetic() && next.is_alphabetic(),
                _ => class == Class::Word,
            };
            // camelCase, and HTTPServer.
            let is_hump =
                character.is_uppercase() && (last.is_lowercase() || (last.is_uppercase() && next.is_lowercase()));
            if let Some(start) = part
                && (!is_inside || is_hump)
            {
                self.part(text, start..range.start + at, each);
                whole.end = range.start + at;
                parts += 1;
                part = None;
            }
            if is_inside && part.is_none() {
                part = Some(range.start + at);
                if parts == 0 {
                    whole.start = range.start + at;
                } else if character.is_ascii_digit() && self.whole.ends_with(|end: char| end.is_ascii_digit()) {
                    // 3.14 is not 314.
                    self.whole.push('-');
                }
            }
            if is_inside {
                push_lower(&mut self.whole, character);
            }
            last = character;
        }
        if let Some(start) = part {
            self.part(text, start..range.end, each);
            whole.end = range.end;
            parts += 1;
        }
        if (2..=MAX_PARTS).contains(&parts) && self.whole.len() <= MAX_TERM_BYTES {
            each(&self.whole, whole);
        }
    }

    fn part(&mut self, text: &str, range: Range<usize>, each: &mut impl FnMut(&str, Range<usize>)) {
        self.part.clear();
        for character in text.get(range.clone()).unwrap_or_default().chars() {
            if self.part.len() >= MAX_TERM_BYTES {
                break;
            }
            match class(character) {
                Class::Word => push_lower(&mut self.part, character),
                Class::Mark => push_mark(&mut self.part, character),
                _ => {}
            }
        }
        if !self.part.is_empty() {
            each(&self.part, range);
        }
    }
}

fn push_lower(word: &mut String, character: char) {
    match character {
        '’' => word.push('\''),
        _ if character.is_ascii() => word.push(character.to_ascii_lowercase()),
        _ => word.extend(character.to_lowercase()),
    }
}

/// Adds an accent to the last letter of a word. Other marks are ignored.
fn push_mark(word: &mut String, mark: char) {
    if let Some(last) = word.pop() {
        word.push(compose(last, mark).unwrap_or(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut known = KnownWords::default();
        let mut terms = || {
            let (mut words, mut evidence) = (Vec::new(), Evidence::default());
            known.read(text, &mut words, &mut evidence);
            let language = evidence.language(Languages::LATIN);
            words.iter().map(|word| known.stem(*word, language).unwrap().text.to_string()).collect::<Vec<_>>()
        };
        let (first, again) = (terms(), terms());
        assert_eq!(first, again, "a cached stem is the same");
        first
    }

    #[test]
    fn texts_become_terms() {
        for (text, expected) in [
            ("", &[] as &[&str]),
            (" \t\n-.'’/ ", &[]),
            ("The tests RAN, twice!", &["the", "test", "run", "twice"]),
            ("deploying deployment deployed", &["deploy", "deploy", "deploy"]),
            ("Caroline's Caroline’s caroline", &["carolin", "carolin", "carolin"]),
            ("'quoted' don't", &["quot", "don't"]),
            ("user_name", &["user", "name", "usernam"]),
            ("userName", &["user", "name", "usernam"]),
            ("username", &["usernam"]),
            ("HTTPServer", &["http", "server", "httpserver"]),
            ("a/b-c", &["a", "b", "c", "abc"]),
            ("src/main.rs:12", &["src", "main", "rs", "12", "srcmainrs12"]),
            ("2023-05-08", &["2023", "05", "08", "2023-05-08"]),
            ("v1.2", &["v1", "2", "v1-2"]),
            ("(end.)", &["end"]),
            ("GRÜẞE Straße ΣΊΣΥΦΟΣ", &["gruss", "strass", "σισυφ"]),
            ("the cafe\u{301}s, the Cafés", &["the", "cafe", "the", "cafe"]),
            ("pre\u{301}fe\u{300}re d'eau", &["prefer", "eau"]),
            ("हिन्दी किताबें।", &["हिन्द", "किताब"]),
            ("\u{301}\u{200d}", &[]),
            ("猫", &["猫"]),
            ("東京都へ", &["東", "京", "東京", "都", "京都", "へ", "都へ"]),
            ("GPT猫x", &["gpt", "猫", "x"]),
            ("한국어 봄", &["한", "국", "한국", "어", "국어", "봄"]),
            ("ship 🚀🚀 it", &["ship", "🚀", "🚀", "it"]),
            ("\u{0}a\u{1b}b", &["a", "b"]),
        ] {
            assert_eq!(terms(text), expected, "{text:?}");
        }
    }

    #[test]
    fn long_words_are_cut_off() {
        let blob = "x1".repeat(1000);
        assert_eq!(terms(&blob), [&blob[..MAX_TERM_BYTES]]);
        let path = vec!["part"; 100].join("/");
        assert_eq!(terms(&path), vec!["part"; 100], "no term for the whole");
        let wide = "猫é".repeat(1000);
        assert_eq!(terms(&wide).len(), 2000);
        let wide = "ж".repeat(1000);
        assert_eq!(terms(&wide), ["ж".repeat(MAX_TERM_BYTES / 2)]);
    }
}
