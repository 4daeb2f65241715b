//! Editors for the formats of settings files. An edit changes nothing but Corkboard's entries: comments, order and white
//! space of everything else stay.

mod json;
mod toml;
mod yaml;

use serde_json::Value;

use super::SERVER;
use super::entry::Item;
use super::file::Additions;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    /// JSON with comments and trailing commas.
    JsonWithComments,
    Toml,
    Yaml,
}

/// Why a file cannot be edited: the position, and the problem.
pub(super) type Edited<T> = Result<T, String>;

impl Format {
    /// The file's content.
    pub(super) fn read(self, text: &str) -> Edited<Value> {
        match self {
            Self::Json | Self::JsonWithComments => json::read(text, self),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }

    /// Adds what is missing, and replaces what differs.
    pub(super) fn add(self, text: &str, additions: &Additions) -> Edited<String> {
        match (self, &additions.server) {
            (Self::Json | Self::JsonWithComments, _) => json::add(text, self, additions),
            (Self::Toml, Some((section, entry))) => toml::add(text, section, entry),
            (Self::Yaml, Some((section, entry))) => yaml::add(text, section, entry),
            (Self::Toml | Self::Yaml, None) => Ok(text.to_owned()),
        }
    }

    /// Removes all of Corkboard's entries. A section that becomes empty goes too, unless it is in `kept`.
    pub(super) fn remove(self, text: &str, additions: &Additions, kept: &Value) -> Edited<String> {
        match (self, &additions.server) {
            (Self::Json | Self::JsonWithComments, _) => json::remove(text, self, additions, kept),
            (_, Some((section, _))) if !has_own_server(&self.read(text)?, section) => Ok(text.to_owned()),
            (Self::Toml, Some((section, _))) => toml::remove(text, section, kept),
            (Self::Yaml, Some((section, _))) => yaml::remove(text, section, kept),
            (Self::Toml | Self::Yaml, None) => Ok(text.to_owned()),
        }
    }
}

/// An item as JSON, for comparisons.
fn value_of(item: &Item) -> Value {
    match item {
        Item::Null => Value::Null,
        Item::Bool(value) => Value::Bool(*value),
        Item::Number(number) => number.parse::<u64>().map_or_else(|_| number.as_str().into(), Value::from),
        Item::String(text) => text.as_str().into(),
        Item::Array(items) => items.iter().map(value_of).collect(),
        Item::Object(fields) => fields.iter().map(|(name, item)| (name.clone(), value_of(item))).collect(),
    }
}

/// Whether the entry `cork` in a file's content runs `cork mcp` or names a server's `/mcp`. Another one belongs to
/// somebody else.
pub(super) fn has_own_server(content: &Value, section: &str) -> bool {
    let Some(entry) = server(content, section) else { return false };
    let texts = |name| match entry.get(name) {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        word => word.and_then(Value::as_str).into_iter().collect::<Vec<_>>(),
    };
    let words: Vec<&str> = ["command", "cmd", "args"].into_iter().flat_map(texts).collect();
    let mut urls = ["url", "httpUrl", "serverUrl", "uri"].into_iter().flat_map(texts);
    words.get(1) == Some(&"mcp") || urls.any(|url| url.ends_with("/mcp"))
}

/// The entry `cork` in a file's content.
fn server<'a>(content: &'a Value, section: &str) -> Option<&'a Value> {
    content.get(section)?.get(SERVER)
}

fn not_an_object(section: &str) -> String {
    format!("{section} is not an object")
}

/// Whether a file's content has a hook that runs `cork hook`.
pub(super) fn has_own_hook(content: &Value) -> bool {
    let events = content.get("hooks").and_then(Value::as_object);
    let mut hooks = events.into_iter().flat_map(|events| events.values()).filter_map(Value::as_array).flatten();
    hooks.any(|hook| {
        let group = hook.get("hooks").and_then(Value::as_array);
        json::is_own(hook) || group.is_some_and(|group| group.iter().any(json::is_own))
    })
}
