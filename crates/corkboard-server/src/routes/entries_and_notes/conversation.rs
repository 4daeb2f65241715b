//! Entries and notes of an agent's conversations.

use corkboard::{EntryDocument, Note, NoteId, WrittenEntry};

use super::batch::{BatchBody, EntryBatch};
use super::body::{AppendBody, ChangedBody, EntryBody, NoteBody};
use super::read::{self, EntriesQuery, NotesQuery};
use super::{memory_routes, write};
use crate::condition::{ItemConditions, Seen, SpaceConditions};
use crate::cursor::PageQuery;
use crate::routes::prelude::*;

memory_routes! {
    path: "/v1/agents/{agent}/conversations/{conversation}" {
        /// Name of the agent.
        agent: String,
        /// ID of the conversation. The first write starts it.
        conversation: String,
    },
    open: |caller, path| caller.agent(&path.agent)?.conversation(&path.conversation)?,
    entries: "conversations" {
        list_conversation_entries: "List a conversation's entries.",
        get: get_conversation_entry,
        put_conversation_entry: "Store a conversation's entry.",
        delete_conversation_entry: "Delete a conversation's entry.";
        append_to_conversation_entry,
        change_conversation_entries,
    },
    notes: "conversations" {
        list_conversation_notes: "List a conversation's notes.",
        add_conversation_note: "Add a note to a conversation.",
        delete_conversation_note: "Remove a note from a conversation.",
    },
}

/// Read a conversation's entry.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/conversations/{conversation}/entries/{key}",
    tag = "conversations",
    params(EntryPath, Seen),
    responses(
        (status = 200, description = "The entry; `ETag` is its version", body = WithRev<EntryDocument>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_conversation_entry(caller: Caller, Path(path): Path<EntryPath>, seen: Seen) -> RevResult<EntryDocument> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    read::entry(&conversation, &path.key, &seen).await
}
