//! English words that do not help to find anything: articles, pronouns, question words and fillers of questions.

/// Whether a lower-cased word is left out of a query.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Sorted. Not "may", which is a month.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "according", "after", "again", "all", "also", "am", "an", "and", "any", "are", "aren't", "as", "at",
    "be", "because", "been", "before", "being", "but", "by",
    "can", "can't", "cannot", "could", "couldn't",
    "did", "didn't", "do", "does", "doesn't", "doing", "don't",
    "each", "either", "ever",
    "for", "from",
    "had", "hadn't", "has", "hasn't", "have", "haven't", "having", "he", "he's", "her", "here", "hers", "herself",
    "him", "himself", "his", "how", "how's",
    "i", "i'd", "i'll", "i'm", "i've", "if", "in", "into", "is", "isn't", "it", "it's", "its", "itself",
    "just",
    "kind", "kinds",
    "let", "let's", "like",
    "many", "me", "mention", "mentioned", "might", "mine", "much", "must", "my", "myself",
    "no", "nor", "not",
    "of", "off", "on", "onto", "or", "our", "ours", "ourselves",
    "recently",
    "s", "shall", "she", "she's", "should", "shouldn't", "so", "some", "such",
    "than", "that", "that's", "the", "their", "theirs", "them", "themselves", "then", "there", "there's", "these",
    "they", "they're", "this", "those", "to", "too",
    "upon", "us",
    "very",
    "was", "wasn't", "we", "we're", "were", "weren't", "what", "what's", "when", "when's", "where", "where's",
    "which", "while", "who", "who's", "whom", "whose", "why", "why's", "will", "with", "won't", "would", "wouldn't",
    "you", "you're", "your", "yours", "yourself", "yourselves",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("whose") && is_stop_word("a") && is_stop_word("yourselves"));
        assert!(!is_stop_word("login") && !is_stop_word(""));
    }
}
