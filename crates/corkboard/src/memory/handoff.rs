//! Two ordinary entries with a meaning of their own: the handoff to the next session, and the jotting of the task at hand.

use super::place::TextWrite;
use super::write::Written;
use super::{AgentMemory, WorkingMemory};
use crate::Result;

/// The key of the note that opens the next session's prompt.
pub const SESSION_HANDOFF_KEY: &str = "session-handoff";
/// The key of the active task's scratchpad.
pub const SCRATCHPAD_KEY: &str = "scratchpad";

impl AgentMemory {
    /// The note that the last session left, if it left one.
    pub async fn handoff(&self) -> Result<Option<String>> {
        let entry = self.working().get_entry(SESSION_HANDOFF_KEY).await?;
        let text =
            entry.map(|entry| entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// Leaves a note for the next session. It replaces the one before, and that it came from outside if it did.
    pub async fn write_handoff(&self, text: &str) -> Result<Written> {
        self.working().write_text(SESSION_HANDOFF_KEY, text.into()).await
    }

    /// The same with what came from a web page, a tool or a stranger: it is marked so in the next session's prompt.
    pub async fn write_handoff_from_outside(&self, text: &str) -> Result<Written> {
        let how = TextWrite { appends: false, is_outside: true };
        self.working().write_text_as(SESSION_HANDOFF_KEY, text.into(), how).await
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
