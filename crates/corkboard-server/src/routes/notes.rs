//! Notes: of an agent's memory itself, of its scopes, and of its conversations.

use corkboard::{NoteId, ScopeId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::caller::Caller;
use crate::condition::SpaceConditions;
use crate::error::HttpError;
use crate::extract::{Body, Path, Query};
use crate::openapi::Problems;
use crate::place::{AddedBody, NoteBody, NotesBody, NotesQuery, Place, RemovedBody};
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_notes, add_note))
        .routes(routes!(remove_note))
        .routes(routes!(list_scope_notes, add_scope_note))
        .routes(routes!(remove_scope_note))
        .routes(routes!(list_conversation_notes, add_conversation_note))
        .routes(routes!(remove_conversation_note))
}

/// Whose notes.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct NotesPath {
    /// Whose memory.
    agent: String,
}

/// Which note.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct NotePath {
    /// Whose memory.
    agent: String,
    /// The note's number.
    note: NoteId,
}

/// List an agent's notes.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/notes",
    tag = "notes",
    params(NotesPath, NotesQuery),
    responses((status = 200, description = "A page", body = WithRev<NotesBody>), Problems)
)]
async fn list_notes(
    caller: Caller,
    Path(path): Path<NotesPath>,
    Query(query): Query<NotesQuery>,
) -> Result<RevResponse<NotesBody>, HttpError> {
    Place::memory(&caller, &path.agent)?.notes(query).await
}

/// Add a note.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notes",
    tag = "notes",
    params(NotesPath, SpaceConditions),
    request_body(content = NoteBody, example = json!({"text": "Prefers short answers"})),
    responses((status = 201, description = "It was added", body = WithRev<AddedBody>), Problems)
)]
async fn add_note(
    caller: Caller,
    Path(path): Path<NotesPath>,
    conditions: SpaceConditions,
    Body(body): Body<NoteBody>,
) -> Result<RevResponse<AddedBody>, HttpError> {
    Place::memory(&caller, &path.agent)?.add_note(body, conditions).await
}

/// Remove a note.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/notes/{note}",
    tag = "notes",
    params(NotePath, SpaceConditions),
    responses((status = 200, description = "Whether there was one", body = WithRev<RemovedBody>), Problems)
)]
async fn remove_note(
    caller: Caller,
    Path(path): Path<NotePath>,
    conditions: SpaceConditions,
) -> Result<RevResponse<RemovedBody>, HttpError> {
    Place::memory(&caller, &path.agent)?.remove_note(path.note, conditions).await
}

/// Whose notes.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ScopeNotesPath {
    /// Whose memory.
    agent: String,
    /// Which scope: its id.
    scope: ScopeId,
}

/// Which note.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ScopeNotePath {
    /// Whose memory.
    agent: String,
    /// Which scope: its id.
    scope: ScopeId,
    /// The note's number.
    note: NoteId,
}

/// List a scope's own notes.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/scopes/{scope}/notes",
    tag = "scopes",
    params(ScopeNotesPath, NotesQuery),
    responses((status = 200, description = "A page", body = WithRev<NotesBody>), Problems)
)]
async fn list_scope_notes(
    caller: Caller,
    Path(path): Path<ScopeNotesPath>,
    Query(query): Query<NotesQuery>,
) -> Result<RevResponse<NotesBody>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.notes(query).await
}

/// Add a note to a scope.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/scopes/{scope}/notes",
    tag = "scopes",
    params(ScopeNotesPath, SpaceConditions),
    request_body(content = NoteBody, example = json!({"text": "Prefers short answers"})),
    responses((status = 201, description = "It was added", body = WithRev<AddedBody>), Problems)
)]
async fn add_scope_note(
    caller: Caller,
    Path(path): Path<ScopeNotesPath>,
    conditions: SpaceConditions,
    Body(body): Body<NoteBody>,
) -> Result<RevResponse<AddedBody>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.add_note(body, conditions).await
}

/// Remove a note of a scope.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/scopes/{scope}/notes/{note}",
    tag = "scopes",
    params(ScopeNotePath, SpaceConditions),
    responses((status = 200, description = "Whether there was one", body = WithRev<RemovedBody>), Problems)
)]
async fn remove_scope_note(
    caller: Caller,
    Path(path): Path<ScopeNotePath>,
    conditions: SpaceConditions,
) -> Result<RevResponse<RemovedBody>, HttpError> {
    Place::scope(&caller, &path.agent, path.scope).await?.remove_note(path.note, conditions).await
}

/// Whose notes.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ConversationNotesPath {
    /// Whose memory.
    agent: String,
    /// Which conversation. It begins with the first write.
    conversation: String,
}

/// Which note.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ConversationNotePath {
    /// Whose memory.
    agent: String,
    /// Which conversation. It begins with the first write.
    conversation: String,
    /// The note's number.
    note: NoteId,
}

/// List a conversation's notes.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/conversations/{conversation}/notes",
    tag = "conversations",
    params(ConversationNotesPath, NotesQuery),
    responses((status = 200, description = "A page", body = WithRev<NotesBody>), Problems)
)]
async fn list_conversation_notes(
    caller: Caller,
    Path(path): Path<ConversationNotesPath>,
    Query(query): Query<NotesQuery>,
) -> Result<RevResponse<NotesBody>, HttpError> {
    Place::conversation(&caller, &path.agent, &path.conversation)?.notes(query).await
}

/// Add a note to a conversation.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/conversations/{conversation}/notes",
    tag = "conversations",
    params(ConversationNotesPath, SpaceConditions),
    request_body(content = NoteBody, example = json!({"text": "Prefers short answers"})),
    responses((status = 201, description = "It was added", body = WithRev<AddedBody>), Problems)
)]
async fn add_conversation_note(
    caller: Caller,
    Path(path): Path<ConversationNotesPath>,
    conditions: SpaceConditions,
    Body(body): Body<NoteBody>,
) -> Result<RevResponse<AddedBody>, HttpError> {
    Place::conversation(&caller, &path.agent, &path.conversation)?.add_note(body, conditions).await
}

/// Remove a note of a conversation.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/conversations/{conversation}/notes/{note}",
    tag = "conversations",
    params(ConversationNotePath, SpaceConditions),
    responses((status = 200, description = "Whether there was one", body = WithRev<RemovedBody>), Problems)
)]
async fn remove_conversation_note(
    caller: Caller,
    Path(path): Path<ConversationNotePath>,
    conditions: SpaceConditions,
) -> Result<RevResponse<RemovedBody>, HttpError> {
    Place::conversation(&caller, &path.agent, &path.conversation)?.remove_note(path.note, conditions).await
}
