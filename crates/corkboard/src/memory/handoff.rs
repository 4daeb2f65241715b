//! Two ordinary entries with a meaning of their own: the handoff to the next session, and the jotting of the task at hand.

use super::place::TextWrite;
use super::write::{Future, Written};
use super::{AgentMemory, WorkingMemory};
use crate::Result;

/// The key of the note that opens the next session's prompt.
pub const SESSION_HANDOFF_KEY: &str = "session-handoff";
/// The key of the active task's scratchpad.
pub const SCRATCHPAD_KEY: &str = "scratchpad";

impl AgentMemory {
    /// The note that the last session left, if it left one.
    pub async fn handoff(&self) -> Result<Option<String>> {
        self.text(SESSION_HANDOFF_KEY).await
    }

    /// Leaves a note for the next session. It replaces the one before, and that it came from outside if it did.
    pub fn write_handoff(&self, text: &str) -> WriteText {
        WriteText::new(self, SESSION_HANDOFF_KEY, text)
    }

    /// The same with what came from a web page, a tool or a stranger: it is marked so in the next session's prompt.
    pub fn write_handoff_from_outside(&self, text: &str) -> WriteText {
        self.write_handoff(text).from_outside()
    }

    /// The jotting of the task at hand, if there is one.
    pub async fn scratchpad(&self) -> Result<Option<String>> {
        self.text(SCRATCHPAD_KEY).await
    }

    /// Jots something down in place of what is there.
    pub fn write_scratchpad(&self, text: &str) -> WriteText {
        WriteText::new(self, SCRATCHPAD_KEY, text)
    }

    async fn text(&self, key: &str) -> Result<Option<String>> {
        let entry = self.working().get_entry(key).await?;
        let text =
            entry.map(|entry| entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }
}

/// Stores a text under a key with a meaning of its own. What is known about the entry stays, but for where the text came
/// from.
#[must_use = "nothing is written until this is awaited"]
pub struct WriteText {
    memory: WorkingMemory,
    key: &'static str,
    text: String,
    how: TextWrite,
}

impl WriteText {
    fn new(memory: &AgentMemory, key: &'static str, text: &str) -> Self {
        Self { memory: memory.working(), key, text: text.into(), how: TextWrite::default() }
    }

    /// It came from a web page, a tool or a stranger: it is marked so wherever a model reads it.
    pub fn from_outside(mut self) -> Self {
        self.how.is_outside = true;
        self
    }

    /// Only if the entry is at this version; 0 means that it must not exist.
    pub fn if_version(mut self, version: u64) -> Self {
        self.how.if_version = Some(version);
        self
    }

    /// Only if the whole memory is at this revision.
    pub fn if_rev(mut self, rev: u64) -> Self {
        self.how.if_rev = Some(rev);
        self
    }
}

impl IntoFuture for WriteText {
    type Output = Result<Written>;
    type IntoFuture = Future<'static, Written>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.memory.write_text_as(self.key, self.text, self.how).await })
    }
}

impl WorkingMemory {
    /// Stores a text in place of what is there; what is known about the entry stays, but for where that text came from.
    pub(crate) async fn write_text(&self, key: &str, text: String) -> Result<Written> {
        self.place.write_text(key, text, TextWrite::default()).await
    }

    /// The same, alone or as another line, and with whether it came from outside.
    pub(crate) async fn write_text_as(&self, key: &str, text: String, how: TextWrite) -> Result<Written> {
        self.place.write_text(key, text, how).await
    }
}
