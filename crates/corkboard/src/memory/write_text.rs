//! Replaces a text entry, or appends a line to it.

use corkboard_core::agent::{AgentCommand, AgentState};
use corkboard_core::knowledge::Trust;
use corkboard_core::{EntryMetadata, Key, Refusal, Request};
use jiff::Timestamp;

use super::handle::{MemoryHandle, content_of, kept_metadata, parse};
use super::write::{Future, WrittenEntry, written};
use crate::conditions::condition_methods;
use crate::engine::RequestSource;
use crate::{Conditions, Error, Result};

/// Stores a text. The entry keeps its metadata except its trust: a new text counts as coming from outside only if
/// [`WriteText::from_outside`] says so. Created by [`AgentMemory::write_handoff`](super::AgentMemory::write_handoff)
/// and similar methods.
#[must_use = "nothing is written until this is awaited"]
pub struct WriteText {
    handle: MemoryHandle,
    key: String,
    text: String,
    appends: bool,
    is_outside: bool,
    conditions: Conditions,
}

condition_methods!(impl[] WriteText: if_version, if_rev, conditions);

impl WriteText {
    /// Marks the text as coming from a web page, a tool or a stranger. Models see the mark when they read it.
    pub fn from_outside(self) -> Self {
        self.outside(true)
    }

    pub(crate) fn outside(self, is_outside: bool) -> Self {
        Self { is_outside, ..self }
    }

    /// Appends the text as a new line. An entry that was already from outside stays so.
    pub(crate) fn on_new_line(self) -> Self {
        Self { appends: true, ..self }
    }

    async fn run(self) -> Result<WrittenEntry> {
        let Self { handle, key, text, appends, is_outside, conditions } = self;
        let _timed = handle.time_set();
        if conditions.idempotency_key.is_some() {
            return Err(Error::Command { message: "this write does not accept an idempotency key".into() });
        }
        let (key, scope) = (Key::new(&key, handle.limits())?, handle.scope_id());
        let make = move |state: &AgentState, now: Timestamp| {
            let found = state.scope(scope).ok_or(Refusal::ScopeGone { scope })?.get(key.as_str(), now);
            let mut metadata = found.map_or_else(EntryMetadata::default, |entry| kept_metadata(entry));
            if is_outside {
                metadata.trust = Some(Trust::Outside);
            } else if !appends {
                metadata.trust = None;
            }
            let before = match found.filter(|_| appends) {
                Some(entry) => Some(parse::<String>(&key, entry)?).filter(|text| !text.is_empty()),
                None => None,
            };
            let value = match before {
                Some(before) => content_of(key.as_str(), &[before.as_str(), &text].join("\n"))?,
                None => content_of(key.as_str(), &text)?,
            };
            let command = AgentCommand::Set {
                scope,
                key: key.clone(),
                value,
                type_name: "text".into(),
                metadata: Box::new(metadata),
                if_version: conditions.if_version,
            };
            Ok(Request { command, if_rev: conditions.if_rev, idempotency: None })
        };
        let answer = handle.ask(RequestSource::Computed(Box::new(make))).await?;
        written(answer.reply, answer.rev)
    }
}

impl IntoFuture for WriteText {
    type Output = Result<WrittenEntry>;
    type IntoFuture = Future<'static, WrittenEntry>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl MemoryHandle {
    pub(crate) fn write_text(&self, key: &str, text: impl Into<String>) -> WriteText {
        let (handle, conditions) = (self.clone(), Conditions::default());
        WriteText { handle, key: key.into(), text: text.into(), appends: false, is_outside: false, conditions }
    }
}
