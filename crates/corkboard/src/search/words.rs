//! Splits texts into terms: stemmed lower-case words, identifiers and their parts, and single characters and pairs in
//! scripts without spaces.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::irregular::base_form;

/// Longer words are cut off, in texts and queries alike.
const MAX_TERM_BYTES: usize = 64;
/// An identifier with more parts than this is found only by its parts.
const MAX_PARTS: usize = 8;

/// Maximum number of stems in the cache.
const MAX_STEMS: usize = 10_000;

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// A cache of stems. Most words of a text have occurred before, and a look-up takes a tenth of the time of stemming.
#[derive(Default)]
pub(super) struct Stems(HashMap<Box<str>, Box<str>>);

impl Stems {
    pub(super) fn each_term(&mut self, text: &str, mut each: impl FnMut(&str)) {
        each_word(text, |word, _| {
            if let Some(stem) = self.0.get(word) {
                return each(stem);
            }
            let stem = stem(word);
            each(&stem);
            if self.0.len() < MAX_STEMS {
                self.0.insert(word.into(), stem.into());
            }
        });
    }
}

/// An English word without its ending. Other words stay as they are.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'') {
        STEMMER.stem(base_form(word).unwrap_or(word))
    } else {
        Cow::Borrowed(word)
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
    /// Modifies the character before it; ignored.
    Mark,
    Gap,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '\'' | '’' => Class::Word,
        '_' | '-' | '/' | '.' | ':' | '@' | '\\' => Class::Joint,
        '\0'..='\u{7f}' => Class::Gap,
        '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}' => Class::Mark,
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
            if class(character) == Class::Word {
                push_lower(&mut self.part, character);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let (mut stems, mut terms, mut again) = (Stems::default(), Vec::new(), Vec::new());
        stems.each_term(text, |term| terms.push(term.to_owned()));
        stems.each_term(text, |term| again.push(term.to_owned()));
        assert_eq!(terms, again, "a cached stem is the same");
        terms
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
            ("GRÜẞE Straße ΣΊΣΥΦΟΣ", &["grüße", "straße", "σίσυφοσ"]),
            ("cafe\u{301}", &["cafe"]),
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
        let wide = "é".repeat(1000);
        assert_eq!(terms(&wide), ["é".repeat(MAX_TERM_BYTES / 2)]);
    }
}
