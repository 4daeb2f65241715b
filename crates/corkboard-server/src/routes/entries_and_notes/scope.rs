//! Entries and notes of an agent's scopes.

use corkboard::{EntryDocument, Error, FoundEntry, Note, NoteId, Refusal, ScopeId, Written};

use super::batch::{BatchBody, EntryBatch};
use super::body::{AppendBody, ChangedBody, EntryBody, NoteBody};
use super::read::{self, EntriesQuery, NotesQuery};
use super::{memory_routes, no_scope, open_scope, write};
use crate::condition::{ItemConditions, Seen, SpaceConditions};
use crate::cursor::PageQuery;
use crate::routes::prelude::*;

memory_routes! {
    path: "/v1/agents/{agent}/scopes/{scope}" {
        /// Whose memory.
        agent: String,
        /// Which scope: its id.
        scope: ScopeId,
    },
    open: |caller, path| open_scope(&caller, &path.agent, path.scope).await?,
    entries: "scopes" {
        list_scope_entries: "List a scope's own entries.",
        get: get_scope_entry,
        put_scope_entry: "Store a scope's entry.",
        delete_scope_entry: "Remove a scope's entry.",
            "Of its own entries: the parent's, if it has one under the key, shows again.";
        append_to_scope_entry,
        change_scope_entries,
    },
    notes: "scopes" {
        list_scope_notes: "List a scope's own notes.",
        add_scope_note: "Add a note to a scope.",
        remove_scope_note: "Remove a note of a scope.",
    },
}

/// An entry, and where it was found.
#[derive(Serialize, ToSchema)]
struct FoundBody {
    #[serde(flatten)]
    entry: EntryDocument,
    /// The scope that it is in: the one that was asked, or one above it. Nil is the agent's memory itself.
    scope: ScopeId,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ReachQuery {
    /// Only the scope's own entries.
    #[serde(default)]
    local: bool,
}

/// Read a scope's entry.
///
/// As the scope sees it: its own, or else its parent's, and so on to the agent's memory itself. `scope` says where it is.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes/{scope}/entries/{key}",
    tag = "scopes",
    params(EntryPath, ReachQuery, Seen),
    responses(
        (status = 200, description = "The entry; `ETag` is its version", body = WithRev<FoundBody>),
        (status = 304, description = "It is the version that you have"),
        Problems
    )
)]
async fn get_scope_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    Query(query): Query<ReachQuery>,
    seen: Seen,
) -> RevResult<FoundBody> {
    let working = caller.agent(&path.agent)?.working();
    let found = match query.local {
        true => working.find_in(path.scope, &path.key).await,
        false => working.find_from(path.scope, &path.key).await,
    };
    let found = match found {
        Err(Error::Refused(Refusal::ScopeGone { .. })) => return Err(no_scope(path.scope)),
        found => found?,
    };
    let FoundEntry { key, entry, scope, rev } = found.ok_or_else(|| read::no_entry(&path.key))?;
    let body = FoundBody { entry: EntryDocument::new(&key, &entry), scope };
    Ok(RevResponse::new(body, rev).version(entry.version).unless(&seen))
}
