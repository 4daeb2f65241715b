//! The part of a text that shows why it was found.

use std::ops::Range;

use super::query::Query;

/// More matches than this are not compared.
const MAX_MATCHES: usize = 1000;
/// Stands where something was cut off.
const CUT: char = '…';

/// The stretch of a text with the most of the query's terms, on one line of at most `cap` characters.
pub(crate) fn snippet(text: &str, query: &Query, cap: usize) -> String {
    let line = on_one_line(text);
    if forward(&line, 0, cap) == line.len() {
        return line;
    }
    // Room for what stands where something was cut off.
    let room = cap.saturating_sub(2);
    let found = best_stretch(&line, query, room);
    let stretch = found.start..found.end.min(forward(&line, found.start, room));
    let spare = room - chars(&line, stretch.clone());
    let before = chars(&line, 0..stretch.start).min(spare / 2);
    let end = forward(&line, stretch.end, spare - before);
    let after = chars(&line, stretch.end..end);
    let start = backward(&line, stretch.start, spare - after);
    let start = word_start(&line, start..stretch.start);
    let end = word_end(&line, stretch.end..end);
    let mut snippet = String::with_capacity(end - start + 2 * CUT.len_utf8());
    snippet.extend((start > 0).then_some(CUT));
    snippet.push_str(line.get(start..end).unwrap_or_default().trim());
    snippet.extend((end < line.len()).then_some(CUT));
    snippet
}

/// White space and control characters become single spaces.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|character: char| character.is_whitespace() || character.is_control()) {
        if !word.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line
}

/// From the first to the last of the matches that stand together and have the most terms between them.
fn best_stretch(line: &str, query: &Query, room: usize) -> Range<usize> {
    let mut matches = query.matches(line);
    matches.truncate(MAX_MATCHES);
    // Parts of identifiers come before the whole.
    matches.sort_by_key(|(_, range)| range.start);
    let mut best = (0, 0..0);
    let mut counts = vec![0_u32; query.terms().len()];
    let (mut terms, mut next) = (0, 0);
    for (index, (term, range)) in matches.iter().enumerate() {
        // Context on both sides shall have some of the room.
        let limit = forward(line, range.start, room / 4 * 3);
        while let Some((other, _)) = matches.get(next).filter(|(_, range)| range.end <= limit) {
            if let Some(count) = counts.get_mut(*other) {
                *count += 1;
                terms += u32::from(*count == 1);
            }
            next += 1;
        }
        let end = matches.get(..next).and_then(|inside| inside.last()).map_or(range.end, |(_, last)| last.end);
        if terms.max(1) > best.0 {
            best = (terms.max(1), range.start..end.max(range.end));
        }
        // One that is too long for the room was not counted.
        if next > index
            && let Some(count) = counts.get_mut(*term)
        {
            *count -= 1;
            terms -= u32::from(*count == 0);
        }
        next = next.max(index + 1);
    }
    best.1
}

fn chars(line: &str, range: Range<usize>) -> usize {
    line.get(range).map_or(0, |part| part.chars().count())
}

fn forward(line: &str, from: usize, characters: usize) -> usize {
    let rest = line.get(from..).unwrap_or_default();
    rest.char_indices().nth(characters).map_or(line.len(), |(at, _)| from + at)
}

fn backward(line: &str, from: usize, characters: usize) -> usize {
    let before = line.get(..from).unwrap_or_default();
    match characters {
        0 => from,
        _ => before.char_indices().nth_back(characters - 1).map_or(0, |(at, _)| at),
    }
}

/// Where in the range the first whole word begins; its beginning if there is none, or if nothing is cut.
fn word_start(line: &str, range: Range<usize>) -> usize {
    if range.start == 0 || line.get(..range.start).is_some_and(|before| before.ends_with(' ')) {
        return range.start;
    }
    let inside = line.get(range.clone()).unwrap_or_default();
    inside.find(' ').map_or(range.start, |space| range.start + space + 1)
}

/// Where in the range the last whole word ends; its end if there is none, or if nothing is cut.
fn word_end(line: &str, range: Range<usize>) -> usize {
    if range.end == line.len() || line.get(range.end..).is_some_and(|after| after.starts_with(' ')) {
        return range.end;
    }
    let inside = line.get(range.clone()).unwrap_or_default();
    inside.rfind(' ').map_or(range.end, |space| range.start + space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_best_stretch_is_shown() {
        let filler = "lorem ipsum dolor ".repeat(20);
        for (text, query, cap, expected) in [
            ("short\n\ttext  here ", "text", 40, "short text here"),
            ("", "text", 40, ""),
            // Nothing in the text itself: its beginning.
            ("one two three four five six", "zebra", 16, "one two three…"),
            ("one two three four five six", "six", 16, "…four five six"),
            ("one two three four five six", "three", 16, "…two three four…"),
            ("one two three four five six", "one", 16, "one two three…"),
            // Both words beat one of them twice.
            (&format!("cat cat {filler} cat and dog {filler}"), "cat dog", 40, "…ipsum dolor cat and dog lorem ipsum…"),
            ("東京都は日本の首都である", "首都", 8, "…本の首都であ…"),
            ("unbrokenwordthatislongerthanthecap", "x", 10, "unbroken…"),
            ("a b c", "a", 0, "…"),
        ] {
            let made = snippet(text, &Query::new(query), cap);
            assert_eq!(made, expected, "{text:?} {query:?}");
        }
    }

    proptest! {
        #[test]
        fn the_cap_holds_and_nothing_is_invented(
            text in "([a-c ]|dé|\n|東|🚀|_|\u{301}){0,120}",
            query in "[a-d é東🚀_]{0,9}",
            cap in 2_usize..60,
        ) {
            let made = snippet(&text, &Query::new(&query), cap);
            prop_assert!(made.chars().count() <= cap, "{made:?}");
            prop_assert!(!made.chars().any(char::is_control), "{made:?}");
            let line = on_one_line(&text);
            prop_assert!(line.contains(made.trim_matches(CUT).trim()), "{made:?} of {line:?}");
            prop_assert_eq!(made.contains(CUT), line.chars().count() > cap, "{:?}", made);
        }

        #[test]
        fn what_matches_is_in_it(before in "[a-c ]{0,80}", after in "[a-c ]{0,80}") {
            let made = snippet(&format!("{before} zebra {after}"), &Query::new("zebras"), 20);
            prop_assert!(made.contains("zebra"), "{made:?}");
        }
    }
}
