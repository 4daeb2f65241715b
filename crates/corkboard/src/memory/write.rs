//! Writes to a memory. A write happens when it is awaited, and may carry conditions.

use std::pin::Pin;

use corkboard_core::agent::{AgentCommand, AgentReply, Separator};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Content, EntryMetadata, Key, NoteId};

use super::handle::MemoryHandle;
use crate::conditions::condition_methods;
use crate::{Conditions, Error, Result};

/// Result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WrittenEntry {
    /// The entry's new version, which is the revision of this write.
    pub version: u64,
    /// Whether the key existed before.
    pub is_update: bool,
}

pub(super) type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// A write that stores a value. Created by [`MemoryHandle::set`].
#[must_use = "nothing is written until this is awaited"]
pub struct Set<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) key: &'a str,
    pub(super) value: Result<Content>,
    pub(super) type_name: &'static str,
    pub(super) metadata: EntryMetadata,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] Set<'a>: if_version, if_rev, idempotency_key, conditions);

impl<'a> Set<'a> {
    /// Sets the entry's metadata, replacing all previous metadata.
    pub fn metadata(mut self, metadata: EntryMetadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Sets the recorded type name, for callers that write on behalf of others.
    pub fn type_name(mut self, type_name: &'static str) -> Self {
        self.type_name = type_name;
        self
    }
}

impl<'a> IntoFuture for Set<'a> {
    type Output = Result<WrittenEntry>;
    type IntoFuture = Future<'a, WrittenEntry>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { handle, key, value, type_name, metadata, mut conditions } = self;
            let _timed = handle.time_set();
            let command = AgentCommand::Set {
                scope: handle.scope_id(),
                key: Key::new(key, handle.limits())?,
                value: value?,
                type_name: type_name.into(),
                metadata: Box::new(metadata),
                if_version: conditions.if_version.take(),
            };
            let answer = handle.submit(command, conditions).await?;
            written(answer.reply, answer.rev)
        })
    }
}

/// A write that appends text to a text entry. Created by [`MemoryHandle::append`].
#[must_use = "nothing is written until this is awaited"]
pub struct AppendText<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) key: &'a str,
    pub(super) text: &'a str,
    pub(super) separator: Separator,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] AppendText<'a>: if_version, if_rev, idempotency_key, conditions);

impl<'a> AppendText<'a> {
    /// Puts the text on a new line, unless the entry is empty.
    pub fn on_new_line(mut self) -> Self {
        self.separator = Separator::Line;
        self
    }
}

impl<'a> IntoFuture for AppendText<'a> {
    type Output = Result<WrittenEntry>;
    type IntoFuture = Future<'a, WrittenEntry>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { handle, key, text, separator, mut conditions } = self;
            let _timed = handle.time_set();
            let command = AgentCommand::Append {
                scope: handle.scope_id(),
                key: Key::new(key, handle.limits())?,
                text: text.into(),
                separator,
                if_version: conditions.if_version.take(),
            };
            let answer = handle.submit(command, conditions).await?;
            written(answer.reply, answer.rev)
        })
    }
}

/// Removes an entry. Created by [`MemoryHandle::remove`]; returns whether the entry existed.
#[must_use = "nothing is removed until this is awaited"]
pub struct Remove<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) key: &'a str,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] Remove<'a>: if_version, if_rev, idempotency_key, conditions);

impl Remove<'_> {
    /// Like awaiting it, but also returns the revision of this write, or the current revision if nothing changed.
    pub async fn with_rev(self) -> Result<(u64, bool)> {
        let Self { handle, key, mut conditions } = self;
        let command = AgentCommand::Remove {
            scope: handle.scope_id(),
            key: Key::new(key, handle.limits())?,
            if_version: conditions.if_version.take(),
        };
        let answer = handle.submit(command, conditions).await?;
        Ok((answer.rev, answer.reply == AgentReply::Removed { existed: true }))
    }
}

impl<'a> IntoFuture for Remove<'a> {
    type Output = Result<bool>;
    type IntoFuture = Future<'a, bool>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.with_rev().await?.1) })
    }
}

/// Adds a note. Created by [`MemoryHandle::add_note`]; returns the note's number.
#[must_use = "nothing is written until this is awaited"]
pub struct AddNote<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) text: &'a str,
    pub(super) trust: Option<Trust>,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] AddNote<'a>: if_rev, idempotency_key, conditions);

impl AddNote<'_> {
    /// Sets how far the note may be trusted: [`Trust::Outside`] for text from a web page, a tool or a stranger. Actors
    /// cannot give more trust than they have.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Sets the trust, if any.
    pub(crate) fn trusted(self, trust: Option<Trust>) -> Self {
        Self { trust, ..self }
    }

    /// Like awaiting it, but also returns the revision of this write.
    pub async fn with_rev(self) -> Result<(u64, NoteId)> {
        let Self { handle, text, trust, conditions } = self;
        let command = AgentCommand::AddNote { scope: handle.scope_id(), text: text.into(), trust };
        let answer = handle.submit(command, conditions).await?;
        match answer.reply {
            AgentReply::NoteAdded { id } => Ok((answer.rev, id)),
            other => Err(unexpected(other)),
        }
    }
}

impl<'a> IntoFuture for AddNote<'a> {
    type Output = Result<NoteId>;
    type IntoFuture = Future<'a, NoteId>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.with_rev().await?.1) })
    }
}

/// A write that is not tied to one entry's version, for example to a note or a whole scope. The method that returns it
/// says what it does.
#[must_use = "nothing is done until this is awaited"]
pub struct Write<'a, T> {
    run: Box<dyn FnOnce(Conditions) -> Future<'a, (u64, T)> + Send + 'a>,
    conditions: Conditions,
}

condition_methods!(impl['a, T] Write<'a, T>: if_rev, idempotency_key, conditions);

impl<'a, T: 'a> Write<'a, T> {
    pub(super) fn new<F>(run: impl FnOnce(Conditions) -> F + Send + 'a) -> Self
    where
        F: std::future::Future<Output = Result<(u64, T)>> + Send + 'a,
    {
        Self { run: Box::new(|conditions| Box::pin(run(conditions))), conditions: Conditions::default() }
    }

    /// Like awaiting it, but also returns the revision of this write, or the current revision if nothing changed.
    pub fn with_rev(self) -> impl std::future::Future<Output = Result<(u64, T)>> + Send + 'a {
        (self.run)(self.conditions)
    }
}

impl<'a, T: Send + 'a> IntoFuture for Write<'a, T> {
    type Output = Result<T>;
    type IntoFuture = Future<'a, T>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.with_rev().await?.1) })
    }
}

pub(super) fn written(reply: AgentReply, rev: u64) -> Result<WrittenEntry> {
    match reply {
        AgentReply::Written { is_update } => Ok(WrittenEntry { version: rev, is_update }),
        other => Err(unexpected(other)),
    }
}

/// The error for a reply that does not match the command, which is a bug.
pub(super) fn unexpected(reply: AgentReply) -> Error {
    Error::Damaged { space: "this process".into(), message: format!("unexpected answer {reply:?}") }
}
