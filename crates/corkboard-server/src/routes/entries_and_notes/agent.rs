//! Entries and notes of an agent's memory.

use corkboard::{EntryDocument, Note, NoteId, WrittenEntry};

use super::batch::{BatchBody, EntryBatch};
use super::body::{AppendBody, ChangedBody, EntryBody, NoteBody};
use super::read::{self, EntriesQuery, NotesQuery};
use super::{memory_routes, write};
use crate::condition::{ItemConditions, Seen, SpaceConditions};
use crate::cursor::PageQuery;
use crate::routes::prelude::*;

memory_routes! {
    path: "/v1/agents/{agent}" {
        /// Name of the agent.
        agent: String,
    },
    open: |caller, path| caller.agent(&path.agent)?.working(),
    entries: "entries" {
        list_entries: "List an agent's entries.",
        get: get_entry,
        put_entry: "Store an entry.",
        delete_entry: "Delete an entry.";
        append_to_entry,
        change_entries,
    },
    notes: "notes" {
        list_notes: "List an agent's notes.",
        add_note: "Add a note.",
        delete_note: "Remove a note.",
    },
}

/// Read an entry.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/entries/{key}",
    tag = "entries",
    params(EntryPath, Seen),
    responses(
        (status = 200, description = "The entry; `ETag` is its version", body = WithRev<EntryDocument>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_entry(caller: Caller, Path(path): Path<EntryPath>, seen: Seen) -> RevResult<EntryDocument> {
    read::entry(&caller.agent(&path.agent)?.working(), &path.key, &seen).await
}
