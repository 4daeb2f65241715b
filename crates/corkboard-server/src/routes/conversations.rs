//! An agent's conversations: scratchpads that the server keeps.

use corkboard::ConversationInfo;
use corkboard::scratchpad::ScratchpadContents;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::entries_and_notes::clear;
use crate::caller::Caller;
use crate::condition::SpaceConditions;
use crate::error::HttpError;
use crate::extract::Path;
use crate::openapi::Problems;
use crate::response::{ClearedBody, DeletedBody, ItemsBody, RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(list_conversations))
        .routes(routes!(get_conversation, delete_conversation))
        .routes(routes!(clear_conversation))
}

/// Which conversation.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ConversationPath {
    /// Whose memory.
    agent: String,
    /// Which conversation. It begins with the first write.
    conversation: String,
}

/// What a conversation holds.
#[derive(Serialize, ToSchema)]
struct ConversationBody {
    /// All of it, as texts, in the form that goes into a prompt.
    #[serde(flatten)]
    #[schema(value_type = ConversationContents)]
    contents: ScratchpadContents,
}

/// A scratchpad's facts and notes. Beside them stands what every answer says.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it is only described")]
struct ConversationContents {
    /// Facts, by key.
    entries: std::collections::BTreeMap<String, String>,
    /// Free-form observations, in the order they were made.
    notes: Vec<String>,
}

/// List an agent's conversations.
///
/// Those that have a scratchpad, in the order of their ids. By default each server keeps conversations in its memory. If several servers share a store, set
/// `conversations = "shared"`, or route each conversation to the same server.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/conversations",
    tag = "conversations",
    params(("agent" = String, Path, description = "Whose memory")),
    responses((status = 200, description = "All of them", body = WithRev<ItemsBody<ConversationInfo>>), Problems)
)]
async fn list_conversations(
    caller: Caller,
    Path(agent): Path<String>,
) -> Result<RevResponse<ItemsBody<ConversationInfo>>, HttpError> {
    let memory = caller.agent(&agent)?;
    let rev = memory.rev().await?;
    Ok(RevResponse::new(ItemsBody::all(memory.conversations().await?), rev))
}

/// Read a conversation's scratchpad.
///
/// All entries as texts, and all notes; nothing if it has not begun. `rev` counts the conversation's own changes. A conversation
/// that nobody uses expires after 24 hours, or the setting `conversation_idle`.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/conversations/{conversation}",
    tag = "conversations",
    params(ConversationPath),
    responses((status = 200, description = "The scratchpad", body = WithRev<ConversationBody>), Problems)
)]
async fn get_conversation(
    caller: Caller,
    Path(path): Path<ConversationPath>,
) -> Result<RevResponse<ConversationBody>, HttpError> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    // Before what is read, so that a condition on it never passes over a write.
    let rev = conversation.view().await?.rev();
    Ok(RevResponse::new(ConversationBody { contents: conversation.contents().await? }, rev))
}

/// End a conversation.
///
/// Its scratchpad is gone.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/conversations/{conversation}",
    tag = "conversations",
    params(ConversationPath),
    responses((status = 200, description = "Whether there was one", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_conversation(
    caller: Caller,
    Path(path): Path<ConversationPath>,
) -> Result<RevResponse<DeletedBody>, HttpError> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    let deleted = conversation.delete().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, conversation.view().await?.rev()))
}

/// Remove a conversation's entries and notes.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/conversations/{conversation}/clear",
    tag = "conversations",
    params(ConversationPath, SpaceConditions),
    responses((status = 200, description = "It is empty", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_conversation(
    caller: Caller,
    Path(path): Path<ConversationPath>,
    conditions: SpaceConditions,
) -> Result<RevResponse<ClearedBody>, HttpError> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    clear(&conversation, conditions).await
}
