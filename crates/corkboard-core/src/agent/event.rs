//! What can happen to an agent's memory. These are stored: a field may be added with a default, never changed or removed.

use alloc::boxed::Box;
use alloc::string::String;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::AgentImage;
use crate::notebook::{NotebookContent, NotebookItemId, NotebookUpdate};
use crate::{EntryData, Key, Note, NoteId, NotebookName, ScopeId, ScopeName};

/// Something that happened. `scope` is left out where it is the root.
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
        #[serde(default)]
        updated: bool,
        /// What was stored.
        entry: Box<EntryData>,
    },
    /// Text was added at the end of a text.
    EntryAppended {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
        /// The added text, separator included.
        text: String,
    },
    /// An entry was removed.
    EntryRemoved {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
    },
    /// An entry's time was over.
    EntryExpired {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        key: Key,
    },
    /// All entries and notes of a scope were removed.
    Cleared {
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        scope: ScopeId,
        /// How many entries went.
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
        /// The scope that its reads fall back to.
        #[serde(default = "root", skip_serializing_if = "ScopeId::is_root")]
        parent: ScopeId,
    },
    /// A scope's content was copied to its parent.
    ScopeMerged {
        scope: ScopeId,
        /// The last note that the parent has now.
        notes: NoteId,
    },
    /// A scope was disposed.
    ScopeDisposed {
        scope: ScopeId,
        name: ScopeName,
        /// How many entries went with it.
        entries: u64,
    },
    /// A notebook was updated.
    NotebookUpdated {
        notebook: NotebookName,
        /// What changed, with the ids that were given.
        update: Box<NotebookUpdate>,
    },
    /// A notebook shows again what it once showed.
    NotebookRestored {
        notebook: NotebookName,
        /// What it shows now.
        content: Box<NotebookContent>,
    },
    /// A notebook was emptied. Its ids stay used.
    NotebookCleared { notebook: NotebookName },
    /// A learning or a snippet was removed, to be forgotten.
    NotebookItemRemoved { notebook: NotebookName, id: NotebookItemId },
    /// A conversation was used: it expires later.
    ConversationRenewed {
        /// The conversation's scope.
        scope: ScopeId,
        /// When it expires if nobody uses it.
        until: Timestamp,
    },
    /// Everything was replaced.
    Restored {
        /// What it was replaced with.
        image: Box<AgentImage>,
    },
}

fn root() -> ScopeId {
    ScopeId::ROOT
}
