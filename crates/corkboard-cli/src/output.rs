//! Answers on stdout: text for people, JSON for programs.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width};
use corkboard::store::StoreInfo;
use corkboard::{Content, EntryDocument, Note};
use jiff::Timestamp;
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

pub(crate) use corkboard::count;

use crate::error::CliError;
use crate::page::Page;

const WIDTH: u16 = 120;

/// Stdout. Every write is complete and flushed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints the answer as JSON or text.
    pub(crate) fn answer(self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), CliError> {
        if self.json { self.document(value) } else { self.line(&text()) }
    }

    /// Prints a page of a list as JSON or text.
    pub(crate) fn list<T: Serialize>(self, page: &Page<T>, text: impl FnOnce() -> String) -> Result<(), CliError> {
        self.answer(page, || page.text(text()))
    }

    /// One JSON document on one line.
    pub(crate) fn document(self, value: &impl Serialize) -> Result<(), CliError> {
        self.json_line(serde_json::to_string(value))
    }

    fn json_line(self, json: serde_json::Result<String>) -> Result<(), CliError> {
        self.line(&json.map_err(|error| CliError::Output(error.into()))?)
    }

    pub(crate) fn line(self, text: &str) -> Result<(), CliError> {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(b"\n"));
        written.and_then(|()| stdout.flush()).map_err(CliError::Output)
    }

    /// Prints extra information to stderr, only on a terminal, so that stdout has just the answer.
    pub(crate) fn aside(self, text: &str) {
        if !self.json && std::io::stderr().is_terminal() {
            // A failure is ignored: this is not part of the answer.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Prints a note or warning to stderr. Not with --json, where the answer itself must contain it.
    pub(crate) fn warn(self, text: &str) {
        if !self.json {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Writes bytes unchanged.
    pub(crate) fn raw(self, bytes: &[u8]) -> Result<(), CliError> {
        write(bytes).map_err(CliError::Output)
    }

    /// Writes a copy of the memory, which is useful only if it is complete.
    pub(crate) fn copy(self, bytes: &[u8]) -> Result<(), CliError> {
        write(bytes).map_err(CliError::Copy)
    }
}

fn write(bytes: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// A JSON object that keeps the order of its fields. Created by [`json_object`].
pub(crate) struct JsonObject<const N: usize>(pub(crate) [(&'static str, serde_json::Result<Box<RawValue>>); N]);

impl<const N: usize> Serialize for JsonObject<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(N))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value.as_ref().map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

/// A value as JSON.
pub(crate) fn raw_json(value: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value)
}

/// Creates a JSON object: `json_object! { task, status: "archived" }`.
macro_rules! json_object {
    (@ $name:ident) => { $name };
    (@ $name:ident $value:expr) => { $value };
    ($($name:ident $(: $value:expr)?),* $(,)?) => {
        $crate::output::JsonObject([
            $((stringify!($name), $crate::output::raw_json(&$crate::output::json_object!(@ $name $($value)?)))),*
        ])
    };
}
pub(crate) use json_object;

/// Text unchanged, any other value as compact JSON.
pub(crate) fn value_text(value: &Content) -> Cow<'_, str> {
    value.as_text().unwrap_or_else(|| compact(value.as_json()).into())
}

/// JSON without white space between tokens. Numbers and strings stay as written.
pub(crate) fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in json.chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character.is_ascii_whitespace() {
            continue;
        } else {
            in_string = character == '"';
        }
        compact.push(character);
    }
    compact
}

/// A text on one line, with control characters escaped: stored text must not control the terminal.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else if turns_around(character) {
            line.extend(character.escape_unicode());
        } else {
            line.push(character);
        }
    }
    line
}

/// Whether a character changes the text direction.
fn turns_around(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A stored text: unchanged for a pipe, without control characters for a terminal.
pub(crate) fn shown(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.into();
    }
    let plain = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    text.chars().map(|character| if plain(character) { character } else { '\u{fffd}' }).collect()
}

pub(crate) fn clip(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return count(bytes, "byte", "bytes");
    }
    let (mut amount, mut unit) = (bytes as f64 / 1024.0, "KiB");
    for larger in UNITS.into_iter().skip(1) {
        if amount < 1024.0 {
            break;
        }
        (amount, unit) = (amount / 1024.0, larger);
    }
    format!("{amount:.1} {unit}")
}

/// A time to the second, in UTC.
pub(crate) fn time(at: Timestamp) -> String {
    let second = Timestamp::from_second(at.as_second()).unwrap_or(at);
    second.to_string()
}

pub(crate) fn day(at: Timestamp) -> String {
    time(at).split('T').next().unwrap_or_default().to_owned()
}

/// How long ago a time was, or the day if it is more than a month ago.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - at.as_second();
    match seconds {
        ..0 => time(at),
        0..5 => "just now".into(),
        5..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..2_592_000 => format!("{} d ago", seconds / 86_400),
        _ => day(at),
    }
}

pub(crate) fn note_table(notes: &[Note]) -> String {
    let now = now();
    let rows = notes.iter().map(|note| {
        let text = format!("{}{}", note.trust().mark(), one_line(&note.text));
        [note.id.to_string(), text, one_line(&note.author), age(note.at, now)]
    });
    let header = [("NOTE", Fit), ("TEXT", Rest), ("AUTHOR", Percent(20)), ("WRITTEN", Fit)];
    table(header, rows)
}

pub(crate) fn entry_table(entries: &[EntryDocument]) -> String {
    let now = now();
    let rows = entries.iter().map(|entry| {
        let value = value_text(&entry.value);
        let mark = entry.metadata.trust.unwrap_or_default().mark();
        [
            entry.key.to_string(),
            // No screen shows more, so do not measure more.
            format!("{mark}{}", one_line(&clip(&value, usize::from(u16::MAX / 8)))),
            entry.version.to_string(),
            entry.metadata.importance.to_string(),
            entry.metadata.tags.join(" "),
            age(entry.metadata.at, now),
        ]
    });
    let header = [
        ("KEY", Percent(30)),
        ("VALUE", Rest),
        ("VERSION", Fit),
        ("IMPORTANCE", Fit),
        ("TAGS", Percent(15)),
        ("UPDATED", Fit),
    ];
    table(header, rows)
}

/// The width of a table's column.
#[derive(Clone, Copy)]
pub(crate) enum ColumnWidth {
    Fit,
    /// As wide as its content, up to this percentage of the table.
    Percent(u16),
    /// The remaining width.
    Rest,
}
pub(crate) use ColumnWidth::{Fit, Percent, Rest};

/// A table that fits the terminal's width by cutting long cells. Without a terminal, nothing is cut.
pub(crate) fn table<const N: usize>(
    header: [(&str, ColumnWidth); N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    rendered_table(&header, rows.into_iter().map(Row::from).collect())
}

/// A table, unless it has no rows.
pub(crate) fn table_unless_empty<const N: usize>(
    header: [(&str, ColumnWidth); N],
    rows: impl Iterator<Item = [String; N]>,
) -> Option<String> {
    let mut rows = rows.peekable();
    rows.peek().is_some().then(|| table(header, rows))
}

fn rendered_table(header: &[(&str, ColumnWidth)], rows: Vec<Row>) -> String {
    let terminal = told_width();
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(terminal.unwrap_or(u16::MAX));
    // Cut anywhere, not only between words: no cell contains this delimiter.
    table.set_delimiter('\u{0}').set_truncation_indicator("…").set_header(header.iter().map(|(title, _)| *title));
    for mut row in rows {
        row.max_height(1);
        table.add_row(row);
    }
    for (column, (_, width)) in table.column_iter_mut().zip(header) {
        column.set_padding((0, 2));
        match width {
            Percent(share) if terminal.is_some() => {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(*share)))
            }
            Rest if terminal.is_some() => column,
            _ => column.set_constraint(ColumnConstraint::ContentWidth),
        };
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    lines.join("\n")
}

pub(crate) fn warnings(info: &StoreInfo) -> Vec<String> {
    info.warnings.iter().map(|warning| format!("! {}", one_line(warning))).collect()
}

/// Wraps a text to the terminal's width, with a prefix on each line.
pub(crate) fn paragraph(before: &str, text: &str) -> Vec<String> {
    const LEAST: usize = 20;
    let room = usize::from(width()).saturating_sub(before.chars().count()).max(LEAST);
    let mut lines = Vec::new();
    for line in text.lines().map(one_line) {
        let mut shown = String::new();
        for word in line.split_whitespace() {
            if !shown.is_empty() && shown.chars().count() + 1 + word.chars().count() > room {
                lines.push(format!("{before}{shown}"));
                shown.clear();
            }
            if !shown.is_empty() {
                shown.push(' ');
            }
            shown.push_str(word);
        }
        if !shown.is_empty() {
            lines.push(format!("{before}{shown}"));
        }
    }
    lines
}

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

fn width() -> u16 {
    told_width().unwrap_or(WIDTH)
}

/// The width of the terminal, or $COLUMNS.
fn told_width() -> Option<u16> {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0);
    terminal.or_else(columns).map(|width: u16| width.max(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_json_keeps_strings_and_numbers() {
        for (json, expected) in [
            ("{ \"a b\" : [ 1 , 2.50 ] }", "{\"a b\":[1,2.50]}"),
            ("\"quote \\\" and \\\\\" ", "\"quote \\\" and \\\\\""),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("\n[\t]\r\n", "[]"),
        ] {
            assert_eq!(compact(json), expected);
        }
    }

    #[test]
    fn texts_are_escaped_and_clipped() {
        assert_eq!(one_line("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
        assert_eq!(clip("grün", 3), "grü…");
        assert_eq!(clip("grün", 4), "grün");
    }

    #[test]
    fn amounts_are_readable() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(64 * 1024 * 1024), "64.0 MiB");
        let now = Timestamp::from_second(1_000_000_000).unwrap();
        let ago = |seconds: i64| age(Timestamp::from_second(1_000_000_000 - seconds).unwrap(), now);
        assert_eq!(ago(0), "just now");
        assert_eq!(ago(59), "59 s ago");
        assert_eq!(ago(3600), "1 h ago");
        assert_eq!(ago(90 * 86_400), "2001-06-11");
        assert_eq!(ago(-1), "2001-09-09T01:46:41Z");
    }
}
