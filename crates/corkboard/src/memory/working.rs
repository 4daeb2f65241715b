//! An agent's working memory: the root scope.

use std::ops::Deref;

use corkboard_core::ScopeId;

use super::handle::MemoryHandle;
use super::lookup::{FoundEntry, Reach};
use super::scope::{Durability, Scope, ScopeInfo};
use super::write::Write;
use crate::Result;

/// Durable key-value memory with notes, and scopes below it, shared by all handles to the same agent. See
/// [`MemoryHandle`] for the operations on entries and notes.
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
    /// The entry under a key of a durable scope, without falling back. Refused if the scope does not exist.
    pub async fn find_in(&self, scope: ScopeId, key: &str) -> Result<Option<FoundEntry>> {
        Scope::look_up(&self.handle, scope, key, Reach::Local).await
    }

    /// The entry under a key of a durable scope, or else of its parent, and so on to the root. Refused if the scope
    /// does not exist.
    pub async fn find_from(&self, scope: ScopeId, key: &str) -> Result<Option<FoundEntry>> {
        Scope::look_up(&self.handle, scope, key, Reach::Fallback).await
    }

    /// Creates an ephemeral scope that falls back to this memory. It is disposed when its last handle is dropped.
    pub fn create_scope<'a>(&'a self, name: &'a str) -> Write<'a, Scope> {
        Scope::create(&self.handle, name, Durability::Ephemeral)
    }

    /// Creates a durable scope that falls back to this memory. It exists until it is disposed.
    pub fn create_durable_scope<'a>(&'a self, name: &'a str) -> Write<'a, Scope> {
        Scope::create(&self.handle, name, Durability::Durable)
    }

    /// A durable scope by ID, if it exists.
    pub async fn scope(&self, id: ScopeId) -> Result<Option<Scope>> {
        Scope::open(&self.handle, id).await
    }

    /// All scopes: the durable ones, and this process's ephemeral ones.
    pub async fn active_scopes(&self) -> Result<Vec<ScopeInfo>> {
        self.handle.agent.active_scopes().await
    }
}
