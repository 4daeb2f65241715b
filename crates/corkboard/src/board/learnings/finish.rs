//! Finishes open promotions and rollbacks exactly once. Any process that finds one finishes it.
//!
//! The finishing process reads the core's revision first and the board second. It writes to the core only at that
//! revision. If another process has finished the operation, and perhaps undone it, the core has moved and the write is
//! refused.
//!
//! A promotion carries the board's revision in which it began, and the core accepts each such promotion only once,
//! forever. A withdrawal has an idempotency key, and moves the core even if there is nothing to remove
//! (`CoreState::is_always_remembered`). So a late promotion finds that the core has moved.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::board::{
    BoardCommand, BoardState, LearningId, LearningStatus, LearningVerdict, Promotion, RollBack,
};
use corkboard_core::knowledge::{CoreEntryId, CoreState, NewCoreEntry, Withdrawal};
use corkboard_core::{Actor, BoardId, Head, Refusal};
use jiff::Timestamp;

use super::{ATTEMPTS, warn_unfinished};
use crate::{Board, Corkboard, Error, Result};

impl Corkboard {
    /// Finishes open promotions and rollbacks on these boards, unless they began just now.
    pub(crate) async fn finish_learnings(&self, boards: impl Iterator<Item = BoardId>) {
        for id in boards {
            let board = self.board_of(id);
            warn_unfinished(&board, board.finish_due_learnings().await);
        }
    }
}

impl Board {
    /// Finishes all open promotions and rollbacks.
    pub(crate) async fn finish_open_learnings(&self) -> Result<()> {
        self.finish_learnings(|_| true).await
    }

    /// The board's head while no promotion is open. `None` if there is no board, or if a promotion or rollback cannot
    /// be finished. A board deleted at this head leaves no unrecorded entry in a core.
    pub(in super::super) async fn settled_head(&self) -> Option<Head> {
        for _ in 0..ATTEMPTS {
            if let Err(error) = self.finish_open_learnings().await {
                warn_unfinished(self, Err(error));
                return None;
            }
            let current = self.engine.current(&self.slot).await.ok()?;
            current.state.info()?;
            if !current.state.has_open_promotion() {
                return Some(current.head);
            }
        }
        None
    }

    /// Finishes open promotions and rollbacks, but leaves alone what began just now.
    async fn finish_due_learnings(&self) -> Result<()> {
        let now = self.engine.now_in(&self.slot);
        let is_due = |since: Timestamp| now.duration_since(since) >= BoardState::LEARNING_PATIENCE;
        self.finish_learnings(|verdict| verdict.status.open_since().is_some_and(is_due)).await
    }

    /// Finishes the selected operations. An error does not stop the others; the first one is returned.
    pub(super) async fn finish_learnings(&self, is_meant: impl Fn(&LearningVerdict) -> bool) -> Result<()> {
        let open = self.engine.current(&self.slot).await?.state.open_learnings();
        let (mut finished, mut revs) = (Ok(()), BTreeSet::new());
        for verdict in open.iter().filter(|verdict| is_meant(verdict)) {
            let result = match &verdict.status {
                LearningStatus::Begun(promotion) => self.finish_promotion(&verdict.id, promotion).await,
                LearningStatus::RollingBack(roll_back) if revs.insert(roll_back.begun_rev) => {
                    self.finish_roll_back(&open, roll_back.begun_rev).await
                }
                _ => Ok(()),
            };
            finished = finished.and(result);
        }
        finished
    }

    /// Withdraws all learnings of one rollback command, then records that in one revision.
    async fn finish_roll_back(&self, open: &[Arc<LearningVerdict>], begun_rev: u64) -> Result<()> {
        for verdict in open {
            if let LearningStatus::RollingBack(roll_back) = &verdict.status
                && roll_back.begun_rev == begun_rev
            {
                self.withdraw_learning(&verdict.id, roll_back).await?;
            }
        }
        self.as_system().ask(BoardCommand::FinishRollBack { begun_rev }).await.map(|_| ())
    }

    async fn finish_promotion(&self, learning: &LearningId, begun: &Promotion) -> Result<()> {
        let core = self.core_of(begun.core.clone()).acting_as(begun.actor.clone());
        let (board, board_rev) = (Some(self.id.clone()), Some(begun.begun_rev));
        let entry = NewCoreEntry { board, board_rev, ..begun.entry.clone() };
        loop {
            let rev = core.current().await?.0.head.rev;
            match self.current_promotion(learning, begun).await? {
                None => return Ok(()),
                Some(promotion) if promotion.refused.is_some() => {
                    return self.finish_abandonment(learning, begun).await;
                }
                Some(_) => {}
            }
            match core.if_rev(rev).promote(entry.clone()).await {
                Ok(added) => return self.say_promoted(learning, begun, added.id).await,
                Err(Error::Refused(Refusal::RevConflict { .. })) => {}
                Err(Error::Refused(refusal)) => {
                    self.abandon_promotion(learning, begun, &refusal).await?;
                    return Err(refusal.into());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn say_promoted(&self, learning: &LearningId, begun: &Promotion, entry: CoreEntryId) -> Result<()> {
        let command = BoardCommand::FinishPromotion { learning: learning.clone(), begun_rev: begun.begun_rev, entry };
        match self.as_system().ask(command).await {
            // Another process abandoned the promotion because the core refused it there, although the core accepted
            // ours.
            Err(Error::Refused(Refusal::PromotionOver { .. })) => self.finish_abandonment(learning, begun).await,
            answer => answer.map(|_| ()),
        }
    }

    /// Abandons a promotion that the core refused. Another process may be adding the entry, or has added it. So the
    /// board first records the refusal, and the promotion stays open until the core has moved and contains nothing of
    /// it.
    async fn abandon_promotion(&self, learning: &LearningId, begun: &Promotion, refusal: &Refusal) -> Result<()> {
        let (begun_rev, reason) = (begun.begun_rev, refusal.to_string());
        let command = BoardCommand::AbandonPromotion { learning: learning.clone(), begun_rev, reason };
        self.as_system().ask(command).await?;
        self.finish_abandonment(learning, begun).await
    }

    /// A refused promotion is never finished, so removing its entry is right at any revision.
    async fn finish_abandonment(&self, learning: &LearningId, begun: &Promotion) -> Result<()> {
        if self.current_promotion(learning, begun).await?.is_none_or(|promotion| promotion.refused.is_none()) {
            return Ok(());
        }
        let (board, item, begun_rev) = (self.id.clone(), learning.to_string(), begun.begun_rev);
        let core = self.as_system().core_of(begun.core.clone());
        let core = core.idempotency_key(self.step_key("back", learning, begun_rev));
        core.withdraw(Withdrawal::Promotion { board, item, board_rev: begun_rev }).await?;
        let command = BoardCommand::FinishAbandonment { learning: learning.clone(), begun_rev };
        self.as_system().ask(command).await.map(|_| ())
    }

    async fn withdraw_learning(&self, learning: &LearningId, begun: &RollBack) -> Result<()> {
        let key = self.step_key("out", learning, begun.begun_rev);
        let core = self.core_of(begun.core.clone()).acting_as(begun.actor.clone());
        loop {
            let current = core.current().await?.0;
            match self.current_learning(learning).await? {
                LearningStatus::RollingBack(roll_back) if roll_back.begun_rev == begun.begun_rev => {}
                _ => return Ok(()),
            }
            // Do not recreate a deleted core for a withdrawal.
            if is_gone(&current.state) {
                return Ok(());
            }
            match core.if_rev(current.head.rev).idempotency_key(&key).withdraw(self.item(learning)).await {
                Err(Error::Refused(Refusal::RevConflict { .. })) => {}
                answer => return answer.map(|_| ()),
            }
        }
    }

    /// The promotion in the board's current state, if it is still open.
    async fn current_promotion(&self, learning: &LearningId, begun: &Promotion) -> Result<Option<Promotion>> {
        Ok(match self.current_learning(learning).await? {
            LearningStatus::Begun(promotion) if promotion.begun_rev == begun.begun_rev => Some(promotion),
            _ => None,
        })
    }

    async fn current_learning(&self, learning: &LearningId) -> Result<LearningStatus> {
        Ok(self.engine.current(&self.slot).await?.state.learning_status(learning))
    }

    fn item(&self, learning: &LearningId) -> Withdrawal {
        Withdrawal::Item { board: self.id.clone(), item: learning.to_string() }
    }

    /// A handle to the same board that acts as the system, which may finish anybody's operation.
    fn as_system(&self) -> Self {
        Self { actor: Actor::system().into(), ..self.unconditional() }
    }

    /// The idempotency key of one step in a core. It is a hash because IDs can be longer than a key may be.
    fn step_key(&self, step: &str, learning: &LearningId, begun_rev: u64) -> String {
        const DIGITS: usize = 32;
        let mut hash = blake3::Hasher::new_derive_key("corkboard step of a learning in a memory core");
        let board = self.id.as_str();
        // Hash the length too, so that no two inputs give the same bytes.
        hash.update(&(board.len() as u64).to_le_bytes()).update(board.as_bytes());
        hash.update(&begun_rev.to_le_bytes()).update(learning.to_string().as_bytes());
        let hash = hash.finalize().to_hex();
        format!("learning-{step}-{}", hash.get(..DIGITS).unwrap_or(&hash))
    }
}

/// Whether a core was never written, or was deleted.
fn is_gone(core: &CoreState) -> bool {
    core.entries().is_empty() && core.last() == CoreEntryId::default()
}
