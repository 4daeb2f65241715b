//! Opens, lists and deletes memory cores.

use corkboard_core::knowledge::CoreAction;
use corkboard_core::{CoreId, SpaceId, SpaceKind};

use super::Core;
use crate::engine::Deletion;
use crate::{Corkboard, Delete, Result};

/// A memory core as a list shows it.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreSummary {
    /// The core's name.
    pub id: CoreId,
    /// The core's current revision.
    pub rev: u64,
    /// A few counts of its content.
    pub summary: serde_json::Value,
}

impl Corkboard {
    /// Returns a shared memory core by its name, without reading anything. A core that does not exist is created by its
    /// first entry. An agent's private core is its [`long_term`](crate::AgentMemory::long_term) memory.
    pub fn core(&self, name: &str) -> Result<Core> {
        let id = CoreId::new(name, &self.options().limits)?;
        self.allowed_spaces().check(self.actor(), SpaceKind::Core, id.as_str())?;
        Ok(self.core_of(id))
    }

    /// Lists the memory cores of this store by name, starting after the given one.
    pub async fn cores(&self, after: Option<&CoreId>, limit: usize) -> Result<Vec<CoreSummary>> {
        let after = after.map(SpaceId::core);
        let listed = self.list(SpaceKind::Core, after.as_ref(), limit).await?;
        let cores = listed.into_iter().filter_map(|listed| {
            let summary = serde_json::from_slice(&listed.summary).unwrap_or_default();
            Some(CoreSummary { id: listed.space.as_core()?, rev: listed.head.rev, summary })
        });
        Ok(cores.collect())
    }

    /// Deletes a shared memory core and its log. Only people and admins may do that. Returns whether the core existed.
    pub fn delete_core(&self, name: &str) -> Delete {
        let core = self.core(name);
        Delete::new(async move |deletion| core?.run_delete(deletion).await)
    }
}

impl Core {
    /// Deletes the core and its log. Only people and admins may do that, and an agent for its private core. Returns
    /// whether the core existed.
    pub fn delete(self) -> Delete {
        Delete::new(async move |deletion| self.run_delete(deletion).await)
    }

    async fn run_delete(&self, deletion: Deletion) -> Result<bool> {
        self.check_may(CoreAction::Delete)?;
        let deleted = self.engine.delete(&self.slot).await?;
        if deletion == Deletion::Hard {
            // Even if there was no core: it may have been deleted earlier, without scrubbing.
            self.engine.store.scrub().await?;
        }
        Ok(deleted)
    }
}
