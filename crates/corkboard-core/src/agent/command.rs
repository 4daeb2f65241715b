//! Commands to an agent's memory and the answers to them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{AgentImage, Forget};
use crate::knowledge::Trust;
use crate::notebook::{Block, NotebookContent, NotebookLearningId, SnippetId, UnknownIds};
use crate::{Content, ConversationId, EntryData, EntryMetadata, Key, Note, NoteId, NotebookName, ScopeId, ScopeName};

/// A command to an agent's memory. `if_version` is the version that the entry must have; 0 means "must not exist".
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentCommand {
    /// Stores a value, replacing the old one.
    Set {
        scope: ScopeId,
        key: Key,
        value: Content,
        /// The type of the value.
        type_name: Arc<str>,
        /// Metadata given by the caller.
        metadata: Box<EntryMetadata>,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Appends text to a text value, or creates one.
    Append {
        scope: ScopeId,
        key: Key,
        text: String,
        /// Written between the old text and the new.
        separator: Separator,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Removes an entry.
    Remove {
        scope: ScopeId,
        key: Key,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Changes several entries of a scope in one revision: all of them, or none.
    Batch {
        scope: ScopeId,
        /// The changes, in order. Each is decided on the result of the previous ones.
        changes: Vec<EntryChange>,
    },
    /// Removes a scope's entries and notes.
    Clear { scope: ScopeId },
    /// Adds a note.
    AddNote {
        scope: ScopeId,
        text: String,
        /// How far the note can be trusted. Callers cannot give more trust than they have.
        trust: Option<Trust>,
    },
    /// Removes a note.
    RemoveNote { scope: ScopeId, id: NoteId },
    /// Creates a scope.
    CreateScope {
        name: ScopeName,
        /// The scope that reads fall back to.
        parent: ScopeId,
        /// Where the parent is stored.
        parent_kept: ParentLocation,
    },
    /// Copies a scope's entries, and its notes that were not merged yet, to the parent in the same state.
    MergeScope {
        scope: ScopeId,
        /// Whether to replace entries that the parent already has.
        overwrite: bool,
    },
    /// Merges entries and notes from a scope that is stored elsewhere.
    Absorb {
        /// The scope that receives them.
        scope: ScopeId,
        entries: Vec<(Key, EntryData)>,
        /// The notes. They get new IDs.
        notes: Vec<Note>,
        /// Whether to replace entries that the scope already has.
        overwrite: bool,
    },
    /// Records that a scope's notes up to this one were merged into a parent that is stored elsewhere.
    MarkMerged {
        scope: ScopeId,
        /// The last merged note.
        notes: NoteId,
    },
    /// Disposes a scope and its descendants.
    DisposeScope { scope: ScopeId },
    /// Applies a block to a notebook: all of it, or nothing. Creates the notebook if needed.
    UpdateNotebook {
        notebook: NotebookName,
        block: Box<Block>,
        /// What to do with IDs that the notebook does not have.
        unknown_ids: UnknownIds,
        /// The version that the notebook must have.
        if_version: Option<u64>,
    },
    /// Restores a notebook to an earlier revision. Items that were added since are archived.
    RestoreNotebook {
        notebook: NotebookName,
        /// The content at that revision.
        content: Box<NotebookContent>,
        /// The version that the notebook must have.
        if_version: Option<u64>,
    },
    /// Empties a notebook, including archived items. Its IDs are not reused.
    ClearNotebook { notebook: NotebookName },
    /// Clears the root scope and the notebooks, and disposes the other scopes.
    ClearAll,
    /// Replaces the whole memory.
    Restore {
        /// The new content.
        image: Box<AgentImage>,
    },
    /// Removes data from every scope, before it is removed from the log.
    Forget { forget: Forget },
    /// Expires due items, as every command does first.
    Tick,
    /// Runs a command in a conversation's scope, which is created if necessary and renewed. Only the process that
    /// stores the conversation creates this command: it cannot be sent.
    #[serde(skip)]
    Converse {
        conversation: ConversationId,
        scope: ScopeId,
        /// Milliseconds after which an unused conversation expires.
        idle_ms: u64,
        /// The command to run in the scope.
        command: Box<AgentCommand>,
    },
}

impl AgentCommand {
    /// The scope, if the command only changes entries or notes of one scope.
    pub fn changed_scope(&self) -> Option<ScopeId> {
        match self {
            Self::Set { scope, .. }
            | Self::Append { scope, .. }
            | Self::Remove { scope, .. }
            | Self::Batch { scope, .. }
            | Self::Clear { scope }
            | Self::AddNote { scope, .. }
            | Self::RemoveNote { scope, .. } => Some(*scope),
            _ => None,
        }
    }
}

/// One change of an [`AgentCommand::Batch`]. An entry that an earlier change of the batch wrote already has the version
/// that the batch will get.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntryChange {
    /// Like [`AgentCommand::Set`].
    Set {
        key: Key,
        value: Content,
        /// The type of the value.
        type_name: Arc<str>,
        /// Metadata given by the caller.
        metadata: Box<EntryMetadata>,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Like [`AgentCommand::Append`].
    Append {
        key: Key,
        text: String,
        /// Written between the old text and the new.
        separator: Separator,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Like [`AgentCommand::Remove`].
    Remove {
        key: Key,
        /// The version that the entry must have.
        if_version: Option<u64>,
    },
    /// Renames an entry. Its ID, metadata, author and time stay the same; its version is new.
    Move {
        /// The current key.
        from: Key,
        /// The new key, which must not exist.
        to: Key,
    },
}

/// Where a scope's parent is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ParentLocation {
    /// In the same state.
    Here,
    /// In another state: the durable parent of an ephemeral scope.
    Elsewhere,
}

/// The separator between an old text and the text appended to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Separator {
    /// Nothing.
    #[default]
    None,
    /// A line break, unless the old text is empty.
    Line,
}

/// The answer to an [`AgentCommand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentReply {
    /// The answer to `Set` and `Append`.
    Written {
        /// Whether the key existed before.
        #[serde(alias = "updated")]
        is_update: bool,
    },
    /// The answer to `Remove` and `RemoveNote`.
    Removed {
        /// Whether the entry or note existed.
        existed: bool,
    },
    /// The answer to `Clear`, `ClearAll`, `DisposeScope`, `ClearNotebook` and `Forget`.
    Cleared {
        /// The number of removed entries. For `Forget` and `ClearNotebook`, it includes notes and notebook items.
        entries: u64,
    },
    /// The answer to `AddNote`.
    NoteAdded { id: NoteId },
    /// The answer to `CreateScope`.
    ScopeCreated { id: ScopeId },
    /// The answer to `MergeScope` and `Absorb`.
    Merged {
        /// The number of entries written to the parent.
        entries: u64,
    },
    /// The answer to `UpdateNotebook`. Added items have the last IDs, in the order of the block.
    NotebookUpdated {
        /// The last assigned learning ID.
        last_learning: NotebookLearningId,
        /// The last assigned snippet ID.
        last_snippet: SnippetId,
        /// The number of unknown IDs that were skipped.
        skipped: u64,
    },
    /// The answer to all other commands.
    Done,
}
