//! Two ordinary entries with a meaning of their own: the handoff to the next session, and the jotting of the task at hand.

use super::{AgentMemory, WriteText};
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

    /// Leaves a note for the next session. It replaces the one before, and the mark that that one came from outside.
    pub fn write_handoff(&self, text: &str) -> WriteText {
        self.working().write_text(SESSION_HANDOFF_KEY, text)
    }

    /// The jotting of the task at hand, if there is one.
    pub async fn scratchpad(&self) -> Result<Option<String>> {
        self.text(SCRATCHPAD_KEY).await
    }

    /// Jots something down in place of what is there.
    pub fn write_scratchpad(&self, text: &str) -> WriteText {
        self.working().write_text(SCRATCHPAD_KEY, text)
    }

    async fn text(&self, key: &str) -> Result<Option<String>> {
        let entry = self.working().get_entry(key).await?;
        let text =
            entry.map(|entry| entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }
}
