//! What can happen to a memory core. These are stored: a field may be added with a default, never changed or removed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CoreEdit, CoreEntryData, CoreEntryId, CoreImage, Provenance};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreEvent {
    /// An entry was added.
    EntryAdded {
        id: CoreEntryId,
        /// What is known about it.
        entry: Box<CoreEntryData>,
    },
    /// What an entry says was learned once more.
    EntryMerged {
        id: CoreEntryId,
        /// What is known about it, less the text.
        entry: Box<CoreEntryData>,
    },
    /// An entry was changed.
    EntryEdited {
        id: CoreEntryId,
        edit: Box<CoreEdit>,
        /// Its origins, if the change is about them.
        #[serde(default)]
        provenance: Option<Vec<Provenance>>,
        /// Whether whoever changed it vouches for it as it is now.
        #[serde(default)]
        vouched: bool,
    },
    /// An entry was forgotten, and can be restored.
    EntryForgotten {
        id: CoreEntryId,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// An entry is back.
    EntryRestored { id: CoreEntryId },
    /// What an entry had from somewhere was taken back.
    EntryWithdrawn {
        id: CoreEntryId,
        /// The origins that are left. Without any, the entry is gone.
        #[serde(default)]
        provenance: Vec<Provenance>,
    },
    /// An entry expired, and is gone.
    EntryExpired { id: CoreEntryId },
    /// All entries are gone.
    Cleared {
        /// How many there were.
        entries: u64,
    },
    /// Everything was replaced.
    Replaced { image: Box<CoreImage> },
}
