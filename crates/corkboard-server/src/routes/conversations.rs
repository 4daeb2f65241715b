//! An agent's conversations: scratchpads that the server stores.

use corkboard::ConversationInfo;
use corkboard::scratchpad::ScratchpadContents;

use super::entries_and_notes::clear;
use crate::condition::SpaceConditions;
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(list_conversations, get_conversation, delete_conversation, clear_conversation).tag("conversations")
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
    params(("agent" = String, Path, description = "Name of the agent")),
    responses((status = 200, description = "All conversations", body = WithRev<ItemsBody<ConversationInfo>>), Problems)
)]
async fn list_conversations(caller: Caller, Path(agent): Path<String>) -> RevResult<ItemsBody<ConversationInfo>> {
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
    params(ConversationPath),
    responses((status = 200, description = "The scratchpad", body = WithRev<ConversationBody>), Problems)
)]
async fn get_conversation(caller: Caller, Path(path): Path<ConversationPath>) -> RevResult<ConversationBody> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    // Read the revision first, so that a condition on it never skips a write.
    let rev = conversation.view().await?.rev();
    Ok(RevResponse::new(ConversationBody { contents: conversation.contents().await? }, rev))
}

/// Delete a conversation and its scratchpad.
#[utoipa::path(
    delete,
    path = "/v1/agents/{agent}/conversations/{conversation}",
    params(ConversationPath),
    responses((status = 200, description = "Whether it existed", body = WithRev<DeletedBody>), Problems)
)]
async fn delete_conversation(caller: Caller, Path(path): Path<ConversationPath>) -> RevResult<DeletedBody> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    let deleted = conversation.delete().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, conversation.view().await?.rev()))
}

/// Clear a conversation's entries and notes.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/conversations/{conversation}/clear",
    params(ConversationPath, SpaceConditions),
    responses((status = 200, description = "It was cleared", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_conversation(
    caller: Caller,
    Path(path): Path<ConversationPath>,
    conditions: SpaceConditions,
) -> RevResult<ClearedBody> {
    let conversation = caller.agent(&path.agent)?.conversation(&path.conversation)?;
    clear(&conversation, conditions).await
}
