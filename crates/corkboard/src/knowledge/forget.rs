//! Permanent forgetting: removes entries from a memory core, its log and the store's files.

use corkboard_core::knowledge::{CoreCommand, CoreEntryId, CoreForget, CoreReply};

use super::{Core, unexpected};
use crate::board::expect_reply;
use crate::engine::joined;
use crate::{Conditions, Forgotten, Result};

impl Core {
    /// Permanently forgets an entry with all texts that it has or ever had. They are removed from the core, the log,
    /// the snapshot and the store's files. To hide an entry that can be restored, use [`Core::forget`].
    ///
    /// The board that an entry was promoted from keeps its own record. Forgetting again finishes an interrupted call.
    pub async fn erase(&self, entry: CoreEntryId) -> Result<Forgotten> {
        let core = Self { conditions: Conditions::default(), ..self.clone() };
        if let Some(remote) = core.engine.remote() {
            let actor = corkboard_core::Actor::clone(&core.actor);
            return remote.forget_record(core.slot.id.clone(), actor, entry.to_string()).await;
        }
        // Run in a separate task, so that it completes even if the caller stops waiting.
        joined(tokio::spawn(async move {
            let forgotten = core.forget_for_good(CoreForget::Entry { id: entry }).await?;
            core.engine.store.scrub().await?;
            Ok(forgotten)
        }))
        .await
    }

    /// Erases entries without scrubbing the store.
    pub(crate) async fn forget_for_good(&self, mut forget: CoreForget) -> Result<Forgotten> {
        self.engine.survey(&self.slot, &mut forget).await?;
        let answer = self.ask(CoreCommand::Erase { forget: forget.clone() }).await?;
        let rev = answer.rev;
        let removed = expect_reply!(answer, CoreReply::Cleared { entries } => entries)?;
        let revisions = self.engine.rewrite(&self.slot, forget, rev).await?;
        Ok(Forgotten { removed, revisions, copies: Vec::new() })
    }
}
