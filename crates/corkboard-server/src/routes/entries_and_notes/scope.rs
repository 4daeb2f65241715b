//! Entries and notes of an agent's scopes.

use corkboard::{EntryDocument, Error, FoundEntry, Note, NoteId, Refusal, ScopeId, WrittenEntry};

use super::batch::{BatchBody, EntryBatch};
use super::body::{AppendBody, ChangedBody, EntryBody, NoteBody};
use super::read::{self, EntriesQuery, NotesQuery};
use super::{memory_routes, no_scope, open_scope, write};
use crate::condition::{ItemConditions, Seen, SpaceConditions};
use crate::cursor::PageQuery;
use crate::routes::prelude::*;

memory_routes! {
    path: "/v1/agents/{agent}/scopes/{scope}" {
        /// Name of the agent.
        agent: String,
        /// ID of the scope.
        scope: ScopeId,
    },
    open: |caller, path| open_scope(&caller, &path.agent, path.scope).await?,
    entries: "scopes" {
        list_scope_entries: "List a scope's own entries.",
        get: get_scope_entry,
        put_scope_entry: "Store a scope's entry.",
        delete_scope_entry: "Delete a scope's entry.",
            "Deletes only the scope's own entry. An entry of the parent under the same key becomes visible again.";
        append_to_scope_entry,
        change_scope_entries,
    },
    notes: "scopes" {
        list_scope_notes: "List a scope's own notes.",
        add_scope_note: "Add a note to a scope.",
        delete_scope_note: "Remove a note from a scope.",
    },
}

/// An entry and its location.
#[derive(Serialize, ToSchema)]
struct FoundBody {
    #[serde(flatten)]
    entry: EntryDocument,
    /// The scope that contains the entry: the requested one or one of its ancestors. The nil UUID is the agent's memory
    /// itself.
    scope: ScopeId,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ReachQuery {
    /// Only look in the scope itself, not in its ancestors.
    #[serde(default)]
    local: bool,
}

/// Read a scope's entry.
///
/// Returns the scope's own entry, or else the nearest ancestor's, up to the agent's memory itself. `scope` names the
/// location.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes/{scope}/entries/{key}",
    tag = "scopes",
    params(EntryPath, ReachQuery, Seen),
    responses(
        (status = 200, description = "The entry; `ETag` is its version", body = WithRev<FoundBody>),
        (status = 304, description = "The version has not changed"),
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
