//! Commands to a memory core and the answers to them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CoreEdit, CoreEntryId, CoreForget, CoreImage, NewCoreEntry, Withdrawal};

/// A command to a memory core.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreCommand {
    /// Adds entries: all of them, or none. An entry with the text of an existing one is merged into it.
    Add { entries: Vec<NewCoreEntry> },
    /// Removes entries and adds others, in one revision: all of them, or none. Removed entries cannot be restored.
    Exchange { remove: Vec<CoreEntryId>, add: Vec<NewCoreEntry> },
    /// Changes an entry.
    Edit {
        entry: CoreEntryId,
        edit: Box<CoreEdit>,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Forgets an entry. It can be restored.
    Forget {
        entry: CoreEntryId,
        reason: Option<String>,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Restores a forgotten entry.
    Restore {
        entry: CoreEntryId,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Withdraws entries by their origin. An entry that also has other origins stays, without this one.
    Withdraw {
        /// The origin to withdraw.
        of: Withdrawal,
    },
    /// Removes entries permanently. The process that decides this then removes their texts from the log.
    ForgetHard { forget: CoreForget },
    /// Removes all entries, including forgotten ones. Their IDs are not reused.
    Clear,
    /// Replaces the whole core.
    Replace {
        /// The new content.
        image: Box<CoreImage>,
    },
    /// Expires due entries, as every command does first.
    Tick,
}

/// The answer to a [`CoreCommand`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreReply {
    /// The answer to `Add` and `Exchange`, in the order of the added entries.
    Added {
        /// The entries that contain the added texts.
        entries: Vec<Added>,
    },
    /// The answer to `Edit`, `Forget` and `Restore`.
    Changed {
        /// The new version of the entry.
        version: u64,
    },
    /// The answer to `Withdraw`.
    Withdrawn {
        /// The number of removed entries.
        removed: u64,
        /// The number of entries that stay because they have other origins.
        kept: u64,
        /// The number of other authors' entries that are now forgotten, because the withdrawn author changed their
        /// text. They can be restored.
        #[serde(default)]
        forgotten: u64,
    },
    /// The answer to `Clear` and `ForgetHard`.
    Cleared {
        /// The number of removed entries, including forgotten ones.
        entries: u64,
    },
    /// The answer to all other commands.
    Done,
}

/// The result of adding one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Added {
    /// The entry that contains the text.
    pub id: CoreEntryId,
    /// How the text was added.
    pub how: AddedHow,
}

/// How a text was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AddedHow {
    /// A new entry was created.
    New,
    /// An existing entry had this text.
    Merged,
    /// A forgotten entry had this text and was restored.
    Restored,
}
