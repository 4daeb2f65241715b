//! Statistics about an agent's memory.

use jiff::Timestamp;
use serde::Serialize;

/// Statistics about an agent's whole memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryStats {
    /// Entries in working memory, over all scopes.
    pub total_entries_working: u64,
    /// Scopes other than the root: the durable ones, and this process's ephemeral ones.
    pub active_working_scopes: u64,
    /// Entries in long-term memory.
    pub total_entries_long_term: u64,
    /// Forgotten entries that can be restored.
    pub total_entries_forgotten: u64,
    /// Bytes used by keys, values, metadata, notes and long-term memory.
    pub storage_bytes_used: u64,
    /// Maximum number of bytes.
    pub storage_bytes_limit: u64,
    /// Percentage of the maximum used.
    pub storage_percent_used: f32,
    /// Time of the oldest entry.
    pub oldest_entry: Option<Timestamp>,
    /// Time of the newest entry.
    pub newest_entry: Option<Timestamp>,
    /// Tokens used by the context window.
    pub context_tokens_used: u64,
    /// Token budget of the context window.
    pub context_tokens_max: u64,
    /// Notes, over all scopes.
    pub total_notes: u64,
    /// Notebooks that are not empty.
    pub total_notebooks: u64,
    /// Revision that these numbers describe.
    pub rev: u64,
}
