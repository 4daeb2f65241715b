//! Which language a text is written in, told by its most frequent words and by its letters, and the stems of that language.
//!
//! Only languages with the Latin script must be told apart. Other scripts say which stemmer a word needs.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::char::decompose_canonical;

use super::irregular::base_form;
use super::stop_words::frequent_in;

/// A language with a stemmer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Language {
    #[default]
    English,
    German,
    Spanish,
    French,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Norwegian,
    Finnish,
    Polish,
    Russian,
    Greek,
    Arabic,
    Hindi,
}

impl Language {
    /// The languages with the Latin script.
    pub(super) const LATIN: [Self; 12] = [
        Self::English,
        Self::German,
        Self::Spanish,
        Self::French,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Swedish,
        Self::Danish,
        Self::Norwegian,
        Self::Finnish,
        Self::Polish,
    ];

    fn stemmer(self) -> Stemmer {
        Stemmer::new(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::Spanish => Algorithm::Spanish,
            Self::French => Algorithm::French,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Danish => Algorithm::Danish,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Finnish => Algorithm::Finnish,
            Self::Polish => Algorithm::Polish,
            Self::Russian => Algorithm::Russian,
            Self::Greek => Algorithm::Greek,
            Self::Arabic => Algorithm::Arabic,
            Self::Hindi => Algorithm::Hindi,
        })
    }

    /// The language whose stemmer suits the script of a letter, if that is not the Latin script.
    fn of_script(letter: char) -> Option<Self> {
        match letter {
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Self::Greek),
            '\u{400}'..='\u{4ff}' => Some(Self::Russian),
            '\u{600}'..='\u{6ff}' => Some(Self::Arabic),
            '\u{900}'..='\u{97f}' => Some(Self::Hindi),
            _ => None,
        }
    }
}

/// A set of languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Languages(u32);

impl Languages {
    pub(super) const ENGLISH: Self = Self::of(&[Language::English]);
    /// A frequent word of another language that is also an ordinary English word, such as "die".
    pub(super) const ALSO_ENGLISH: Self = Self(1 << 31);
    pub(super) const LATIN: Self = Self::of(&Language::LATIN);

    pub(super) const fn of(languages: &[Language]) -> Self {
        let (mut bits, mut rest) = (0, languages);
        while let [first, others @ ..] = rest {
            bits |= 1 << *first as u32;
            rest = others;
        }
        Self(bits)
    }

    pub(super) fn contains(self, language: Language) -> bool {
        self.0 & 1 << language as u32 != 0
    }

    pub(super) fn contains_all(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has a language that is not written in the Latin script.
    fn has_another_script(self) -> bool {
        self.0 & !(Self::LATIN.0 | Self::ALSO_ENGLISH.0) != 0
    }

    #[must_use]
    pub(super) fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The languages with the Latin script in the set.
    pub(super) fn latin(self) -> impl Iterator<Item = Language> {
        Language::LATIN.into_iter().filter(move |language| self.contains(*language))
    }
}

/// The languages that a word points to: it is frequent there, or has their letters.
pub(super) fn signs(word: &str) -> Languages {
    let known = frequent_in(word);
    if !known.is_empty() {
        return known;
    }
    // French and Italian: l'école, dell'anno.
    if let Some(at) = word.find('\'') {
        return frequent_in(word.get(..=at).unwrap_or_default());
    }
    if word.is_ascii() { Languages::default() } else { word.chars().map(signs_of_letter).fold(known, Languages::and) }
}

fn signs_of_letter(letter: char) -> Languages {
    use Language::{Danish, Finnish, French, German, Italian, Norwegian, Polish, Portuguese, Spanish, Swedish};
    Languages::of(match letter {
        'ß' => &[German],
        'ä' | 'ö' => &[German, Swedish, Finnish],
        'ü' => &[German],
        'å' => &[Swedish, Danish, Norwegian],
        'æ' | 'ø' => &[Danish, Norwegian],
        'ñ' => &[Spanish],
        'á' | 'í' | 'ú' => &[Spanish, Portuguese],
        'ó' => &[Spanish, Portuguese, Polish],
        'ã' | 'õ' => &[Portuguese],
        'ç' => &[French, Portuguese],
        'é' => &[Spanish, French, Portuguese],
        'à' | 'è' => &[French, Italian],
        'ì' | 'ò' | 'ù' => &[Italian],
        'â' | 'ê' | 'ô' => &[French, Portuguese],
        'ë' | 'î' | 'ï' | 'û' | 'œ' => &[French],
        'ą' | 'ć' | 'ę' | 'ł' | 'ń' | 'ś' | 'ź' | 'ż' => &[Polish],
        _ => &[],
    })
}

/// Counts the signs of languages in a text.
#[derive(Default)]
pub(super) struct Evidence {
    english: u32,
    /// By language: words that are not English, and words that are frequent in English, too.
    own: [u32; Language::LATIN.len()],
    shared: [u32; Language::LATIN.len()],
}

impl Evidence {
    pub(super) fn add(&mut self, signs: Languages) {
        if signs == Languages::ENGLISH {
            self.english += 1;
        } else if !signs.is_empty() {
            let is_english = signs.0 & (Languages::ENGLISH.0 | Languages::ALSO_ENGLISH.0) != 0;
            self.english += u32::from(is_english);
            let counts = if is_english { &mut self.shared } else { &mut self.own };
            for language in signs.latin() {
                if let Some(count) = counts.get_mut(language as usize) {
                    *count += 1;
                }
            }
        }
    }

    /// The one of these languages with the most signs. It is English unless at least twice as many words speak for another
    /// language as for English.
    pub(super) fn language(&self, among: Languages) -> Language {
        let mut best = (Language::English, 0);
        let counts = Language::LATIN.into_iter().zip(self.own.into_iter().zip(self.shared));
        for (language, (own, shared)) in counts {
            if among.contains(language)
                && own > 0
                && own >= 2 * self.english.saturating_sub(shared)
                && own + shared > best.1
            {
                best = (language, own + shared);
            }
        }
        best.0
    }
}

/// Whether a query in a language leaves out a word.
pub(super) fn is_stop_word(word: &str, language: Language) -> bool {
    let languages = frequent_in(word);
    languages.contains(language) || languages.has_another_script()
}

/// A lower-cased word of a text in a language, without its ending and without accents. Words with digits keep their ending.
pub(super) fn stem(word: &str, language: Language) -> Cow<'_, str> {
    if word.is_ascii() {
        let is_stemmed = word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'');
        return match language {
            _ if !is_stemmed => word.into(),
            Language::English => Language::English.stemmer().stem(base_form(word).unwrap_or(word)),
            _ => language.stemmer().stem(without_article(word, language)),
        };
    }
    let first = word.chars().next().unwrap_or_default();
    match Language::of_script(first) {
        Some(Language::Russian) if word.contains('ё') => {
            Language::Russian.stemmer().stem(&word.replace('ё', "е")).into_owned().into()
        }
        Some(language) => language.stemmer().stem(word),
        None if language == Language::English || word.contains(|letter: char| letter.is_numeric()) => {
            match without_accents(word) {
                Cow::Owned(plain) if plain.is_ascii() => stem(&plain, language).into_owned().into(),
                plain => plain,
            }
        }
        None => match language.stemmer().stem(without_article(word, language)) {
            Cow::Borrowed(stem) => without_accents(stem),
            Cow::Owned(stem) => without_accents(&stem).into_owned().into(),
        },
    }
}

/// French and Italian words without an article or preposition in front: l'école, dell'anno.
fn without_article(word: &str, language: Language) -> &str {
    match word.rsplit_once('\'') {
        Some((_, rest)) if matches!(language, Language::French | Language::Italian) && !rest.is_empty() => rest,
        _ => word,
    }
}

/// A word with the Latin letters of English: é becomes e, ß becomes ss.
fn without_accents(word: &str) -> Cow<'_, str> {
    let has_accent =
        |letter: char| matches!(letter, '\u{df}'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}');
    if !word.contains(has_accent) {
        return word.into();
    }
    let mut plain = String::with_capacity(word.len());
    for letter in word.chars() {
        match letter {
            _ if !has_accent(letter) => plain.push(letter),
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ø' => plain.push('o'),
            'ł' => plain.push('l'),
            'đ' => plain.push('d'),
            'ı' => plain.push('i'),
            _ => decompose_canonical(letter, |part| {
                if !matches!(part, '\u{300}'..='\u{36f}') {
                    plain.push(part);
                }
            }),
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::words::each_word;
    use proptest::prelude::*;

    #[test]
    fn languages_are_told_by_their_words() {
        use Language::*;
        for (text, expected) in [
            ("", English),
            ("Kubernetes cluster", English),
            ("We were at the war memorial", English),
            ("Did the dice come per post? The man will die.", English),
            ("war memorial", English),
            ("See ya later", English),
            ("Was she in? So will I.", English),
            ("I had lunch at La Casa", English),
            ("Café", Spanish),
            ("We met at the café on Rue de la Paix", English),
            ("Die Winterreifen liegen im Keller", German),
            ("Was machen wir am Montag in der Schule?", German),
            ("Größe", German),
            ("El médico me recetó unas pastillas", Spanish),
            ("Nous avons acheté une voiture d'occasion", French),
            ("J'habite à Lyon", French),
            ("Abbiamo comprato una macchina nuova", Italian),
            ("Eu não gosto de café", Portuguese),
            ("Wij hebben een nieuwe auto gekocht", Dutch),
            ("Vi har köpt en ny bil och ett hus", Swedish),
            ("Jeg har købt en ny bil af min bror", Danish),
            ("Jeg har kjøpt en ny bil av broren min", Norwegian),
            ("Minä ostin uuden auton, koska vanha on rikki", Finnish),
            ("Nie wiem, czy to jest dobry samochód", Polish),
            ("Мы купили машину", English),
        ] {
            let mut evidence = Evidence::default();
            each_word(text, |word, _| evidence.add(signs(word)));
            assert_eq!(evidence.language(Languages::LATIN), expected, "{text}");
        }
    }

    #[test]
    fn words_lose_their_endings_and_accents() {
        for (language, forms, expected) in [
            (Language::English, &["cafe", "café", "cafés", "CAFÉ"] as &[&str], "cafe"),
            (Language::English, &["naïve", "naive"], "naiv"),
            (Language::German, &["häuser", "haus", "hauses"], "haus"),
            (Language::German, &["straße", "strasse", "straßen"], "strass"),
            (Language::Spanish, &["canción", "canciones"], "cancion"),
            (Language::French, &["école", "l'école", "écoles"], "ecol"),
            (Language::Italian, &["lavoro", "dell'lavoro", "lavori"], "lavor"),
            (Language::Polish, &["łódź"], "lodz"),
            (Language::English, &["книги", "книга", "книгу"], "книг"),
            (Language::German, &["ёлки", "елка"], "елк"),
            (Language::English, &["v1"], "v1"),
            (Language::French, &["ça"], "ca"),
            (Language::English, &["東京"], "東京"),
        ] {
            for form in forms {
                assert_eq!(stem(&form.to_lowercase(), language), expected, "{form}");
            }
        }
        // Forms that their stemmers reduce to one stem.
        for forms in [["كتاب", "الكتاب"], ["किताबें", "किताब"], ["δρόμος", "δρόμου"]]
        {
            let [one, other] = forms.map(|form| stem(form, Language::English));
            assert_eq!(one, other, "{forms:?}");
        }
    }

    proptest! {
        #[test]
        fn every_word_has_a_stem(word in "([a-zäöüßéèàçñøåłą']{0,12}|[а-яё]{0,12}|[α-ωάέίός]{0,12}|[ء-ي]{0,12}|[अ-ह\u{93c}\u{94d}ािीुे]{0,12}|\\PC{0,8})") {
            for language in Language::LATIN {
                stem(&word.to_lowercase(), language);
            }
        }
    }
}
