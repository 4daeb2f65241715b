//! An agent's root scope: seed 004's working memory.

use std::ops::Deref;

use corkboard_core::ScopeId;

use super::handle::MemoryHandle;
use super::lookup::{FoundEntry, Reach};
use super::scope::{Durability, Scope, ScopeInfo};
use super::write::Write;
use crate::Result;

/// Key-value memory with notes, and scopes below it. Durable, and shared by all who open the same agent. What can be done with
/// its entries and notes is said by [`MemoryHandle`].
///
/// All methods may be called concurrently.
#[derive(Clone)]
pub struct WorkingMemory {
    pub(super) handle: MemoryHandle,
}

impl Deref for WorkingMemory {
    type Target = MemoryHandle;

    fn deref(&self) -> &MemoryHandle {
        &self.handle
    }
}

impl WorkingMemory {
    /// The entry under a key of a durable scope alone. Refused if there is no such scope.
    pub async fn find_in(&self, scope: ScopeId, key: &str) -> Result<Option<FoundEntry>> {
        Scope::look_up(&self.handle, scope, key, Reach::Local).await
    }

    /// The entry under a key of a durable scope, else of its parent, and so on to the root. Refused if there is no such
    /// scope.
    pub async fn find_from(&self, scope: ScopeId, key: &str) -> Result<Option<FoundEntry>> {
        Scope::look_up(&self.handle, scope, key, Reach::Fallback).await
    }

    /// Creates a scope that falls back to this memory. It is ephemeral: gone when its last handle is dropped.
    pub fn create_scope<'a>(&'a self, name: &'a str) -> Write<'a, Scope> {
        Scope::create(&self.handle, name, Durability::Ephemeral)
    }

    /// Creates a scope that stays until it is disposed.
    pub fn create_durable_scope<'a>(&'a self, name: &'a str) -> Write<'a, Scope> {
        Scope::create(&self.handle, name, Durability::Durable)
    }

    /// A durable scope by its id, if it exists.
    pub async fn scope(&self, id: ScopeId) -> Result<Option<Scope>> {
        Scope::open(&self.handle, id).await
    }

    /// All scopes: the durable ones, and this process's ephemeral ones.
    pub async fn active_scopes(&self) -> Result<Vec<ScopeInfo>> {
        self.handle.agent.active_scopes().await
    }
}
