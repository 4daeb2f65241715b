//! Changes to several entries in one request, as one JSON document or as JSON lines.

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use corkboard::{Content, EntryChange, EntryMetadata, Key, Limits, Separator, Strict, json_error};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::error::{BODY_JSON, HttpError};
use crate::extract::{Raw, from_json, in_range, text};
use crate::parameters::body_ranges;

/// Changes to entries, applied in order. Each sees the result of those before.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchBody {
    /// The changes.
    entries: Vec<BatchLine>,
}

/// A change to one entry, with exactly one of these fields: `value` stores a value, `append` adds text, `remove`
/// deletes the entry, `rename_to` changes its key.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BatchLine {
    /// Key of the entry.
    key: String,
    /// Value to store: any JSON, including `null`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Content>)]
    value: Option<Content>,
    /// Metadata of the value.
    metadata: Option<EntryMetadata>,
    /// Text to append.
    append: Option<String>,
    /// Separator before the appended text.
    separator: Option<Separator>,
    /// `true` removes the entry if it exists.
    #[serde(default)]
    remove: bool,
    /// New key of the entry. No entry may exist under it.
    rename_to: Option<String>,
    /// Version that the entry must have; 0 means that it must not exist.
    if_version: Option<u64>,
}

/// Deserializes `null` as a value that is present.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Content>, D::Error> {
    Content::deserialize(deserializer).map(Some)
}

impl BatchLine {
    fn change(self, limits: &Limits) -> Result<EntryChange, HttpError> {
        let Self { key, value, metadata, append, separator, remove, rename_to, if_version } = self;
        let name = key;
        let key = Key::new(&name, limits)?;
        let wrong = |words: &str| Err(HttpError::invalid("batch", format!("invalid change of {name:?}: {words}")));
        if metadata.is_some() && value.is_none() {
            return wrong("`metadata` is only allowed with `value`");
        }
        if separator.is_some() && append.is_none() {
            return wrong("`separator` is only allowed with `append`");
        }
        Ok(match (value, append, remove, rename_to) {
            (Some(value), None, false, None) => {
                let (type_name, metadata) = ("json".into(), Box::new(metadata.unwrap_or_default()));
                EntryChange::Set { key, value, type_name, metadata, if_version }
            }
            (None, Some(text), false, None) => {
                EntryChange::Append { key, text, separator: separator.unwrap_or_default(), if_version }
            }
            (None, None, true, None) => EntryChange::Remove { key, if_version },
            (None, None, false, Some(to)) if if_version.is_none() => {
                EntryChange::Move { from: key, to: Key::new(&to, limits)? }
            }
            (None, None, false, Some(_)) => return wrong("`rename_to` cannot be combined with `if_version`"),
            _ => return wrong("send exactly one of `value`, `append`, `remove` and `rename_to`"),
        })
    }
}

pub(super) struct EntryBatch {
    lines: Vec<BatchLine>,
}

impl EntryBatch {
    /// Converts the changes to those of the library.
    pub(super) fn changes(self, limits: &Limits) -> Result<Vec<EntryChange>, HttpError> {
        self.lines.into_iter().map(|line| line.change(limits)).collect()
    }
}

impl<S: Send + Sync> FromRequest<S> for EntryBatch {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let content_type = text(request.headers(), CONTENT_TYPE.as_str())?.unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let ranges = body_ranges(&request);
        let Raw(bytes) = Raw::from_request(request, state).await?;
        match essence.as_str() {
            "application/json" => {
                let BatchBody { entries } = in_range(from_json(&bytes), &bytes, ranges)?;
                Ok(Self { lines: entries })
            }
            "application/x-ndjson" | "application/jsonl" => Ok(Self { lines: lines(&bytes)? }),
            _ => {
                let detail = "invalid Content-Type: must be application/json or application/x-ndjson";
                Err(HttpError::invalid("content_type", detail).status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
            }
        }
    }
}

/// Parses one change per line and skips blank lines.
fn lines(bytes: &[u8]) -> Result<Vec<BatchLine>, HttpError> {
    let numbered = (1u64..).zip(bytes.split(|byte| *byte == b'\n'));
    let said = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    said.map(|(number, line)| {
        let read = serde_json::from_slice::<Strict<_>>(line);
        read.map(|Strict(change)| change).map_err(|error| {
            HttpError::invalid(BODY_JSON, json_error::describe_line(number, line, &error))
                .with("line", Some(number.into()))
        })
    })
    .collect()
}
