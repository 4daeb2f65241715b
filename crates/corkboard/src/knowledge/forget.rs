//! Permanent forgetting: removes entries from a memory core, its log and the store's files.

use std::pin::Pin;

use corkboard_core::knowledge::{CoreCommand, CoreEntryId, CoreForget, CoreReply};

use super::{Core, unexpected};
use crate::board::expect_reply;
use crate::engine::joined;
use crate::{Conditions, Forgotten, Result};

/// Forgets an entry when awaited. Created by [`Core::forget`].
#[must_use = "nothing is forgotten until this is awaited"]
pub struct ForgetCoreEntry {
    pub(super) core: Core,
    pub(super) entry: CoreEntryId,
    pub(super) reason: Option<String>,
}

impl IntoFuture for ForgetCoreEntry {
    type Output = Result<u64>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<u64>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { core, entry, reason } = self;
        let if_version = core.conditions.if_version;
        Box::pin(async move { core.change(CoreCommand::Forget { entry, reason, if_version }).await })
    }
}

impl ForgetCoreEntry {
    /// Permanently forgets an entry with all texts that it has or ever had. They are removed from the core, the log,
    /// the snapshot and the store's files, and cannot be restored. The reason and conditions have no effect.
    ///
    /// The board that an entry was promoted from keeps its own record. Forgetting again finishes an interrupted call.
    pub async fn hard(self) -> Result<Forgotten> {
        let entry = self.entry;
        let core = Core { conditions: Conditions::default(), ..self.core };
        if let Some(remote) = core.engine.remote() {
            let actor = corkboard_core::Actor::clone(&core.actor);
            return remote.forget_record(core.slot.id.clone(), actor, entry.to_string()).await;
        }
        // Run in a separate task, so that it completes even if the caller stops waiting.
        joined(tokio::spawn(async move {
            let forgotten = core.forget_hard(CoreForget::Entry { id: entry }).await?;
            core.engine.store.scrub().await?;
            Ok(forgotten)
        }))
        .await
    }
}

impl Core {
    /// Permanently forgets entries without scrubbing the store.
    pub(crate) async fn forget_hard(&self, mut forget: CoreForget) -> Result<Forgotten> {
        self.engine.survey(&self.slot, &mut forget).await?;
        let answer = self.ask(CoreCommand::ForgetHard { forget: forget.clone() }).await?;
        let rev = answer.rev;
        let removed = expect_reply!(answer, CoreReply::Cleared { entries } => entries)?;
        let revisions = self.engine.rewrite(&self.slot, forget, rev).await?;
        Ok(Forgotten { removed, revisions, copies: Vec::new() })
    }
}
