//! Bodies of requests and answers.

use corkboard::cores::Trust;
use corkboard::{Content, EntryMetadata, Separator};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is to be stored.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct EntryBody {
    /// Any JSON value.
    pub(super) value: Content,
    /// What is to be known about it. It replaces what was known.
    #[serde(default)]
    pub(super) metadata: EntryMetadata,
}

/// Text to be added at the end of a text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct AppendBody {
    /// The text.
    pub(super) text: String,
    /// What stands between the two: `none`, or `line` for a new line unless the text is the first.
    #[serde(default)]
    pub(super) separator: Separator,
}

/// A note to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct NoteBody {
    /// What it says.
    pub(super) text: String,
    /// How far it may be trusted: `outside` for what came from a web page, a tool or a stranger. Nobody can give more than
    /// they have.
    pub(super) trust: Option<Trust>,
}

/// What a batch did.
#[derive(Serialize, ToSchema)]
#[schema(as = PlaceChangedBody)]
pub(in crate::routes) struct ChangedBody {
    /// The version that what it wrote has now.
    pub(super) version: u64,
    /// How many changes there were.
    pub(super) changes: u64,
}
