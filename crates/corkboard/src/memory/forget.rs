//! Forgetting for good: out of the state, the log and the store's files.

use corkboard_core::agent::{AgentCommand, AgentReply, Forget};
use corkboard_core::{Actor, Key, NoteId, Request};

use super::agent::{AgentMemory, AgentRuntime};
use super::write::{Future, unexpected};
use crate::engine::{RequestSource, joined};
use crate::{Error, Result};

/// What [`AgentMemory::forget`] did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Forgotten {
    /// How many entries or notes were removed from the memory, over all scopes.
    pub removed: u64,
    /// How many revisions of the log were rewritten.
    pub revisions: u64,
    /// Where copies are that were promoted to memory cores: those are forgotten there.
    pub copies: Vec<String>,
}

impl AgentMemory {
    /// Forgets all values that a key has or ever had, in every scope and for good: in the log, the snapshot, and the
    /// store's files. The revisions stay, without the values. It goes through the whole log and may take long.
    ///
    /// An entry that was renamed is forgotten with it under all the keys it had or has. A copy that a merge made of it under
    /// another key is an entry of its own: that key is to be forgotten as well.
    pub fn forget(&self, key: &str) -> ForgetForGood {
        let key = Key::new(key, &self.options().limits);
        ForgetForGood { memory: self.clone(), forget: key.map(Forget::entry).map_err(Error::from), if_rev: None }
    }

    /// Forgets a note of any durable scope, and every other that says the same, as [`AgentMemory::forget`] does.
    pub fn forget_note(&self, id: NoteId) -> ForgetForGood {
        self.forget_for_good(Forget::note(id))
    }

    /// Forgets whatever is described, as [`AgentMemory::forget`] does.
    pub fn forget_for_good(&self, forget: Forget) -> ForgetForGood {
        ForgetForGood { memory: self.clone(), forget: Ok(forget), if_rev: None }
    }
}

/// Forgets something for good. Made by [`AgentMemory::forget`] and the like. It takes no idempotency key: to forget again is to
/// finish what was begun, and whoever asks again wants it gone, whatever was written since.
#[must_use = "nothing is forgotten until this is awaited"]
pub struct ForgetForGood {
    memory: AgentMemory,
    forget: Result<Forget>,
    if_rev: Option<u64>,
}

impl ForgetForGood {
    /// Only if the whole memory is at this revision.
    pub fn if_rev(mut self, rev: u64) -> Self {
        self.if_rev = Some(rev);
        self
    }

    async fn run(self) -> Result<Forgotten> {
        let Self { memory, forget, if_rev } = self;
        let (mut forget, (runtime, actor)) = (forget?, memory.parts());
        // A task of its own: a caller who stops waiting must not leave half of it.
        joined(tokio::spawn(async move {
            let AgentRuntime { engine, slot, .. } = &*runtime;
            if let Some(remote) = engine.remote() {
                return remote.forget(runtime.id().clone(), Actor::clone(&actor), forget, if_rev).await;
            }
            engine.survey(slot, &mut forget).await?;
            let count = |reply| match reply {
                AgentReply::Cleared { entries } => Ok(entries),
                other => Err(unexpected(other)),
            };
            let command = |forget: &Forget| AgentCommand::Forget { forget: forget.clone() };
            // Under a condition first, before anything goes. What is ephemeral goes before the last look at what is stored: it
            // could be merged into it meanwhile.
            let mut removed = 0;
            if if_rev.is_some() {
                let stored = Request { if_rev, ..Request::new(command(&forget)) };
                removed += count(runtime.ask(&actor, RequestSource::Request(stored)).await?.reply)?;
            }
            let ephemeral = match &forget {
                // Ephemeral notes have numbers of their own.
                Forget::Note { texts, .. } => Forget::Note { id: NoteId::default(), texts: texts.clone() },
                // Ephemeral memory has no notebooks: nothing is found there.
                Forget::Entry { .. } | Forget::Notebook { .. } => forget.clone(),
            };
            removed += runtime.forget_in_conversations(&actor, &ephemeral).await?;
            removed +=
                count(runtime.ask_ephemeral(&actor, RequestSource::Request(Request::new(command(&ephemeral))))?.reply)?;
            let stored = runtime.ask(&actor, RequestSource::Request(Request::new(command(&forget)))).await?;
            removed += count(stored.reply)?;
            let revisions = engine.forget(slot, forget, stored.rev).await?;
            Ok(Forgotten { removed, revisions, copies: Vec::new() })
        }))
        .await
    }
}

impl IntoFuture for ForgetForGood {
    type Output = Result<Forgotten>;
    type IntoFuture = Future<'static, Forgotten>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
