//! Tools for an agent's permanent memory: search, read, write, delete, and the handoff to its next session.

use corkboard_core::count;
use corkboard_core::knowledge::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::scratchpad::{OtherMemory, not_found, text_of};
use super::{TEXT_BYTES, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::{escaped_line, label, tokens};
use crate::{
    Result, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, Search, SearchAnswer, SearchHit, WorkingMemory, WrittenEntry,
};

tool!(
    /// `search_memory`: finds entries and notes by their words.
    SearchMemoryTool
);
tool!(
    /// `read_memory`: one whole text of the agent's memory, in pages.
    ReadMemoryTool
);
tool!(
    /// `write_memory`: stores a text under a key.
    WriteMemoryTool
);
tool!(
    /// `delete_memory`: deletes a key of the agent's memory.
    DeleteMemoryTool
);
tool!(
    /// `write_session_handoff`: leaves a note that opens the next session's prompt.
    WriteSessionHandoffTool
);
tool!(
    /// `scratch_note`: reads and changes the working notes on the current task.
    ScratchNoteTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchMemoryInput {
    /// Words, "phrases", filters tag: key: kind: author: before: after:
    query: String,
    /// 1 to 50; default 10.
    limit: Option<i64>,
    /// Of all snippets.
    budget: Option<u64>,
    explain: Option<bool>,
    words_only: Option<bool>,
}

/// Maximum tokens of a text in one answer of `read_memory`.
const PAGE_TOKENS: u64 = 4_000;

/// Bytes that an answer of `read_memory` reserves for everything but the text.
const PAGE_END_BYTES: usize = 4 * 1024;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadMemoryInput {
    key: String,
    /// To continue a long text: the offset from the previous answer.
    offset: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeleteMemoryInput {
    key: String,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteMemoryInput {
    /// Such as project/plan.
    key: String,
    #[serde(alias = "value")]
    content: String,
    /// Default: replace.
    mode: Option<WriteMode>,
    /// True if from a web page, tool or stranger.
    outside: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum WriteMode {
    #[default]
    Replace,
    Append,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteSessionHandoffInput {
    /// State, next steps, open questions.
    content: String,
    /// See write_memory.
    outside: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScratchNoteInput {
    mode: ScratchMode,
    /// For replace and append.
    content: Option<String>,
    /// See write_memory.
    outside: Option<bool>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ScratchMode {
    Replace,
    Append,
    Clear,
    Read,
}

impl TypedTool for SearchMemoryTool {
    type Input = SearchMemoryInput;
    const NAME: &'static str = "search_memory";
    const DESCRIPTION: &'static str = "Search permanent memory (entries and notes) by words. \
        Returns snippets; read_memory returns a whole entry.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"query": "release deadline"})
    }

    async fn run(&self, input: SearchMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let limit = input.limit.map_or(Search::LIMIT, |limit| usize::try_from(limit).unwrap_or(0));
        let memory = context.memory(&self.corkboard)?;
        let mut search = memory.search(&input.query).limit(limit);
        if let Some(tokens) = input.budget {
            search = search.budget(tokens);
        }
        let search = search.explain(input.explain.unwrap_or(false));
        let search = search.words_only(input.words_only.unwrap_or(false));
        let SearchAnswer { hits, embedder, .. } = search.answer().await?;
        let line = |(place, hit): (usize, &SearchHit)| {
            let scope = hit.scope.as_ref().map(|scope| format!(" in scope {}", escaped_line(scope.name.as_str())));
            let folded = if hit.folded == 0 { String::new() } else { format!(" (+{} alike)", hit.folded) };
            let parts = hit.explanation_text();
            let parts = if parts.is_empty() { parts } else { format!(": {}", escaped_line(&parts)) };
            let (mark, name, snippet) = (hit.trust.mark(), escaped_line(&hit.item.name()), escaped_line(&hit.snippet));
            format!(
                "{}. {mark}{name}{} (score {:.2}{parts}): {snippet}{folded}",
                place + 1,
                scope.unwrap_or_default(),
                hit.score
            )
        };
        let warning = label::warning(hits.iter().map(|hit| hit.trust));
        let mut text = match hits.is_empty() {
            true => "Nothing found.".into(),
            false => {
                let lines = hits.iter().enumerate().map(line);
                lines.chain(warning.map(str::to_owned)).collect::<Vec<_>>().join("\n")
            }
        };
        let without_vector = embedder.as_ref().map_or(0, |embedder| embedder.without_vector);
        if without_vector > 0 {
            text.push_str(&format!("\n({without_vector} entries are not fully indexed yet.)"));
        }
        Ok(ToolOutput::new(text, json!({"hits": hits, "embedder": embedder})))
    }
}

impl TypedTool for ReadMemoryTool {
    type Input = ReadMemoryInput;
    const NAME: &'static str = "read_memory";
    const DESCRIPTION: &'static str = "Read a whole text from PERMANENT memory.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"key": "user/preferences"})
    }

    async fn run(&self, input: ReadMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ReadMemoryInput { key, offset } = input;
        let Some(entry) = context.memory(&self.corkboard)?.working().get_entry(&key).await? else {
            let text = not_found(&key, OtherMemory::Conversation, context, &self.corkboard).await?;
            return Ok(ToolOutput::new(text, json!({"key": key, "value": null})));
        };
        let text = text_of(&entry);
        let (tokens, offset) = (tokens::count(&text), offset.unwrap_or_default());
        if offset > 0 && offset >= tokens {
            let message = format!("offset {offset} is past the end: the text has {}", count(tokens, "token", "tokens"));
            return Err(Self::invalid_as(message, json!({"key": key, "offset": 0})));
        }
        let start = tokens::beginning(&text, offset).len();
        let most = TEXT_BYTES - PAGE_END_BYTES;
        let (mut length, mut page, mut shown);
        length = PAGE_TOKENS;
        loop {
            let end = tokens::beginning(&text, offset + length).len();
            page = text.get(start..end).unwrap_or_default();
            shown = label::marked(page, entry.trust());
            if shown.len() <= most {
                break;
            }
            length /= 2;
        }
        let next_offset = (start + page.len() < text.len()).then_some(offset + length);
        if let Some(next) = next_offset {
            let call = escaped_line(&json!({"key": key, "offset": next}).to_string());
            shown.push_str(&format!("\n… [tokens {offset} to {next} of {tokens}; continue with read_memory {call}]"));
        }
        let data = json!({"key": key, "value": page, "version": entry.version, "trust": entry.trust(),
            "tokens": tokens, "next_offset": next_offset});
        Ok(ToolOutput::new(shown, data))
    }
}

impl TypedTool for DeleteMemoryTool {
    type Input = DeleteMemoryInput;
    const NAME: &'static str = "delete_memory";
    const DESCRIPTION: &'static str = "Delete an entry from permanent memory.";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"key": "user/preferences"})
    }

    async fn run(&self, input: DeleteMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let key = input.key;
        let deleted = context.memory(&self.corkboard)?.working().remove(&key).await?;
        let text = match deleted {
            true => format!("Deleted {key}."),
            false => not_found(&key, OtherMemory::Conversation, context, &self.corkboard).await?,
        };
        Ok(ToolOutput::new(text, json!({"key": key, "deleted": deleted})))
    }
}

impl TypedTool for WriteMemoryTool {
    type Input = WriteMemoryInput;
    const NAME: &'static str = "write_memory";
    const DESCRIPTION: &'static str = "PERMANENT, for all later conversations: store a text under a key. \
        append adds a line. (For this conversation only, use memory_write.)";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"key": "user/preferences", "content": "Prefers short answers", "mode": "append"})
    }

    async fn run(&self, input: WriteMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let WriteMemoryInput { key, content, mode, outside } = input;
        let memory = context.memory(&self.corkboard)?.working();
        let mode = mode.unwrap_or_default();
        let written = write(&memory, &key, content, mode, outside).await?;
        let verb = match mode {
            _ if !written.is_update => "Stored",
            WriteMode::Replace => "Replaced",
            WriteMode::Append => "Appended to",
        };
        let data = json!({"key": key, "version": written.version, "is_update": written.is_update});
        Ok(ToolOutput::new(format!("{verb} {key}."), data))
    }
}

async fn write(
    memory: &WorkingMemory,
    key: &str,
    content: String,
    mode: WriteMode,
    outside: Option<bool>,
) -> Result<WrittenEntry> {
    let is_outside = outside.unwrap_or_default();
    match mode {
        WriteMode::Replace => memory.write_text(key, content).outside(is_outside).await,
        // If one line comes from outside, the whole text counts as outside.
        WriteMode::Append if is_outside => memory.write_text(key, content).on_new_line().from_outside().await,
        WriteMode::Append => memory.append(key, &content).on_new_line().await,
    }
}

impl TypedTool for WriteSessionHandoffTool {
    type Input = WriteSessionHandoffInput;
    const NAME: &'static str = "write_session_handoff";
    const DESCRIPTION: &'static str = "Before you finish, leave a note that your next session reads first. \
        Replaces the previous note.";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"content": "Migration half done; next: run step 3, then tell Ada"})
    }

    async fn run(&self, input: WriteSessionHandoffInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        if input.content.trim().is_empty() {
            return Err(Self::invalid("content must not be blank"));
        }
        let memory = context.memory(&self.corkboard)?;
        let written = memory.write_handoff(&input.content).outside(input.outside.unwrap_or_default()).await?;
        let data = json!({"key": SESSION_HANDOFF_KEY, "version": written.version});
        Ok(ToolOutput::new("Handoff written: your next session reads it first.", data))
    }
}

impl TypedTool for ScratchNoteTool {
    type Input = ScratchNoteInput;
    const NAME: &'static str = "scratch_note";
    const DESCRIPTION: &'static str = "Permanent working notes on your current task, shown to you in every session. \
        Clear them when the task is done.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"mode": "append", "content": "Tried A: too slow"})
    }

    async fn run(&self, input: ScratchNoteInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let ScratchNoteInput { mode, content, outside } = input;
        let memory = context.memory(&self.corkboard)?.working();
        let needed = || content.ok_or_else(|| Self::invalid(format!("{} needs content", json!(mode))));
        let (written, text) = match mode {
            ScratchMode::Replace => {
                let written = write(&memory, SCRATCHPAD_KEY, needed()?, WriteMode::Replace, outside).await?;
                (written, "Replaced your working notes.")
            }
            ScratchMode::Append => {
                let written = write(&memory, SCRATCHPAD_KEY, needed()?, WriteMode::Append, outside).await?;
                (written, "Appended to your working notes.")
            }
            ScratchMode::Clear => (memory.write_text(SCRATCHPAD_KEY, "").await?, "Cleared your working notes."),
            ScratchMode::Read => {
                let entry = memory.get_entry(SCRATCHPAD_KEY).await?;
                let trust = entry.as_ref().map(|entry| entry.trust()).unwrap_or_default();
                let text = entry.as_ref().map(|entry| text_of(entry)).filter(|text| !text.is_empty());
                let data = match trust {
                    Trust::Outside => json!({"content": text, "trust": trust}),
                    Trust::Agent | Trust::Own => json!({"content": text}),
                };
                let text = text.map(|text| label::marked(&text, trust));
                return Ok(ToolOutput::new(text.unwrap_or_else(|| "Your working notes are empty.".into()), data));
            }
        };
        Ok(ToolOutput::new(text, json!({"version": written.version})))
    }
}
