//! Memory cores are opened, listed and deleted.

use corkboard_core::knowledge::CoreAction;
use corkboard_core::{CoreId, SpaceId, SpaceKind};

use super::Core;
use crate::{Corkboard, Result};

/// A memory core in a store's list.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreSummary {
    /// The core's name.
    pub id: CoreId,
    /// The revision it is at.
    pub rev: u64,
    /// A few counts.
    pub summary: serde_json::Value,
}

impl Corkboard {
    /// A memory core that is shared by its name. Nothing is read until it is used, and it need not be there: it is made by
    /// the first entry. An agent's own is its [`long_term`](crate::AgentMemory::long_term) memory.
    pub fn core(&self, name: &str) -> Result<Core> {
        let id = CoreId::new(name, &self.options().limits)?;
        self.allowed_spaces().check(self.actor(), SpaceKind::Core, id.as_str())?;
        Ok(self.core_of(id))
    }

    /// The memory cores in this store, in the order of their names, after the given one.
    pub async fn cores(&self, after: Option<&CoreId>, limit: usize) -> Result<Vec<CoreSummary>> {
        let after = after.map(SpaceId::core);
        let listed = self.list(SpaceKind::Core, after.as_ref(), limit).await?;
        let cores = listed.into_iter().filter_map(|listed| {
            let summary = serde_json::from_slice(&listed.summary).unwrap_or_default();
            Some(CoreSummary { id: listed.space.as_core()?, rev: listed.head.rev, summary })
        });
        Ok(cores.collect())
    }

    /// Deletes a shared memory core with its log: for people and admins. Returns whether there was one.
    pub async fn delete_core(&self, name: &str) -> Result<bool> {
        self.core(name)?.delete().await
    }

    /// Deletes a shared memory core as [`Corkboard::delete_core`] does, and sees to it that nothing of it is left in the
    /// store's files, tables and keys. It may take long.
    pub async fn forget_core(&self, name: &str) -> Result<bool> {
        self.core(name)?.delete_for_good().await
    }
}

impl Core {
    /// Deletes the core with its log: for people, admins and, its own, an agent. Returns whether there was one.
    pub async fn delete(self) -> Result<bool> {
        self.check_may(CoreAction::Delete)?;
        self.engine.delete(&self.slot).await
    }

    /// Deletes the core as [`Core::delete`] does, and sees to it that nothing of it is left in the store's files, tables and
    /// keys. It may take long.
    pub async fn delete_for_good(self) -> Result<bool> {
        let engine = self.engine.clone();
        let deleted = self.delete().await?;
        // Even if there was none: it may have been deleted before, without this.
        engine.store.scrub().await?;
        Ok(deleted)
    }
}
