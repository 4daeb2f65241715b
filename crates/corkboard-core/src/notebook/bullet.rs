//! Parses the text of a bullet: a reason and content, or an ID and a reason.

use alloc::format;

use super::NotebookItemId;
use super::line::{LineShape, SourceLine, is_nothing};

/// The rest of `because <reason>: <content>` after its first word. None if the text does not begin with `because`.
pub(super) fn after_because(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['*', '_']);
    let (word, rest) = text.split_at_checked("because".len())?;
    let ends = rest.chars().next().is_none_or(|next| !next.is_alphanumeric());
    (ends && word.eq_ignore_ascii_case("because")).then(|| {
        let rest = rest.trim_start_matches(['*', '_']);
        rest.strip_prefix(':').unwrap_or(rest).trim()
    })
}

/// Splits at the colon that ends the reason: the first colon outside of quotes, brackets and URLs. If there is none
/// because something was left open, the search ignores brackets, then also quotes, and then everything except `://`.
pub(super) fn split_reason(text: &str) -> Option<(&str, &str)> {
    match text.bytes().position(is_special) {
        // Fast path: most reasons contain nothing special before their colon.
        Some(first) if text.as_bytes().get(first) == Some(&b':') && !is_scheme(text, first) => split_at(text, first),
        Some(_) => split_special(text),
        None => None,
    }
}

/// Whether the byte is a colon, a quote or a bracket. Bytes outside ASCII may be part of a quote.
fn is_special(byte: u8) -> bool {
    // A table, because this runs for every byte of every reason.
    #[allow(clippy::indexing_slicing, reason = "a table of all bytes, built at compile time")]
    const SPECIAL: [bool; 256] = {
        let mut special = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            special[byte] = byte >= 128
                || matches!(byte as u8, b':' | b'"' | b'\'' | b'`' | b'(' | b')' | b'[' | b']' | b'{' | b'}');
            byte += 1;
        }
        special
    };
    SPECIAL.get(usize::from(byte)).copied().unwrap_or(true)
}

fn split_special(text: &str) -> Option<(&str, &str)> {
    let mut outside_quotes = None;
    let mut depth = 0_usize;
    // If a quote is never closed, it and all later quotes of its kind are ordinary characters.
    let mut unclosed = [false; QUOTES.len()];
    let mut before = None;
    let mut skip_to = 0;
    for (at, character) in text.char_indices() {
        if at < skip_to {
            before = Some(character);
            continue;
        }
        match character {
            ':' if is_scheme(text, at) => skip_to = end_of_url(text, at),
            ':' if depth == 0 => return split_at(text, at),
            ':' => outside_quotes = outside_quotes.or(Some(at)),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {
                let quote = QUOTES.iter().zip(&mut unclosed).find(|((open, _), _)| *open == character);
                if let Some(((_, close), unclosed)) = quote
                    && !*unclosed
                    // Not an apostrophe or an inch mark, which follow a letter or a number.
                    && before.is_none_or(|before: char| !before.is_alphanumeric())
                {
                    let inside = at + character.len_utf8();
                    match text.get(inside..).and_then(|rest| rest.find(*close)) {
                        Some(length) => skip_to = inside + length + close.len_utf8(),
                        None => *unclosed = true,
                    }
                }
            }
        }
        before = Some(character);
    }
    let any = || text.match_indices(':').map(|(at, _)| at).find(|at| !is_scheme(text, *at));
    split_at(text, outside_quotes.or_else(any)?)
}

/// Whether the colon at this byte begins `://`.
fn is_scheme(text: &str, colon: usize) -> bool {
    text.get(colon..).is_some_and(|rest| rest.starts_with("://"))
}

/// The end of the URL whose `://` is at this byte. A URL ends before white space, an enclosing character, or a colon
/// followed by white space. Other colons, such as before a port, belong to the URL.
fn end_of_url(text: &str, scheme: usize) -> usize {
    let start = scheme + "://".len();
    let host = text.get(start..).unwrap_or_default();
    // Skips an IPv6 address.
    let address = host.strip_prefix('[').and_then(|host| host.find(']')).map_or(0, |end| end + "[]".len());
    let start = start + address;
    let rest = host.get(address..).unwrap_or_default();
    let ends = |(at, character): (usize, char)| {
        let after = || rest.get(at + 1..).and_then(|rest| rest.chars().next());
        match character {
            ':' => after().is_none_or(char::is_whitespace),
            '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '”' | '’' | '»' => true,
            other => other.is_whitespace(),
        }
    };
    start + rest.char_indices().find(|found| ends(*found)).map_or(rest.len(), |(at, _)| at)
}

const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»')];

fn split_at(text: &str, colon: usize) -> Option<(&str, &str)> {
    Some((text.get(..colon)?.trim(), text.get(colon + 1..)?.trim_start()))
}

/// The ID at the beginning of a text, and whether a colon follows it.
pub(super) fn leading_id(text: &str) -> Option<(&str, bool)> {
    let (word, rest) = text.split_at_checked(text.find([' ', '\t', ':']).unwrap_or(text.len()))?;
    let id = bare_id(word);
    id.parse::<NotebookItemId>().ok()?;
    Some((id, rest.trim_start().starts_with(':')))
}

/// The ID in front of a new item, as in `KL-2: text`. If a text only mentions an ID, no colon follows it.
pub(super) fn id_in_front(text: &str) -> Option<&str> {
    leading_id(text).and_then(|(id, colon)| colon.then_some(id))
}

/// The text of a bullet without the checkbox at its beginning: `[x]`, `[X]` or `[ ]`.
pub(super) fn without_checkbox(text: &str) -> &str {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_prefix([' ', 'x', 'X']));
    match inside.and_then(|rest| rest.strip_prefix(']')) {
        Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => without_checkbox(rest.trim_start()),
        _ => text,
    }
}

/// Splits a snippet's `label => text`. Only one space or tab after the arrow is removed from the text.
pub(super) fn split_label(content: &str) -> Option<(&str, &str)> {
    let (label, text) = content.split_once("=>")?;
    Some((label.trim(), text.strip_prefix([' ', '\t']).unwrap_or(text)))
}

/// Whether a printed learning is parsed as the same learning.
pub(super) fn is_readable_learning(reason: &str, text: &str) -> bool {
    is_line(text)
        && is_line(reason)
        && (is_plain(reason) || {
            let written = format!("because {reason}: {text}");
            after_because(&written).and_then(split_reason) == Some((reason, text))
        })
}

/// Whether a reason contains nothing special, so that the parser finds its end with any content after it.
fn is_plain(reason: &str) -> bool {
    !reason.bytes().any(is_special)
}

/// Whether the printed first line of a snippet is parsed as the same line.
pub(super) fn is_readable_label(reason: &str, label: &str) -> bool {
    is_line(label)
        && is_line(reason)
        && (is_plain(reason) && !label.contains("=>") || {
            let written = format!("because {reason}: {label} =>");
            let content = after_because(&written).and_then(split_reason);
            content.and_then(|(read, content)| Some((read, split_label(content)?.0))) == Some((reason, label))
        })
}

/// Whether a printed progress bullet is parsed as the same bullet.
pub(super) fn is_readable_bullet(text: &str) -> bool {
    is_line(text)
        && !is_nothing(text)
        && ({
            // Fast path: a header has a colon or is decorated.
            let begins_plainly = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
            begins_plainly && !text.contains(':')
        } || {
            let written = format!("- {text}");
            matches!(SourceLine::new(1, &written).shape(), LineShape::Bullet(bullet) if bullet.text == text)
        })
}

/// Like [`is_readable_bullet`], for a new bullet. Bullets in older stores may begin with a checkbox, new ones may not.
pub(super) fn is_readable_new_bullet(text: &str) -> bool {
    is_readable_bullet(text) && without_checkbox(text) == text
}

/// Whether a printed snippet is parsed as the same snippet.
pub(super) fn is_readable_snippet(text: &str) -> bool {
    !text.trim().is_empty() && !text.ends_with('\r') && !text.contains("\r\n")
}

/// Whether the printed reason of an archival is parsed as the same reason.
pub(super) fn is_readable_archival(reason: &str) -> bool {
    is_line(reason) && after_because(&format!("because {reason}")) == Some(reason)
}

/// Whether it is a non-empty text on one line, without space around it.
pub(super) fn is_line(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains('\n')
}

/// The parsed text of an archival bullet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ArchivalText<'a> {
    /// The ID as written, and the reason.
    Read {
        id: &'a str,
        reason: &'a str,
    },
    NoReason {
        at: &'a str,
    },
    NoId {
        at: &'a str,
    },
}

/// Parses `KL-3 because <reason>`, or `because <reason>: KL-3`.
pub(super) fn archival(text: &str) -> ArchivalText<'_> {
    if let Some(rest) = after_because(text) {
        // The ID comes last, so the reason may contain colons.
        return match rest.rsplit_once(':') {
            Some((reason, id)) if !reason.trim().is_empty() => {
                let id = bare_id(id.trim());
                ArchivalText::Read { id, reason: reason.trim() }
            }
            _ => ArchivalText::NoId { at: text },
        };
    }
    let end = text.find([' ', '\t', ':', ',']).unwrap_or(text.len());
    let (id, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let rest = rest.trim_start_matches([' ', '\t', ':', ',', '-', '–', '—', '(']);
    match after_because(rest) {
        Some("") => ArchivalText::NoReason { at: rest },
        Some(reason) => ArchivalText::Read { id: bare_id(id), reason },
        None if bare_id(id).parse::<NotebookItemId>().is_ok() => ArchivalText::NoReason { at: rest },
        None => ArchivalText::NoId { at: text },
    }
}

/// The ID without decoration such as asterisks or brackets.
fn bare_id(id: &str) -> &str {
    id.trim_matches(['*', '_', '`', '[', ']', '.', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_ends_at_the_first_colon_outside_of_quotes_and_brackets() {
        let cases = [
            ("plain: x", "plain", "x"),
            ("no space:x: y", "no space", "x: y"),
            ("the \"host:port\" form: x", "the \"host:port\" form", "x"),
            ("`a::b` moved: x", "`a::b` moved", "x"),
            ("(see: [1:2]) it: x", "(see: [1:2]) it", "x"),
            ("it's the users' choice: x", "it's the users' choice", "x"),
            ("5\" pipes leak: x", "5\" pipes leak", "x"),
            ("‘a:b’ and “c:d” and «e:f»: x", "‘a:b’ and “c:d” and «e:f»", "x"),
            ("see http://x/a: y", "see http://x/a", "y"),
            ("http://x:80/a?b=c:d: y: z", "http://x:80/a?b=c:d", "y: z"),
            ("it (see http://x:80) is: y", "it (see http://x:80) is", "y"),
            ("“http://x:80”: y", "“http://x:80”", "y"),
            ("http://[::1]:80/a: y", "http://[::1]:80/a", "y"),
            ("see http://x/a:y", "see http://x/a", "y"),
            // Quotes and brackets that are not closed.
            ("'tis so: x", "'tis so", "x"),
            ("an ( open one: x", "an ( open one", "x"),
            ("\"open: it's: x", "\"open", "it's: x"),
            ("\"a: b\" c", "\"a", "b\" c"),
            ("):( : x", ")", "( : x"),
        ];
        for (text, reason, content) in cases {
            assert_eq!(split_reason(text), Some((reason, content)), "{text}");
        }
        assert_eq!(split_reason("none"), None);
        assert_eq!(split_reason("see http://x/a"), None);
    }

    #[test]
    fn an_archival_names_an_id_and_a_reason() {
        let read = |id, reason| ArchivalText::Read { id, reason };
        let cases = [
            ("KL-3 because it is old", read("KL-3", "it is old")),
            ("kl-3: Because: it is old", read("kl-3", "it is old")),
            ("**KL-3** - because old", read("KL-3", "old")),
            ("[VC-1], because old", read("VC-1", "old")),
            ("because the port: 80 is gone: VC-2", read("VC-2", "the port: 80 is gone")),
            ("KL-3 because", ArchivalText::NoReason { at: "because" }),
            ("KL-3 is old", ArchivalText::NoReason { at: "is old" }),
            ("KL-3", ArchivalText::NoReason { at: "" }),
            ("the old one", ArchivalText::NoId { at: "the old one" }),
            ("because it is old", ArchivalText::NoId { at: "because it is old" }),
            ("becauseless KL-3", ArchivalText::NoId { at: "becauseless KL-3" }),
        ];
        for (text, expected) in cases {
            assert_eq!(archival(text), expected, "{text}");
        }
    }
}
