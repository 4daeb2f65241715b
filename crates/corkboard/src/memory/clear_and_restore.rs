//! Clearing an agent's whole memory, and restoring it from a snapshot.

use corkboard_core::FORMAT_VERSION;
use corkboard_core::agent::{AgentCommand, AgentReply, MemorySnapshot};
use corkboard_core::knowledge::CoreAction;

use super::agent::AgentMemory;
use super::write::{Write, unexpected};
use crate::engine::{Answer, RequestSource};
use crate::knowledge::Core;
use crate::{Conditions, Error, Result};

/// Parts of the memory that [`AgentMemory::clear`] clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearOptions {
    /// Clear working memory: the entries and notes of the root scope, and all other scopes.
    pub working: bool,
    /// Clear long-term memory.
    pub long_term: bool,
}

impl Default for ClearOptions {
    /// Clears working memory only.
    fn default() -> Self {
        Self { working: true, long_term: false }
    }
}

/// Whether a request took effect now, or is a repeat (by idempotency key) of one that did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repetition {
    Now,
    Before,
}

impl AgentMemory {
    /// Replaces the whole memory with a snapshot of the same agent. Returns the revision that replaced working memory.
    /// `if_rev` compares the revision of working memory.
    ///
    /// Working memory is replaced in one revision, and ephemeral scopes are disposed. Long-term memory, if the snapshot
    /// has it, is replaced afterwards in a separate revision. The two steps are not atomic: if the second fails, the
    /// first has happened, and restoring again does both. A snapshot without long-term memory leaves long-term memory
    /// unchanged.
    ///
    /// An agent or a service cannot use a snapshot to bring in more trust than it may give, or notes in another
    /// author's name. Notes and entries that already exist with the same words are exempt.
    pub fn restore(&self, snapshot: MemorySnapshot) -> Write<'_, u64> {
        Write::new(move |conditions| async move {
            let rev = self.restore_if(snapshot, conditions).await?;
            Ok((rev, rev))
        })
    }

    async fn restore_if(&self, mut snapshot: MemorySnapshot, conditions: Conditions) -> Result<u64> {
        if snapshot.format > FORMAT_VERSION {
            return Err(Error::NewerFormat { space: snapshot.agent, found: snapshot.format });
        }
        let long_term = snapshot.long_term.take();
        let image = Box::new(snapshot.memory_of(self.agent_id())?);
        let long_term = self.long_term_to_restore(long_term)?;
        // Check permission before replacing anything, unless long-term memory would stay the same.
        if let Some((core, image)) = &long_term
            && let Err(denied) = core.check_may(CoreAction::Replace)
            && core.image().await? != *image
        {
            return Err(denied);
        }
        let name = conditions.idempotency_key.clone();
        let (answer, happened) = self.ask_if(AgentCommand::Restore { image }, conditions).await?;
        if happened == Repetition::Now {
            self.parts().0.dispose_beside_log().await?;
        }
        if let Some((core, image)) = long_term {
            // With an idempotency key, write even if nothing changes now: a later repeat could find a different core.
            let must = name.is_some() && core.check_may(CoreAction::Replace).is_ok();
            if must || core.image().await? != image {
                named(&core, name).replace(image).await?;
            }
        }
        Ok(answer.rev)
    }

    /// Clears the parts named in `options`: working memory, then long-term memory, each in a separate revision. Returns
    /// how many entries were removed, including forgotten ones. Only a snapshot can undo it. `if_rev` compares the
    /// revision of working memory, or of long-term memory if only that is cleared.
    pub fn clear(&self, options: ClearOptions) -> Write<'_, u64> {
        Write::new(move |conditions| self.clear_if(options, conditions))
    }

    async fn clear_if(&self, options: ClearOptions, conditions: Conditions) -> Result<(u64, u64)> {
        // Check permission before clearing anything.
        let long_term = options.long_term.then(|| self.long_term_for(CoreAction::Clear)).transpose()?;
        let long_term = long_term.map(|core| named(&core, conditions.idempotency_key.clone()));
        let (long_term, cleared) = match options.working {
            true => (long_term, Some(self.clear_working(conditions).await?)),
            false => (long_term.map(|core| conditions.if_rev.map_or(core.clone(), |rev| core.if_rev(rev))), None),
        };
        let learned = if let Some(long_term) = long_term { long_term.clear().await? } else { 0 };
        Ok(match cleared {
            Some((rev, entries)) => (rev, entries + learned),
            None => (self.rev().await?, learned),
        })
    }

    async fn clear_working(&self, conditions: Conditions) -> Result<(u64, u64)> {
        let (answer, happened) = self.ask_if(AgentCommand::ClearAll, conditions).await?;
        let AgentReply::Cleared { entries } = answer.reply else { return Err(unexpected(answer.reply)) };
        let ephemeral = match happened {
            Repetition::Now => self.parts().0.dispose_beside_log().await?,
            Repetition::Before => 0,
        };
        Ok((answer.rev, entries + ephemeral))
    }

    async fn ask_if(&self, command: AgentCommand, conditions: Conditions) -> Result<(Answer<AgentReply>, Repetition)> {
        let (runtime, actor) = self.parts();
        let request = conditions.request(command, &self.options().limits)?;
        // With an idempotency key, a revision newer than the last one seen means that the request took effect now.
        let seen = if request.idempotency.is_some() { Some(self.rev().await?) } else { None };
        let answer = runtime.ask(&actor, RequestSource::Request(request)).await?;
        let happened = if seen.is_some_and(|seen| answer.rev <= seen) { Repetition::Before } else { Repetition::Now };
        Ok((answer, happened))
    }
}

/// The core, writing with this idempotency key if there is one.
fn named(core: &Core, name: Option<String>) -> Core {
    name.map_or(core.clone(), |name| core.idempotency_key(name))
}
