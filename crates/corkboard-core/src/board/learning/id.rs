//! IDs of learnings. An ID names the learning's source, so the same learning always has the same ID.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use super::super::{DecisionId, DiscoveryId, TaskId};
use crate::text::json_text;

/// The ID of a learning, named after its source: `D-3`, `F-7`, `rework:T-5`, `estimate:implement`,
/// `sequence:design.implement.test`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LearningId {
    Decision(DecisionId),
    Discovery(DiscoveryId),
    /// From a task that was sent back or failed before it was completed.
    Rework(TaskId),
    /// From the durations of tasks whose titles begin with this word.
    Estimate(Arc<str>),
    /// From tasks that followed one another more than once: the first words of their titles, joined by full stops.
    Sequence(Arc<str>),
}

/// A text that is not a valid learning ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid learning ID {text:?}; expected D-1, F-1, rework:T-1, estimate:word or sequence:one.two")]
pub struct ParseLearningIdError {
    text: String,
}

impl LearningId {
    const REWORK: &str = "rework:";
    const ESTIMATE: &str = "estimate:";
    const SEQUENCE: &str = "sequence:";
    pub(super) const FEWEST: usize = 2;
    /// The maximum number of words in a sequence.
    pub(super) const MOST: usize = 6;

    /// The words of a sequence, or the word of an estimate.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let words = match self {
            Self::Estimate(words) | Self::Sequence(words) => &**words,
            Self::Decision(_) | Self::Discovery(_) | Self::Rework(_) => "",
        };
        words.split('.').filter(|word| !word.is_empty())
    }

    pub(in super::super) fn bytes(&self) -> usize {
        match self {
            Self::Decision(_) | Self::Discovery(_) | Self::Rework(_) => 8,
            Self::Estimate(words) | Self::Sequence(words) => words.len(),
        }
    }
}

/// The first word of a title in lower case, by which tasks are grouped. None if the title has no word.
pub(super) fn first_word(title: &str) -> Option<String> {
    /// Longer words are cut, so that the ID of a sequence stays short.
    const MOST_BYTES: usize = 32;
    let word = title.split(|character: char| !character.is_alphanumeric()).find(|word| !word.is_empty())?;
    let mut short = String::new();
    // Some letters become several characters in lower case, and not all of these are letters.
    for character in word.chars().flat_map(char::to_lowercase).filter(|character| character.is_alphanumeric()) {
        if short.len() + character.len_utf8() > MOST_BYTES {
            break;
        }
        short.push(character);
    }
    (!short.is_empty()).then_some(short)
}

fn is_word(text: &str) -> bool {
    first_word(text).as_deref() == Some(text)
}

impl fmt::Display for LearningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(id) => id.fmt(f),
            Self::Discovery(id) => id.fmt(f),
            Self::Rework(task) => write!(f, "{}{task}", Self::REWORK),
            Self::Estimate(word) => write!(f, "{}{word}", Self::ESTIMATE),
            Self::Sequence(words) => write!(f, "{}{words}", Self::SEQUENCE),
        }
    }
}

impl fmt::Debug for LearningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LearningId {
    type Err = ParseLearningIdError;

    fn from_str(text: &str) -> Result<Self, ParseLearningIdError> {
        let none = || ParseLearningIdError { text: text.chars().take(80).collect() };
        if let Some(task) = text.strip_prefix(Self::REWORK) {
            return task.parse().map(Self::Rework).map_err(|_| none());
        }
        if let Some(word) = text.strip_prefix(Self::ESTIMATE) {
            return is_word(word).then(|| Self::Estimate(word.into())).ok_or_else(none);
        }
        if let Some(words) = text.strip_prefix(Self::SEQUENCE) {
            let is_sequence = (Self::FEWEST..=Self::MOST).contains(&words.split('.').count());
            let is_sequence = is_sequence && words.split('.').all(is_word);
            return is_sequence.then(|| Self::Sequence(words.into())).ok_or_else(none);
        }
        let discovery = || text.parse().map(Self::Discovery).map_err(|_| none());
        text.parse().map(Self::Decision).or_else(|_| discovery())
    }
}

json_text!(LearningId);

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ids_parse_and_print_alike() {
        let names =
            ["D-3", "F-7", "rework:T-5", "estimate:implement", "sequence:design.implement.test", "sequence:ä.2"];
        for name in names {
            assert_eq!(name.parse::<LearningId>().unwrap().to_string(), name);
        }
        assert_eq!("d-3".parse(), Ok(LearningId::Decision(DecisionId(3))));
    }

    #[test]
    fn invalid_ids_are_refused() {
        let long = format!("estimate:{}", "x".repeat(33));
        let seven = "sequence:a.b.c.d.e.f.g";
        let wrong = ["", "T-1", "A-1", "rework:D-1", "rework:", "estimate:", "estimate:Two", "estimate:a b", &long];
        let others = ["sequence:one", "sequence:one.", "sequence:one..two", "sequence:One.two", seven, "estimate:a.b"];
        for text in wrong.into_iter().chain(others) {
            assert!(text.parse::<LearningId>().is_err(), "{text}");
        }
    }

    #[test]
    fn first_word_of_a_title() {
        assert_eq!(first_word("Implement: the routes").as_deref(), Some("implement"));
        assert_eq!(first_word("  -- (Test) it").as_deref(), Some("test"));
        assert_eq!(first_word("İstanbul").as_deref(), Some("istanbul"));
        assert_eq!(first_word(&"ä".repeat(40)).unwrap().len(), 32);
        assert_eq!(first_word("… !"), None);
        for title in ["Implement it", "İstanbul", "ǅ", "x86-64"] {
            assert!(is_word(&first_word(title).unwrap()), "{title}");
        }
    }
}
