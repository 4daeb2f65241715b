//! Two ordinary entries with a fixed meaning: the handoff note for the next session, and the scratchpad of the active
//! task.

use super::{AgentMemory, WriteText};
use crate::Result;

/// Key of the handoff note, which opens the next session's prompt.
pub const SESSION_HANDOFF_KEY: &str = "session-handoff";
/// Key of the working notes on the current task.
pub const SCRATCHPAD_KEY: &str = "scratchpad";

impl AgentMemory {
    /// The handoff note that the last session left, if any.
    pub async fn handoff(&self) -> Result<Option<String>> {
        self.text(SESSION_HANDOFF_KEY).await
    }

    /// Stores a note for the next session. It replaces the previous note and that note's mark for outside text.
    pub fn write_handoff(&self, text: &str) -> WriteText {
        self.working().write_text(SESSION_HANDOFF_KEY, text)
    }

    /// The working notes on the current task, if they are not empty.
    pub async fn scratchpad(&self) -> Result<Option<String>> {
        self.text(SCRATCHPAD_KEY).await
    }

    /// Replaces the working notes on the current task.
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
