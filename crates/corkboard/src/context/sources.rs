//! Where the window takes from what other parts of the library keep: a conversation's scratchpad, and what a query finds.

use std::collections::BTreeMap;

use super::compose::Hit;
use crate::{AgentMemory, Result};

/// A conversation's scratchpad.
#[derive(Debug, Default)]
pub(super) struct Pad {
    pub(super) entries: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
}

pub(super) async fn conversation(_memory: &AgentMemory, _id: &str) -> Result<Pad> {
    Ok(Pad::default())
}

pub(super) async fn hits(_memory: &AgentMemory, _query: &str) -> Result<Vec<Hit>> {
    Ok(Vec::new())
}
