//! Names that somebody may have meant.

/// The names that are most like what was given, if any is like it: one that goes on where it ends, one that is the same
/// without what stands before its last dot, or those with the fewest letters changed.
pub(super) fn alike<'a>(given: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let same: Vec<&str> = names.clone().filter(|name| last(name) == last(given)).collect();
    if !same.is_empty() {
        return same;
    }
    let near = |name: &&str| changes(given, name) * 3 <= given.chars().count();
    let fewest = names.clone().filter(near).map(|name| changes(given, name)).min();
    if let Some(fewest) = fewest {
        return names.filter(|name| changes(given, name) == fewest).collect();
    }
    names.filter(|name| given.len() >= SHORTEST_BEGINNING && name.starts_with(given)).take(MOST).collect()
}

/// A shorter beginning says too little.
const SHORTEST_BEGINNING: usize = 3;
/// More names are no help.
const MOST: usize = 4;

/// How many letters have to be put in, taken out or changed to make one of the other.
fn changes(one: &str, other: &str) -> usize {
    // Of the letters of `one` so far, to each beginning of `other`.
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut next = vec![at + 1];
        let mut left = at + 1;
        for ((wanted, above), above_right) in other.chars().zip(&row).zip(row.iter().skip(1)) {
            left = (above + usize::from(letter != wanted)).min(above_right + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_are_counted() {
        for (one, other, expected) in
            [("", "", 0), ("host", "hosts", 1), ("listn", "listen", 1), ("kitten", "sitting", 3), ("", "abc", 3)]
        {
            assert_eq!((changes(one, other), changes(other, one)), (expected, expected), "{one} {other}");
        }
    }

    #[test]
    fn what_is_alike_is_found_and_nothing_else() {
        let names = ["hosts", "listen", "tls_cert", "tls_key", "limits.note_bytes", "limits.notes_per_agent"];
        for (given, expected) in [
            ("host", &["hosts"][..]),
            ("tls_crt", &["tls_cert"]),
            ("tls", &["tls_cert", "tls_key"]),
            ("serve.listen", &["listen"]),
            ("note_bytes", &["limits.note_bytes"]),
            ("limits.note", &["limits.note_bytes", "limits.notes_per_agent"]),
            ("limits.foo", &[]),
            ("nothing", &[]),
            ("", &[]),
        ] {
            assert_eq!(alike(given, names.into_iter()), expected, "{given}");
        }
    }
}
