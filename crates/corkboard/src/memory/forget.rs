//! Permanent forgetting: removes values from the state, the log and the store's files.

use corkboard_core::agent::{AgentCommand, AgentReply, Forget};
use corkboard_core::{Actor, Key, NoteId, Request};

use super::agent::{AgentMemory, AgentRuntime};
use super::write::{Future, unexpected};
use crate::access::AuthenticatedActor;
use crate::engine::{Occurrence, RequestSource, in_state, joined};
use crate::{Error, Result};

/// Result of [`AgentMemory::forget`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Forgotten {
    /// Number of entries and notes removed from the memory, over all scopes.
    pub removed: u64,
    /// Number of log revisions that were rewritten.
    pub revisions: u64,
    /// Memory cores that hold promoted copies. The copies must be forgotten there.
    pub copies: Vec<String>,
}

impl AgentMemory {
    /// Permanently forgets all values that a key has or ever had, in every scope. They are removed from the log, the
    /// snapshot and the store's files; the revisions stay without the values. This reads the whole log and may take
    /// long.
    ///
    /// A renamed entry is forgotten under all keys it has or had. A merge may have copied it to another key: that copy
    /// is a separate entry, and its key must be forgotten too.
    pub fn forget(&self, key: &str) -> ForgetItems {
        let key = Key::new(key, &self.options().limits);
        ForgetItems {
            memory: self.clone(),
            forget: key.map(Forget::entry).map_err(Error::from),
            if_rev: None,
            scrub: true,
        }
    }

    /// Permanently forgets a note of any durable scope, and all notes with the same text, like [`AgentMemory::forget`].
    pub fn forget_note(&self, id: NoteId) -> ForgetItems {
        self.forget_items(Forget::note(id))
    }

    /// Permanently forgets the described items, like [`AgentMemory::forget`].
    pub fn forget_items(&self, forget: Forget) -> ForgetItems {
        ForgetItems { memory: self.clone(), forget: Ok(forget), if_rev: None, scrub: true }
    }
}

/// A permanent deletion that runs when awaited. Created by [`AgentMemory::forget`] and similar methods.
///
/// It does not accept an idempotency key. Forgetting again finishes an interrupted deletion and also removes values
/// written since.
#[must_use = "nothing is forgotten until this is awaited"]
pub struct ForgetItems {
    memory: AgentMemory,
    forget: Result<Forget>,
    if_rev: Option<u64>,
    scrub: bool,
}

impl ForgetItems {
    /// Forgets only if the whole memory is at this revision.
    pub fn if_rev(mut self, rev: u64) -> Self {
        self.if_rev = Some(rev);
        self
    }

    /// Leaves traces in the store's files, for a caller that scrubs after several memories.
    pub(crate) fn without_scrubbing(mut self) -> Self {
        self.scrub = false;
        self
    }

    async fn run(self) -> Result<Forgotten> {
        let Self { memory, forget, if_rev, scrub } = self;
        let (mut forget, (runtime, actor)) = (forget?, memory.parts());
        // Run in a separate task, so that the deletion completes even if the caller stops waiting.
        joined(tokio::spawn(async move {
            let AgentRuntime { engine, slot, .. } = &*runtime;
            if let Some(remote) = engine.remote() {
                return remote.forget(runtime.id().clone(), Actor::clone(&actor), forget, if_rev).await;
            }
            engine.survey(slot, &mut forget).await?;
            forget.collect(&engine.current(slot).await?.state);
            let command = |forget: &Forget| AgentCommand::Forget { forget: forget.clone() };
            // Check the condition first, before anything is removed. Remove ephemeral values before the final pass over
            // the stored ones, because a merge could copy them into the store in the meantime.
            let mut removed = 0;
            if if_rev.is_some() {
                let stored = Request { if_rev, ..Request::new(command(&forget)) };
                removed += count(runtime.ask(&actor, RequestSource::Request(stored)).await?.reply)?;
            }
            let ephemeral = match &forget {
                // Ephemeral notes are numbered separately, so match them by text.
                Forget::Note { texts, .. } => Forget::Note { id: NoteId::default(), texts: texts.clone() },
                // Ephemeral memory has no notebooks.
                Forget::Entry { .. } | Forget::Text { .. } | Forget::Notebook { .. } => forget.clone(),
            };
            removed += runtime.forget_in_conversations(&actor, &ephemeral).await?;
            removed += runtime.forget_ephemeral(&actor, &ephemeral)?;
            let stored = runtime.ask(&actor, RequestSource::Request(Request::new(command(&forget)))).await?;
            removed += count(stored.reply)?;
            let revisions = match scrub {
                true => engine.forget(slot, forget, stored.rev).await?,
                false => engine.rewrite(slot, forget, stored.rev).await?,
            };
            Ok(Forgotten { removed, revisions, copies: Vec::new() })
        }))
        .await
    }
}

impl AgentRuntime {
    /// The items in ephemeral scopes that contain a text.
    pub(crate) fn find_ephemeral(&self, text: &str) -> Vec<Occurrence> {
        self.ephemeral.with(|state| in_state(state, text))
    }

    /// Forgets something in ephemeral scopes. Returns how many entries and notes were removed.
    pub(crate) fn forget_ephemeral(&self, actor: &AuthenticatedActor, forget: &Forget) -> Result<u64> {
        let command = AgentCommand::Forget { forget: forget.clone() };
        count(self.ask_ephemeral(actor, RequestSource::Request(Request::new(command)))?.reply)
    }
}

fn count(reply: AgentReply) -> Result<u64> {
    match reply {
        AgentReply::Cleared { entries } => Ok(entries),
        other => Err(unexpected(other)),
    }
}

impl IntoFuture for ForgetItems {
    type Output = Result<Forgotten>;
    type IntoFuture = Future<'static, Forgotten>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
