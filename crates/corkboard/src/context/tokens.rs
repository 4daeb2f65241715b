//! Tokens, as OpenAI's `o200k_base` counts them. Other vendors' tokenizers are not public or differ: for their models these
//! counts are estimates.

use bpe_openai::{Tokenizer, o200k_base};

fn tokenizer() -> &'static Tokenizer {
    o200k_base()
}

/// How many tokens a text has.
pub(crate) fn count(text: &str) -> u64 {
    tokenizer().count(text) as u64
}

/// How many tokens a text has, if they are no more than `limit`. A long text costs no more than its first `limit` tokens.
pub(crate) fn count_within(text: &str, limit: u64) -> Option<u64> {
    let tokenizer = tokenizer();
    tokenizer.count_till_limit(&tokenizer.normalize(text), as_usize(limit)).map(|count| count as u64)
}

/// A beginning of the text that has about `limit` tokens: never fewer than fit by a whole word, and seldom more, where
/// the last word was cut and its beginning has a worse encoding. Whoever needs to be sure counts.
pub(crate) fn beginning(text: &str, limit: u64) -> &str {
    let tokenizer = tokenizer();
    let (mut left, mut end) = (as_usize(limit), 0);
    for word in tokenizer.split(text) {
        if let Some(count) = tokenizer.bpe.count_till_limit(word.as_bytes(), left) {
            left -= count;
            end += word.len();
        } else {
            let tokens = tokenizer.bpe.encode_via_backtracking(word.as_bytes());
            end += tokens.iter().take(left).map(|token| tokenizer.bpe.token_len(*token)).sum::<usize>();
            break;
        }
    }
    text.get(..text.floor_char_boundary(end)).unwrap_or(text)
}

fn as_usize(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_those_of_o200k_base() {
        // As tiktoken gives them.
        for (text, tokens) in [("", 0), ("hello world", 2), ("antidisestablishmentarianism", 6), ("  \n\t", 2)] {
            assert_eq!(count(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn a_long_word_is_cut_inside() {
        let text = "a".repeat(1 << 16);
        let cut = beginning(&text, 10);
        assert!(!cut.is_empty() && count(cut) <= 10, "{cut}");
        assert_eq!(beginning("grün", 0), "");
        assert_eq!(beginning("one two three", 2), "one two");
    }

    proptest! {
        #[test]
        fn a_count_within_a_limit_is_the_count(text in any::<String>(), limit in 0u64..50) {
            let exact = count(&text);
            prop_assert_eq!(count_within(&text, limit), (exact <= limit).then_some(exact));
        }

        #[test]
        fn a_beginning_is_one(text in any::<String>(), limit in 0u64..50) {
            let cut = beginning(&text, limit);
            prop_assert!(text.starts_with(cut));
            prop_assert_eq!(cut.len() == text.len(), count(&text) <= limit);
        }
    }
}
