//! An agent's long-term memory: a separate memory core that requires a license tier.

use std::ops::Deref;

use corkboard_core::knowledge::{CoreAction, CoreImage};
use corkboard_core::{AgentId, CoreId, SpaceId};

use super::agent::AgentMemory;
use crate::corkboard::check_space_tier;
use crate::knowledge::Core;
use crate::{Error, Result};

/// An agent's long-term memory: a [`Core`] that no other agent's handle reaches.
#[derive(Debug, Clone)]
pub struct LongTermMemory {
    agent_id: AgentId,
    core: Core,
}

impl LongTermMemory {
    /// The agent that owns this memory.
    pub fn agent_id(&self) -> &AgentId {
        &self.agent_id
    }
}

impl Deref for LongTermMemory {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl AgentMemory {
    /// Long-term memory. Requires the tier `writer_pro`.
    pub fn long_term(&self) -> Result<LongTermMemory> {
        let agent_id = self.agent_id().clone();
        let id = CoreId::of_agent(&agent_id);
        check_space_tier(self.options(), &SpaceId::core(&id))?;
        let core = self.core_of(id);
        Ok(LongTermMemory { agent_id, core })
    }

    /// Long-term memory, if this handle's actor may perform `action` on it.
    pub(super) fn long_term_for(&self, action: CoreAction) -> Result<LongTermMemory> {
        let long_term = self.long_term()?;
        long_term.check_may(action)?;
        Ok(long_term)
    }

    /// Long-term memory, if the tier includes it.
    pub(crate) fn long_term_if_any(&self) -> Result<Option<LongTermMemory>> {
        match self.long_term() {
            Ok(long_term) => Ok(Some(long_term)),
            Err(Error::LicenseRestriction { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Returns the long-term memory and the image to restore into it. Checks as much as possible before anything is
    /// written.
    pub(super) fn long_term_to_restore(&self, image: Option<CoreImage>) -> Result<Option<(LongTermMemory, CoreImage)>> {
        let Some(image) = image else { return Ok(None) };
        if let Some(contradiction) = image.contradiction() {
            return Err(Error::NotASnapshot(contradiction));
        }
        match self.long_term_if_any()? {
            Some(long_term) => Ok(Some((long_term, image))),
            // The tier has no long-term memory, and the snapshot has nothing to put there.
            None if image.entries.is_empty() => Ok(None),
            None => self.long_term().map(|long_term| Some((long_term, image))),
        }
    }
}
