//! The tools `memory_read` and `memory_write`: a model's scratchpad for one conversation.

use corkboard_core::knowledge::Trust;
use corkboard_core::{Entry, EntryMetadata, count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::record::trust_of;
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::{escaped_line, label};
use crate::memory::EntriesAndNotes;
use crate::{Corkboard, scratchpad};

tool!(
    /// `memory_read`: reads one fact of the conversation's scratchpad, or all of it.
    MemoryReadTool
);
tool!(
    /// `memory_write`: writes to the conversation's scratchpad.
    MemoryWriteTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryReadInput {
    /// Omit to read all.
    key: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryWriteInput {
    action: ScratchpadAction,
    key: Option<String>,
    #[serde(alias = "content")]
    value: Option<String>,
    /// From the web, a tool or a stranger.
    outside: Option<bool>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ScratchpadAction {
    Set,
    Note,
    Delete,
    Clear,
}

impl TypedTool for MemoryReadTool {
    type Input = MemoryReadInput;
    const NAME: &'static str = "memory_read";
    const DESCRIPTION: &'static str = "THIS CONVERSATION ONLY: read its scratchpad. \
        (Permanent memory: read_memory.)";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"key": "user_name"})
    }

    async fn run(&self, input: MemoryReadInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let scratchpad = context.scratchpad(&self.corkboard, Self::NAME)?;
        let Some(key) = input.key else {
            let data = json!(scratchpad.contents().await?);
            return Ok(ToolOutput::new(all(&scratchpad.entries_and_notes().await?), data));
        };
        Ok(match scratchpad.get_entry(&key).await? {
            Some(entry) => {
                let text = text_of(&entry);
                let data = json!({"key": key, "value": text});
                ToolOutput::new(label::marked(&text, entry.trust()), data)
            }
            None => {
                let text = not_found(&key, OtherMemory::Memory, context, &self.corkboard).await?;
                ToolOutput::new(text, json!({"key": key, "value": null}))
            }
        })
    }
}

impl TypedTool for MemoryWriteTool {
    type Input = MemoryWriteInput;
    const NAME: &'static str = "memory_write";
    const DESCRIPTION: &'static str = "THIS CONVERSATION ONLY, lost when it ends: set or delete a fact (key, value), \
        add a note (value), or clear all. (To keep it: write_memory.)";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"action": "set", "key": "user_name", "value": "Ada"})
    }

    async fn run(&self, input: MemoryWriteInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let MemoryWriteInput { action, key, value, outside } = input;
        let trust = trust_of(outside);
        let scratchpad = context.scratchpad(&self.corkboard, Self::NAME)?;
        let needs = |what: &str, example: Value| Self::invalid_as(format!("{} needs a {what}", json!(action)), example);
        match action {
            ScratchpadAction::Set => {
                let key = key.ok_or_else(|| needs("key", Self::example()))?;
                let value = value.ok_or_else(|| needs("value", Self::example()))?;
                let metadata = EntryMetadata { trust, ..EntryMetadata::default() };
                let written = scratchpad.set(&key, &value).type_name("text").metadata(metadata).await?;
                let verb = if written.is_update { "Replaced" } else { "Stored" };
                Ok(ToolOutput::new(format!("{verb} {key}."), json!({"key": key, "is_update": written.is_update})))
            }
            ScratchpadAction::Note => {
                let example = json!({"action": "note", "value": "User prefers dark mode"});
                let value = value.ok_or_else(|| needs("value", example))?;
                let note = scratchpad.add_note(&value).trusted(trust).await?;
                Ok(ToolOutput::new(format!("Added note {note}."), json!({"note": note})))
            }
            ScratchpadAction::Delete => {
                let key = key.ok_or_else(|| needs("key", json!({"action": "delete", "key": "user_name"})))?;
                let existed = scratchpad.remove(&key).await?;
                let text = match existed {
                    true => format!("Deleted {key}."),
                    false => not_found(&key, OtherMemory::Memory, context, &self.corkboard).await?,
                };
                Ok(ToolOutput::new(text, json!({"key": key, "deleted": existed})))
            }
            ScratchpadAction::Clear => {
                let notes = scratchpad.notes().await?.len();
                let entries = scratchpad.clear().await?;
                let (facts, lines) = (count(entries as u64, "fact", "facts"), count(notes as u64, "note", "notes"));
                let text = format!("Cleared the scratchpad: {facts}, {lines}.");
                Ok(ToolOutput::new(text, json!({"entries": entries, "notes": notes})))
            }
        }
    }
}

/// Facts and notes as JSON, then those from outside as text, each line with its mark.
fn all(contents: &EntriesAndNotes) -> String {
    let EntriesAndNotes { entries, notes } = contents;
    if entries.is_empty() && notes.is_empty() {
        return "The scratchpad is empty.".into();
    }
    let (mut own, mut outside) = (scratchpad::ScratchpadContents::default(), Vec::new());
    for (key, entry) in entries {
        match entry.trust() {
            Trust::Outside => outside.push(format!("{}: {}", escaped_line(key.as_str()), text_of(entry))),
            Trust::Agent | Trust::Own => own.set(key.as_str(), text_of(entry)),
        }
    }
    for note in notes {
        match note.trust() {
            Trust::Outside => outside.push(note.text.to_string()),
            Trust::Agent | Trust::Own => own.add_note(&*note.text),
        }
    }
    let own = (!own.is_empty()).then(|| json!(own).to_string());
    let outside = (!outside.is_empty()).then(|| label::marked(&outside.join("\n"), Trust::Outside));
    own.into_iter().chain(outside).collect::<Vec<_>>().join("\n")
}

/// The other place where a key may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum OtherMemory {
    /// The agent's memory.
    Memory,
    /// The scratchpad of the call's conversation.
    Conversation,
}

/// The answer for a missing key. If the key is in the other place, it says how to read it there.
pub(super) async fn not_found(
    key: &str,
    elsewhere: OtherMemory,
    context: &ToolContext,
    corkboard: &Corkboard,
) -> Result<String, ToolError> {
    let is_there = match (elsewhere, &context.conversation) {
        (OtherMemory::Memory, _) => {
            context.memory(corkboard)?.working().contains(key).await?
                || context.user_fact(corkboard, key).await?.is_some()
        }
        (OtherMemory::Conversation, Some(id)) => context.memory(corkboard)?.conversation(id)?.contains(key).await?,
        (OtherMemory::Conversation, None) => false,
    };
    Ok(match (is_there, elsewhere) {
        (false, _) => format!("not found: {key}"),
        (true, OtherMemory::Memory) => {
            format!("not found: {key} in this conversation's scratchpad. It is in permanent memory: use read_memory.")
        }
        (true, OtherMemory::Conversation) => {
            format!("not found: {key} in permanent memory. It is in this conversation's scratchpad: use memory_read.")
        }
    })
}

pub(super) fn text_of(entry: &Entry) -> String {
    entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned()
}
