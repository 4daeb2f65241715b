//! Seed 001's tools: an agent looks things up in its memory, keeps what it learned, and hands over to its next session.

use corkboard_core::knowledge::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::scratchpad::text_of;
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::{escaped_line, label};
use crate::{FoundItem, Result, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, Search, SearchHit, WorkingMemory, Written};

tool!(
    /// `search_memory`: finds entries and notes by their words.
    SearchMemoryTool
);
tool!(
    /// `write_memory`: keeps a text under a key.
    WriteMemoryTool
);
tool!(
    /// `write_session_handoff`: leaves a note that opens the next session's prompt.
    WriteSessionHandoffTool
);
tool!(
    /// `scratch_note`: the jotting of the task at hand.
    ScratchNoteTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchMemoryInput {
    /// Words to look for.
    query: String,
    /// 1 to 50; 10 if left out.
    limit: Option<i64>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteMemoryInput {
    /// A short name, such as project/plan.
    key: String,
    content: String,
    /// replace if left out.
    mode: Option<WriteMode>,
    /// It came from a web page, a tool or a stranger.
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
    /// As in write_memory.
    outside: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScratchNoteInput {
    mode: ScratchMode,
    /// For replace and append.
    content: Option<String>,
    /// As in write_memory.
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
    const DESCRIPTION: &'static str = "Search your long-lasting memory, entries and notes, by words. \
        Best hits first, with scores and snippets.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"query": "release deadline", "limit": 5})
    }

    async fn run(&self, input: SearchMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let limit = input.limit.map_or(Search::LIMIT, |limit| usize::try_from(limit).unwrap_or(0));
        let hits = context.memory(&self.corkboard)?.search(&input.query).limit(limit).await?;
        let line = |(place, hit): (usize, &SearchHit)| {
            let what = match &hit.item {
                FoundItem::Entry { key, .. } => escaped_line(key.as_str()),
                FoundItem::Note { note } => format!("note {note}"),
                FoundItem::Notebook { notebook, item: Some(item) } => format!("{item} in notebook {notebook}"),
                FoundItem::Notebook { notebook, item: None } => format!("progress in notebook {notebook}"),
            };
            let scope = hit
                .scope
                .as_ref()
                .map(|scope| format!(" in scope {}", escaped_line(scope.name.as_str())))
                .unwrap_or_default();
            let (mark, snippet) = (hit.trust.mark(), escaped_line(&hit.snippet));
            format!("{}. {mark}{what}{scope} (score {:.2}): {snippet}", place + 1, hit.score)
        };
        let warning = label::warning(hits.iter().map(|hit| hit.trust));
        let text = match hits.is_empty() {
            true => "Nothing found.".into(),
            false => {
                let lines = hits.iter().enumerate().map(line);
                lines.chain(warning.map(str::to_owned)).collect::<Vec<_>>().join("\n")
            }
        };
        Ok(ToolOutput::new(text, json!({"hits": hits})))
    }
}

impl TypedTool for WriteMemoryTool {
    type Input = WriteMemoryInput;
    const NAME: &'static str = "write_memory";
    const DESCRIPTION: &'static str = "Keep a text in your long-lasting memory under a key. \
        append adds a line to what is there.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

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
        let data = json!({"key": key, "version": written.version, "updated": written.is_update});
        Ok(ToolOutput::new(format!("{verb} {key}."), data))
    }
}

async fn write(
    memory: &WorkingMemory,
    key: &str,
    content: String,
    mode: WriteMode,
    outside: Option<bool>,
) -> Result<Written> {
    let is_outside = outside.unwrap_or_default();
    match mode {
        WriteMode::Replace => memory.write_text(key, content).outside(is_outside).await,
        // Of a text of which a line came from outside, all is held to have.
        WriteMode::Append if is_outside => memory.write_text(key, content).on_new_line().from_outside().await,
        WriteMode::Append => memory.append(key, &content).on_new_line().await,
    }
}

impl TypedTool for WriteSessionHandoffTool {
    type Input = WriteSessionHandoffInput;
    const NAME: &'static str = "write_session_handoff";
    const DESCRIPTION: &'static str = "Before you wrap up: leave one note for your next session, which reads it first. \
        Replaces the one before.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

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
    const DESCRIPTION: &'static str = "A scratchpad for the task at hand, kept over sessions and shown to you. \
        Clear it when the task is done.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

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
                (written, "Replaced the scratchpad.")
            }
            ScratchMode::Append => {
                let written = write(&memory, SCRATCHPAD_KEY, needed()?, WriteMode::Append, outside).await?;
                (written, "Appended to the scratchpad.")
            }
            ScratchMode::Clear => (memory.write_text(SCRATCHPAD_KEY, "").await?, "Cleared the scratchpad."),
            ScratchMode::Read => {
                let entry = memory.get_entry(SCRATCHPAD_KEY).await?;
                let trust = entry.as_ref().map(|entry| entry.trust()).unwrap_or_default();
                let text = entry.as_ref().map(|entry| text_of(entry)).filter(|text| !text.is_empty());
                let data = match trust {
                    Trust::Outside => json!({"content": text, "trust": trust}),
                    Trust::Agent | Trust::Own => json!({"content": text}),
                };
                let text = text.map(|text| label::marked(&text, trust));
                return Ok(ToolOutput::new(text.unwrap_or_else(|| "The scratchpad is empty.".into()), data));
            }
        };
        Ok(ToolOutput::new(text, json!({"version": written.version})))
    }
}
