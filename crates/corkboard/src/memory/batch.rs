//! Several changes in one revision, either listed or computed from the current state.

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, EntryChange, Separator};
use corkboard_core::{EntryMetadata, Key, Refusal, Request, ScopeState};
use jiff::Timestamp;
use serde::Serialize;

use super::handle::{MemoryHandle, content_of};
use super::write::{Future, unexpected};
use crate::conditions::condition_methods;
use crate::engine::{Answer, RequestSource};
use crate::{Conditions, Result};

/// Several changes in one revision: all are applied, or none. Created by [`MemoryHandle::batch`]; returns the version
/// of the entries that it wrote.
///
/// Each change is decided on the result of the changes before it. The limits apply to the final result.
///
/// ```
/// # use corkboard::Corkboard;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
/// # let memory = Corkboard::open("memory:").await?.agent("a")?.working();
/// memory.set("draft", "a plan").await?;
/// let version = memory.batch().rename("draft", "plan").append("plan", ", agreed").set("open", &false).await?;
/// assert_eq!(memory.get_entry("plan").await?.unwrap().version, version);
/// # Ok(()) }
/// ```
#[must_use = "nothing is written until this is awaited"]
pub struct Batch<'a> {
    pub(super) handle: &'a MemoryHandle,
    pub(super) changes: Result<Vec<EntryChange>>,
    pub(super) conditions: Conditions,
}

condition_methods!(impl['a] Batch<'a>: if_rev, idempotency_key, conditions);

impl Batch<'_> {
    /// Stores a value, replacing the current one.
    pub fn set<T: Serialize + ?Sized>(self, key: &str, value: &T) -> Self {
        self.with(|handle| {
            let type_name = std::any::type_name::<T>().into();
            let (key, value) = (Key::new(key, handle.limits())?, content_of(key, value)?);
            Ok(EntryChange::Set {
                key,
                value,
                type_name,
                metadata: Box::new(EntryMetadata::default()),
                if_version: None,
            })
        })
    }

    /// Appends text to a text entry, or creates the entry.
    pub fn append(self, key: &str, text: &str) -> Self {
        self.with(|handle| {
            let (key, text) = (Key::new(key, handle.limits())?, text.into());
            Ok(EntryChange::Append { key, text, separator: Separator::None, if_version: None })
        })
    }

    /// Removes an entry, if it exists.
    pub fn remove(self, key: &str) -> Self {
        self.with(|handle| Ok(EntryChange::Remove { key: Key::new(key, handle.limits())?, if_version: None }))
    }

    /// Renames an entry, keeping its value and metadata. Refused if the entry does not exist
    /// ([`Refusal::NoEntry`](crate::Refusal::NoEntry)) or the new key is taken
    /// ([`Refusal::Conflict`](crate::Refusal::Conflict)).
    pub fn rename(self, from: &str, to: &str) -> Self {
        self.with(|handle| {
            let limits = handle.limits();
            Ok(EntryChange::Move { from: Key::new(from, limits)?, to: Key::new(to, limits)? })
        })
    }

    /// Adds any change, with its own metadata and conditions.
    pub fn change(self, change: EntryChange) -> Self {
        self.with(|_| Ok(change))
    }

    /// Adds a change. An invalid one is reported when the batch is awaited.
    fn with(mut self, change: impl FnOnce(&MemoryHandle) -> Result<EntryChange>) -> Self {
        if let Ok(changes) = &mut self.changes {
            match change(self.handle) {
                Ok(change) => changes.push(change),
                Err(error) => self.changes = Err(error),
            }
        }
        self
    }
}

impl<'a> IntoFuture for Batch<'a> {
    type Output = Result<u64>;
    type IntoFuture = Future<'a, u64>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { handle, changes, conditions } = self;
            let _timed = handle.time_set();
            let command = AgentCommand::Batch { scope: handle.scope_id(), changes: changes? };
            changed(handle.submit(command, conditions).await?)
        })
    }
}

impl MemoryHandle {
    /// Changes this scope with a function of its current state. No other change is applied in between; if another
    /// writer commits first, the function runs again. Returns the version of the entries written.
    pub(crate) async fn change<F>(&self, mut compute: F) -> Result<u64>
    where
        F: FnMut(&ScopeState, Timestamp) -> Result<Vec<EntryChange>> + Send + 'static,
    {
        let _timed = self.time_set();
        let scope = self.scope_id();
        let make = move |state: &AgentState, now: Timestamp| {
            let found = state.scope(scope).ok_or(Refusal::ScopeGone { scope })?;
            Ok(Request::new(AgentCommand::Batch { scope, changes: compute(found, now)? }))
        };
        changed(self.ask(RequestSource::Computed(Box::new(make))).await?)
    }
}

fn changed(answer: Answer<AgentReply>) -> Result<u64> {
    match answer.reply {
        AgentReply::Done => Ok(answer.rev),
        other => Err(unexpected(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::handle::Location;
    use crate::{Content, Corkboard, Error};

    /// A change that increments the counter under a key.
    fn one_more(scope: &ScopeState, now: Timestamp) -> Result<Vec<EntryChange>> {
        let key = Key::new("n", &crate::Limits::default())?;
        let count: u64 = scope.get("n", now).map_or(0, |entry| entry.value.parse().unwrap());
        let value = Content::of(&(count + 1)).unwrap();
        let metadata = Box::new(EntryMetadata::default());
        Ok(vec![EntryChange::Set { key, value, type_name: "u64".into(), metadata, if_version: None }])
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_computed_is_computed_on_what_is_there() {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        let memory = corkboard.agent("a").unwrap().working();
        let short = memory.create_scope("short").await.unwrap();
        let long = memory.create_durable_scope("long").await.unwrap();
        for handle in [&*memory, &short, &long] {
            let tasks: Vec<_> = (0..100).map(|_| tokio::spawn(changed_once(handle.clone()))).collect();
            for task in tasks {
                task.await.unwrap();
            }
            let count = handle.get_local::<u64>("n").await.unwrap();
            assert_eq!(count, Some(100), "{}", matches!(handle.location, Location::Root));
        }
    }

    async fn changed_once(handle: MemoryHandle) {
        handle.change(one_more).await.unwrap();
    }

    #[tokio::test]
    async fn an_error_or_a_panic_changes_nothing_and_is_the_callers() {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        let agent = corkboard.agent("a").unwrap();
        let memory = agent.working();
        let short = memory.create_scope("short").await.unwrap();
        for handle in [&*memory, &short] {
            let refused = handle.change(|_, _| Err(Error::Closed)).await;
            assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
            let panicked = handle.change(|_, _| panic!("no")).await;
            assert!(matches!(panicked, Err(Error::Panicked { .. })), "{panicked:?}");
            handle.change(|_, _| Ok(Vec::new())).await.unwrap();
            assert_eq!(handle.len().await.unwrap(), 0);
        }
        assert_eq!(agent.rev().await.unwrap(), 0);
    }
}
