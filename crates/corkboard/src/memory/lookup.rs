//! Looks up an entry by its key, in one scope or also in the scopes above it.

use std::sync::Arc;
use std::time::Instant;

use corkboard_core::agent::AgentState;
use corkboard_core::{Entry, Key, Revisioned, ScopeId};
use jiff::Timestamp;

use super::handle::{Location, MemoryHandle};
use crate::Result;

/// An entry, and where it was found.
#[derive(Debug, Clone)]
pub struct FoundEntry {
    /// The entry's key.
    pub key: Key,
    /// The value, with its version and metadata.
    pub entry: Arc<Entry>,
    /// The scope that contains the entry.
    pub scope: ScopeId,
    /// The revision of the memory that was read; for an ephemeral scope, the version of the entry.
    pub rev: u64,
}

/// Which scopes a lookup covers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only this scope.
    Local,
    /// This scope, then its parent, and so on to the root.
    Fallback,
}

impl MemoryHandle {
    pub(super) async fn found(&self, key: &str, reach: Reach) -> Result<Option<FoundEntry>> {
        let found = self.look_up(key, reach, |entry, scope, rev| (entry.clone(), scope, rev)).await?;
        let Some((entry, scope, rev)) = found else { return Ok(None) };
        Ok(Some(FoundEntry { key: Key::new(key, self.limits())?, entry, scope, rev }))
    }

    /// Looks up a key and calls `read` with the entry, its scope and the revision read. All reads of single entries use
    /// this function, so that each is timed, logged and counted once.
    pub(super) async fn look_up<R>(
        &self,
        key: &str,
        reach: Reach,
        read: impl FnOnce(&Arc<Entry>, ScopeId, u64) -> R,
    ) -> Result<Option<R>> {
        Key::check(key, self.limits())?;
        let started = Instant::now();
        let (engine, time) = (&self.agent.engine, self.agent.engine.time());
        let clock = &*engine.options.clock;
        let mut read = Some(read);
        let mut found = |entry: &Arc<Entry>, scope: ScopeId, rev: u64| {
            entry.access.record(time);
            read.take().map(|read| read(entry, scope, rev))
        };
        let result = match &self.location {
            Location::Ephemeral(scope) => {
                let now = self.agent.ephemeral.now(time, clock);
                match self.find_ephemeral(scope.id, key, reach, now, &mut found)? {
                    LookupStep::Ended(result) => result,
                    LookupStep::Continue(durable) => self.find_durable(durable, key, reach, &mut found).await?,
                }
            }
            Location::Conversation(space) => {
                let (current, now) = self.agent.conversation_now(space).await?;
                let scope = current.state.conversation(space.scope, now);
                let entry = scope.and_then(|scope| scope.get(key, now));
                entry.and_then(|entry| found(entry, space.scope, current.head.rev))
            }
            Location::Root | Location::Durable { .. } => {
                self.find_durable(self.scope_id(), key, reach, &mut found).await?
            }
        };
        self.agent.meters.get_latency.record(started.elapsed().as_secs_f64() * 1000.0);
        if !matches!(self.location, Location::Root) && tracing::enabled!(tracing::Level::DEBUG) {
            let (scope_name, scope_id, was_found) = (self.scope_name(), self.scope_id(), result.is_some());
            tracing::debug!("Working memory scope {scope_name} ({scope_id}) lookup for key {key}: {was_found}");
        }
        Ok(result)
    }

    fn find_ephemeral<R>(
        &self,
        from: ScopeId,
        key: &str,
        reach: Reach,
        now: Timestamp,
        found: &mut impl FnMut(&Arc<Entry>, ScopeId, u64) -> Option<R>,
    ) -> Result<LookupStep<R>> {
        self.in_ephemeral(from, |state, mut scope| {
            let mut id = from;
            loop {
                if let Some(entry) = scope.get(key, now) {
                    return LookupStep::Ended(found(entry, id, entry.version));
                }
                if reach == Reach::Local {
                    return LookupStep::Ended(None);
                }
                self.agent.meters.fallbacks.increment(1);
                id = scope.parent;
                match state.scope(id) {
                    Some(parent) if !id.is_root() => scope = parent,
                    _ => return LookupStep::Continue(id),
                }
            }
        })
    }

    async fn find_durable<R>(
        &self,
        from: ScopeId,
        key: &str,
        reach: Reach,
        found: &mut impl FnMut(&Arc<Entry>, ScopeId, u64) -> Option<R>,
    ) -> Result<Option<R>> {
        let mut look = |current: &Revisioned<AgentState>| {
            let now = self.agent.engine.now(&self.agent.slot, current);
            let mut id = from;
            loop {
                let scope = current.state.scope(id).ok_or_else(|| self.disposed())?;
                if let Some(entry) = scope.get(key, now) {
                    return Ok(found(entry, id, current.head.rev));
                }
                if reach == Reach::Local || id.is_root() {
                    return Ok(None);
                }
                self.agent.meters.fallbacks.increment(1);
                id = scope.parent;
            }
        };
        if let Some(guard) = self.agent.engine.current_in_memory(&self.agent.slot)
            && let Some(current) = guard.as_ref()
        {
            return look(current);
        }
        let current = self.agent.engine.current(&self.agent.slot).await?;
        look(&current)
    }
}

/// Result of a lookup in the ephemeral scopes.
enum LookupStep<R> {
    Ended(Option<R>),
    /// Not found; continue at this durable scope.
    Continue(ScopeId),
}
