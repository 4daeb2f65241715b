//! How much an agent remembers: every field of seed 004 §4.4.

use jiff::Timestamp;
use serde::Serialize;

/// Counts over all of an agent's memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryStats {
    /// Entries in working memory, in all scopes.
    pub total_entries_working: u64,
    /// Scopes besides the root: the durable ones and this process's ephemeral ones.
    pub active_working_scopes: u64,
    /// Entries in long-term memory.
    pub total_entries_long_term: u64,
    /// Forgotten entries that can be restored.
    pub total_entries_forgotten: u64,
    /// Bytes of keys, values, metadata and notes, and of long-term memory.
    pub storage_bytes_used: u64,
    /// The limit on them.
    pub storage_bytes_limit: u64,
    /// The share used.
    pub storage_percent_used: f32,
    /// The oldest entry's time.
    pub oldest_entry: Option<Timestamp>,
    /// The newest entry's time.
    pub newest_entry: Option<Timestamp>,
    /// Tokens that the context window uses.
    pub context_tokens_used: u64,
    /// Tokens that it may use.
    pub context_tokens_max: u64,
    /// Notes, in all scopes.
    pub total_notes: u64,
    /// Notebooks that hold something.
    pub total_notebooks: u64,
    /// The revision that these counts show.
    pub rev: u64,
}
