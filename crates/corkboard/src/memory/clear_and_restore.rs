//! Clearing an agent's memory as a whole, and restoring it from a snapshot.

use corkboard_core::FORMAT_VERSION;
use corkboard_core::agent::{AgentCommand, AgentReply, MemorySnapshot};
use corkboard_core::knowledge::CoreAction;

use super::agent::AgentMemory;
use super::write::{Write, unexpected};
use crate::engine::{Answer, RequestSource};
use crate::knowledge::Core;
use crate::{Conditions, Error, Result};

/// What [`AgentMemory::clear`] clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearOptions {
    /// Working memory: entries and notes of the root scope, and all scopes with theirs.
    pub working: bool,
    /// Long-term memory.
    pub long_term: bool,
}

impl Default for ClearOptions {
    /// Working memory, not long-term memory.
    fn default() -> Self {
        Self { working: true, long_term: false }
    }
}

/// Whether something happened now, or is what a request of the same name got before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Happened {
    Now,
    Before,
}

impl AgentMemory {
    /// Replaces the whole memory by a snapshot of the same agent. Working memory is replaced in one revision, which is
    /// returned; ephemeral scopes are disposed. If the snapshot holds long-term memory, that is replaced after it, in a
    /// revision of its own: the two are not atomic. When the second fails, the first has happened, and restoring again
    /// does both. A snapshot without long-term memory leaves it as it is. `if_rev` is the revision of working memory.
    ///
    /// An agent or a service brings no more trust by it than it can give, and no note in another's name, but for what stands in
    /// the memory in the same words.
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
        // Refused before anything is replaced, unless there is nothing to replace.
        if let Some((core, image)) = &long_term
            && let Err(denied) = core.check_may(CoreAction::Replace)
            && core.image().await? != *image
        {
            return Err(denied);
        }
        let name = conditions.idempotency_key.clone();
        let (answer, happened) = self.ask_if(AgentCommand::Restore { image }, conditions).await?;
        if happened == Happened::Now {
            self.parts().0.dispose_beside_log().await?;
        }
        if let Some((core, image)) = long_term {
            // What has a name is written under it even if nothing changes: later, it could.
            let must = name.is_some() && core.check_may(CoreAction::Replace).is_ok();
            if must || core.image().await? != image {
                named(&core, name).replace(image).await?;
            }
        }
        Ok(answer.rev)
    }

    /// Clears what the options say: working memory, then long-term memory, each in a revision of its own. Returns how many
    /// entries went, those that were forgotten included. There is no way back but a snapshot. `if_rev` is the revision of
    /// working memory, or of long-term memory where that alone is cleared.
    pub fn clear(&self, options: ClearOptions) -> Write<'_, u64> {
        Write::new(move |conditions| self.clear_if(options, conditions))
    }

    async fn clear_if(&self, options: ClearOptions, conditions: Conditions) -> Result<(u64, u64)> {
        // Refused before anything is cleared.
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
            Happened::Now => self.parts().0.dispose_beside_log().await?,
            Happened::Before => 0,
        };
        Ok((answer.rev, entries + ephemeral))
    }

    /// Has a command decided under conditions.
    async fn ask_if(&self, command: AgentCommand, conditions: Conditions) -> Result<(Answer<AgentReply>, Happened)> {
        let (runtime, actor) = self.parts();
        let request = conditions.request(command, &self.options().limits)?;
        // What has a name and is new is a revision that was not there before.
        let seen = if request.idempotency.is_some() { Some(self.rev().await?) } else { None };
        let answer = runtime.ask(&actor, RequestSource::Request(request)).await?;
        let happened = if seen.is_some_and(|seen| answer.rev <= seen) { Happened::Before } else { Happened::Now };
        Ok((answer, happened))
    }
}

/// The core, with the name of a request.
fn named(core: &Core, name: Option<String>) -> Core {
    name.map_or(core.clone(), |name| core.idempotency_key(name))
}
