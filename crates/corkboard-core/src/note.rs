//! A line of free text beside the entries.

use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::NoteId;

/// A note: something observed, in free text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Note {
    /// Its number, never reused in its space.
    pub id: NoteId,
    /// What it says.
    pub text: Arc<str>,
    /// Who wrote it.
    pub author: Arc<str>,
    /// When it was written.
    pub timestamp: Timestamp,
}
