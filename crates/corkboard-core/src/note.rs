//! Notes: lines of free text beside the entries.

use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::NoteId;
use crate::knowledge::Trust;

/// A note: an observation in free text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Note {
    /// The number of the note. Numbers are never reused in a space.
    pub id: NoteId,
    pub text: Arc<str>,
    pub author: Arc<str>,
    #[serde(alias = "timestamp")]
    pub at: Timestamp,
    /// How far the note can be trusted, if the caller gave that.
    #[serde(default)]
    pub trust: Option<Trust>,
}

impl Note {
    /// How far the note can be trusted: by default as far as an agent.
    pub fn trust(&self) -> Trust {
        self.trust.unwrap_or_default()
    }
}
