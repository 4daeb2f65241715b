//! Tools for an agent's permanent memory: search, read, write, delete, and the handoff to its next session.

use corkboard_core::count;
use corkboard_core::knowledge::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::record::trust_of;
use super::scratchpad::{OtherMemory, not_found, text_of};
use super::user_facts::{About, UserFact, UserFacts};
use super::{TEXT_BYTES, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::context::{escaped_line, label, tokens};
use crate::knowledge::if_readable;
use crate::{
    FoundItem, Result, SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, Search, SearchAnswer, SearchHit, WorkingMemory,
    WrittenEntry,
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
    /// Words, "phrases", tag: key: kind: author: before: after:
    query: String,
    /// At most 50.
    limit: Option<i64>,
    /// Maximum tokens of all snippets.
    #[schemars(skip)]
    budget: Option<u64>,
    #[schemars(skip)]
    explain: Option<bool>,
    #[schemars(skip)]
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
    /// From the previous answer.
    offset: Option<u64>,
    about: Option<About>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeleteMemoryInput {
    key: String,
    about: Option<About>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteMemoryInput {
    key: String,
    #[serde(alias = "value")]
    content: String,
    mode: Option<WriteMode>,
    /// Default: project. user: for all projects.
    about: Option<About>,
    /// From the web, a tool or a stranger.
    outside: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum WriteMode {
    #[default]
    Replace,
    Append,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteSessionHandoffInput {
    content: String,
    outside: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScratchNoteInput {
    mode: ScratchMode,
    content: Option<String>,
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
    const DESCRIPTION: &'static str = "Search PERMANENT memory by words. Returns snippets; \
        read_memory returns whole texts.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"query": "release deadline"})
    }

    async fn run(&self, input: SearchMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let memory = context.memory(&self.corkboard)?;
        let SearchAnswer { hits, embedder, .. } = search(memory.search(&input.query), &input).await?;
        let mut about_user = hits_about_user(context.user_facts_if_any(&self.corkboard)?, &input).await?;
        if let Some(budget) = input.budget {
            let used: u64 = hits.iter().map(|hit| tokens::count(&hit.snippet)).sum();
            let mut left = budget.saturating_sub(used);
            about_user.retain(|found| {
                let tokens = tokens::count(&found.hit.snippet);
                let fits = tokens <= left;
                left -= if fits { tokens } else { 0 };
                fits
            });
        }
        // They alternate, because the scores of two searches cannot be compared.
        let mut own = hits.into_iter().map(|hit| MemoryHit { hit, about_user: None });
        let mut about_user = about_user.into_iter();
        let pairs = std::iter::from_fn(|| {
            let pair: Vec<_> = own.next().into_iter().chain(about_user.next()).collect();
            (!pair.is_empty()).then_some(pair)
        });
        let hits: Vec<MemoryHit> = pairs.flatten().take(input.limit()).collect();
        let line = |(place, found): (usize, &MemoryHit)| {
            let hit = &found.hit;
            let scope = hit.scope.as_ref().map(|scope| format!(" in scope {}", escaped_line(scope.name.as_str())));
            let folded = if hit.folded == 0 { String::new() } else { format!(" (+{} alike)", hit.folded) };
            let parts = hit.explanation_text();
            let parts = if parts.is_empty() { parts } else { format!(": {}", escaped_line(&parts)) };
            let (name, place_of) = match &found.about_user {
                Some(name) => (escaped_line(name), " about the user".into()),
                None => (escaped_line(&hit.item.name()), scope.unwrap_or_default()),
            };
            let (mark, snippet) = (hit.trust.mark(), escaped_line(&hit.snippet));
            format!("{}. {mark}{name}{place_of} (score {:.2}{parts}): {snippet}{folded}", place + 1, hit.score)
        };
        let warning = label::warning(hits.iter().map(|found| found.hit.trust));
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
        let hits: Vec<Value> = hits.iter().map(MemoryHit::data).collect();
        Ok(ToolOutput::new(text, json!({"hits": hits, "embedder": embedder})))
    }
}

impl SearchMemoryInput {
    fn limit(&self) -> usize {
        self.limit.map_or(Search::LIMIT, |limit| usize::try_from(limit).unwrap_or(0))
    }
}

/// A hit and, if it is about the user, its key there, or its ID if it has no key.
struct MemoryHit {
    hit: SearchHit,
    about_user: Option<String>,
}

impl MemoryHit {
    fn data(&self) -> Value {
        let mut data = json!(self.hit);
        if let (Some(name), Some(data)) = (&self.about_user, data.as_object_mut()) {
            data.insert("key".into(), name.as_str().into());
            data.insert("about".into(), json!(About::User));
        }
        data
    }
}

async fn search(search: Search<'_>, input: &SearchMemoryInput) -> Result<SearchAnswer> {
    let mut search = search.limit(input.limit());
    if let Some(tokens) = input.budget {
        search = search.budget(tokens);
    }
    search.explain(input.explain.unwrap_or(false)).words_only(input.words_only.unwrap_or(false)).answer().await
}

async fn hits_about_user(facts: Option<UserFacts>, input: &SearchMemoryInput) -> Result<Vec<MemoryHit>> {
    let Some(facts) = facts else { return Ok(Vec::new()) };
    let answer = match if_readable(facts.core(), search(facts.core().search(&input.query), input).await) {
        Err(error) if error.is_not_granted() => return Ok(Vec::new()),
        answer => answer?,
    };
    let mut hits = Vec::new();
    for hit in answer.map(|answer| answer.hits).unwrap_or_default() {
        let FoundItem::CoreEntry { id, .. } = hit.item else { continue };
        let name = facts.key_of(id).await?.unwrap_or_else(|| id.to_string());
        hits.push(MemoryHit { hit, about_user: Some(name) });
    }
    Ok(hits)
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
        let ReadMemoryInput { key, offset, about } = input;
        let own = match about {
            None | Some(About::Project) => context.memory(&self.corkboard)?.working().get_entry(&key).await?,
            Some(About::User) => None,
        };
        let fact = match about {
            Some(About::Project) => None,
            Some(About::User) => context.user_facts(&self.corkboard)?.get(&key).await?,
            None => context.user_fact(&self.corkboard, &key).await?,
        };
        let is_also_about_user = own.is_some() && fact.is_some();
        let own = own.map(|entry| {
            (UserFact { text: text_of(&entry), version: entry.version, trust: entry.trust() }, About::Project)
        });
        let Some((UserFact { text, version, trust }, about)) = own.or(fact.map(|fact| (fact, About::User))) else {
            let text = not_found(&key, OtherMemory::Conversation, context, &self.corkboard).await?;
            return Ok(ToolOutput::new(text, json!({"key": key, "value": null})));
        };
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
            shown = label::marked(page, trust);
            if shown.len() <= most {
                break;
            }
            length /= 2;
        }
        let next_offset = (start + page.len() < text.len()).then_some(offset + length);
        if let Some(next) = next_offset {
            let call = match about {
                About::Project => json!({"key": key, "offset": next}),
                About::User => json!({"key": key, "offset": next, "about": about}),
            };
            let call = escaped_line(&call.to_string());
            shown.push_str(&format!("\n… [tokens {offset} to {next} of {tokens}; continue with read_memory {call}]"));
        }
        match about {
            About::User => shown.push_str("\n[about the user, in the memory core \"user\"]"),
            About::Project if is_also_about_user => {
                let call = escaped_line(&json!({"key": key, "about": About::User}).to_string());
                shown.push_str(&format!("\n[another text is about the user: read_memory {call}]"));
            }
            About::Project => {}
        }
        let data = json!({"key": key, "value": page, "version": version, "trust": trust, "tokens": tokens,
            "next_offset": next_offset, "about": about});
        Ok(ToolOutput::new(shown, data))
    }
}

impl TypedTool for DeleteMemoryTool {
    type Input = DeleteMemoryInput;
    const NAME: &'static str = "delete_memory";
    const DESCRIPTION: &'static str = "Delete a text from PERMANENT memory.";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"key": "user/preferences"})
    }

    async fn run(&self, input: DeleteMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let DeleteMemoryInput { key, about } = input;
        let memory = context.memory(&self.corkboard)?.working();
        let about = match about {
            Some(about) => about,
            None => match context.user_fact(&self.corkboard, &key).await? {
                Some(_) if memory.contains(&key).await? => {
                    let message = format!("{key} is a key of the project and of the user; pass about");
                    return Err(Self::invalid_as(message, json!({"key": key, "about": About::User})));
                }
                Some(_) => About::User,
                None => About::Project,
            },
        };
        let deleted = match about {
            About::Project => memory.remove(&key).await?,
            About::User => context.user_facts(&self.corkboard)?.forget(&key).await?,
        };
        let text = match (deleted, about) {
            (true, About::Project) => format!("Deleted {key}."),
            (true, About::User) => format!("Deleted {key} about the user."),
            (false, _) => not_found(&key, OtherMemory::Conversation, context, &self.corkboard).await?,
        };
        Ok(ToolOutput::new(text, json!({"key": key, "deleted": deleted})))
    }
}

impl TypedTool for WriteMemoryTool {
    type Input = WriteMemoryInput;
    const NAME: &'static str = "write_memory";
    const DESCRIPTION: &'static str = "PERMANENT, for all later conversations: store a text under a key. \
        append adds a line. (This conversation only: memory_write.)";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"key": "style", "content": "Likes short answers", "about": "user"})
    }

    async fn run(&self, input: WriteMemoryInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let WriteMemoryInput { key, content, mode, about, outside } = input;
        let mode = mode.unwrap_or_default();
        let verb = |is_update: bool| match mode {
            _ if !is_update => "Stored",
            WriteMode::Replace => "Replaced",
            WriteMode::Append => "Appended to",
        };
        if about == Some(About::User) {
            let facts = context.user_facts(&self.corkboard)?;
            let is_update = facts.write(&key, content, mode, trust_of(outside)).await?;
            let text = format!("{} {key} about the user, for all projects.", verb(is_update));
            return Ok(ToolOutput::new(text, json!({"key": key, "is_update": is_update, "about": About::User})));
        }
        let memory = context.memory(&self.corkboard)?.working();
        let written = write(&memory, &key, content, mode, outside).await?;
        let data = json!({"key": key, "version": written.version, "is_update": written.is_update});
        Ok(ToolOutput::new(format!("{} {key}.", verb(written.is_update)), data))
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
    const DESCRIPTION: &'static str = "Before you finish, leave a note (state, next steps, questions) that \
        your next session reads first. Replaces the last one.";
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
    const DESCRIPTION: &'static str = "Permanent working notes on your current task, shown in every session. \
        Clear them when the task is done.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"mode": "append", "content": "A is too slow"})
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
