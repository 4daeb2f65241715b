//! Permanent forgetting: removes the texts of records from a board, its log and the store's files.

use std::collections::BTreeSet;

use corkboard_core::board::{BoardCommand, BoardForget, BoardReply, LearningStatus, RecordId};

use super::{Board, expect_reply, unexpected};
use crate::engine::joined;
use crate::{Forgotten, Result};

impl Board {
    /// Permanently forgets all texts that a record has or ever had: a task, decision, discovery, artifact, choice,
    /// nudge or approval, the board's own texts, or a learning. They are removed from the log, the snapshot and the
    /// store's files. The record stays, with its ID, status and dependencies, and reads `[forgotten]`.
    ///
    /// A learning made from the record is forgotten, too. Memory cores that already hold it are in `copies`: forget it
    /// there. Forgetting again finishes an interrupted call.
    pub async fn forget_record(&self, id: impl Into<RecordId>) -> Result<Forgotten> {
        let (board, id) = (self.unconditional(), id.into());
        if let Some(remote) = board.engine.remote() {
            let actor = corkboard_core::Actor::clone(&board.actor);
            return remote.forget_record(board.slot.id.clone(), actor, id.to_string()).await;
        }
        // Run in a separate task, so that it completes even if the caller stops waiting.
        joined(tokio::spawn(async move {
            let forgotten = board.forget(BoardForget::Record { id }).await?;
            board.engine.store.scrub().await?;
            Ok(forgotten)
        }))
        .await
    }

    /// Forgets texts without scrubbing the store.
    pub(crate) async fn forget(&self, mut forget: BoardForget) -> Result<Forgotten> {
        self.engine.survey(&self.slot, &mut forget).await?;
        let answer = self.ask(BoardCommand::Forget { forget: forget.clone() }).await?;
        let rev = answer.rev;
        let removed = expect_reply!(answer, BoardReply::Forgotten { records } => records)?;
        let copies = match &forget {
            BoardForget::Record { id } => self.cores_with(id).await?,
            BoardForget::Text { .. } => Vec::new(),
        };
        let revisions = self.engine.rewrite(&self.slot, forget, rev).await?;
        Ok(Forgotten { removed, revisions, copies })
    }

    /// The memory cores that hold a learning made from this record.
    async fn cores_with(&self, id: &RecordId) -> Result<Vec<String>> {
        let current = self.engine.current(&self.slot).await?;
        let verdicts = current.state.learning_verdicts();
        let verdicts = verdicts.filter(|verdict| id.includes(&RecordId::Learning(verdict.id.clone())));
        let cores = verdicts.filter_map(|verdict| match &verdict.status {
            LearningStatus::Promoted { core, .. } => Some(core.as_str().to_owned()),
            LearningStatus::RollingBack(roll_back) => Some(roll_back.core.as_str().to_owned()),
            _ => None,
        });
        Ok(cores.collect::<BTreeSet<_>>().into_iter().collect())
    }
}
