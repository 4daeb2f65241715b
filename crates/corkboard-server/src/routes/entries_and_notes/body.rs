//! Bodies of requests and responses for entries and notes.

use corkboard::cores::Trust;
use corkboard::{Content, EntryMetadata, Separator};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A value to store.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct EntryBody {
    /// Any JSON value.
    pub(super) value: Content,
    /// Metadata, which replaces all earlier metadata of the entry.
    #[serde(default)]
    pub(super) metadata: EntryMetadata,
}

/// Text to append to an entry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct AppendBody {
    /// The text.
    pub(super) text: String,
    /// Separator before the text: `none`, or `line` for a line break unless the entry is empty.
    #[serde(default)]
    pub(super) separator: Separator,
}

/// A note to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct NoteBody {
    /// Text of the note.
    pub(super) text: String,
    /// Trust level: `outside` if it came from a web page, a tool or an untrusted person. Callers cannot set a higher
    /// level than their own.
    pub(super) trust: Option<Trust>,
}

/// Result of a batch.
#[derive(Serialize, ToSchema)]
#[schema(as = EntriesChangedBody)]
pub(in crate::routes) struct ChangedBody {
    /// Version of the entries that the batch wrote.
    pub(super) version: u64,
    /// Number of changes.
    pub(super) changes: u64,
}
