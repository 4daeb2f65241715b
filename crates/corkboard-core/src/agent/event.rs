//! The events of an agent's memory. They are stored: fields may be added with a default, but never changed or removed.

use alloc::boxed::Box;
use alloc::string::String;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::AgentImage;
use crate::notebook::{NotebookContent, NotebookItemId, NotebookUpdate};
use crate::{EntryData, Key, Note, NoteId, NotebookName, ScopeId, ScopeName};

/// An event. `scope` is omitted if it is the root scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentEvent {
    /// A value was stored.
    EntrySet {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
        /// Whether the key existed before.
        #[serde(default, alias = "updated")]
        is_update: bool,
        /// The stored entry.
        entry: Box<EntryData>,
    },
    /// Text was appended to a text value.
    EntryAppended {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
        /// The appended text, including the separator.
        text: String,
    },
    /// An entry was removed.
    EntryRemoved {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
    },
    /// An entry expired.
    EntryExpired {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
    },
    /// All entries and notes of a scope were removed.
    Cleared {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        /// The number of removed entries.
        entries: u64,
    },
    /// A note was added.
    NoteAdded {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        note: Note,
    },
    /// A note was removed.
    NoteRemoved {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        id: NoteId,
    },
    /// A scope was created.
    ScopeCreated {
        id: ScopeId,
        name: ScopeName,
        /// The scope that reads fall back to.
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        parent: ScopeId,
    },
    /// A scope's content was copied to its parent.
    ScopeMerged {
        scope: ScopeId,
        /// The last merged note.
        notes: NoteId,
    },
    /// A scope was disposed.
    ScopeDisposed {
        scope: ScopeId,
        name: ScopeName,
        /// The number of removed entries.
        entries: u64,
    },
    /// A notebook was updated.
    NotebookUpdated {
        notebook: NotebookName,
        /// The changes, with the assigned IDs.
        update: Box<NotebookUpdate>,
    },
    /// A notebook was restored to an earlier revision.
    NotebookRestored {
        notebook: NotebookName,
        /// The restored content.
        content: Box<NotebookContent>,
    },
    /// A notebook was emptied. Its IDs are not reused.
    NotebookCleared { notebook: NotebookName },
    /// A learning or a snippet was removed, in order to forget it.
    NotebookItemRemoved { notebook: NotebookName, id: NotebookItemId },
    /// A conversation was used, so it expires later.
    ConversationRenewed {
        /// The conversation's scope.
        scope: ScopeId,
        /// When it expires if it is not used again.
        until: Timestamp,
    },
    /// The whole memory was replaced.
    Restored {
        /// The new content.
        image: Box<AgentImage>,
    },
}

fn root() -> ScopeId {
    ScopeId::ROOT
}
