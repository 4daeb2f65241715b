//! Text by lines: showing a file, replacing and inserting text.

use crate::tools::TEXT_BYTES;

/// Maximum number of lines: line numbers have six digits.
const MOST_LINES: usize = 999_999;

/// Maximum bytes of numbered lines in one answer. The rest of [`TEXT_BYTES`] is for other text, so that the cap of
/// every tool's answer does not cut off how to view the remaining lines.
const MOST_SHOWN: usize = TEXT_BYTES - 8 * 1024;

/// Maximum bytes shown of one line, or of a quoted text.
const LONGEST_SHOWN: usize = 16 * 1024;

/// Maximum number of line numbers in a list.
const MOST_NUMBERS: usize = 100;

/// Shows a file's lines with their numbers: all of them, or those in the range.
pub(super) fn view(path: &str, text: &str, range: Option<[i64; 2]>) -> Result<String, String> {
    // As in the SDKs, a line break at the end is followed by one more line, which is empty.
    let count = text.split('\n').count();
    if count > MOST_LINES {
        return Err(format!("File {path} exceeds maximum line limit of 999,999 lines."));
    }
    let (first, last) = match range {
        None => (1, count),
        Some(range) => asked_for(range, count)?,
    };
    let mut shown = format!("Here's the content of {path} with line numbers:");
    let mut room = MOST_SHOWN;
    for (number, line) in (first..=last).zip(text.split('\n').skip(first - 1)) {
        let line = numbered(number, line);
        let Some(left) = room.checked_sub(line.len() + 1) else {
            let rest = last - number + 1;
            let rest = corkboard_core::count(rest as u64, "more line is", "more lines are");
            shown.push_str(&format!("\n[{rest} not shown. View them with view_range [{number}, {last}].]"));
            break;
        };
        room = left;
        shown.push('\n');
        shown.push_str(&line);
    }
    Ok(shown)
}

/// The first and the last requested line. For a range without lines the SDKs show nothing, and the documentation does
/// not say what to do. An error tells the model more.
fn asked_for([first, last]: [i64; 2], count: usize) -> Result<(usize, usize), String> {
    let start = usize::try_from(first.max(1)).unwrap_or(usize::MAX);
    let end = if last == -1 { count } else { usize::try_from(last).unwrap_or(0).min(count) };
    if start > end {
        return Err(format!(
            "Error: Invalid `view_range` parameter: [{first}, {last}]. It should be [first, last] within the range of \
             lines of the file: [1, {count}], or [first, -1] for all lines from the first"
        ));
    }
    Ok((start, end))
}

/// Replaces the only occurrence of `old`. Returns the text, and the answer that shows the change.
pub(super) fn replace(path: &str, text: &str, old: &str, new: &str) -> Result<(String, String), String> {
    if old.is_empty() {
        return Err("No replacement was performed. old_str is empty: pass the text to replace, or use insert".into());
    }
    let mut found = text.match_indices(old);
    let Some((at, _)) = found.next() else {
        let old = clip(old);
        return Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}."));
    };
    if found.next().is_some() {
        let (old, lines) = (clip(old), listed(&occurrences(text, old)));
        return Err(format!(
            "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure it \
             is unique"
        ));
    }
    let replaced = text.replacen(old, new, 1);
    let changed = line_of(text, at);
    let (first, last) = (changed.saturating_sub(2).max(1), changed + 2);
    let lines = (first..=last).zip(replaced.split('\n').skip(first - 1));
    let snippet: Vec<_> = lines.map(|(number, line)| numbered(number, line)).collect();
    let answer = format!(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{}",
        snippet.join("\n")
    );
    Ok((replaced, answer))
}

/// The line numbers of all occurrences, including overlapping ones.
fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let (mut lines, mut from, mut line) = (Vec::new(), 0, 1);
    while let Some(rest) = text.get(from..)
        && let Some(found) = rest.find(wanted)
    {
        line += rest.get(..found).map_or(0, |before| before.matches('\n').count());
        lines.push(line);
        line += usize::from(wanted.starts_with('\n'));
        from += found + step;
    }
    lines
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1
}

fn listed(numbers: &[usize]) -> String {
    let shown: Vec<_> = numbers.iter().take(MOST_NUMBERS).map(usize::to_string).collect();
    let shown = shown.join(", ");
    match numbers.len().saturating_sub(MOST_NUMBERS) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// A piece of text, and the byte offset at which to insert it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    pub(super) at: usize,
    pub(super) piece: String,
}

/// Inserts `new` as separate lines after line number `line`. All other bytes stay unchanged. The inserted lines get the
/// file's line ending, and a last line without a line ending stays without one.
///
/// The Python SDK counts lines the same way, but rewrites all of them. The TypeScript SDK keeps them, but counts an
/// empty line after the last line break, so text inserted at the end would follow an empty line.
pub(super) fn insert(text: &str, line: i64, new: &str) -> Result<Insertion, String> {
    let lines = text.split_inclusive('\n').count();
    let after = usize::try_from(line).ok().filter(|line| *line <= lines).ok_or_else(|| {
        format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: \
             [0, {lines}]"
        )
    })?;
    let at = text.split_inclusive('\n').take(after).map(str::len).sum();
    let ending =
        if text.split_inclusive('\n').next().is_some_and(|first| first.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let new = new.strip_suffix('\n').map_or(new, |line| line.strip_suffix('\r').unwrap_or(line));
    let after_open_line = at == text.len() && !text.is_empty() && !text.ends_with('\n');
    let piece = if after_open_line { format!("{ending}{new}") } else { format!("{new}{ending}") };
    Ok(Insertion { at, piece })
}

/// A line after its number: six columns and a tab.
fn numbered(number: usize, line: &str) -> String {
    format!("{number:>6}\t{}", clip(line))
}

fn clip(text: &str) -> String {
    if text.len() <= LONGEST_SHOWN {
        return text.into();
    }
    let end = text.floor_char_boundary(LONGEST_SHOWN);
    let shown = text.get(..end).unwrap_or_default();
    let rest = corkboard_core::count((text.len() - end) as u64, "more byte is", "more bytes are");
    format!("{shown}… [{rest} not shown]")
}
