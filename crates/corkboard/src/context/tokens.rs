//! Counts tokens with OpenAI's `o200k_base`. Other vendors' tokenizers are not public or differ, so for their models
//! the counts are estimates. A process that must start fast counts bytes instead: see [`estimate_tokens`].

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tiktoken::CoreBpe;

/// Built on first use from a compressed table of 0.8 MB.
static TOKENIZER: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::o200k_base);

/// Approximate bytes of the parts in which a long text is counted, so that counting can stop early.
const PART_BYTES: usize = 4096;

/// Bytes that count as one token in an estimate. English has about four, so an estimate is seldom too low.
const BYTES_PER_TOKEN: usize = 3;

/// Whether this process estimates tokens.
static ESTIMATES: AtomicBool = AtomicBool::new(false);

/// Makes this process estimate tokens from now on: one for every three bytes. Loading the tokenizer takes longer than
/// most commands. Call this before anything is counted; it cannot be undone, so that all counts are comparable.
///
/// Budgets then limit bytes: a text of `n` tokens has at most `3 * n` bytes.
pub fn estimate_tokens() {
    ESTIMATES.store(true, Ordering::Relaxed);
}

fn estimates() -> bool {
    ESTIMATES.load(Ordering::Relaxed)
}

fn estimate(text: &str) -> u64 {
    text.len().div_ceil(BYTES_PER_TOKEN) as u64
}

/// The longest beginning of a text with an estimate of at most `limit` tokens.
fn estimated_beginning(text: &str, limit: u64) -> &str {
    let bytes = usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

pub(crate) fn count(text: &str) -> u64 {
    if estimates() { estimate(text) } else { TOKENIZER.count(text) as u64 }
}

/// Number of tokens of a text, if it is at most `limit`. Counting stops soon after the limit.
pub(crate) fn count_within(text: &str, limit: u64) -> Option<u64> {
    if estimates() {
        return Some(estimate(text)).filter(|tokens| *tokens <= limit);
    }
    count_parts_within(text, limit, PART_BYTES)
}

fn count_parts_within(text: &str, limit: u64, part_bytes: usize) -> Option<u64> {
    parts(text, part_bytes).try_fold(0, |counted, part| Some(counted + count(part)).filter(|sum| *sum <= limit))
}

/// The beginning of the text, up to its first `limit` tokens. In rare cases it has more tokens when counted alone,
/// because the beginning of a cut word can have a worse encoding.
pub(crate) fn beginning(text: &str, limit: u64) -> &str {
    if estimates() {
        return estimated_beginning(text, limit);
    }
    let (mut left, mut end) = (usize::try_from(limit).unwrap_or(usize::MAX), 0);
    for part in parts(text, PART_BYTES) {
        let tokens = TOKENIZER.encode(part);
        if let Some(cut) = tokens.get(..left).filter(|cut| cut.len() < tokens.len()) {
            end += TOKENIZER.decode(cut).len();
            break;
        }
        left -= tokens.len();
        end += part.len();
    }
    text.get(..text.floor_char_boundary(end)).unwrap_or(text)
}

/// Splits a text where the tokenizer always begins a new word: before a space between two ASCII words, and after a line
/// end. So the parts together have the same tokens as the whole text.
fn parts(text: &str, part_bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let cut = rest.as_bytes().windows(3).skip(part_bytes).position(|window| match window {
            [before, b' ', after] => before.is_ascii_alphanumeric() && after.is_ascii_alphabetic(),
            [_, b'\n', after] => after.is_ascii_alphanumeric(),
            _ => false,
        });
        let length = match cut.map(|at| part_bytes + at + 1) {
            // A line's end belongs to the line.
            Some(at) if rest.as_bytes().get(at) == Some(&b'\n') => at + 1,
            Some(at) => at,
            None => rest.len(),
        };
        let (part, after) = rest.split_at_checked(length)?;
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_those_of_o200k_base() {
        // The counts of Python's tiktoken.
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

    /// The switch itself is for the whole process, so the tests of `cork hook` check it.
    #[test]
    fn an_estimate_counts_bytes() {
        for (text, tokens) in [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("漢字", 2)] {
            assert_eq!(estimate(text), tokens, "{text:?}");
        }
        assert_eq!(estimated_beginning("aé漢字", 1), "aé");
        assert_eq!(estimated_beginning("漢字", 0), "");
    }

    proptest! {
        #[test]
        fn an_estimated_beginning_is_the_longest(text in any::<String>(), limit in 0u64..50) {
            let cut = estimated_beginning(&text, limit);
            prop_assert!(text.starts_with(cut) && estimate(cut) <= limit);
            let longer = text[cut.len()..].chars().next().map(|next| format!("{cut}{next}"));
            prop_assert!(longer.is_none_or(|longer| longer.len() as u64 > 3 * limit));
        }

        #[test]
        fn a_count_within_a_limit_is_the_count(text in any::<String>(), limit in 0u64..50) {
            let exact = count(&text);
            prop_assert_eq!(count_within(&text, limit), (exact <= limit).then_some(exact));
        }

        #[test]
        fn a_text_has_the_tokens_of_its_parts(text in "([a-cé\\n \u{301}漢'/.,1]|it's |[^a])*", part_bytes in 0usize..20) {
            let pieces: Vec<&str> = parts(&text, part_bytes).collect();
            prop_assert_eq!(pieces.concat(), &*text);
            prop_assert_eq!(count_parts_within(&text, u64::MAX, part_bytes), Some(count(&text)));
        }

        #[test]
        fn a_beginning_is_one(text in any::<String>(), limit in 0u64..50) {
            let cut = beginning(&text, limit);
            prop_assert!(text.starts_with(cut));
            prop_assert_eq!(cut.len() == text.len(), count(&text) <= limit);
        }
    }
}
