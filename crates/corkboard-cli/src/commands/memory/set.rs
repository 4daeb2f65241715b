//! `cork memory set`.

use clap::Args;
use corkboard::{Content, EntryMetadata, Error, Limits, MemoryKind, WrittenEntry, json_error};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::command_session::Session;
use crate::conditions::EntryConditions;
use crate::core_args::{TrustArguments, usually_agent};
use crate::error::CliError;
use crate::output::compact;
use crate::scope_argument::ScopeArgument;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{memory_kind, moment_argument, object_argument, text_argument, time_argument};

/// Store a value under a key
///
/// A value that parses as JSON is stored as JSON, anything else as text: `5` is a number, `five` is text. Replaces the
/// earlier value and its metadata. Prints the entry's new version.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory set user_name Ada
  cork memory set plan '{\"steps\":[\"schema\",\"routes\"]}' --importance 0.9 --tag project
  cork memory set zip 12345 --string            # without --string, it is a number
  git diff | cork memory set last_diff --string -
  curl -s https://example.org | cork memory set page --string - --trust outside
  cork memory set counter 43 --if-version 42    # fails if someone else changed it
  cork memory set counter 1 --if-version 0      # fails if it exists")]
pub(crate) struct Set {
    /// Name of the entry
    key: String,

    /// JSON or text; - reads stdin
    #[arg(allow_hyphen_values = true, value_parser = text_argument)]
    value: String,

    /// Store the value as text, even if it is valid JSON
    #[arg(long)]
    string: bool,

    #[command(flatten)]
    scope: ScopeArgument,

    #[command(flatten)]
    metadata: Metadata,

    #[command(flatten)]
    conditions: EntryConditions,
}

#[derive(Args)]
#[command(next_help_heading = "Metadata", mut_arg("trust", usually_agent))]
struct Metadata {
    /// Importance from 0 (trivial) to 1 (vital) [default: 0.5]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    importance: Option<f32>,

    /// Tag to search and filter by; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Kind of memory [default: fact]
    #[arg(long, value_parser = memory_kind())]
    kind: Option<MemoryKind>,

    /// Expire after this many days
    #[arg(long, value_name = "DAYS", conflicts_with = "expires_at")]
    expiry_days: Option<u32>,

    /// Expire at this time, such as 2030-12-31T23:59:59Z, or after a duration such as 30d
    #[arg(long, value_name = "WHEN", value_parser = moment_argument)]
    expires_at: Option<Timestamp>,

    /// Custom metadata, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object_argument)]
    custom: Option<Map<String, Value>>,

    /// Original author, if not you
    #[arg(long, value_name = "NAME")]
    author: Option<String>,

    /// ID of the session in which this was learned; search ranks entries of one session together
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Time of the memory, if not now, such as 2025-12-31T23:59:59Z
    #[arg(long, value_name = "TIME", value_parser = time_argument)]
    at: Option<Timestamp>,

    #[command(flatten)]
    trust: TrustArguments,
}

impl From<Metadata> for EntryMetadata {
    fn from(given: Metadata) -> Self {
        Self {
            importance: given.importance,
            tags: (!given.tags.is_empty()).then_some(given.tags),
            kind: given.kind,
            expiry_days: given.expiry_days,
            expires_at: given.expires_at,
            custom: given.custom,
            author: given.author,
            session: given.session,
            at: given.at,
            trust: given.trust.said(),
        }
    }
}

impl Set {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let memory = self.scope.find(session).await?;
        let text = text_or_stdin(self.value)?;
        let value = if self.string { of_text(&self.key, &text)? } else { read(&self.key, &text)? };
        let set = memory.set(&self.key, &value).type_name("json").metadata(self.metadata.into());
        let written = set.conditions(&self.conditions).await?;
        let warning = if self.string { None } else { invalid_json(&text) };
        if let Some(warning) = &warning {
            session.output.warn(&format!("warning: {warning}"));
        }
        tell_with(session, &self.key, written, warning)
    }
}

/// Prints the version that a write created.
pub(super) fn tell(session: &Session, key: &str, written: WrittenEntry) -> Result<(), CliError> {
    tell_with(session, key, written, None)
}

fn tell_with(session: &Session, key: &str, written: WrittenEntry, warning: Option<String>) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Answer<'a> {
        key: &'a str,
        #[serde(flatten)]
        written: WrittenEntry,
        #[serde(skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    }
    session.output.answer(&Answer { key, written, warning }, || format!("version {}", written.version))
}

/// A warning if a text starts like JSON but is not valid JSON.
fn invalid_json(text: &str) -> Option<String> {
    let error = serde_json::from_str::<Value>(text).err().filter(|_| text.trim_start().starts_with(['{', '[']))?;
    let why = json_error::describe("the value", text.as_bytes(), &error);
    Some(format!("stored as text, because {why}; use --string to store text without this warning"))
}

/// Parses the text as JSON, or else takes it as text.
fn read(key: &str, text: &str) -> Result<Content, CliError> {
    // Parse it as a value first: raw JSON accepts numbers out of range and unpaired surrogates, which no value can hold.
    match serde_json::from_str::<Value>(text) {
        Ok(_) => Content::from_json(&compact(text)).map_err(|error| unwritable(key, &error)),
        Err(_) => match Content::from_json(&compact(text)) {
            // Valid JSON, but nested too deeply to parse. Keep it as JSON, so that the limit refuses it.
            Ok(content) if content.depth() > Limits::MOST_JSON_DEPTH => Ok(content),
            _ => of_text(key, text),
        },
    }
}

fn of_text(key: &str, text: &str) -> Result<Content, CliError> {
    Content::of(text).map_err(|error| unwritable(key, &error))
}

fn unwritable(key: &str, error: &serde_json::Error) -> CliError {
    CliError::Library(Error::Serialize { key: key.into(), message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_if_it_parses() {
        for (text, expected) in [
            ("5", "5"),
            ("-5", "-5"),
            ("true", "true"),
            ("null", "null"),
            (" [1, 2] ", "[1,2]"),
            ("\"quoted\"", "\"quoted\""),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("{\"b\": 1,\n \"a\": 1.50}", "{\"b\":1,\"a\":1.50}"),
            ("five", "\"five\""),
            ("007", "\"007\""),
            ("", "\"\""),
            ("{not json}", "\"{not json}\""),
            ("1e999", "\"1e999\""),
            ("\"\\ud800\"", "\"\\\"\\\\ud800\\\"\""),
            ("NaN", "\"NaN\""),
            ("two\nlines", "\"two\\nlines\""),
        ] {
            assert_eq!(read("key", text).unwrap().as_json(), expected, "{text}");
        }
    }
}
