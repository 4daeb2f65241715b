//! TOML.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item as TomlItem, Table, Value as TomlValue};

use super::{Edited, SERVER, not_an_object, server, value_of};
use crate::setup::entry::Item;

pub(super) fn read(text: &str) -> Edited<Value> {
    parse(text)?;
    ::toml::from_str(text).map_err(|error| error.message().to_owned())
}

fn parse(text: &str) -> Edited<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {}, column {column}: {}", before.matches('\n').count() + 1, error.message())
    })
}

pub(super) fn add(text: &str, section: &str, entry: &Item) -> Edited<String> {
    let content = read(text)?;
    if server(&content, section) == Some(&value_of(entry)) {
        return Ok(text.to_owned());
    }
    // A table at the end leaves every other byte as it is. It is not possible next to an inline table.
    let appended = appended(text, section, entry);
    if server(&content, section).is_none() && parse(&appended).is_ok() {
        return Ok(appended);
    }
    let mut document = parse(text)?;
    let servers = document.entry(section).or_insert_with(implicit_table);
    let servers = servers.as_table_like_mut().ok_or_else(|| not_an_object(section))?;
    let mut entry = table(entry);
    // The lines above a table belong to it.
    if let Some(current) = servers.get(SERVER).and_then(TomlItem::as_table) {
        *entry.decor_mut() = current.decor().clone();
        entry.set_position(current.position());
    }
    servers.insert(SERVER, TomlItem::Table(entry));
    Ok(with_line_ends_of(text, &document.to_string()))
}

pub(super) fn remove(text: &str, section: &str, kept: &Value) -> Edited<String> {
    let others = |text: &str| read(text).ok().map(|content| without_server(content, section));
    if let Some(left) = without_table(text, section)
        && others(&left) == others(text)
        && server(&read(&left)?, section).is_none()
    {
        return Ok(left);
    }
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(section).and_then(TomlItem::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove(SERVER).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() && kept.get(section).is_none() {
        document.remove(section);
    }
    Ok(with_line_ends_of(text, &document.to_string()))
}

fn without_server(mut content: Value, section: &str) -> Value {
    if let Some(servers) = content.get_mut(section).and_then(Value::as_object_mut) {
        servers.remove(SERVER);
        if servers.is_empty() {
            content.as_object_mut().map(|top| top.remove(section));
        }
    }
    content
}

/// The text without the lines of the server's table. What is above and below it stays, except for one blank line.
fn without_table(text: &str, section: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let own = ["]", "."].map(|end| format!("[{section}.{SERVER}{end}"));
    let is_own = |line: &&str| own.iter().any(|begin| line.starts_with(begin));
    let first = lines.iter().position(is_own)?;
    let (before, rest) = lines.split_at(first);
    let length = rest.iter().position(|line| line.starts_with('[') && !is_own(line)).unwrap_or(rest.len());
    let is_content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let length = rest.get(..length)?.iter().rposition(is_content)? + 1;
    let blank = usize::from(before.last().is_some_and(|line| line.trim().is_empty()));
    lines.drain(first - blank..first + length);
    Some(lines.concat())
}

fn appended(text: &str, section: &str, entry: &Item) -> String {
    let mut document = DocumentMut::new();
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(SERVER, TomlItem::Table(table(entry)));
    document.insert(section, TomlItem::Table(servers));
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let blank = if text.trim().is_empty() { "" } else { "\n" };
    let added = with_line_ends_of(text, &[line_end, blank, &document.to_string()].concat());
    [text, &added].concat()
}

fn implicit_table() -> TomlItem {
    let mut table = Table::new();
    table.set_implicit(true);
    TomlItem::Table(table)
}

fn table(entry: &Item) -> Table {
    let mut table = Table::new();
    if let Item::Object(fields) = entry {
        fields.iter().for_each(|(name, item)| {
            table.insert(name, TomlItem::Value(value(item)));
        });
    }
    table
}

fn value(item: &Item) -> TomlValue {
    match item {
        Item::Null => "".into(),
        Item::Bool(value) => (*value).into(),
        Item::Number(number) => number.parse::<i64>().unwrap_or_default().into(),
        Item::String(text) => text.as_str().into(),
        Item::Array(items) => items.iter().map(value).collect::<Array>().into(),
        Item::Object(fields) => {
            fields.iter().map(|(name, item)| (name.as_str(), value(item))).collect::<InlineTable>().into()
        }
    }
}

/// The editor writes all lines with a bare line feed.
fn with_line_ends_of(text: &str, edited: &str) -> String {
    if text.contains("\r\n") { edited.replace('\n', "\r\n") } else { edited.to_owned() }
}
