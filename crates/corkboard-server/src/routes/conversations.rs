//! An agent's conversations: scratchpads that the server stores.

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

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ConversationPath {
    /// Name of the agent.
    agent: String,
    /// ID of the conversation. The first write starts it.
    conversation: String,
}

/// Contents of a conversation.
#[derive(Serialize, ToSchema)]
struct ConversationBody {
    /// The contents as text, as they appear in a prompt.
    #[serde(flatten)]
    #[schema(value_type = ConversationContents)]
    contents: ScratchpadContents,
}

/// A scratchpad's facts and notes. The fields of every response are added to them.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only for the OpenAPI description")]
struct ConversationContents {
    /// Facts, by key.
    entries: std::collections::BTreeMap<String, String>,
    /// Notes, in the order they were added.
    notes: Vec<String>,
}

/// List an agent's conversations.
///
/// Lists conversations that have a scratchpad, in order of ID. By default, each server keeps conversations in its own
/// memory. If several servers share a store, set `conversations = "shared"`, or route each conversation to the same
/// server.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/conversations",
    tag = "conversations",
    params(("agent" = String, Path, description = "Name of the agent")),
    responses((status = 200, description = "All conversations", body = WithRev<ItemsBody<ConversationInfo>>), Problems)
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
/// Returns all entries as text, and all notes. A conversation that has not started is empty. `rev` counts the changes
/// of this conversation. An unused conversation expires after 24 hours, or after the setting `conversation_idle`.
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
    // Read the revision first, so that a condition on it never skips a write.
    let rev = conversation.view().await?.rev();
    Ok(RevResponse::new(ConversationBody { contents: conversation.contents().await? }, rev))
}

/// Delete a conversation and its scratchpad.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/conversations/{conversation}",
    tag = "conversations",
    params(ConversationPath),
    responses((status = 200, description = "Whether it existed", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_conversation(
    caller: Caller,
    Path(path): Path<ConversationPath>,
) -> Result<RevResponse<DeletedBody>, HttpError> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    let deleted = conversation.delete().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, conversation.view().await?.rev()))
}

/// Clear a conversation's entries and notes.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/conversations/{conversation}/clear",
    tag = "conversations",
    params(ConversationPath, SpaceConditions),
    responses((status = 200, description = "It was cleared", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_conversation(
    caller: Caller,
    Path(path): Path<ConversationPath>,
    conditions: SpaceConditions,
) -> Result<RevResponse<ClearedBody>, HttpError> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    clear(&conversation, conditions).await
}
