//! Counts in words.

use alloc::format;
use alloc::string::String;

/// A number with its noun in singular or plural: `1 entry`, `2 entries`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| count(n, "byte", "bytes")), ["0 bytes", "1 byte", "2 bytes"]);
    }
}
