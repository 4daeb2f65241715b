//! Entries and notes of an agent's memory, of its scopes and of its conversations. All three have the same routes.

mod agent;
mod batch;
mod body;
mod conversation;
mod read;
mod scope;
mod write;

use corkboard::{Scope, ScopeId};

use crate::caller::Caller;
use crate::error::HttpError;
use crate::routing::Routes;

pub(super) use write::{clear, remove_entry, written};

pub(super) fn routes() -> Routes {
    agent::routes().merge(scope::routes()).merge(conversation::routes())
}

/// Opens a scope that exists in the store.
pub(super) async fn open_scope(caller: &Caller, agent: &str, id: ScopeId) -> Result<Scope, HttpError> {
    caller.agent(agent)?.working().scope(id).await?.ok_or_else(|| no_scope(id))
}

pub(super) fn no_scope(id: ScopeId) -> HttpError {
    HttpError::not_found(format!("there is no scope {id}"))
}

/// Defines the handlers that the three have in common, and `routes()`. `open` evaluates to the `MemoryHandle` for a
/// path. `get` names the handler that reads an entry, which each module defines itself.
macro_rules! memory_routes {
    (
        path: $base:tt { $($field:tt)* },
        open: |$caller:ident, $path:ident| $open:expr,
        entries: $entries_tag:tt {
            $list:ident: $list_summary:tt,
            get: $get:ident,
            $put:ident: $put_summary:tt,
            $delete:ident: $delete_summary:tt $(, $delete_description:tt)?;
            $append:ident,
            $change:ident,
        },
        notes: $notes_tag:tt {
            $list_notes:ident: $list_notes_summary:tt,
            $add_note:ident: $add_note_summary:tt,
            $delete_note:ident: $delete_note_summary:tt,
        },
    ) => {
        pub(super) fn routes() -> Routes {
            routes!($list, $get, $put, $delete, $append, $change, $list_notes, $add_note, $delete_note)
        }

        #[derive(Deserialize, IntoParams)]
        #[into_params(parameter_in = Path)]
        struct MemoryPath {
            $($field)*
        }

        #[derive(Deserialize, IntoParams)]
        #[into_params(parameter_in = Path)]
        struct EntryPath {
            $($field)*
            /// Key of the entry.
            key: String,
        }

        #[derive(Deserialize, IntoParams)]
        #[into_params(parameter_in = Path)]
        struct NotePath {
            $($field)*
            /// Number of the note.
            note: NoteId,
        }

        #[utoipa::path(
            get,
            path = concat!($base, "/entries"),
            tag = $entries_tag,
            summary = $list_summary,
            description = "Sorted by key unless `sort` says otherwise.",
            params(MemoryPath, EntriesQuery, PageQuery),
            responses((status = 200, description = "A page", body = WithRev<ItemsBody<EntryDocument>>), Problems)
        )]
        async fn $list(
            $caller: Caller,
            Path($path): Path<MemoryPath>,
            Query(query): Query<EntriesQuery>,
            Query(page): Query<PageQuery>,
        ) -> RevResult<ItemsBody<EntryDocument>> {
            let memory = $open;
            read::entries(&memory, query, page).await
        }

        #[utoipa::path(
            put,
            path = concat!($base, "/entries/{key}"),
            tag = $entries_tag,
            summary = $put_summary,
            description = "Replaces an existing entry unless a condition forbids it.",
            params(EntryPath, ItemConditions),
            request_body(content = EntryBody, example = json!({
                "value": {"city": "Paris"},
                "metadata": {"importance": 0.8, "tags": ["user"], "kind": "fact"}
            })),
            responses(
                (status = 200, description = "It was replaced", body = WithRev<WrittenEntry>),
                (status = 201, description = "It was created", body = WithRev<WrittenEntry>),
                Problems
            )
        )]
        async fn $put(
            $caller: Caller,
            Path($path): Path<EntryPath>,
            conditions: ItemConditions,
            Body(body): Body<EntryBody>,
        ) -> RevResult<WrittenEntry> {
            let memory = $open;
            write::put_entry(&memory, &$path.key, body, conditions).await
        }

        #[utoipa::path(
            delete,
            path = concat!($base, "/entries/{key}"),
            tag = $entries_tag,
            summary = $delete_summary,
            $(description = $delete_description,)?
            params(EntryPath, ItemConditions),
            responses((status = 200, description = "Whether it existed", body = WithRev<DeletedBody>), Problems)
        )]
        async fn $delete(
            $caller: Caller,
            Path($path): Path<EntryPath>,
            conditions: ItemConditions,
        ) -> RevResult<DeletedBody> {
            let memory = $open;
            write::remove_entry(&memory, &$path.key, conditions).await
        }

        /// Append text to an entry.
        ///
        /// Creates the entry if it does not exist. Concurrent appends never conflict.
        #[utoipa::path(
            post,
            path = concat!($base, "/entries/{key}/append"),
            tag = $entries_tag,
            params(EntryPath, ItemConditions),
            request_body(content = AppendBody, example = json!({"text": "Tried A: too slow", "separator": "line"})),
            responses(
                (status = 200, description = "It was appended", body = WithRev<WrittenEntry>),
                (status = 201, description = "It was created", body = WithRev<WrittenEntry>),
                Problems
            )
        )]
        async fn $append(
            $caller: Caller,
            Path($path): Path<EntryPath>,
            conditions: ItemConditions,
            Body(body): Body<AppendBody>,
        ) -> RevResult<WrittenEntry> {
            let memory = $open;
            write::append_to_entry(&memory, &$path.key, body, conditions).await
        }

        /// Change several entries in one revision.
        ///
        /// All changes are applied, or none. The body may also be JSON lines, each line an item of `entries`.
        #[utoipa::path(
            post,
            path = concat!($base, "/entries:batch"),
            tag = $entries_tag,
            params(MemoryPath, SpaceConditions),
            request_body(content(
                (BatchBody = "application/json", example = json!({"entries": [
                    {"key": "plan", "value": ["draft", "review"]},
                    {"key": "log", "append": "began", "separator": "line"},
                    {"key": "old", "remove": true}
                ]})),
                (
                    String = "application/x-ndjson",
                    example = "{\"key\": \"plan\", \"value\": 1}\n{\"key\": \"old\", \"remove\": true}\n"
                )
            )),
            responses((status = 200, description = "All changes were applied", body = WithRev<ChangedBody>), Problems)
        )]
        async fn $change(
            $caller: Caller,
            Path($path): Path<MemoryPath>,
            conditions: SpaceConditions,
            batch: EntryBatch,
        ) -> RevResult<ChangedBody> {
            let changes = batch.changes(&$caller.corkboard().options().limits)?;
            let memory = $open;
            write::change_entries(&memory, changes, conditions).await
        }

        #[utoipa::path(
            get,
            path = concat!($base, "/notes"),
            tag = $notes_tag,
            summary = $list_notes_summary,
            params(MemoryPath, NotesQuery),
            responses((status = 200, description = "A page", body = WithRev<ItemsBody<Note>>), Problems)
        )]
        async fn $list_notes(
            $caller: Caller,
            Path($path): Path<MemoryPath>,
            Query(query): Query<NotesQuery>,
        ) -> RevResult<ItemsBody<Note>> {
            let memory = $open;
            read::notes(&memory, query).await
        }

        #[utoipa::path(
            post,
            path = concat!($base, "/notes"),
            tag = $notes_tag,
            summary = $add_note_summary,
            params(MemoryPath, SpaceConditions),
            request_body(content = NoteBody, example = json!({"text": "Prefers short answers"})),
            responses((status = 201, description = "It was added", body = WithRev<IdBody<NoteId>>), Problems)
        )]
        async fn $add_note(
            $caller: Caller,
            Path($path): Path<MemoryPath>,
            conditions: SpaceConditions,
            Body(body): Body<NoteBody>,
        ) -> RevResult<IdBody<NoteId>> {
            let memory = $open;
            write::add_note(&memory, body, conditions).await
        }

        #[utoipa::path(
            delete,
            path = concat!($base, "/notes/{note}"),
            tag = $notes_tag,
            summary = $delete_note_summary,
            params(NotePath, SpaceConditions),
            responses((status = 200, description = "Whether it existed", body = WithRev<DeletedBody>), Problems)
        )]
        async fn $delete_note(
            $caller: Caller,
            Path($path): Path<NotePath>,
            conditions: SpaceConditions,
        ) -> RevResult<DeletedBody> {
            let memory = $open;
            write::delete_note(&memory, $path.note, conditions).await
        }
    };
}
use memory_routes;
