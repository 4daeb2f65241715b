//! The events of a memory core. They are stored: fields may be added with a default, but never changed or removed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CoreEdit, CoreEntryData, CoreEntryId, CoreImage, Provenance};

/// An event of a memory core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreEvent {
    /// An entry was added.
    EntryAdded {
        id: CoreEntryId,
        /// The entry.
        entry: Box<CoreEntryData>,
    },
    /// The text of an existing entry was added again.
    EntryMerged {
        id: CoreEntryId,
        /// The added entry, without its text.
        entry: Box<CoreEntryData>,
    },
    /// An entry was changed.
    EntryEdited {
        id: CoreEntryId,
        edit: Box<CoreEdit>,
        /// The new origins, if they change.
        #[serde(default)]
        provenance: Option<Vec<Provenance>>,
        /// Whether the editor vouches for the new form of the entry.
        #[serde(default)]
        vouched: bool,
    },
    /// An entry was forgotten. It can be restored.
    EntryForgotten {
        id: CoreEntryId,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// A forgotten entry was restored.
    EntryRestored { id: CoreEntryId },
    /// An origin of an entry was withdrawn.
    EntryWithdrawn {
        id: CoreEntryId,
        /// The remaining origins. If there are none, the entry is removed.
        #[serde(default)]
        provenance: Vec<Provenance>,
    },
    /// An entry was forgotten permanently and removed. The revisions before this one no longer contain its texts.
    #[serde(alias = "entry_erased")]
    EntryForgottenHard { id: CoreEntryId },
    /// An entry expired and was removed.
    EntryExpired { id: CoreEntryId },
    /// All entries were removed.
    Cleared {
        /// The number of removed entries.
        entries: u64,
    },
    /// The whole core was replaced.
    Replaced { image: Box<CoreImage> },
}
