//! Splits texts into words as BERT's uncased models do: the vocabulary was made for such words.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::MAX_WORD_CHARS;

/// Calls `each` with every word in lower case and without accents. Punctuation marks and Chinese characters are words.
pub(super) fn each_word(text: &str, each: impl FnMut(&str)) {
    let cleaned = text.chars().filter_map(|character| match character {
        _ if character.is_whitespace() => Some(' '),
        _ if is_ignored(character) => None,
        _ => Some(character),
    });
    match text.is_ascii() {
        true => split(cleaned.map(|character| character.to_ascii_lowercase()), each),
        false => split(cleaned.nfd().filter(|character| !is_accent(*character)).flat_map(char::to_lowercase), each),
    }
}

fn split(characters: impl Iterator<Item = char>, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut finish = |word: &mut String| {
        if !word.is_empty() && word.chars().count() <= MAX_WORD_CHARS {
            each(word);
        }
        word.clear();
    };
    for character in characters {
        if character == ' ' {
            finish(&mut word);
        } else if is_punctuation(character) || is_chinese(character) {
            finish(&mut word);
            word.push(character);
            finish(&mut word);
        } else {
            word.push(character);
        }
    }
    finish(&mut word);
}

fn is_ignored(character: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse, Unassigned};
    match character {
        ' '..='~' => false,
        _ if character.is_ascii() => true,
        '\u{fffd}' => true,
        _ => matches!(character.general_category(), Control | Format | PrivateUse | Unassigned),
    }
}

fn is_accent(character: char) -> bool {
    !character.is_ascii() && character.general_category() == GeneralCategory::NonspacingMark
}

fn is_punctuation(character: char) -> bool {
    match character {
        '!'..='/' | ':'..='@' | '['..='`' | '{'..='~' => true,
        _ => !character.is_ascii() && character.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

fn is_chinese(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
