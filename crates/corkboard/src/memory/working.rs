//! An agent's root scope: seed 004's working memory.

use std::sync::Arc;

use corkboard_core::{Entry, Key, Note, NoteId, ScopeId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::batch::Batch;
use super::place::{FoundEntry, Place, Reach};
use super::scope::{Durability, Scope, ScopeInfo};
use super::write::{AddNote, Append, Remove, Set, Write};
use crate::Result;

/// Key-value memory with notes, and scopes below it. Durable, and shared by all who open the same agent.
///
/// All methods may be called concurrently.
#[derive(Clone)]
pub struct WorkingMemory {
    pub(crate) place: Place,
}

impl WorkingMemory {
    /// How many entries there are, scopes aside.
    pub async fn len(&self) -> Result<usize> {
        self.place.len().await
    }

    /// Whether there are no entries, scopes aside.
    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.len().await? == 0)
    }

    /// All keys, in order.
    pub async fn keys(&self) -> Result<Vec<Key>> {
        self.place.keys().await
    }

    /// Stores a value, overwriting what is there. Await it, after adding metadata or conditions if there are any:
    ///
    /// ```
    /// # use corkboard::{Corkboard, EntryMetadata};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// # let memory = Corkboard::open("memory:").await?.agent("a")?.working();
    /// let written = memory.set("plan", &["draft", "review"]).await?;
    /// let metadata = EntryMetadata { importance: Some(0.9), ..Default::default() };
    /// memory.set("plan", &["review"]).metadata(metadata).if_version(written.version).await?;
    /// # Ok(()) }
    /// ```
    pub fn set<'a, T: Serialize + ?Sized>(&'a self, key: &'a str, value: &T) -> Set<'a> {
        self.place.set(key, value)
    }

    /// The value under a key.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.place.get(key, Reach::Local).await
    }

    /// The entry under a key: the value with its version and what is known about it.
    pub async fn get_entry(&self, key: &str) -> Result<Option<Arc<Entry>>> {
        self.place.entry(key, Reach::Local).await
    }

    /// The entry under a key, and the revision at which it was read.
    pub async fn find(&self, key: &str) -> Result<Option<FoundEntry>> {
        self.place.found(key, Reach::Local).await
    }

    /// The entry under a key of a durable scope alone. Refused if there is no such scope.
    pub async fn find_in(&self, scope: ScopeId, key: &str) -> Result<Option<FoundEntry>> {
        Scope::look_up(&self.place, scope, key, Reach::Local).await
    }

    /// The entry under a key of a durable scope, else of its parent, and so on to the root. Refused if there is no such
    /// scope.
    pub async fn find_from(&self, scope: ScopeId, key: &str) -> Result<Option<FoundEntry>> {
        Scope::look_up(&self.place, scope, key, Reach::Fallback).await
    }

    /// The value under a key, or else the one that the factory makes, stored.
    ///
    /// Of many callers in one process one runs its factory and the others wait for it. One that fails or is cancelled
    /// lets the next one run. Between processes the first to store wins, and all return its value.
    pub async fn get_or_set<T, E, F, Fut>(&self, key: &str, factory: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.place.get_or_set(key, factory).await
    }

    /// Changes a value by a function of what is there. No other change comes between; the function may run again if
    /// someone was faster. Returns the new value. What is known about the entry stays.
    pub async fn update<T, F>(&self, key: &str, change: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnMut(Option<T>) -> T + Send + 'static,
    {
        self.place.update(key, change).await
    }

    /// Adds text at the end of a text, or starts one. Appends never conflict.
    pub fn append<'a>(&'a self, key: &'a str, text: &'a str) -> Append<'a> {
        self.place.append(key, text)
    }

    /// Whether there is an entry under the key.
    pub async fn contains(&self, key: &str) -> Result<bool> {
        self.place.contains(key, Reach::Local).await
    }

    /// Removes an entry; answers whether there was one.
    pub fn remove<'a>(&'a self, key: &'a str) -> Remove<'a> {
        self.place.remove(key)
    }

    /// Changes several entries in one revision: all of it, or nothing.
    pub fn batch(&self) -> Batch<'_> {
        self.place.batch()
    }

    /// All entries, by key.
    pub async fn entries(&self) -> Result<Vec<(Key, Arc<Entry>)>> {
        self.place.entries().await
    }

    /// Removes all entries and notes, scopes aside. Returns how many entries there were.
    pub fn clear(&self) -> Write<'_, u64> {
        self.place.clear()
    }

    /// Creates a scope that falls back to this memory. It is ephemeral: gone when its last handle is dropped.
    pub fn create_scope<'a>(&'a self, name: &'a str) -> Write<'a, Scope> {
        Scope::create(&self.place, name, Durability::Ephemeral)
    }

    /// Creates a scope that stays until it is disposed.
    pub fn create_durable_scope<'a>(&'a self, name: &'a str) -> Write<'a, Scope> {
        Scope::create(&self.place, name, Durability::Durable)
    }

    /// A durable scope by its id, if it exists.
    pub async fn scope(&self, id: ScopeId) -> Result<Option<Scope>> {
        Scope::open(&self.place, id).await
    }

    /// All scopes: the durable ones, and this process's ephemeral ones.
    pub async fn active_scopes(&self) -> Result<Vec<ScopeInfo>> {
        self.place.agent.active_scopes().await
    }

    /// Adds a note; answers its number.
    pub fn add_note<'a>(&'a self, text: &'a str) -> AddNote<'a> {
        self.place.add_note(text)
    }

    /// All notes, in the order they were added.
    pub async fn notes(&self) -> Result<Vec<Note>> {
        self.place.notes().await
    }

    /// Removes a note; answers whether there was one.
    pub fn remove_note(&self, id: NoteId) -> Write<'_, bool> {
        self.place.remove_note(id)
    }
}
