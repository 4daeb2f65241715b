//! A line of free text beside the entries.

use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::NoteId;
use crate::knowledge::Trust;

/// A note: something observed, in free text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Note {
    /// Its number, never reused in its space.
    pub id: NoteId,
    pub text: Arc<str>,
    pub author: Arc<str>,
    #[serde(rename = "at", alias = "timestamp")]
    pub timestamp: Timestamp,
    /// How far it may be trusted, where that was said.
    #[serde(default)]
    pub trust: Option<Trust>,
}

impl Note {
    /// How far it may be trusted: what nobody said otherwise is an agent's.
    pub fn trust(&self) -> Trust {
        self.trust.unwrap_or_default()
    }
}
