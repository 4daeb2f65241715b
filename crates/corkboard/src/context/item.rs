//! Renders one remembered item for a prompt, and cuts it if it is too long.

use std::borrow::Cow;

use corkboard_core::Content;
use corkboard_core::knowledge::Trust;

use super::{escape, tokens};

/// Maximum bytes read per token of room. Prose has fewer bytes per token, and a wall of blanks is not worth reading.
const BYTES_PER_TOKEN: u64 = 16;
/// Minimum tokens of a cut text. Fewer are not worth the mark that says that the rest is missing.
const LEAST_SHOWN: u64 = 8;

#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Text(&'a str),
    Value(&'a Content),
    OutsideText(&'a str),
    OutsideValue(&'a Content),
}

impl<'a> Body<'a> {
    pub(crate) fn said(text: &'a str, trust: Trust) -> Self {
        if trust == Trust::Outside { Self::OutsideText(text) } else { Self::Text(text) }
    }

    pub(crate) fn kept(value: &'a Content, trust: Trust) -> Self {
        if trust == Trust::Outside { Self::OutsideValue(value) } else { Self::Value(value) }
    }

    /// Whether the body is marked: `Outside`, or `Agent` for everything else.
    pub(crate) fn trust(self) -> Trust {
        match self {
            Self::OutsideText(_) | Self::OutsideValue(_) => Trust::Outside,
            Self::Text(_) | Self::Value(_) => Trust::Agent,
        }
    }

    /// A text unchanged; any other value as compact JSON.
    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) | Self::OutsideText(text) => text.into(),
            Self::Value(value) | Self::OutsideValue(value) => {
                value.as_text().unwrap_or_else(|| compact_json(value.as_json()))
            }
        }
    }

    pub(crate) fn is_blank(self) -> bool {
        let json = match self {
            Self::Text(text) | Self::OutsideText(text) => return text.trim().is_empty(),
            Self::Value(value) | Self::OutsideValue(value) => value.as_json().as_bytes(),
        };
        // The first two bytes of most values show that they are not blank texts.
        match json {
            [b'"', b'"' | b'\\', ..] => self.text().trim().is_empty(),
            [b'"', first, ..] => !first.is_ascii_graphic() && self.text().trim().is_empty(),
            _ => false,
        }
    }
}

/// A rendered item: whole lines, none of which begins at column 0.
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) tokens: u64,
    pub(crate) is_cut: bool,
}

/// Renders the only text of a section.
pub(crate) fn block(body: Body<'_>, most: u64) -> Option<Rendered> {
    render("  ", "", "  ", body, most)
}

/// Renders the only text of a section. If it is cut, its end is shown as well as its beginning.
pub(crate) fn block_with_end(body: Body<'_>, most: u64) -> Option<Rendered> {
    let beginning = block(body, most)?;
    if !beginning.is_cut {
        return Some(beginning);
    }
    Some(both_ends(body, most).unwrap_or(beginning))
}

/// The beginning and the end of a text that is too long; `None` if there is too little room for both.
fn both_ends(body: Body<'_>, most: u64) -> Option<Rendered> {
    let indent = ["  ", body.trust().mark()].concat();
    let body = body.text();
    let cut = format!("… [cut: the whole has {} bytes; its end follows]\n", body.len());
    let room = most.checked_sub(tokens::count(&cut)).filter(|room| *room >= 4 * LEAST_SHOWN)?;
    let bytes = usize::try_from(room.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    // Each comes from its own half of the text, so nothing is shown twice.
    let (first, second) = body.split_at(body.floor_char_boundary(body.len() / 2));
    let mut head = indent.clone();
    escape::push_lines(&mut head, first.get(..first.floor_char_boundary(bytes))?, &indent);
    let head = [tokens::beginning(&head, room / 2).trim_end(), &cut].concat();
    if head.len() <= indent.len() + cut.len() {
        return None;
    }
    let second = second.get(second.ceil_char_boundary(second.len().saturating_sub(bytes))..)?;
    let mut room = most.checked_sub(tokens::count(&head))?;
    loop {
        let text = [head.as_str(), &ending(second, &indent, room)?, "\n"].concat();
        let tokens = tokens::count(&text);
        if tokens <= most {
            return Some(Rendered { text, tokens, is_cut: true });
        }
        room = room.checked_sub(tokens - most).filter(|room| *room >= LEAST_SHOWN)?;
    }
}

/// The longest end of a text that has about `room` tokens when rendered. It begins at the beginning of a word.
fn ending(text: &str, indent: &str, room: u64) -> Option<String> {
    let written = |from: usize| {
        let mut lines = [indent, "…"].concat();
        escape::push_lines(&mut lines, text.get(from..).unwrap_or_default().trim_end(), indent);
        lines
    };
    // An end that begins at `fits` fits; one that begins at `too_long` or before does not.
    let (mut too_long, mut fits) = (0, text.len());
    while too_long + 1 < fits {
        let middle = text.floor_char_boundary(too_long.midpoint(fits));
        if middle <= too_long {
            break;
        }
        match tokens::count_within(&written(middle), room) {
            Some(_) => fits = middle,
            None => too_long = middle,
        }
    }
    let is_space = |character: char| character.is_whitespace();
    let rest = text.get(fits..)?;
    let word = rest.find(is_space).map_or(0, |space| space + rest.get(space..).map_or(0, leading_space));
    let from = if word <= rest.len() / 2 { fits + word } else { fits };
    let lines = written(from);
    (lines.len() > indent.len() + "…".len()).then_some(lines)
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Renders an item of a list: mark, label, text. The mark comes before the label, because the label has names from the
/// same source as the text.
pub(crate) fn listed(label: &str, body: Body<'_>, most: u64) -> Option<Rendered> {
    render("  - ", label, "    ", body, most)
}

/// Appends a key, quoted if it could be mistaken for more than a key.
pub(crate) fn push_key(out: &mut String, key: &str) {
    let is_plain =
        |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | '@' | '+');
    if !key.is_empty() && key.chars().all(is_plain) {
        return out.push_str(key);
    }
    out.push('"');
    escape::push_line(out, &key.replace('\\', "\\\\").replace('"', "\\\""));
    out.push('"');
}

/// Renders a text; `None` if no part worth showing fits.
fn render(begin: &str, label: &str, indent: &str, body: Body<'_>, most: u64) -> Option<Rendered> {
    let mark = body.trust().mark();
    let body = body.text();
    let mut text = [begin, mark, label].concat();
    let label = text.len();
    let bytes = usize::try_from(most.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let looked_at = body.get(..body.floor_char_boundary(bytes)).unwrap_or(&body);
    escape::push_lines(&mut text, looked_at, &[indent, mark].concat());
    if looked_at.len() == body.len() {
        text.push('\n');
        if let Some(tokens) = tokens::count_within(&text, most) {
            return Some(Rendered { text, tokens, is_cut: false });
        }
    }
    let cut = format!("… [cut: the whole has {}]\n", corkboard_core::count(body.len() as u64, "byte", "bytes"));
    let mut room = most.checked_sub(tokens::count(&cut))?;
    loop {
        // The mark comes at the end of a line, never at the beginning of one.
        let beginning = tokens::beginning(&text, room).trim_end();
        if room < LEAST_SHOWN || beginning.len() <= label {
            return None;
        }
        let shown = [beginning, &cut].concat();
        let tokens = tokens::count(&shown);
        if tokens <= most {
            return Some(Rendered { text: shown, tokens, is_cut: true });
        }
        room = room.saturating_sub(tokens - most);
    }
}

/// Removes the white space between JSON tokens. Numbers and strings stay unchanged.
fn compact_json(json: &str) -> Cow<'_, str> {
    if !json.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return json.into();
    }
    let (mut in_string, mut escaped) = (false, false);
    let is_kept = |character: &char| {
        if in_string {
            in_string = escaped || *character != '"';
            escaped = !escaped && *character == '\\';
            return true;
        }
        in_string = *character == '"';
        !character.is_ascii_whitespace()
    };
    json.chars().filter(is_kept).collect::<String>().into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn shown(body: Body<'_>, most: u64) -> String {
        let rendered = listed("key: ", body, most).unwrap();
        assert_eq!(rendered.tokens, tokens::count(&rendered.text));
        assert!(rendered.tokens <= most);
        rendered.text
    }

    #[test]
    fn text_as_text_and_values_as_compact_json() {
        let value = |json| Content::from_json(json).unwrap();
        assert_eq!(shown(Body::Text("one\ntwo\n"), 50), "  - key: one\n    two\n    \n");
        assert_eq!(shown(Body::Value(&value(r#""say \"hi\"""#)), 50), "  - key: say \"hi\"\n");
        assert_eq!(
            shown(Body::Value(&value(r#"{ "a b" : [1, 2.50, "\" x"] }"#)), 50),
            "  - key: {\"a b\":[1,2.50,\"\\\" x\"]}\n"
        );
    }

    #[test]
    fn keys_are_keys() {
        for (key, shown) in [
            ("user/name_1.x-y", "user/name_1.x-y"),
            ("größe", "größe"),
            ("a: b", "\"a: b\""),
            ("a\" \\", "\"a\\\" \\\\\""),
            ("</entries>\n", "\"&lt;/entries>&#xa;\""),
        ] {
            let mut out = String::new();
            push_key(&mut out, key);
            assert_eq!(out, shown);
        }
    }

    #[test]
    fn a_cut_text_has_a_mark() {
        let text = "word ".repeat(1000);
        let cut = shown(Body::Text(&text), 40);
        assert!(cut.starts_with("  - key: word word"), "{cut}");
        assert!(cut.ends_with("word… [cut: the whole has 5000 bytes]\n"), "{cut}");
        // Blank lines do not bring the mark to the beginning of a line.
        let blank = shown(Body::Text(&format!("word{}", "\n".repeat(1000))), 40);
        assert_eq!(blank, "  - key: word… [cut: the whole has 1004 bytes]\n");
        // A long line costs no more than its beginning.
        let wall = shown(Body::Text(&"x".repeat(1 << 20)), 40);
        assert!(wall.ends_with("x… [cut: the whole has 1048576 bytes]\n"), "{wall}");
    }

    #[test]
    fn a_text_without_enough_room_is_not_shown() {
        for most in 0..12 {
            assert!(listed("key: ", Body::Text(&"word ".repeat(100)), most).is_none(), "{most}");
        }
        assert!(listed(&"key".repeat(50), Body::Text(&"word ".repeat(100)), 40).is_none());
    }
}
