//! What can be asked of a memory core, and what is answered.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CoreEdit, CoreEntryId, CoreImage, NewCoreEntry, Withdrawal};

/// A command to a memory core.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreCommand {
    /// Adds entries: all of them, or none. What an entry says already is merged into that one.
    Add { entries: Vec<NewCoreEntry> },
    /// Changes an entry.
    Edit {
        entry: CoreEntryId,
        edit: Box<CoreEdit>,
        /// The version that it must be at.
        if_version: Option<u64>,
    },
    /// Forgets an entry, so that it can be restored.
    Forget {
        entry: CoreEntryId,
        reason: Option<String>,
        /// The version that it must be at.
        if_version: Option<u64>,
    },
    /// Brings back an entry that was forgotten.
    Restore {
        entry: CoreEntryId,
        /// The version that it must be at.
        if_version: Option<u64>,
    },
    /// Takes out what came from somewhere. An entry that came from elsewhere as well stays, without that origin.
    Withdraw {
        /// What came from where.
        of: Withdrawal,
    },
    /// Removes all entries, the forgotten ones included. Their numbers stay used.
    Clear,
    /// Replaces everything.
    Replace {
        /// What it is replaced with.
        image: Box<CoreImage>,
    },
    /// Expires what is due, as every command does first.
    Tick,
}

/// The answer to a [`CoreCommand`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreReply {
    /// To `Add`, in the order of what was added.
    Added {
        /// The entries that say it now.
        entries: Vec<Added>,
    },
    /// To `Edit`, `Forget` and `Restore`.
    Changed {
        /// The version that the entry has now.
        version: u64,
    },
    /// To `Withdraw`.
    Withdrawn {
        /// How many entries went.
        removed: u64,
        /// How many entries stay, without an origin.
        kept: u64,
        /// How many entries of others are forgotten, because their text was changed. They can be restored.
        #[serde(default)]
        forgotten: u64,
    },
    /// To `Clear`.
    Cleared {
        /// How many entries went, the forgotten ones included.
        entries: u64,
    },
    /// To everything else.
    Done,
}

/// What became of an entry that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Added {
    /// The entry that says it now.
    pub id: CoreEntryId,
    /// How that came.
    pub how: AddedHow,
}

/// How an entry came to say what was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AddedHow {
    /// It is new.
    New,
    /// It said so before.
    Merged,
    /// It said so before and had been forgotten: it is back.
    Restored,
}
