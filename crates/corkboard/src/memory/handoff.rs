//! Ordinary entries with a fixed meaning: the handoff note for the next session, the scratchpad of the active task, and
//! copies of the scratchpads of ended sessions.

use std::fmt::Write as _;

use corkboard_core::agent::AgentState;
use corkboard_core::knowledge::Trust;
use corkboard_core::{Entry, EntryMetadata, Key, MemoryKind, ScopeId};
use jiff::Timestamp;

use super::{AgentMemory, WriteText};
use crate::Result;

/// Key of the handoff note, which opens the next session's prompt.
pub const SESSION_HANDOFF_KEY: &str = "session-handoff";
/// Key of the working notes on the current task.
pub const SCRATCHPAD_KEY: &str = "scratchpad";
/// Beginning of the keys of ended sessions' scratchpads.
const SESSIONS: &str = "sessions/";
/// Days for which a session's scratchpad is kept.
const SESSION_DAYS: u32 = 30;
/// More than the default, so that the context window shows the last session before other entries.
const SESSION_IMPORTANCE: f32 = 0.9;

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

    /// Copies a conversation's scratchpad to the entry `sessions/ID`, which expires after 30 days. Context windows show
    /// only the newest such copy, and none if the handoff is newer. Returns whether a copy was written: not if the
    /// scratchpad is empty or the copy is current.
    ///
    /// ```
    /// # use corkboard::{ContextRequest, Corkboard};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// # let agent = Corkboard::open("memory:").await?.agent("a")?;
    /// agent.conversation("monday")?.set("plan", "ship it").await?;
    /// assert!(agent.keep_session("monday").await?);
    /// let window = agent.context_window().compose(ContextRequest::new()).await?;
    /// assert!(window.text.contains("sessions/monday: plan: ship it"));
    /// # Ok(()) }
    /// ```
    pub async fn keep_session(&self, conversation: &str) -> Result<bool> {
        let pad = self.conversation(conversation)?.entries_and_notes().await?;
        let mut text = String::new();
        for (key, entry) in &pad.entries {
            let value = entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into());
            let _ = writeln!(text, "{}: {value}", key.as_str());
        }
        pad.notes.iter().for_each(|note| text.extend(["- ", &note.text, "\n"]));
        let trusts =
            pad.entries.iter().map(|(_, entry)| entry.trust()).chain(pad.notes.iter().map(|note| note.trust()));
        let trust = trusts.into_iter().find(|trust| *trust == Trust::Outside);
        let (memory, key, text) = (self.working(), [SESSIONS, conversation].concat(), text.trim_end());
        let current = memory.get_entry(&key).await?;
        let is_current = |entry: &Entry| entry.trust == trust && entry.value.as_text().as_deref() == Some(text);
        if text.is_empty() || current.is_some_and(|entry| is_current(&entry)) {
            return Ok(false);
        }
        let metadata = EntryMetadata {
            importance: Some(SESSION_IMPORTANCE),
            kind: Some(MemoryKind::Conversation),
            expiry_days: Some(SESSION_DAYS),
            session: Some(conversation.to_owned()),
            trust,
            ..EntryMetadata::default()
        };
        memory.set(&key, text).type_name("text").metadata(metadata).await?;
        Ok(true)
    }

    async fn text(&self, key: &str) -> Result<Option<String>> {
        let entry = self.working().get_entry(key).await?;
        let text =
            entry.map(|entry| entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into()).into_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }
}

/// Whether an entry is the copy of an ended session's scratchpad.
fn is_session(key: &Key, entry: &Entry) -> bool {
    entry.kind == MemoryKind::Conversation && key.as_str().starts_with(SESSIONS)
}

/// The entries that a context window shows: of ended sessions' scratchpads only the newest, unless a handoff is newer.
pub(crate) fn shown_entries(state: &AgentState, now: Timestamp) -> impl Iterator<Item = (&Key, &Entry)> {
    let root = state.scope(ScopeId::ROOT);
    let entries =
        move || root.into_iter().flat_map(move |root| root.live_entries(now)).map(|(key, entry)| (key, &**entry));
    let sessions = entries().filter(|(key, entry)| is_session(key, entry));
    let handoff = root.and_then(|root| root.get(SESSION_HANDOFF_KEY, now)).map(|entry| entry.at);
    let last = sessions.max_by_key(|(_, entry)| entry.at).filter(|(_, entry)| handoff.is_none_or(|at| at <= entry.at));
    let last = last.map(|(key, _)| key);
    entries().filter(move |(key, entry)| !is_session(key, entry) || last == Some(*key))
}
