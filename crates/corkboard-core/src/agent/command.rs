//! What can be asked of an agent's memory, and what is answered.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{AgentImage, Forget};
use crate::knowledge::Trust;
use crate::notebook::{Block, NotebookContent, NotebookLearningId, SnippetId, UnknownIds};
use crate::{Content, ConversationId, EntryData, EntryMetadata, Key, Note, NoteId, NotebookName, ScopeId, ScopeName};

/// A command to an agent's memory. `if_version` is the version that the entry must be at; 0 stands for "must not exist".
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentCommand {
    /// Stores a value, overwriting what is there.
    Set {
        scope: ScopeId,
        key: Key,
        value: Content,
        /// The type it was written from.
        type_name: Arc<str>,
        /// What the caller says about it.
        metadata: Box<EntryMetadata>,
        /// The version that the entry must be at.
        if_version: Option<u64>,
    },
    /// Adds text at the end of a text, or starts one.
    Append {
        scope: ScopeId,
        key: Key,
        text: String,
        /// What stands between the old text and the new.
        separator: Separator,
        /// The version that the entry must be at.
        if_version: Option<u64>,
    },
    /// Removes an entry.
    Remove {
        scope: ScopeId,
        key: Key,
        /// The version that the entry must be at.
        if_version: Option<u64>,
    },
    /// Changes several entries of a scope in one revision: all of it, or nothing.
    Batch {
        scope: ScopeId,
        /// The changes, in order: each is decided on the result of those before.
        changes: Vec<EntryChange>,
    },
    /// Removes a scope's entries and notes.
    Clear { scope: ScopeId },
    /// Adds a note.
    AddNote {
        scope: ScopeId,
        text: String,
        /// How far it may be trusted, where that is to be kept. Nobody can give more than they have.
        trust: Option<Trust>,
    },
    /// Removes a note.
    RemoveNote { scope: ScopeId, id: NoteId },
    /// Creates a scope.
    CreateScope {
        name: ScopeName,
        /// The scope that its reads fall back to.
        parent: ScopeId,
        /// Where that scope is kept.
        parent_kept: ParentLocation,
    },
    /// Copies a scope's entries, and the notes not yet merged, to its parent in the same state.
    MergeScope {
        scope: ScopeId,
        /// What happens to keys that the parent has already.
        overwrite: bool,
    },
    /// Takes over entries and notes from a scope that is kept elsewhere.
    Absorb {
        /// The scope that receives them.
        scope: ScopeId,
        entries: Vec<(Key, EntryData)>,
        /// The notes; they get new ids.
        notes: Vec<Note>,
        /// What happens to keys that the scope has already.
        overwrite: bool,
    },
    /// Remembers that a scope's notes up to this one were merged into a parent that is kept elsewhere.
    MarkMerged {
        scope: ScopeId,
        /// The last note that the parent has.
        notes: NoteId,
    },
    /// Disposes a scope and all below it.
    DisposeScope { scope: ScopeId },
    /// Applies a block to a notebook, which need not exist: all of it, or nothing.
    UpdateNotebook {
        notebook: NotebookName,
        /// What is asked for.
        block: Box<Block>,
        /// What becomes of ids that the notebook does not have.
        unknown_ids: UnknownIds,
        /// The version that the notebook must be at.
        if_version: Option<u64>,
    },
    /// Shows again what a notebook showed at an earlier revision. What it shows now and did not then is archived.
    RestoreNotebook {
        notebook: NotebookName,
        /// What it showed.
        content: Box<NotebookContent>,
        /// The version that the notebook must be at.
        if_version: Option<u64>,
    },
    /// Empties a notebook, archived items included. Its ids stay used.
    ClearNotebook { notebook: NotebookName },
    /// Clears the root scope and the notebooks, and disposes the other scopes.
    ClearAll,
    /// Replaces everything.
    Restore {
        /// What it is replaced with.
        image: Box<AgentImage>,
    },
    /// Removes something from every scope, so that it can then be taken out of the log.
    Forget { forget: Forget },
    /// Expires what is due, as every command does first.
    Tick,
    /// Has a command decided in a conversation's scope, which is created if it is missing and renewed. The process that keeps
    /// the conversation makes this command: it cannot be sent.
    #[serde(skip)]
    Converse {
        conversation: ConversationId,
        scope: ScopeId,
        /// Milliseconds after which an unused conversation expires.
        idle_ms: u64,
        /// What to do in the scope.
        command: Box<AgentCommand>,
    },
}

impl AgentCommand {
    /// The scope whose entries or notes the command changes, if that is all it does.
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

/// One change of a [`AgentCommand::Batch`]. An entry that an earlier change of the same batch wrote is at the version that
/// the batch will have.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EntryChange {
    /// As [`AgentCommand::Set`].
    Set {
        key: Key,
        value: Content,
        /// The type it was written from.
        type_name: Arc<str>,
        /// What the caller says about it.
        metadata: Box<EntryMetadata>,
        /// The version that the entry must be at.
        if_version: Option<u64>,
    },
    /// As [`AgentCommand::Append`].
    Append {
        key: Key,
        text: String,
        /// What stands between the old text and the new.
        separator: Separator,
        /// The version that the entry must be at.
        if_version: Option<u64>,
    },
    /// As [`AgentCommand::Remove`].
    Remove {
        key: Key,
        /// The version that the entry must be at.
        if_version: Option<u64>,
    },
    /// Gives an entry another key. Its id, metadata, author and time stay; its version is new.
    Move {
        /// The key it has.
        from: Key,
        /// The key it gets. There must be nothing under it.
        to: Key,
    },
}

/// Where a scope's parent is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Kept))]
#[serde(rename_all = "snake_case")]
pub enum ParentLocation {
    /// In the same state.
    Here,
    /// In another: an ephemeral scope's durable parent.
    Elsewhere,
}

/// What stands between an old text and the one appended to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Separator {
    /// Nothing: the texts are joined as they are.
    #[default]
    None,
    /// A line break, unless the old text is empty.
    Line,
}

/// The answer to an [`AgentCommand`]. `version` is 0 where nothing was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentReply {
    /// To `Set` and `Append`.
    Written {
        /// Whether the key existed before.
        updated: bool,
    },
    /// To `Remove` and `RemoveNote`.
    Removed {
        /// Whether there was something to remove.
        existed: bool,
    },
    /// To `Clear`, `ClearAll`, `DisposeScope`, `ClearNotebook`, and `Forget`, which counts notes and notebooks' items too.
    Cleared {
        /// How many entries went.
        entries: u64,
    },
    /// To `AddNote`.
    NoteAdded { id: NoteId },
    /// To `CreateScope`.
    ScopeCreated { id: ScopeId },
    /// To `MergeScope` and `Absorb`.
    Merged {
        /// How many entries the parent took.
        entries: u64,
    },
    /// To `UpdateNotebook`. What was added has the last numbers, in the block's order.
    NotebookUpdated {
        /// The last number given to a learning.
        last_learning: NotebookLearningId,
        /// The last number given to a snippet.
        last_snippet: SnippetId,
        /// How many unknown ids were skipped.
        skipped: u64,
    },
    /// To everything else.
    Done,
}
