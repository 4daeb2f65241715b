//! Writes with conditions: nothing happens until they are awaited.

use std::pin::Pin;

use corkboard_core::agent::{AgentCommand, AgentReply, Separator};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Content, EntryMetadata, Key, NoteId};

use super::handle::MemoryHandle;
use crate::conditions::condition_methods;
use crate::{Conditions, Error, Result};

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Written {
    /// The entry's version now: the revision of this write.
    pub version: u64,
    /// Whether the key existed before.
    pub is_update: bool,
}

pub(super) type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// Stores a value. Made by `set`.
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
    /// What is to be known about the entry. It replaces what was known.
    pub fn metadata(mut self, metadata: EntryMetadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The type name to be kept, for callers that write on behalf of others.
    pub fn type_name(mut self, type_name: &'static str) -> Self {
        self.type_name = type_name;
        self
    }
}

impl<'a> IntoFuture for Set<'a> {
    type Output = Result<Written>;
    type IntoFuture = Future<'a, Written>;

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

/// Adds text at the end of a text. Made by `append`.
#[must_use = "nothing is written until this is awaited"]
pub struct Append<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) key: &'a str,
    pub(super) text: &'a str,
    pub(super) separator: Separator,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] Append<'a>: if_version, if_rev, idempotency_key, conditions);

impl<'a> Append<'a> {
    /// Starts a new line, unless the text is the first.
    pub fn on_new_line(mut self) -> Self {
        self.separator = Separator::Line;
        self
    }
}

impl<'a> IntoFuture for Append<'a> {
    type Output = Result<Written>;
    type IntoFuture = Future<'a, Written>;

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

/// Removes an entry. Made by `remove`; answers whether there was one.
#[must_use = "nothing is removed until this is awaited"]
pub struct Remove<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) key: &'a str,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] Remove<'a>: if_version, if_rev, idempotency_key, conditions);

impl Remove<'_> {
    /// The same, with the revision that it is before the answer; where nothing changed, the one that the memory is at.
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

/// Adds a note. Made by `add_note`; answers its number.
#[must_use = "nothing is written until this is awaited"]
pub struct AddNote<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) text: &'a str,
    pub(super) trust: Option<Trust>,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] AddNote<'a>: if_rev, idempotency_key, conditions);

impl AddNote<'_> {
    /// Says how far it may be trusted: [`Trust::Outside`] for what came from a web page, a tool or a stranger. Nobody can give
    /// more than they have.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// The same where it may be left unsaid.
    pub(crate) fn trusted(self, trust: Option<Trust>) -> Self {
        Self { trust, ..self }
    }

    /// The same, with the revision that it is before the note's number.
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

/// Something to be done that has no entry's version to go by: to a note, to a scope as a whole. Made by the method that is
/// called so.
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

    /// The same, with the revision that it is before the answer; where nothing changed, the one that the memory is at.
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

pub(super) fn written(reply: AgentReply, rev: u64) -> Result<Written> {
    match reply {
        AgentReply::Written { updated } => Ok(Written { version: rev, is_update: updated }),
        other => Err(unexpected(other)),
    }
}

/// The core answered another question than was asked: a bug, told as one.
pub(super) fn unexpected(reply: AgentReply) -> Error {
    Error::Damaged { space: "this process".into(), message: format!("unexpected answer {reply:?}") }
}
