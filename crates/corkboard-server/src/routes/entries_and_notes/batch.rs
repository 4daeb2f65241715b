//! Several changes in one request: as one JSON document, or as JSON lines.

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use corkboard::{Content, EntryChange, EntryMetadata, Key, Limits, Separator, Strict};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::error::{BODY_JSON, HttpError};
use crate::extract::{Raw, from_json, text};

/// Changes of entries, in order: each is decided on the result of those before.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchBody {
    /// The changes.
    entries: Vec<BatchLine>,
}

/// One change of an entry. What is done to it is what is given: `value` stores, `append` adds text, `remove` removes,
/// `rename_to` gives it another key. Exactly one of them is given.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BatchLine {
    /// Which entry.
    key: String,
    /// A value to be stored: any JSON, `null` too.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Content>)]
    value: Option<Content>,
    /// What is to be known about the value.
    metadata: Option<EntryMetadata>,
    /// A text to be added at the end of what is there.
    append: Option<String>,
    /// What stands between the two texts.
    separator: Option<Separator>,
    /// `true`: the entry is to be removed, if it is there.
    #[serde(default)]
    remove: bool,
    /// Another key for the entry, under which there must be nothing.
    rename_to: Option<String>,
    /// The version that the entry must be at; 0: it must not exist.
    if_version: Option<u64>,
}

/// A value that is given is one, whatever it is.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Content>, D::Error> {
    Content::deserialize(deserializer).map(Some)
}

impl BatchLine {
    fn change(self, limits: &Limits) -> Result<EntryChange, HttpError> {
        let Self { key, value, metadata, append, separator, remove, rename_to, if_version } = self;
        let name = key;
        let key = Key::new(&name, limits)?;
        let wrong = |words: &str| Err(HttpError::invalid("batch", format!("the change of {name:?}: {words}")));
        if metadata.is_some() && value.is_none() {
            return wrong("metadata belongs to a value");
        }
        if separator.is_some() && append.is_none() {
            return wrong("separator belongs to append");
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
            (None, None, false, Some(_)) => return wrong("rename_to takes no if_version"),
            _ => return wrong("give exactly one of value, append, remove and rename_to"),
        })
    }
}

/// The changes of a request.
pub(super) struct EntryBatch {
    lines: Vec<BatchLine>,
}

impl EntryBatch {
    /// The changes as the library takes them.
    pub(super) fn changes(self, limits: &Limits) -> Result<Vec<EntryChange>, HttpError> {
        self.lines.into_iter().map(|line| line.change(limits)).collect()
    }
}

impl<S: Send + Sync> FromRequest<S> for EntryBatch {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let content_type = text(request.headers(), CONTENT_TYPE.as_str())?.unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let Raw(bytes) = Raw::from_request(request, state).await?;
        match essence.as_str() {
            "application/json" => {
                let BatchBody { entries } = from_json(&bytes)?;
                Ok(Self { lines: entries })
            }
            "application/x-ndjson" | "application/jsonl" => Ok(Self { lines: lines(&bytes)? }),
            _ => {
                let detail = "a batch is application/json or application/x-ndjson";
                Err(HttpError::invalid("content_type", detail).status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
            }
        }
    }
}

/// A change per line; blank lines are passed over.
fn lines(bytes: &[u8]) -> Result<Vec<BatchLine>, HttpError> {
    let numbered = (1u64..).zip(bytes.split(|byte| *byte == b'\n'));
    let said = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    said.map(|(number, line)| {
        let read = serde_json::from_slice::<Strict<_>>(line);
        read.map(|Strict(change)| change).map_err(|error| {
            // The parser counts lines within what it is given: that is one.
            let detail = format!("in line {number}: {error}");
            HttpError::invalid(BODY_JSON, detail).with("line", Some(number.into()))
        })
    })
    .collect()
}
