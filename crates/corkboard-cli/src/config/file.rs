//! The settings file, in TOML.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::RawSetting;
use crate::error::CliError;

const MOST_BYTES: u64 = 1024 * 1024;

pub(super) struct FileSetting {
    pub(super) key: String,
    pub(super) given: RawSetting,
    pub(super) line: usize,
}

/// All settings of a file, sorted by name.
pub(super) fn read(path: &Path) -> Result<Vec<FileSetting>, CliError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        CliError::invalid("config", format!("cannot read settings file {}: {error}", path.display()))
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(&error))?.len();
    if length > MOST_BYTES {
        return Err(unreadable(&format!("it has {length} bytes; the maximum is {MOST_BYTES}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    let line_at = |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
    let table = DeTable::parse(&text).map_err(|error| {
        // Use only the message: the error's full text quotes the line, which may contain a password.
        let line = error.span().map_or(1, |span| line_at(span.start));
        let message = match text.lines().nth(line - 1).and_then(key_without_value) {
            Some(key) => format!("{key} has no value"),
            None => error.message().to_owned(),
        };
        CliError::invalid("config", format!("{}:{line}: {message}", path.display()))
    })?;
    let mut entries = Vec::new();
    collect(table.get_ref(), "", &line_at, &mut entries);
    Ok(entries)
}

/// The key of a line that ends after the equals sign.
fn key_without_value(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    let is_missing = value.trim_start().is_empty() || value.trim_start().starts_with('#');
    Some(key.trim()).filter(|_| is_missing)
}

fn collect(table: &DeTable<'_>, prefix: &str, line_at: &impl Fn(usize) -> usize, entries: &mut Vec<FileSetting>) {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        if let DeValue::Table(inner) = value.get_ref()
            && !inner.is_empty()
        {
            collect(inner, &format!("{key}."), line_at, entries);
            continue;
        }
        entries.push(FileSetting { key, given: given(value.get_ref()), line: line_at(name.span().start) });
    }
}

fn given(value: &DeValue<'_>) -> RawSetting {
    let other = || RawSetting::Other(format!("a TOML {}", value.type_str()));
    match value {
        DeValue::String(text) => RawSetting::Text(text.to_string()),
        DeValue::Integer(number) => {
            let read = u64::from_str_radix(number.as_str(), number.radix());
            read.map_or_else(|_| RawSetting::Other(number.to_string()), RawSetting::Integer)
        }
        DeValue::Boolean(is_on) => RawSetting::Switch(*is_on),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(ToOwned::to_owned));
            texts.collect::<Option<_>>().map_or_else(other, RawSetting::List)
        }
        DeValue::Float(number) => RawSetting::Other(number.to_string()),
        DeValue::Datetime(_) | DeValue::Table(_) => other(),
    }
}
