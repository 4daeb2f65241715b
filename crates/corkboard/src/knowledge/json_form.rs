//! An entry of a memory core as other programs see it.

use std::sync::Arc;

use corkboard_core::knowledge::{CoreEntry, Trust};
use serde::Serialize;

/// An entry with what follows from its origins.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreEntryDocument {
    /// The entry itself.
    #[serde(flatten)]
    pub entry: Arc<CoreEntry>,
    /// The author of its first origin.
    pub created_by: Arc<str>,
    /// How far the entry can be trusted.
    pub trust: Trust,
}

impl From<Arc<CoreEntry>> for CoreEntryDocument {
    fn from(entry: Arc<CoreEntry>) -> Self {
        Self { created_by: entry.author().into(), trust: entry.trust(), entry }
    }
}
